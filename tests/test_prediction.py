"""A model's support is prepared for predictions once, whoever predicts, and never changes a value."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone

from slackwater import SVC, SBPClassifier
from slackwater.kernels import Gaussian, as_points
from slackwater.points.leaves import Leaves
from slackwater.prediction import PreparedSupport, decision_values
from slackwater.workers import Workers


def pixels(n: int, d: int = 40) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = (rng.integers(0, 256, (n, d)) / 255).astype(np.float32)
    return X, (X[:, :20].sum(axis=1) > X[:, 20:].sum(axis=1)).astype(int)


def calls_of(monkeypatch: pytest.MonkeyPatch, owner: type, name: str) -> list[str]:
    """Grows with each call of a method."""
    calls: list[str] = []
    original: Callable[..., object] = getattr(owner, name)

    def watched(*arguments: object) -> object:
        calls.append(name)
        return original(*arguments)

    monkeypatch.setattr(owner, name, watched)
    return calls


def test_the_support_is_prepared_once_for_many_predictions(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = pixels(900)
    model = SVC(gamma=0.1).fit(X, y)
    prepared = calls_of(monkeypatch, PreparedSupport, "_prepare")
    placed = calls_of(monkeypatch, Gaussian, "on_grid")
    values = model.decision_function(X)
    one_by_one = [model.decision_function(X[i : i + 1])[0] for i in range(20)]
    np.testing.assert_allclose(one_by_one, values[:20], atol=3e-5)  # single precision
    assert prepared == ["_prepare"]
    assert placed == ["on_grid"]


def test_leaves_of_a_narrow_model_are_sorted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    support = as_points(np.random.default_rng(0).uniform(0.0, 60.0, (5000, 2)))
    points = as_points(np.random.default_rng(1).uniform(0.0, 60.0, (700, 2)))
    coefficients, biases = np.random.default_rng(2).standard_normal((1, 5000)), np.ones(1)
    built = calls_of(monkeypatch, Leaves, "__init__")
    prepared = PreparedSupport(Gaussian(4.0), support)
    first, second = (prepared.decision_values(points, coefficients, biases, Workers()) for _ in range(2))
    assert built == ["__init__"]
    np.testing.assert_array_equal(first, second)


def test_points_that_are_off_the_grid_of_the_support_are_predicted_as_well() -> None:
    X, _ = pixels(700)
    others = X[:300] + np.float32(0.3)
    others[::2] = 3.0  # beyond the 256 codes
    coefficients, biases = np.random.default_rng(0).standard_normal((2, 700)), np.zeros(2)
    prepared = PreparedSupport(Gaussian(0.1), X)
    found = prepared.decision_values(as_points(others), coefficients, biases, Workers())
    double = as_points(X.astype(np.float64))
    exact = decision_values(
        Gaussian(0.1), as_points(others.astype(np.float64)), double, coefficients, biases, Workers()
    )
    np.testing.assert_allclose(found, exact, atol=1e-4)


def test_threads_predict_with_one_model_at_once() -> None:
    X, y = pixels(900)
    model = SVC(gamma=0.1, n_jobs=1).fit(X, y)
    alone = pickle.loads(pickle.dumps(model)).decision_function(X)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: model.decision_function(X), range(32)))
    for values in found:
        np.testing.assert_array_equal(values, alone)


@pytest.mark.parametrize("make", [np.asarray, scipy.sparse.csr_array], ids=["dense", "sparse"])
def test_a_pickle_is_as_small_after_predictions_as_before_and_predicts_the_same(make: Callable[..., object]) -> None:
    X, y = pixels(900)
    model = SVC(gamma=0.1).fit(make(X), y)
    before = len(pickle.dumps(model))
    values = model.decision_function(make(X))
    stored = pickle.dumps(model)
    assert len(stored) == before
    np.testing.assert_array_equal(pickle.loads(stored).decision_function(make(X)), values)


def test_other_support_vectors_are_prepared_again_and_other_coefficients_count_at_once() -> None:
    X, y = pixels(900)
    model = SBPClassifier(nu=0.1, gamma=0.1, max_iter=300, tol=0.9).fit(X, y)
    values = model.decision_function(X)
    model.dual_coef_ *= 2.0
    np.testing.assert_allclose(model.decision_function(X), 2.0 * values, atol=1e-5)
    model.support_vectors_ = model.support_vectors_[::-1].copy()
    model.dual_coef_ = model.dual_coef_[:, ::-1].copy()
    np.testing.assert_allclose(model.decision_function(X), 2.0 * values, atol=1e-5)


def test_a_clone_and_a_refitted_model_start_afresh() -> None:
    X, y = pixels(900)
    model = SVC(gamma=0.1).fit(X[:450], y[:450])
    first = model.decision_function(X)
    again = clone(model).fit(X[:450], y[:450])
    np.testing.assert_array_equal(again.decision_function(X), first)
    model.fit(X[450:], y[450:])
    assert np.abs(model.decision_function(X) - first).max() > 0.01
