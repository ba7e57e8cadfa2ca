"""SVC against scikit-learn's."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn import svm
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris, make_classification, make_moons
from sklearn.metrics import brier_score_loss
from sklearn.metrics.pairwise import rbf_kernel

from slackwater import SVC, SBPClassifier
from slackwater.errors import ConvergenceWarning


@pytest.fixture(scope="module")
def moons():
    return make_moons(400, noise=0.25, random_state=0)


def objective(model, X, y, C, weights=1.0):
    """½‖w‖² + C Σ ω hinge, from a fitted model's own values."""
    K = rbf_kernel(model.support_vectors_, gamma=model.gamma)
    signs = np.where(y == model.classes_[1], 1, -1)
    loss = (weights * np.maximum(0, 1 - signs * model.decision_function(X))).sum()
    scale = getattr(model, "scale_", np.ones(1))[0]  # scikit-learn's model has none
    return 0.5 * scale**2 * float((model.dual_coef_ @ K @ model.dual_coef_.T).item()) + C * loss


@pytest.mark.parametrize("C", [0.05, 1.0, 100.0])
@pytest.mark.parametrize("gamma", [0.3, 3.0])
def test_decision_values_and_objective_are_those_of_libsvm(moons, C, gamma):
    X, y = moons
    theirs = svm.SVC(C=C, gamma=gamma, tol=1e-6).fit(X, y)
    for seed in range(5):
        ours = SVC(C=C, gamma=gamma, tol=1e-4, random_state=seed).fit(X, y)
        assert ours.gap_ <= 1e-4
        assert objective(ours, X, y, C) <= objective(theirs, X, y, C) * (1 + 2e-4)
        assert np.abs(ours.decision_function(X) - theirs.decision_function(X)).max() <= 0.02
        assert abs(ours.dual_coef_.sum()) <= 1e-8 * np.abs(ours.dual_coef_).sum()
        assert np.abs(ours.dual_coef_).max() <= C


@pytest.mark.parametrize("flip", [0.0, 0.2])
def test_decision_values_are_those_of_libsvm_on_five_thousand_rows(flip):
    X, y = make_classification(5000, 20, n_informative=8, flip_y=flip, random_state=1)
    ours = SVC(C=1.0, gamma=0.05, tol=1e-4).fit(X, y)
    theirs = svm.SVC(C=1.0, gamma=0.05, tol=1e-5).fit(X, y)
    assert np.abs(ours.decision_function(X) - theirs.decision_function(X)).max() <= 0.02


def test_without_intercept_the_gap_is_certified_by_an_independent_dual_value(moons):
    X, y = moons
    model = SVC(C=2.0, gamma=1.0, tol=1e-5, fit_intercept=False).fit(X, y)
    K, signs = rbf_kernel(X, gamma=1.0), np.where(y == 1, 1.0, -1.0)
    alpha = np.zeros(len(y))
    alpha[model.support_] = model.dual_coef_[0] * signs[model.support_]
    alpha *= 2.0 / alpha.max()  # the model is the best multiple of a dual point, in which some are at the bound
    dual = alpha.sum() - 0.5 * (alpha * signs) @ K @ (alpha * signs)
    primal = objective(model, X, y, 2.0)
    assert model.intercept_ == 0.0
    assert dual <= primal
    assert (primal - dual) / primal == pytest.approx(model.gap_, abs=1e-8)


def test_weights_scale_the_upper_bounds(moons):
    X, y = moons
    weights = np.random.default_rng(0).uniform(0.1, 3.0, len(y))
    ours = SVC(C=1.0, gamma=1.0, tol=1e-5, class_weight={0: 2.0}).fit(X, y, sample_weight=weights)
    theirs = svm.SVC(C=1.0, gamma=1.0, tol=1e-7, class_weight={0: 2.0}).fit(X, y, sample_weight=weights)
    assert np.abs(ours.decision_function(X) - theirs.decision_function(X)).max() <= 0.02


def test_an_integer_weight_is_the_same_as_repetition(moons):
    X, y = moons
    weights = np.random.default_rng(0).integers(0, 4, len(y))
    weighted = SVC(gamma=1.0, tol=1e-6).fit(X, y, sample_weight=weights)
    repeated = SVC(gamma=1.0, tol=1e-6).fit(X.repeat(weights, axis=0), y.repeat(weights))
    # One problem; two runs whose rounding differs, each within the gap of its only optimum.
    np.testing.assert_allclose(weighted.decision_function(X), repeated.decision_function(X), atol=1e-3)


def test_classes_against_the_rest_share_rows_and_equal_separate_fits():
    X, y = load_iris(return_X_y=True)
    model = SVC(C=1.0, gamma=0.5, tol=1e-6, multi_class="ovr").fit(X, y)
    separate = [SVC(C=1.0, gamma=0.5, tol=1e-6).fit(X, y == k) for k in range(3)]
    for k in range(3):
        np.testing.assert_allclose(model.decision_function(X)[:, k], separate[k].decision_function(X), atol=2e-3)
    assert model.n_kernel_evals_ < sum(each.n_kernel_evals_ for each in separate)
    assert model.gap_.max() <= 1e-6


def test_slack_nu_hands_the_problem_over_to_the_paper_s_form(moons):
    X, y = moons
    svc = SVC(C=1.0, gamma=1.0, tol=1e-5, fit_intercept=False).fit(X, y)
    with pytest.warns(ConvergenceWarning):
        sbp = SBPClassifier(svc.slack_nu_, gamma=1.0, max_iter=30_000, tol=0.0, random_state=0).fit(X, y)
    assert sbp.margin_ == pytest.approx(svc.margin_, rel=0.02)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly", "laplacian"])
