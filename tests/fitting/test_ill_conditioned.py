"""Data on which steps on pairs do not converge: features that are raw, far from the origin, or of many scales."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn import svm
from sklearn.datasets import load_breast_cancer, load_digits, load_wine, make_blobs
from sklearn.metrics.pairwise import linear_kernel, polynomial_kernel

from slackwater import SVC
from slackwater.errors import ConvergenceWarning
from slackwater.fitting import working_set_dual
from slackwater.fitting.working_set_dual import WorkingSetDual
from slackwater.solvers import _dual_loops


def far(separable=False):
    """A hundred points a hundred deviations from the origin."""
    rng = np.random.default_rng(0)
    X = rng.normal(100, 1, (100, 2))
    return X, (X @ [1.0, 0.5] > 150.0).astype(int) if separable else rng.integers(2, size=100)


def many_scales(n=400):
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((n, 8))
    return Z * np.logspace(-3, 4, 8), (Z.sum(axis=1) + rng.standard_normal(n) > 0.0).astype(int)


def primal(model, X, y, K, C=1.0):
    """½ ‖w‖² + C Σ losses of a fit of two classes, from its coefficients."""
    beta, signs = np.zeros(len(y)), np.where(y == model.classes_[1], 1.0, -1.0)
    beta[model.support_] = model.dual_coef_[0]
    responses = K @ beta
    return 0.5 * beta @ responses + C * np.maximum(0.0, 1.0 - signs * (responses + model.intercept_[0])).sum()


@pytest.fixture
def steps(monkeypatch):
    """The steps on pairs of each part that is solved, by the examples in it."""
    found = []
    solve_part = WorkingSetDual._solve_part

    def watched(self, chosen, tolerance):
        made = solve_part(self, chosen, tolerance)
        found.append(made / len(chosen))
        return made

    monkeypatch.setattr(WorkingSetDual, "_solve_part", watched)
    return found


@pytest.mark.parametrize(
    ("make", "C"),
    [
        (many_scales, 1.0),
        (many_scales, 10.0),
        (lambda: load_breast_cancer(return_X_y=True), 1.0),
        (lambda: load_breast_cancer(return_X_y=True), 100.0),
    ],
    ids=["many scales", "many scales, C = 10", "breast cancer", "breast cancer, C = 100"],
)
def test_raw_features_are_solved_to_a_proven_gap_in_few_steps(make, C, steps):
    X, y = make()
    model = SVC(C=C, kernel="linear").fit(X, y)
    assert model.stop_reason_ == "tol"
    assert model.gap_ <= 1e-3
    assert sum(steps) <= 60  # an example; from zero to the optimum they would be thousands
    assert primal(model, X, y, linear_kernel(X), C) == pytest.approx(model.history_["objective"][-1], rel=1e-6)


def test_the_objective_is_not_above_that_of_libsvm():
    X, y = load_breast_cancer(return_X_y=True)
    K = linear_kernel(X)
    ours, theirs = SVC(kernel="linear").fit(X, y), svm.SVC(kernel="linear").fit(X, y)
    assert primal(ours, X, y, K) <= primal(theirs, X, y, K) * (1.0 + 1e-3)


def test_without_a_bias_raw_features_are_solved_as_well(steps):
    X, y = many_scales()
    model = SVC(kernel="linear", fit_intercept=False).fit(X, y)
    assert model.stop_reason_ == "tol"
    assert model.gap_ <= 1e-3
    assert sum(steps) <= 60


@pytest.mark.parametrize("degree", [2, 3, 5])
@pytest.mark.parametrize("coef0", [0.0, 1.0])
@pytest.mark.parametrize("gamma", ["scale", "auto", 1.0])
def test_separable_points_far_from_the_origin_are_separated(degree, coef0, gamma):
    X, y = far(separable=True)
    model = SVC(kernel="poly", degree=degree, coef0=coef0, gamma=gamma).fit(X, y)
    assert model.score(X, y) == 1.0
    assert model.stop_reason_ == "tol"


@pytest.mark.parametrize("degree", [2, 3, 5])
@pytest.mark.parametrize("coef0", [0.0, 1.0])
@pytest.mark.parametrize("gamma", ["scale", "auto", 1.0])
def test_random_labels_far_from_the_origin_cost_no_more_than_the_larger_class_everywhere(degree, coef0, gamma, steps):
    X, y = far()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = SVC(kernel="poly", degree=degree, coef0=coef0, gamma=gamma).fit(X, y)
    assert model.stop_reason_ in ("tol", "stalled")
    number = gamma if gamma == 1.0 else 1.0 / (2 * (X.var() if gamma == "scale" else 1.0))
    K = polynomial_kernel(X, degree=degree, coef0=coef0, gamma=number)
    constant = 2.0 * min((y == 0).sum(), (y == 1).sum())
    rounding = 0.1 if degree == 5 else 0.01  # of values of 1e20, which are not the same here and there
    assert primal(model, X, y, K) <= constant * (1.0 + rounding)
    assert model.score(X, y) >= max((y == 0).mean(), (y == 1).mean()) - max(0.02, rounding)
    assert sum(steps) <= 500


def test_a_violation_that_rounding_leaves_is_named():
    """Kernel values of 1e9 times dual variables of 100: responses are right to about 1e-3."""
    X, y = many_scales()
    with pytest.warns(ConvergenceWarning, match=r"stalled.*optimality conditions violated"):
        model = SVC(C=100.0, kernel="linear").fit(X, y)
    assert model.gap_ <= 1e-4
    assert model.history_["violation"][-1] <= 1e-2


@pytest.mark.parametrize(("kernel", "degree"), [("linear", 3), ("poly", 4)])
def test_data_in_single_precision_have_kernel_values_in_double_where_those_are_large(kernel, degree):
    """Values of 1e7 in single precision are off by one, as much as a margin."""
    X, y = load_breast_cancer(return_X_y=True)
    X = X.astype(np.float32)
    found, best = (SVC(kernel=kernel, degree=degree, gamma=1e-6).fit(given, y) for given in (X, X.astype(np.float64)))
    assert found.stop_reason_ == "tol"
    np.testing.assert_allclose(found.decision_function(X), best.decision_function(X.astype(np.float64)), atol=1e-2)


def test_where_rounding_ends_a_fit_it_says_so():
    X, y = far()
    with pytest.warns(ConvergenceWarning, match=r"stalled.*at the relative gap"):
        model = SVC(kernel="poly", degree=5).fit(X, y)
    assert model.stop_reason_ == "stalled"
    assert model.gap_ > 1e-3


@pytest.mark.parametrize("degree", [4, 5, 6])
def test_dual_variables_may_be_tiny_beside_their_bounds(degree):
    """Kernel values of 1e20 and more have dual variables of 1e-20, and C = 1."""
    X, y = load_wine(return_X_y=True)
    model = SVC(kernel="poly", degree=degree, gamma="auto").fit(X[y < 2], y[y < 2])
    assert model.stop_reason_ == "tol"
    assert model.score(X[y < 2], y[y < 2]) == 1.0
    assert 0.0 < np.abs(model.dual_coef_).max() < 1e-13


@pytest.mark.parametrize("scale", [1e-12, 1e-6, 1.0, 1e6, 1e12])
def test_kernel_and_c_may_be_scaled_against_each_other(scale):
    """K times s and C divided by s: the same function."""
    X, y = many_scales(200)
    X = X / X.std(axis=0)
    base = SVC(kernel="linear").fit(X, y).decision_function(X)
    found = SVC(C=1.0 / scale, kernel="linear").fit(np.sqrt(scale) * X, y).decision_function(np.sqrt(scale) * X)
    np.testing.assert_allclose(found, base, atol=5e-3)


@pytest.mark.parametrize("kernel", ["linear", "poly"])
def test_pairs_of_classes_of_raw_features_are_those_of_libsvm(kernel):
    X, y = load_wine(return_X_y=True)
    ours, theirs = SVC(kernel=kernel).fit(X, y), svm.SVC(kernel=kernel, tol=1e-5).fit(X, y)
    assert ours.stop_reason_ == "tol"
    assert np.mean(ours.predict(X) == theirs.predict(X)) >= 0.99


@pytest.mark.parametrize("C", [1.0, 100.0])
def test_one_against_the_rest_on_raw_pixels_takes_few_steps(C, steps):
    X, y = load_digits(return_X_y=True)
    X, y = X[:600], y[:600]
    model = SVC(C=C, kernel="linear", multi_class="ovr").fit(X, y)
    assert model.stop_reason_ == "tol"
    assert sum(steps) <= 40 * 10
    assert model.n_kernel_evals_ == 600**2
    K = linear_kernel(X)
    for k in range(10):
        beta = np.zeros(600)
        beta[model.support_] = model.dual_coef_[k]
        signs, responses = np.where(y == k, 1.0, -1.0), K @ beta
        ours = 0.5 * beta @ responses + C * np.maximum(0.0, 1.0 - signs * (responses + model.intercept_[k])).sum()
        best = svm.SVC(C=C, kernel="linear").fit(X, signs)
        assert ours <= primal(best, X, signs, K, C) * 1.01 + 1e-3 * C


def test_one_against_the_rest_of_blobs_has_the_objectives_of_libsvm():
    X, y = make_blobs(400, centers=10, random_state=0)
    model, K = SVC(kernel="linear", multi_class="ovr").fit(X, y), linear_kernel(X)
    for k in range(10):
        beta = np.zeros(400)
        beta[model.support_] = model.dual_coef_[k]
        signs, responses = np.where(y == k, 1.0, -1.0), K @ beta
        ours = 0.5 * beta @ responses + np.maximum(0.0, 1.0 - signs * (responses + model.intercept_[k])).sum()
        best = svm.SVC(kernel="linear").fit(X, signs)
        assert ours <= primal(best, X, signs, K) * 1.001 + 1e-3


def test_gaussian_kernels_do_without_the_interior_point_method(monkeypatch):
    def never(self, factor):
        raise AssertionError("steps on pairs are enough")

    monkeypatch.setattr(WorkingSetDual, "_jump", never)
    X, y = many_scales(1500)
    X = X / X.std(axis=0)
    for C in (1.0, 100.0):
        assert SVC(C=C).fit(X, y).stop_reason_ == "tol"


def test_time_that_is_up_ends_steps_on_pairs(monkeypatch):
    monkeypatch.setattr(working_set_dual, "_PATIENCE", 10**9)
    X, y = many_scales()
    with pytest.warns(ConvergenceWarning, match="max_time"):
        model = SVC(kernel="linear", max_time=1e-9).fit(X, y)
    assert model.stop_reason_ == "max_time"
    assert _dual_loops.LEAST < np.abs(model.dual_coef_).max() <= 1.0
