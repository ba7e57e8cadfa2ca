"""Kernels that are not positive semi-definite: trained as LIBSVM trains them."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn import svm
from sklearn.datasets import load_breast_cancer, load_digits, make_classification
from sklearn.metrics.pairwise import polynomial_kernel, sigmoid_kernel
from sklearn.preprocessing import StandardScaler

from slackwater import SVC, SBPClassifier
from slackwater.errors import ConvergenceWarning, IndefiniteKernelError, IndefiniteKernelWarning
from slackwater.solvers.coupling import Balanced

pytestmark = pytest.mark.filterwarnings("ignore::slackwater.errors.IndefiniteKernelWarning")


def standardised(load):
    X, y = load(return_X_y=True)
    return StandardScaler().fit_transform(X), y


@pytest.fixture(scope="module")
def cancer():
    return standardised(load_breast_cancer)


def negative_distance(A, B):
    """-‖x - z‖: indefinite, but without negative curvature where Σ α_i y_i = 0, so that the optimum is unique."""
    return -np.sqrt(((A[:, None, :] - B[None, :, :]) ** 2).sum(axis=2))


@pytest.mark.parametrize(
    "settings",
    [
        {"C": 0.1},
        {"C": 1.0},
        {"C": 10.0},
        {"C": 1.0, "coef0": 1.0},
        {"C": 1.0, "coef0": -1.0},
        {"C": 1.0, "kernel": "poly", "coef0": -0.5},
    ],
)
def test_accuracy_is_that_of_libsvm(cancer, settings):
    X, y = cancer
    settings = {"kernel": "sigmoid"} | settings
    ours, theirs = SVC(**settings).fit(X[::2], y[::2]), svm.SVC(**settings).fit(X[::2], y[::2])
    assert abs(ours.score(X[1::2], y[1::2]) - theirs.score(X[1::2], y[1::2])) <= 0.005
    assert np.mean(ours.predict(X) == theirs.predict(X)) >= 0.99
    assert ours.stop_reason_ == "tol"
    assert np.isnan(ours.gap_)


def test_ten_classes_are_told_apart_as_by_libsvm():
    X, y = standardised(load_digits)
    ours = SVC(kernel="sigmoid", C=1.0, coef0=-1.0).fit(X[::2], y[::2])
    theirs = svm.SVC(kernel="sigmoid", C=1.0, coef0=-1.0).fit(X[::2], y[::2])
    assert np.mean(ours.predict(X) == theirs.predict(X)) >= 0.995
    assert abs(ours.score(X[1::2], y[1::2]) - theirs.score(X[1::2], y[1::2])) <= 0.005
    assert np.isnan(ours.gap_).all()


def test_several_blocks_end_where_libsvm_does():
    X, y = make_classification(2500, random_state=0)
    ours, theirs = SVC(kernel="sigmoid", coef0=-1.0).fit(X, y), svm.SVC(kernel="sigmoid", coef0=-1.0).fit(X, y)
    assert ours.n_iter_[0] > 1
    assert np.abs(ours.decision_function(X) - theirs.decision_function(X)).max() <= 0.02


@pytest.mark.parametrize("kernel", ["callable", "precomputed"])
def test_callables_and_matrices_have_the_decision_values_of_libsvm(cancer, kernel):
    X, y = cancer
    if kernel == "precomputed":
        X = negative_distance(X, X)
    chosen = negative_distance if kernel == "callable" else kernel
    with pytest.warns(IndefiniteKernelWarning, match="not positive semi-definite on this data") as caught:
        ours = SVC(kernel=chosen).fit(X, y)
    assert len(caught) == 1
    theirs = svm.SVC(kernel=chosen, tol=1e-5).fit(X, y)
    assert np.abs(ours.decision_function(X) - theirs.decision_function(X)).max() <= 0.01
    assert abs(ours.intercept_ - theirs.intercept_) <= 0.01


def test_the_model_satisfies_the_optimality_conditions(cancer):
    X, y = cancer
    model = SVC(kernel="sigmoid", coef0=1.0, tol=1e-4).fit(X, y)
    signed = np.zeros(len(y))
    signed[model.support_] = model.dual_coef_[0]
    labels = np.where(y == 1, 1.0, -1.0)
    alpha = labels * signed
    assert abs(signed.sum()) <= 1e-9
    assert alpha.min() >= 0.0
    assert alpha.max() <= 1.0
    margins = labels * model.decision_function(X)
    assert np.abs(margins[(alpha > 0) & (alpha < 1)] - 1).max() <= 1e-4
    assert margins[alpha == 0].min() >= 1 - 1e-4
    assert margins[alpha == 1].max() <= 1 + 1e-4
    assert model.history_["violation"][-1] <= 1e-4


def test_without_free_support_vectors_the_bias_is_in_the_middle():
    labels = np.array([1, -1, 1, -1], dtype=np.int8)
    upper, alpha = np.ones(4), np.array([0.0, 0.0, 1.0, 1.0])
    shortfall = np.array([-1.0, -2.0, 4.0, 3.0])
    # May rise: -1 of the first, -3 of the last. May fall: 2 of the second, 4 of the third.
    assert Balanced().bias(labels, upper, alpha, shortfall) == pytest.approx(0.5 * (-1.0 + 2.0))


def test_without_intercept_a_stationary_point_is_found(cancer):
    X, y = cancer
    model = SVC(kernel="sigmoid", fit_intercept=False).fit(X, y)
    assert model.score(X, y) > 0.9
    assert model.intercept_ == 0.0
    assert model.stop_reason_ == "tol"


def test_there_is_one_warning_and_it_says_that_no_gap_is_defined(cancer):
    with pytest.warns(IndefiniteKernelWarning, match=r"sigmoid kernel .* within tol .* gap_ is nan") as caught:
        SVC(kernel="sigmoid").fit(*cancer)
    assert len(caught) == 1


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (SVC(kernel="sigmoid", max_iter=1, tol=1e-9), "optimality conditions violated by"),
        (SBPClassifier(kernel="sigmoid", max_iter=50, tol=1e-9, nu=0.5), "before tol=1e-09 was met"),
    ],
)
def test_a_budget_that_runs_out_does_not_speak_of_a_gap(cancer, model, words):
    with pytest.warns(ConvergenceWarning, match=words) as caught:
        model.fit(*cancer)
    assert not [w for w in caught if "relative gap" in str(w.message)]


def test_a_kernel_of_either_sign_trains_warm_and_from_a_checkpoint(cancer, tmp_path):
    X, y = cancer
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = SVC(kernel="sigmoid", max_iter=1, warm_start=True).fit(X, y)
        model.set_params(max_iter=100).fit(X, y)
        stored = SVC(kernel="sigmoid", max_iter=1, checkpoint=tmp_path / "state").fit(X, y)
        stored.set_params(max_iter=100).fit(X, y)
    at_once = SVC(kernel="sigmoid").fit(X, y)
    for resumed in (model, stored):
        assert resumed.stop_reason_ == "tol"
        np.testing.assert_allclose(resumed.decision_function(X), at_once.decision_function(X), atol=0.01)


@pytest.mark.parametrize("shift", [0.0, -2.0])
def test_other_methods_refuse_indefinite_matrices_as_before(cancer, shift):
    X, y = cancer
    K = polynomial_kernel(X, coef0=-0.5) if shift == 0.0 else sigmoid_kernel(X, coef0=shift)
    with pytest.raises(IndefiniteKernelError, match="positive semi-definite"):
        SBPClassifier(kernel="precomputed").fit(K, y)
