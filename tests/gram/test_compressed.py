"""Points projected on principal axes keep nearly their kernel values in fewer coordinates."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from slackwater.gram.compressed import CompressedFeatures, axes_of
from slackwater.gram.features import Features
from slackwater.gram.ledger import EvaluationLedger
from slackwater.kernels import Gaussian, Linear, as_points
from slackwater.points.projected import Axes, ProjectedPoints
from slackwater.workers import Workers

SAMPLE, OTHERS = np.arange(100, 500), np.arange(100)


def features_of(X, kernel=None) -> Features:
    names = np.arange(X.shape[0])
    return Features(kernel or Gaussian(0.01), as_points(X), EvaluationLedger(), Workers(), 2**26, 2**20, names)


def flat_cloud(n=500, d=200, telling=150, noise=0.01) -> np.ndarray:
    rng = np.random.default_rng(0)
    fading = np.arange(1, telling + 1) ** -0.9  # each dimension tells less than the one before
    return (
        (fading * rng.normal(size=(n, telling))) @ rng.normal(size=(telling, d)) + noise * rng.normal(size=(n, d)) + 4.0
    )


def all_axes(features: Features) -> Axes:
    axes = axes_of(features, SAMPLE, OTHERS)
    assert axes is not None
    return axes


def projected(features: Features, axes: Axes) -> CompressedFeatures:
    return CompressedFeatures.of(features, ProjectedPoints, axes)


def test_few_axes_give_nearly_the_kernel_values_of_the_points():
    features = features_of(flat_cloud())
    axes = all_axes(features)
    few = axes.leaving(0.1 * axes.left_out[0])
    assert few is not None
    assert few.share < 0.25
    near = projected(features, few).all()
    others, support = np.arange(100, 500), np.arange(100)
    coefficients = np.random.default_rng(1).standard_normal((2, 100))
    exact = features.values(others, support, coefficients)
    found = near.values(others, support, coefficients)
    assert np.sqrt(np.mean((exact - found) ** 2)) < 0.25 * exact.std()


def test_all_axes_give_the_kernel_values_themselves():
    features = features_of(flat_cloud())
    turned = projected(features, all_axes(features)).part(OTHERS)
    np.testing.assert_allclose(turned.columns(np.arange(100)), features.part(OTHERS).columns(np.arange(100)), atol=1e-9)


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-8), (np.float32, 1e-3)])
@pytest.mark.parametrize(("n", "d"), [(500, 200), (300, 1500)], ids=["more points", "more features"])
def test_axes_are_orthonormal_and_what_they_leave_out_is_measured_at_other_points(n, d, dtype, tolerance):
    X = flat_cloud(n, d).astype(dtype)
    axes = axes_of(features_of(X), np.arange(100, n), OTHERS)
    assert axes is not None
    directions = axes.directions
    np.testing.assert_allclose(directions.T @ directions, np.eye(directions.shape[1]), atol=tolerance)
    for count in (0, 1, 10, 50):
        centred = X[OTHERS] - X[100:].mean(axis=0)
        outside = centred - centred @ directions[:, :count] @ directions[:, :count].T
        assert axes.left_out[count] == pytest.approx(np.linalg.norm(outside, axis=1).mean() ** 2, rel=10 * tolerance)
    assert np.all(np.diff(axes.left_out) <= 0.0)


def test_points_that_a_sample_says_nothing_about_show_in_what_is_left_out():
    """In-sample, as many axes as points would leave out nothing."""
    X = np.random.default_rng(0).normal(size=(120, 1200))
    axes = axes_of(features_of(X), np.arange(100), np.arange(100, 120))
    assert axes is not None
    assert axes.left_out[-1] > 0.8 * axes.left_out[0]
    assert axes.leaving(0.5 * axes.left_out[0]) is None


def test_a_point_is_projected_when_first_asked_for_and_then_known():
    features = features_of(flat_cloud())
    turned = projected(features, all_axes(features))
    first = turned.part(np.array([7, 3, 450])).points.values.copy()
    features.points.values[[3, 7]] = np.nan  # not looked at again
    again = turned.part(np.array([450, 9, 3, 7])).points
    np.testing.assert_array_equal(again.values[[3, 2, 0]], first)
    assert np.isfinite(again.squared_norms).all()


def test_every_value_of_projected_points_is_charged():
    features = features_of(flat_cloud())
    near = projected(features, all_axes(features)).all()
    before = features.ledger.train
    near.values(np.arange(50), np.arange(7), np.ones((1, 7)))
    assert features.ledger.train - before == 350


@pytest.mark.parametrize(("two_bytes", "cache_bytes"), [(True, 2**20), (False, 2**20), (True, 2000)])
def test_rows_of_projected_points_have_an_exact_diagonal(two_bytes, cache_bytes):
    """Outside of the axes a point is as close to itself as can be, which its coordinates do not show."""
    features = features_of(flat_cloud(), Gaussian(0.1))
    axes = all_axes(features).leaving(0.3 * all_axes(features).left_out[0])
    assert axes is not None
    near = projected(features, axes).part(OTHERS)
    assert near.columns(np.arange(100)).diagonal().max() < 0.99
    rows = replace(near, cache_bytes=cache_bytes).rows(two_bytes=two_bytes)
    assert (rows.slots < 34) == (cache_bytes < 34 * 200)
    values = rows.fetch(np.arange(0, 100, 3)).combinations(np.eye(34), 0)
    np.testing.assert_allclose(values[np.arange(34), np.arange(0, 100, 3)], 1.0, atol=1e-6)
    exact = features.part(OTHERS).columns(np.arange(100))
    assert np.abs(values - exact[::3]).mean() < 0.2 * exact.mean()


@pytest.mark.parametrize(
    "features",
    [features_of(flat_cloud(d=60)), features_of(flat_cloud(), Linear()), features_of(sparse.csr_matrix(flat_cloud()))],
    ids=["few dimensions anyway", "not a Gaussian", "sparse"],
)
def test_no_axes_where_they_would_be_of_no_use(features):
    assert axes_of(features, SAMPLE, OTHERS) is None


def test_norms_of_projected_points_count_even_if_one_of_them_is_far_away():
    """Distances along a few axes alone would leave out what the norms know of the others."""
    X = flat_cloud().astype(np.float32)
    few = all_axes(features_of(X)).leaving(0.1 * all_axes(features_of(X)).left_out[0])
    assert few is not None
    assert few.directions.shape[1] <= 64
    X[0] += 1e4
    features = features_of(X)
    assert features.kernel.needs_double(features.points, features.points)
    shifted = (X - few.centre).astype(np.float64)
    norms, turned = (shifted**2).sum(axis=1), shifted @ few.directions
    expected = np.exp(-0.01 * (norms[1:, None] + norms[None, 1:] - 2.0 * turned[1:] @ turned[1:].T))
    near = projected(features, few).all()
    np.testing.assert_allclose(near.columns(np.arange(1, 500))[1:], expected, atol=1e-4)
