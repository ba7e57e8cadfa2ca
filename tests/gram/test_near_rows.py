"""Sparse rows computed on demand are the kernel's rows in single precision, and SBP makes the same steps on them."""

from __future__ import annotations

import numpy as np
import pytest

from slackwater import SBPClassifier
from slackwater.fitting.precision import near_rows
from slackwater.fitting.settings import NearRowsSettings, Settings
from slackwater.gram.features import Features
from slackwater.gram.ledger import EvaluationLedger
from slackwater.gram.near_rows import NearRows
from slackwater.kernels import Gaussian, Laplacian, as_points
from slackwater.kernels.base import Kernel
from slackwater.points.leaves import Leaves
from slackwater.workers import Workers

WHOLE_ROWS = Settings(near_rows=NearRowsSettings(min_examples=10**9))


def scattered(n: int, spread: float = 60.0) -> np.ndarray:
    return np.random.default_rng(0).uniform(0.0, spread, (n, 2)).astype(np.float32)


def features_of(X: np.ndarray, kernel: Kernel | None = None, cache_bytes: int = 2**24) -> Features:
    kernel, names = kernel or Gaussian(2.0), np.arange(len(X))
    return Features(kernel, as_points(X), EvaluationLedger(), Workers(), cache_bytes, 0, names)


def rows_of(X: np.ndarray, cache_bytes: int = 2**24) -> NearRows:
    return NearRows(features_of(X, cache_bytes=cache_bytes), Leaves(as_points(X)))


def exact(X: np.ndarray, indices: np.ndarray) -> np.ndarray:
    return np.exp(-2.0 * ((X[indices, None].astype(float) - X[None]) ** 2).sum(axis=2))


@pytest.mark.parametrize("n", [1, 2, 127, 129, 1500])
def test_rows_are_those_of_the_kernel_to_the_last_digit_of_single_precision(n: int) -> None:
    X = scattered(n)
    chosen = np.random.default_rng(1).permutation(n)[:40]
    rows = rows_of(X)
    np.testing.assert_allclose(rows.rows(chosen), exact(X, chosen), atol=2e-6)
    np.testing.assert_allclose(rows.rows(chosen, chosen), exact(X, chosen)[:, chosen], atol=2e-6)
    np.testing.assert_allclose(rows.square(chosen), exact(X, chosen)[:, chosen], atol=2e-6)
    np.testing.assert_array_equal(rows.diagonal(), 1.0)
    assert sum(len(row.columns) for row in rows.fetch(chosen).rows) < max(0.1 * len(chosen) * n, 200)


def test_blocks_agree_with_the_rows_they_stand_for() -> None:
    X = scattered(900, 10.0)
    rows, rng = rows_of(X), np.random.default_rng(0)
    chosen = np.append(rng.permutation(900)[:30], [7, 7])
    whole = np.asarray(rows.rows(chosen), dtype=np.float64)
    block = rows.fetch(chosen)
    np.testing.assert_array_equal(block.among(chosen), whole[:, chosen])
    labels = np.where(rng.random(900) < 0.5, 1, -1).astype(np.int8)
    responses, amounts = rng.standard_normal(900), rng.standard_normal(2)
    expected = responses + labels * (amounts @ whole[[4, 2]])
    block.part(np.array([4, 2])).add_to(responses, labels, amounts)
    np.testing.assert_allclose(responses, expected, atol=1e-12)


def test_a_row_is_charged_once_by_distances_begun_and_again_after_eviction() -> None:
    X = scattered(2000)
    rows = rows_of(X)
    rows.fetch([3, 5, 3])
    charged = rows.ledger.train
    assert 2 <= charged < 0.5 * 2 * 2000
    rows.fetch([5, 3])
    assert rows.ledger.train == charged
    small = rows_of(X, cache_bytes=1)
    small.fetch([3])
    small.fetch([5])
    small.fetch([3])
    assert small.ledger.train > charged
    assert len(small._rows) == 1


def test_kept_rows_stay_within_the_budget() -> None:
    X = scattered(3000, 20.0)
    rows = rows_of(X, cache_bytes=20_000)
    for index in range(200):
        rows.fetch([index])
        assert sum(row.columns.nbytes + row.values.nbytes for row in rows._rows.values()) == rows._bytes <= 20_000
    assert 1 < len(rows._rows) < 200


@pytest.mark.parametrize(
    ("features", "narrow"),
    [
        (features_of(scattered(9000)), True),
        (features_of(scattered(9000, 3.0)), False),
        (features_of(scattered(9000), Laplacian(9.0)), False),
        (features_of(scattered(9000).astype(np.float64)), False),
        (features_of(scattered(2000)), False),
        (features_of(scattered(9000), cache_bytes=0), False),
    ],
    ids=["narrow", "wide", "no cut-off", "double", "few", "whole rows are never asked for"],
)
def test_they_are_for_many_points_and_a_narrow_kernel(features: Features, narrow: bool) -> None:
    assert (near_rows(features, NearRowsSettings(), np.random.default_rng(0)) is not None) is narrow


@pytest.mark.parametrize(
    "settings",
    [NearRowsSettings(min_examples=9001), NearRowsSettings(max_share=0.0), NearRowsSettings(max_near=0.0)],
)
def test_each_limit_can_decline_them(settings: NearRowsSettings) -> None:
    assert near_rows(features_of(scattered(9000)), settings, np.random.default_rng(0)) is None


@pytest.mark.filterwarnings("ignore:training stopped")
@pytest.mark.parametrize(("nu", "bias"), [(0.05, False), (0.05, True)])
def test_sbp_makes_the_same_steps_as_on_whole_rows(nu: float, bias: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    X = scattered(9000)
    y = (np.sin(0.3 * X[:, 0]) + np.sin(0.3 * X[:, 1]) > 0).astype(int)
    model = SBPClassifier(nu=nu, gamma=2.0, fit_intercept=bias, max_iter=1500, tol=0.0)
    sparse = model.fit(X, y).decision_function(X)
    support, evaluations = model.support_, model.n_kernel_evals_
    monkeypatch.setattr(SBPClassifier, "_settings", WHOLE_ROWS)
    whole = model.fit(X, y).decision_function(X)
    np.testing.assert_array_equal(model.support_, support)
    np.testing.assert_allclose(sparse, whole, atol=1e-4 * np.abs(whole).max())
    assert evaluations < 0.3 * model.n_kernel_evals_


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:training stopped")
def test_with_hardly_any_slack_rounding_chooses_among_ties_and_the_margin_is_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    X = scattered(9000)
    y = (np.sin(0.3 * X[:, 0]) + np.sin(0.3 * X[:, 1]) > 0).astype(int)
    model = SBPClassifier(nu=1e-9, gamma=2.0, fit_intercept=True, max_iter=20_000, tol=0.0)
    sparse = model.fit(X, y).margin_
    assert sparse > 0.0
    monkeypatch.setattr(SBPClassifier, "_settings", WHOLE_ROWS)
    assert sparse == pytest.approx(model.fit(X, y).margin_, rel=0.05)