def test_every_kernel_and_container_reaches_the_gap(container, dtype, kernel):
    X, y = make_classification(300, 6, random_state=3)
    model = SVC(C=0.5, kernel=kernel, gamma=0.1, coef0=1.0, tol=1e-3).fit(container(X.astype(dtype)), y)
    assert model.stop_reason_ == "tol"
    assert model.gap_ <= 1e-3


def test_precomputed_and_callable_kernels_equal_the_built_in_one(moons):
    X, y = moons
    K = rbf_kernel(X, gamma=1.0)
    built_in = SVC(gamma=1.0, tol=1e-6).fit(X, y).decision_function(X)
    np.testing.assert_allclose(SVC(kernel="precomputed", tol=1e-6).fit(K, y).decision_function(K), built_in, atol=1e-3)
    own = SVC(kernel=lambda A, B: rbf_kernel(A, B, gamma=1.0), tol=1e-6).fit(X, y)
    np.testing.assert_allclose(own.decision_function(X), built_in, atol=1e-3)


def test_another_c_is_reached_from_the_last_one_with_fewer_steps():
    X, y = make_moons(3300, noise=0.3, random_state=0)
    model = SVC(C=100.0, gamma=2.0, tol=1e-4, warm_start=True).fit(X, y)
    first = model.n_iter_
    model.set_params(C=120.0).fit(X, y)
    fresh = SVC(C=120.0, gamma=2.0, tol=1e-4, warm_start=True).fit(X, y)
    assert 0 < model.n_iter_ - first < 0.7 * fresh.n_iter_
    assert np.abs(model.decision_function(X) - fresh.decision_function(X)).max() < 0.1
    assert objective(model, X, y, 120.0) == pytest.approx(objective(fresh, X, y, 120.0), rel=2e-4)


@pytest.mark.parametrize("rows", [2, 5, 40])
def test_evaluation_budget_is_never_exceeded(moons, rows):
    X, y = moons
    with pytest.warns(ConvergenceWarning, match="raise max_kernel_evals"):
        model = SVC(C=100.0, gamma=1.0, tol=0.0, max_kernel_evals=rows * len(y) + 4, random_state=0).fit(X, y)
    assert model.n_kernel_evals_ <= rows * len(y) + 4
    assert model.n_iter_ >= 1
    assert model.score(X, y) > 0.7


def test_a_budget_that_does_not_allow_for_one_step_is_refused(moons):
    X, y = moons
    with pytest.raises(ValueError, match=f"max_kernel_evals must allow for one step, {2 * len(y) + 4} evaluations"):
        SVC(tol=0.0, max_kernel_evals=2 * len(y) + 3).fit(X, y)


def test_a_checkpoint_resumes_to_the_identical_model(moons, tmp_path):
    X, y = make_classification(3000, 10, flip_y=0.2, random_state=0)
    K = rbf_kernel(X, gamma=0.1)
    settings = {"C": 10.0, "kernel": "precomputed", "tol": 1e-4, "random_state": 0}
    whole = SVC(**settings).fit(K, y)
    with pytest.warns(ConvergenceWarning):
        SVC(max_iter=3, checkpoint=tmp_path / "c", **settings).fit(K, y)
    resumed = SVC(checkpoint=tmp_path / "c", **settings).fit(K, y)
    assert whole.n_iter_ == resumed.n_iter_ > 3
    np.testing.assert_array_equal(resumed.dual_coef_, whole.dual_coef_)


def test_a_bad_c_is_named(moons):
    for C in (0.0, -1.0, np.nan, -np.inf, "1"):
        with pytest.raises(ValueError, match="C must be a number > 0, or inf"):
            SVC(C=C).fit(*moons)


@pytest.mark.parametrize("parameters", [{"shrinking": False}, {"break_ties": True}, {"probability": False}])
def test_parameters_of_scikit_learn_are_taken_without_effect(moons, parameters):
    model = clone(SVC(gamma=1.0, **parameters))
    assert parameters.items() <= model.get_params().items()
    np.testing.assert_array_equal(
        model.fit(*moons).decision_function(moons[0]), SVC(gamma=1.0).fit(*moons).decision_function(moons[0])
    )


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"probability": None}, r"probability must be True or False, got None.*CalibratedClassifierCV"),
        ({"gamma": -0.1}, "gamma must be 'scale', 'auto' or a number >= 0, got -0.1"),
        ({"degree": -1}, "degree must be a whole number >= 0, got -1"),
        ({"shrinking": "no"}, "shrinking must be True or False, got 'no'"),
        ({"break_ties": 2}, "break_ties must be True or False, got 2"),
        ({"max_iter": -2}, "max_iter must be a whole number >= 1, or -1, got -2"),
        ({"max_iter": 0}, "max_iter must be a whole number >= 1, or -1, got 0"),
    ],
)
def test_what_cannot_be_had_is_named_with_a_remedy(moons, parameters, message):
    with pytest.raises(ValueError, match=message):
        SVC(**parameters).fit(*moons)


def test_the_remedy_for_probabilities_works(moons):
    X, y = moons
    model = CalibratedClassifierCV(SVC(gamma=1.0), ensemble=False).fit(X, y)
    probabilities = model.predict_proba(X)[:, 1]
    assert np.mean((probabilities > 0.5) == SVC(gamma=1.0).fit(X, y).predict(X)) > 0.97
    assert brier_score_loss(y, probabilities) < 0.08  # 0.25 of one half for everybody


def test_minus_one_sets_no_limit_of_steps(moons):
    X, y = moons
    assert SVC(gamma=1.0, C=100.0, tol=1e-6, max_iter=-1).fit(X, y).stop_reason_ == "tol"
    assert SBPClassifier(0.2, gamma=1.0, tol=0.2, max_iter=-1).fit(X, y).stop_reason_ == "tol"
