"""Sparse rows of a narrow kernel lead to the optimum of the kernel itself, small values and all."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import svm

from slackwater import SVC
from slackwater.errors import ConvergenceWarning
from slackwater.fitting.strategies.sparse_kernel import SparseKernelTraining
from slackwater.gram import narrow

N = 8500
SETTINGS = {"C": 50.0, "gamma": 0.3}


def board(n=N, seed=0, noise=0.0):
    """A chess board in three dimensions, of which one does not tell."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 60, (n, 3)).astype(np.float32)
    y = ((np.floor(X[:, 0] / 8) + np.floor(X[:, 1] / 8)) % 2).astype(int)
    wrong = rng.random(n) < noise
    return X, np.where(wrong, 1 - y, y)


def true_gap(model, X, y, C):
    """Primal and dual value from the coefficients and the whole kernel matrix, in double precision."""
    signs = np.where(y == model.classes_[1], 1.0, -1.0)
    support, coefficients = model.support_, model.scale_[0] * model.dual_coef_[0]
    distances = ((X[:, None, :].astype(float) - X[support][None].astype(float)) ** 2).sum(axis=2)
    values = np.exp(-model.gamma * distances) @ coefficients
    squared = coefficients @ values[support]
    primal = 0.5 * squared + C * np.maximum(0.0, 1.0 - signs * (values + model.scale_ * model.intercept_)).sum()
    alpha = np.abs(coefficients)
    multiple = min(C / alpha.max(), alpha.sum() / squared)
    return (primal - multiple * alpha.sum() + 0.5 * multiple**2 * squared) / primal


@pytest.fixture
def on_narrow_rows(monkeypatch):
    """How often responses were computed anew."""
    corrections = []
    correct = SparseKernelTraining._correct

    def counted(self, tasks):
        corrections.append(len(tasks))
        correct(self, tasks)

    monkeypatch.setattr(SparseKernelTraining, "_correct", counted)
    return corrections


@pytest.mark.parametrize("noise", [0.0, 0.1])
@pytest.mark.parametrize("negligible", [1e-4, 1e-2])
def test_a_stated_tolerance_holds_for_the_kernel_itself(monkeypatch, on_narrow_rows, noise, negligible):
    monkeypatch.setattr(narrow, "NEGLIGIBLE", negligible)
    X, y = board(noise=noise)
    model = SVC(tol=1e-3, random_state=0, **SETTINGS).fit(X, y)
    assert on_narrow_rows
    assert model.stop_reason_ == "tol"
    assert model.gap_ <= 1e-3
    assert model.gap_ == model.history_["gap"][-1]
    assert true_gap(model, X, y, SETTINGS["C"]) == pytest.approx(model.gap_, abs=2e-4)


def test_decision_values_are_those_of_libsvm(on_narrow_rows):
    X, y = board(noise=0.05)
    ours = SVC(tol=1e-4, random_state=0, **SETTINGS).fit(X, y)
    theirs = svm.SVC(tol=1e-4, **SETTINGS).fit(X, y)
    assert on_narrow_rows
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=0.02)


def test_several_classes_are_corrected_together(on_narrow_rows):
    X, y = board()
    y = y + 2 * (X[:, 2] > 30)
    model = SVC(tol=1e-3, random_state=0, multi_class="ovr", **SETTINGS).fit(X, y)
    assert set(on_narrow_rows) == {4}
    assert (model.gap_ <= 1e-3).all()


@pytest.mark.parametrize("negligible", [0.03, 0.1])  # the second needs whole rows in the end
def test_without_a_tolerance_values_left_out_are_made_up_for_where_they_tell(monkeypatch, on_narrow_rows, negligible):
    X, y = board(noise=0.05)
    SVC(random_state=0, **SETTINGS).fit(X, y)
    assert on_narrow_rows == []
    monkeypatch.setattr(narrow, "NEGLIGIBLE", negligible)
    model = SVC(random_state=0, **SETTINGS).fit(X, y)
    assert on_narrow_rows
    assert true_gap(model, X, y, SETTINGS["C"]) <= 0.08


def test_what_narrow_rows_cannot_reach_whole_rows_do(monkeypatch, on_narrow_rows):
    """With large values left out the rounds do not come to an end by themselves."""
    monkeypatch.setattr(SparseKernelTraining, "_is_within", lambda self, task, tol: False)
    X, y = board()
    model = SVC(tol=1e-3, random_state=0, **SETTINGS).fit(X, y)
    assert len(on_narrow_rows) > 1
    assert model.stop_reason_ == "tol"
    assert true_gap(model, X, y, SETTINGS["C"]) <= 1.1e-3


def test_a_limit_ends_it_with_a_model_that_knows_how_good_it_is(on_narrow_rows):
    X, y = board()
    with pytest.warns(ConvergenceWarning):
        model = SVC(tol=1e-3, max_iter=20, random_state=0, **SETTINGS).fit(X, y)
    assert model.stop_reason_ == "max_iter"
    assert model.n_iter_ == 20
    assert true_gap(model, X, y, SETTINGS["C"]) == pytest.approx(model.gap_, rel=0.02)
