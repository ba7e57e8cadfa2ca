"""The dual of a linear kernel by an interior-point method on the features, against other programs and the optimum."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linprog
from sklearn import svm
from sklearn.multiclass import OneVsRestClassifier

from slackwater import SVC
from slackwater.errors import ConvergenceWarning
from slackwater.fitting.strategies.low_rank import exactly_balanced
from slackwater.points import as_points
from slackwater.points.centred import CentredPoints
from slackwater.solvers import crossover
from slackwater.workers import Workers


def problem(n=4000, d=6, noise=0.5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, (X.sum(axis=1) + noise * np.sqrt(d) * rng.standard_normal(n) > 0.3).astype(int)


def scales(n=4000):
    X, y = problem(n, 8)
    return X * np.logspace(-3, 4, 8), y


def primal(model, X, y, C=1.0, weights=None):
    """½ ‖w‖² + C Σ losses, from the weights that the model shows."""
    signs = np.where(y == model.classes_[1], 1.0, -1.0)
    values = np.asarray(X @ model.coef_[0]) + model.intercept_[0]
    losses = np.maximum(0.0, 1.0 - signs * values)
    return 0.5 * model.coef_[0] @ model.coef_[0] + C * (losses.sum() if weights is None else weights @ losses)


def decided(model):
    return {(each.measured, each.outcome) for each in model.decisions_.of("low_rank")}


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_objective_is_that_of_scikit_learn(C, weighted):
    X, y = problem()
    weights = np.random.default_rng(1).uniform(0.1, 3.0, len(y)) if weighted else None
    ours = SVC(C=C, kernel="linear").fit(X, y, weights)
    theirs = svm.SVC(C=C, kernel="linear", tol=1e-5).fit(X, y, weights)
    assert (ours.strategy_, ours.stop_reason_, ours.certified_, ours.n_kernel_evals_) == ("low_rank", "tol", True, 0)
    assert decided(ours) == {("examples", "taken"), ("features", "taken"), ("relative gap", "taken")}
    best = primal(theirs, X, y, C, weights)
    assert primal(ours, X, y, C, weights) <= best * (1.0 + 1e-9)
    assert primal(ours, X, y, C, weights) == pytest.approx(best, rel=1e-4)
    assert ours.history_["objective"][-1] == pytest.approx(primal(ours, X, y, C, weights), rel=1e-9)
    assert (np.abs(ours.dual_coef_) <= C * (1.0 if weights is None else weights[ours.support_]) + 1e-9).all()
    assert abs(ours.dual_coef_.sum()) <= 1e-12 * np.abs(ours.dual_coef_).sum()


def test_without_a_bias_the_objective_is_that_of_liblinear():
    X, y = problem()
    ours = SVC(kernel="linear", fit_intercept=False).fit(X, y)
    theirs = svm.LinearSVC(loss="hinge", fit_intercept=False, tol=1e-8, max_iter=200_000).fit(X, y)
    assert (ours.strategy_, ours.intercept_[0]) == ("low_rank", 0.0)
    values = np.maximum(0.0, 1.0 - np.where(y == 1, 1.0, -1.0) * (X @ theirs.coef_[0])).sum()
    assert primal(ours, X, y) == pytest.approx(0.5 * theirs.coef_[0] @ theirs.coef_[0] + values, rel=1e-6)


@pytest.mark.parametrize("C", [1.0, 1000.0])
def test_features_of_very_different_scales_are_solved_to_a_proven_gap(C):
    X, y = scales()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # with C = 1000, of the last digits of single margins
        model = SVC(C=C, kernel="linear").fit(X, y)
    assert model.certified_
    assert model.gap_ <= 1e-4
    signs = np.where(y == 1, 1.0, -1.0)
    A = np.hstack([-signs[:, None] * X / X.std(axis=0), -signs[:, None]])
    A = sparse.hstack([sparse.csr_matrix(A), -sparse.eye(len(y))]).tocsr()
    free, cost = [(None, None)] * 9, np.r_[np.zeros(9), np.ones(len(y))]
    least = linprog(cost, A, -np.ones(len(y)), bounds=[*free, *[(0, None)] * len(y)]).fun
    assert C * least <= primal(model, X, y, C) <= model.history_["bound"][-1] * (1.0 + 1e-4)


@pytest.mark.parametrize("make", [sparse.csr_matrix, lambda X: X.astype(np.float32)], ids=["sparse", "single"])
def test_the_model_does_not_depend_on_the_container(make):
    X, y = problem()
    X = X.astype(np.float32).astype(np.float64)
    dense, other = (SVC(kernel="linear").fit(each, y) for each in (X, make(X)))
    assert other.strategy_ == "low_rank"
    np.testing.assert_array_equal(dense.support_, other.support_)
    np.testing.assert_allclose(other.decision_function(make(X)), dense.decision_function(X), atol=1e-7)


def test_threads_change_nothing():
    X, y = problem(30_000, 20)
    one, two = (SVC(kernel="linear", n_jobs=n_jobs).fit(X, y) for n_jobs in (1, 2))
    np.testing.assert_array_equal(one.dual_coef_, two.dual_coef_)
    np.testing.assert_array_equal(one.decision_function(X), two.decision_function(X))


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_several_classes_have_the_labels_of_scikit_learn(multi_class):
    rng = np.random.default_rng(0)
    centres = rng.standard_normal((3, 5))
    y = rng.integers(3, size=9000)
    X = 1.2 * centres[y] + rng.standard_normal((9000, 5))
    ours = SVC(kernel="linear", multi_class=multi_class).fit(X, y)
    theirs = svm.SVC(kernel="linear", tol=1e-5).fit(X, y)
    assert ours.strategy_ == "low_rank"
    assert (np.asarray(ours.gap_) <= 1e-4).all()
    if multi_class == "ovr":
        theirs = OneVsRestClassifier(theirs).fit(X, y)
    assert (ours.predict(X) == theirs.predict(X)).mean() >= 0.9995
    coefficients = [each.coef_[0] for each in theirs.estimators_] if multi_class == "ovr" else theirs.coef_
    np.testing.assert_allclose(ours.coef_, coefficients, atol=2e-3)


def test_classes_that_a_plane_separates_have_no_loss():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((5000, 4))
    X = X[np.abs(X[:, 0]) > 0.2]
    model = SVC(C=1e4, kernel="linear").fit(X, X[:, 0] > 0)
    assert model.score(X, X[:, 0] > 0) == 1.0
    assert model.gap_ <= 1e-4
    assert len(model.support_) < 20


def test_rare_examples_of_one_class_are_found():
    X, _ = problem()
    y = np.zeros(len(X), dtype=int)
    y[:7] = 1
    X[:7] += 4.0
    ours, theirs = SVC(kernel="linear").fit(X, y), svm.SVC(kernel="linear", tol=1e-6).fit(X, y)
    assert primal(ours, X, y) == pytest.approx(primal(theirs, X, y), rel=1e-5)


def test_examples_that_are_all_the_same_are_the_larger_class():
    X, y = np.ones((4000, 3)), np.arange(4000) % 3 == 0
    model = SVC(kernel="linear", strategy="low_rank").fit(X, y)
    assert not model.predict(X).any()


def test_it_is_refused_where_the_kernel_is_no_inner_product():
    X, y = problem(200)
    with pytest.raises(ValueError, match="strategy='low_rank' cannot serve this fit: its kernel is no inner product"):
        SVC(strategy="low_rank").fit(X, y)


@pytest.mark.parametrize(("n", "d"), [(300, 6), (4000, 200)])
def test_few_examples_and_many_features_are_left_to_others_unless_it_is_forced(n, d):
    X, y = problem(n, d)
    assert SVC(kernel="linear").fit(X, y).strategy_ != "low_rank"
    forced, exact = SVC(kernel="linear", strategy="low_rank").fit(X, y), SVC(kernel="linear", tol=1e-6).fit(X, y)
    assert "forced" in {outcome for _, outcome in decided(forced)}
    assert primal(forced, X, y) == pytest.approx(primal(exact, X, y), rel=1e-5)


def test_a_stated_gap_is_proven():
    X, y = problem()
    model = SVC(kernel="linear", tol=1e-7).fit(X, y)
    assert (model.strategy_, model.stop_reason_) == ("low_rank", "tol")
    assert model.gap_ <= 1e-7


def test_few_iterations_leave_a_model_and_say_so():
    X, y = problem(noise=0.1)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        model = SVC(kernel="linear", max_iter=9).fit(X, y)
    assert (model.stop_reason_, model.n_iter_.tolist()) == ("max_iter", [9])
    assert model.score(X, y) > 0.9
    assert primal(model, X, y) == pytest.approx(model.history_["objective"][-1], rel=1e-9)
    best = SVC(kernel="linear").fit(X, y).history_["bound"][-1]
    assert model.history_["bound"][-1] <= best * (1.0 + 1e-9)


def test_early_stopping_judges_the_model_by_the_rows_held_out():
    X, y = problem(5000)
    given = {"X_val": X[4000:], "y_val": y[4000:]}
    model = SVC(kernel="linear", early_stopping=True, random_state=0).fit(X[:4000], y[:4000], **given)
    assert model.strategy_ == "low_rank"
    assert model.history_["holdout_error"][-1] == pytest.approx(np.mean(model.predict(X[4000:]) != y[4000:]))


def test_a_checkpoint_gives_the_same_model_without_solving_again(tmp_path, monkeypatch):
    X, y = problem()
    first = SVC(kernel="linear", checkpoint=tmp_path / "run.npz").fit(X, y)
    monkeypatch.setattr(crossover, "solve_interior", lambda *arguments: pytest.fail("solved again"))
    again = SVC(kernel="linear", checkpoint=tmp_path / "run.npz").fit(X, y)
    assert again.strategy_ == "low_rank"
    np.testing.assert_array_equal(first.dual_coef_, again.dual_coef_)
    np.testing.assert_array_equal(first.intercept_, again.intercept_)


def test_balanced_coefficients_sum_to_zero_and_leave_the_weights_as_they_were():
    rng = np.random.default_rng(0)
    X, upper = rng.standard_normal((500, 3)) + 1000.0, np.full(500, 10.0)
    coefficients = rng.uniform(-9.0, 9.0, 500)
    coefficients -= coefficients.mean() + 1e-9
    rows = CentredPoints(as_points(X), Workers(), True)
    found = exactly_balanced(rows, coefficients, upper)
    assert abs(math.fsum(found)) <= 1e-11
    np.testing.assert_allclose(rows.transposed_times(found), rows.transposed_times(coefficients), atol=1e-10)
    assert (np.abs(found) <= upper).all()
