"""Sparse rows of a narrow kernel are the kernel's rows, but for values that do not matter."""

from __future__ import annotations

import numpy as np
import pytest

from problems import gaussian_gram
from slackwater.gram.features import Features
from slackwater.gram.ledger import EvaluationLedger
from slackwater.gram.narrow import NEGLIGIBLE, NarrowRows, share_above_negligible
from slackwater.kernels import Gaussian, as_points
from slackwater.kernels.blocks import combinations
from slackwater.kernels.near_sums import NearSums
from slackwater.points import _leaf_loops
from slackwater.points.leaves import Leaves
from slackwater.workers import Workers


def scattered(n: int, d: int = 4, seed: int = 0, dtype=np.float64) -> np.ndarray:
    return np.random.default_rng(seed).uniform(0.0, 30.0, (n, d)).astype(dtype)


def features_of(X, gamma=1.0, matrix_bytes=2**30, kernel=None) -> Features:
    names = np.arange(X.shape[0])
    return Features(kernel or Gaussian(gamma), as_points(X), EvaluationLedger(), Workers(), 2**20, matrix_bytes, names)


def narrow_rows(X, gamma=1.0) -> tuple[np.ndarray, NarrowRows]:
    leaves = Leaves(as_points(X))
    return leaves.order, NarrowRows(Gaussian(gamma), leaves, EvaluationLedger(), Workers())


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [1, 2, 127, 128, 129, 700])
def test_rows_are_those_of_the_kernel_where_it_matters(n, dtype):
    X = scattered(n, dtype=dtype)
    X[:, 2] = 5.0  # a coordinate that tells nothing
    order, rows = narrow_rows(X, gamma=0.05)
    K = gaussian_gram(X[order].astype(float), 0.05)
    dense = rows.rows(np.arange(n))
    # Values next to the threshold may fall on either side of it.
    clear = np.abs(K / NEGLIGIBLE - 1.0) > 1e-2
    expected = np.where(K >= NEGLIGIBLE, K, 0.0)
    np.testing.assert_allclose(dense[clear], expected[clear], atol=2e-6)


def test_a_point_that_is_there_many_times_fills_whole_leaves():
    X = np.repeat(scattered(5), 100, axis=0)
    order, rows = narrow_rows(X)
    assert sorted(order.tolist()) == list(range(500))
    np.testing.assert_allclose(rows.rows(np.arange(500)).sum(axis=1), 100.0, rtol=1e-3)


def test_blocks_agree_with_the_rows_they_stand_for():
    _, rows = narrow_rows(scattered(400), gamma=0.05)
    rng = np.random.default_rng(0)
    chosen = rng.permutation(400)[:30]
    block = rows.fetch(chosen)
    whole = np.array(rows.rows(np.arange(400)), dtype=np.float64)
    np.testing.assert_array_equal(block.among(chosen), whole[np.ix_(chosen, chosen)])
    twice = np.array([3, 7, 3])
    np.testing.assert_array_equal(rows.fetch(twice).among(twice), whole[np.ix_(twice, twice)])
    part = block.part(np.array([4, 2]))
    assert len(part) == 2
    labels = np.where(rng.random(400) < 0.5, 1, -1).astype(np.int8)
    amounts, responses = rng.standard_normal(2), rng.standard_normal(400)
    expected = responses + labels * (amounts @ whole[chosen[[4, 2]]])
    part.add_to(responses, labels, amounts)
    np.testing.assert_allclose(responses, expected, atol=1e-12)
    assert rows.row_bytes > 0
    np.testing.assert_array_equal(rows.diagonal(), 1.0)


def test_far_pairs_are_never_computed_and_near_ones_are_charged():
    X = scattered(12_000, d=2)
    features = features_of(X, gamma=4.0)
    leaves = Leaves(features.points)
    assert leaves.share_near(features.kernel.squared_cutoff(NEGLIGIBLE)) < 0.3
    rows = NarrowRows(features.kernel, leaves, features.ledger, features.workers)
    assert rows.indptr[-1] <= features.ledger.train <= 0.3 * 12_000**2


@pytest.mark.parametrize(("gamma", "least", "most"), [(1e-4, 1.0, 1.0), (1.0, 0.0, 0.02)])
def test_the_share_of_values_that_are_not_negligible_is_estimated(gamma, least, most):
    features = features_of(scattered(2000), gamma=gamma)
    share = share_above_negligible(features, np.random.default_rng(0))
    whole = features.columns(np.arange(2000))
    np.fill_diagonal(whole, 0.0)
    assert least <= share <= most
    assert share == pytest.approx(np.mean(whole > NEGLIGIBLE), abs=1e-3)


def test_no_box_of_sixty_dimensions_is_far():
    features = features_of(np.random.default_rng(0).normal(size=(2000, 60)), gamma=1.0)
    assert Leaves(features.points).share_near(features.kernel.squared_cutoff(NEGLIGIBLE)) > 0.3


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sums_without_far_points_are_those_with_them(dtype):
    support, points = as_points(scattered(6000, d=2, dtype=dtype)), as_points(scattered(600, d=2, seed=1, dtype=dtype))
    coefficients = np.random.default_rng(0).standard_normal((2, 6000))
    sums = NearSums.worthwhile(Gaussian(4.0), support)
    assert sums is not None
    found = sums.at(points, coefficients, Workers())
    assert found is not None
    expected = combinations(Gaussian(4.0), points, support, coefficients, Workers())
    values, computed = found
    assert 0 < computed < 0.5 * 600 * 6000
    np.testing.assert_allclose(values, expected, atol=2e-4 if dtype == np.float32 else 2e-6)
    again = sums.at(points, coefficients, Workers())
    assert again is not None
    np.testing.assert_array_equal(again[0], values)
    wide = NearSums.worthwhile(Gaussian(1e-3), support)
    assert wide is not None
    assert wide.at(points, coefficients, Workers()) is None


def test_near_leaves_are_all_whose_boxes_come_near():
    rng = np.random.default_rng(0)
    lower = rng.uniform(0, 10, (50, 3)).astype(np.float32)
    upper = (lower + rng.uniform(0, 2, (50, 3))).astype(np.float32)
    found = np.empty(50, np.int64)
    for leaf in range(50):
        apart = np.maximum(0.0, np.maximum(lower - upper[leaf], lower[leaf] - upper))
        expected = np.flatnonzero((apart**2).sum(axis=1) <= 9.0)
        count = _leaf_loops.near_leaves(lower, upper, leaf, 9.0, found)
        np.testing.assert_array_equal(found[:count], expected)
