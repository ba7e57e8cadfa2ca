"""The paper's rival methods as estimators: independent optima, conventions, honest endings."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn import svm
from sklearn.base import clone
from sklearn.datasets import load_iris, make_blobs, make_classification, make_moons
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV

from slackwater import SVC, SBPClassifier, baselines
from slackwater.errors import ConvergenceWarning
from slackwater.features.fourier import FourierMap

KERNEL_METHODS = [
    baselines.PegasosClassifier(1e-2, max_iter=2000),
    baselines.NormBallSGDClassifier(5.0, max_iter=2000),
    baselines.SDCAClassifier(max_iter=2000),
    baselines.SMOClassifier(),
    baselines.SMOClassifier(fit_intercept=False),
    baselines.KernelPerceptron(2),
]
METHODS = [*KERNEL_METHODS, baselines.SIMBAClassifier(0.2, max_iter=500)]


def name_of(estimator):
    return type(estimator).__name__


def quietly(estimator, X, y, sample_weight=None, **parameters):
    """Fit a copy, with a seed, whether or not its budget suffices."""
    model = clone(estimator).set_params(**{"random_state": 0} | parameters)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X, y, sample_weight)


@pytest.fixture(scope="module")
def moons():
    return make_moons(200, noise=0.25, random_state=0)


def objective(model, X, y, C, weights=1.0):
    """½‖w‖² + C Σ ω hinge, from a fitted model's own values."""
    K = rbf_kernel(model.support_vectors_, gamma=model.gamma)
    signs = np.where(y == model.classes_[1], 1, -1)
    loss = (weights * np.maximum(0, 1 - signs * model.decision_function(X))).sum()
    return 0.5 * float((model.dual_coef_ @ K @ model.dual_coef_.T).item()) + C * loss


# ---- optima


@pytest.mark.parametrize("C", [0.1, 1.0, 30.0])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix])
def test_smo_finds_what_libsvm_finds(moons, C, container):
    X, y = moons
    ours = baselines.SMOClassifier(C, gamma=1.0, tol=1e-4).fit(container(X), y)
    theirs = svm.SVC(C=C, gamma=1.0, tol=1e-6).fit(X, y)
    assert ours.stop_reason_ == "tol"
    assert objective(ours, X, y, C) == pytest.approx(objective(theirs, X, y, C), rel=1e-3)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=0.02)
    assert abs(len(ours.support_) - len(theirs.support_)) <= 3


@pytest.mark.parametrize("C", [0.1, 1.0, 30.0])
def test_smo_and_sdca_without_bias_agree_with_the_certified_optimum(moons, C):
    X, y = moons
    smo = baselines.SMOClassifier(C, gamma=1.0, fit_intercept=False).fit(X, y)
    sdca = baselines.SDCAClassifier(C, gamma=1.0, tol=5e-4, random_state=0).fit(X, y)
    best = objective(SVC(C=C, gamma=1.0, fit_intercept=False, tol=1e-6).fit(X, y), X, y, C)
    assert smo.intercept_ == sdca.intercept_ == 0.0
    assert objective(smo, X, y, C) == pytest.approx(best, rel=1e-3)
    assert objective(sdca, X, y, C) == pytest.approx(best, rel=1e-3)


@pytest.mark.parametrize("seed", range(3))
def test_pegasos_run_for_long_comes_within_two_percent(moons, seed):
    X, y = moons
    model = baselines.PegasosClassifier(1 / 200, gamma=1.0, max_iter=60_000, tol=0.0, random_state=seed)
    with pytest.warns(ConvergenceWarning, match="raise max_iter"):
        model.fit(X, y)
    best = objective(SVC(C=1.0, gamma=1.0, fit_intercept=False, tol=1e-6).fit(X, y), X, y, 1.0)
    assert best <= objective(model, X, y, 1.0) * (1 + 1e-6) <= best * 1.02


def test_the_norm_ball_with_the_norm_of_an_optimum_has_the_same_optimum(moons):
    X, y = moons
    optimum = SVC(C=1.0, gamma=1.0, fit_intercept=False, tol=1e-6).fit(X, y)
    model = quietly(
        baselines.NormBallSGDClassifier(1 / optimum.margin_, gamma=1.0, average="suffix", tol=0.0, max_iter=60_000),
        X,
        y,
    )
    assert model.margin_ >= optimum.margin_ * (1 - 1e-9)
    assert model.history_["objective"][-1] == pytest.approx(optimum.slack_nu_ / optimum.margin_, rel=0.03)


def test_simba_and_the_sbp_find_the_same_margin():
    X, y = make_blobs(150, centers=[[-1, -1, 0], [1, 1, 0.5]], random_state=0)
    simba = quietly(baselines.SIMBAClassifier(0.2, max_iter=10_000, tol=0.0), X, y)
    sbp = quietly(SBPClassifier(0.2, kernel="linear", max_iter=10_000, tol=0.0), X, y)
    assert simba.margin_ == pytest.approx(sbp.margin_, rel=0.02)
    assert simba.coef_.shape == (1, 3)
    np.testing.assert_allclose(simba.decision_function(X), X @ simba.coef_[0], rtol=1e-9)


def test_fourier_features_find_the_optimum_over_the_features(moons):
    X, y = moons
    model = baselines.FourierSVC(1.0, gamma=1.0, n_pairs=40, random_state=0).fit(X, y)
    features = model._map.transform(X)
    best = SVC(C=1.0, kernel="linear", fit_intercept=False, tol=1e-6).fit(features, y)
    signs = np.where(y == 1, 1, -1)

    def linear_objective(w):
        return 0.5 * w @ w + np.maximum(0, 1 - signs * (features @ w)).sum()

    assert linear_objective(model.coef_[0]) == pytest.approx(linear_objective(best.coef_[0]), rel=1e-3)
    assert model.n_inner_products_ == 40 * 200


def test_many_fourier_features_decide_as_the_kernel_does(moons):
    X, y = moons
    exact = SVC(C=1.0, gamma=1.0, fit_intercept=False, tol=1e-5).fit(X, y).decision_function(X)
    errors = [
        np.mean(
            [
                np.abs(
                    baselines.FourierSVC(gamma=1.0, n_pairs=k, random_state=s).fit(X, y).decision_function(X) - exact
                ).mean()
                for s in range(4)
            ]
        )
        for k in (8, 2048)
    ]
    assert errors[1] < 0.25 * errors[0]
    assert errors[1] < 0.1


# ---- endings


def test_the_perceptron_ends_with_its_passes_without_a_warning(moons):
    X, y = moons
    model = baselines.KernelPerceptron(3, gamma=1.0, random_state=0).fit(X, y)
    assert model.stop_reason_ == "epochs"
    assert model.n_iter_ == 3 * 200
    assert np.isnan(model.gap_)
    assert np.isnan(model.margin_)
    assert 0.0 < model.history_["objective"][-1] < 0.5


def test_the_perceptron_ends_after_a_pass_without_mistakes():
    X, y = make_blobs(100, centers=[[-5, 0], [5, 0]], random_state=0)
    model = baselines.KernelPerceptron(1000, kernel="linear", average="last", random_state=0).fit(X, y)
    assert model.stop_reason_ == "tol"
    assert model.n_iter_ < 1000
    assert model.score(X, y) == 1.0


@pytest.mark.parametrize("budget", [{"max_iter": 50}, {"max_kernel_evals": 500}, {"max_time": 1e-9}])
def test_a_perceptron_cut_short_says_how_far_it_came(moons, budget):
    X, y = moons
    with pytest.warns(ConvergenceWarning, match=r"before the end of 2 passes.*for a better one raise max_\w+\.$"):
        model = baselines.KernelPerceptron(2, gamma=1.0, random_state=0, **budget).fit(X, y)
    assert model.stop_reason_ == next(iter(budget))
    assert model.n_kernel_evals_ <= budget.get("max_kernel_evals", np.inf)


def test_smo_cut_short_names_the_violation(moons):
    X, y = moons
    with pytest.warns(ConvergenceWarning, match=r"optimality conditions violated by \S+, above tol=0\.001"):
        model = baselines.SMOClassifier(gamma=1.0, max_iter=10).fit(X, y)
    assert model.stop_reason_ == "max_iter"
    assert 0 < model.gap_ < 1


@pytest.mark.parametrize("estimator", METHODS, ids=name_of)
def test_a_nanosecond_is_enough_for_a_model(estimator, moons):
    model = quietly(estimator, *moons, max_time=1e-9)
    assert model.stop_reason_ == "max_time"
    assert model.n_iter_ >= 1
    assert model.score(*moons) > 0.7


# The Perceptron's first step costs nothing: every budget allows for it.
@pytest.mark.parametrize(
    "estimator", [m for m in METHODS if not isinstance(m, baselines.KernelPerceptron)], ids=name_of
)
def test_too_small_a_budget_of_evaluations_is_refused_before_training(estimator, moons):
    with pytest.raises(ValueError, match="max_kernel_evals must allow for one step"):
        quietly(estimator, *moons, max_kernel_evals=1)


@pytest.mark.parametrize("estimator", METHODS, ids=name_of)
def test_early_stopping_holds_examples_out(estimator, moons):
    X, y = moons
    model = quietly(estimator, X, y, early_stopping=True, validation_fraction=0.3, n_iter_no_change=3)
    errors = model.history_["holdout_error"]
    assert np.isfinite(errors).all()
    assert len(model.support_) <= 0.75 * len(y)


# ---- conventions


@pytest.mark.parametrize("estimator", METHODS, ids=name_of)
def test_an_integer_weight_is_the_same_as_repetition_and_zero_leaves_out(estimator):
    X, y = make_moons(80, noise=0.2, random_state=1)
    weights = np.random.default_rng(0).integers(0, 4, 80)
    settings = {"gamma": 1.0} if "gamma" in estimator.get_params() else {}
    weighted = quietly(estimator, X, y, weights, **settings)
    repeated = quietly(estimator, X.repeat(weights, axis=0), y.repeat(weights), **settings)
    np.testing.assert_allclose(weighted.decision_function(X), repeated.decision_function(X), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("estimator", METHODS, ids=name_of)
def test_several_classes_are_trained_one_against_the_rest_over_shared_rows(estimator):
    X, y = load_iris(return_X_y=True)
    model = quietly(estimator, X, y)
    assert model.decision_function(X).shape == (150, 3)
    assert model.dual_coef_.shape[0] == 3
    assert model.score(X, y) > (0.6 if isinstance(estimator, baselines.SIMBAClassifier) else 0.9)
    assert set(model.history_["problem"]) == {0, 1, 2}


@pytest.mark.parametrize("estimator", KERNEL_METHODS, ids=name_of)
def test_callable_kernels_and_objects_other_than_numbers_are_welcome(estimator):
    words = ["aaab", "aaba", "abaa", "baaa", "bbba", "bbab", "babb", "abbb"]

    def kernel(A, B):
        return np.array([[1.0 + a.count("a") * b.count("a") + a.count("b") * b.count("b") for b in B] for a in A])

    model = quietly(estimator, words, [0] * 4 + [1] * 4, kernel=kernel)
    assert model.predict(["aaaa", "bbbb"]).tolist() == [0, 1]


@pytest.mark.parametrize("estimator", METHODS, ids=name_of)
def test_warm_start_goes_on_from_where_the_last_fit_stopped(estimator, moons):
    X, y = moons
    both = quietly(estimator, X, y, warm_start=True, max_iter=20)
    assert both.n_iter_ == 20
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        both.set_params(max_iter=25).fit(X, y)
    assert both.n_iter_ == 45
    np.testing.assert_allclose(both.dual_coef_, quietly(estimator, X, y, max_iter=45).dual_coef_, rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize(
    ("estimator", "other"),
    [
        (baselines.PegasosClassifier(0.01), {"alpha": 0.03}),
        (baselines.NormBallSGDClassifier(3.0), {"radius": 4.0}),
        (baselines.SDCAClassifier(1.0), {"C": 2.0}),
        (baselines.SMOClassifier(1.0), {"C": 2.0}),
        (baselines.SIMBAClassifier(0.3, max_iter=2000), {"nu": 0.4}),
        (baselines.KernelPerceptron(1), {"epochs": 3}),
    ],
    ids=lambda value: type(value).__name__,
)
def test_warm_start_goes_on_towards_another_parameter(estimator, other, moons):
    X, y = moons
    settings = {"max_iter": 3000} | ({} if isinstance(estimator, baselines.SIMBAClassifier) else {"gamma": 1.0})
    model = quietly(estimator, X, y, warm_start=True, **settings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.set_params(**other).fit(X, y)
    fresh = quietly(estimator, X, y, **settings, **other)
    assert model.score(X, y) == pytest.approx(fresh.score(X, y), abs=0.05)
    assert model.n_iter_ > fresh.n_iter_ * 0.5


@pytest.mark.parametrize(
    ("estimator", "match"),
    [
        (baselines.PegasosClassifier(0.0), "alpha must be a number > 0, got 0.0"),
        (baselines.PegasosClassifier(project="yes"), "project must be True or False"),
        (baselines.PegasosClassifier(average="sometimes"), "average must be one of uniform, suffix, last"),
        (baselines.NormBallSGDClassifier(-1.0), "radius must be a number > 0"),
        (baselines.SDCAClassifier(np.nan), "C must be a number > 0"),
        (baselines.SDCAClassifier(tol=-1.0), "tol must be a number >= 0"),
        (baselines.SMOClassifier("1"), "C must be a number > 0"),
        (baselines.SMOClassifier(fit_intercept=None), "fit_intercept must be True or False"),
        (baselines.SMOClassifier(tol=-1), "violation of the optimality conditions"),
        (baselines.KernelPerceptron(0), "epochs must be a whole number >= 1"),
        (baselines.KernelPerceptron(average="uniform"), "average must be one of sampled, averaged, last"),
        (baselines.KernelPerceptron(max_iter=0), "max_iter must be a whole number >= 1 or None"),
        (baselines.SIMBAClassifier(-0.1), "nu must be a number from 0"),
        (baselines.FourierSVC(n_pairs=0), "n_pairs must be a whole number >= 1"),
        (baselines.FourierSVC(gamma="wide"), "gamma must be"),
    ],
)
def test_a_bad_parameter_is_named(estimator, match, moons):
    with pytest.raises(ValueError, match=match):
        estimator.fit(*moons)


@pytest.mark.parametrize(
    ("kind", "option"),
    [
        (baselines.PegasosClassifier, {"fit_intercept": True}),
        (baselines.NormBallSGDClassifier, {"fit_intercept": True}),
        (baselines.SDCAClassifier, {"fit_intercept": True}),
        (baselines.KernelPerceptron, {"tol": 0.1}),
        (baselines.KernelPerceptron, {"cache_size": 100}),
        (baselines.SIMBAClassifier, {"kernel": "rbf"}),
        (baselines.SIMBAClassifier, {"cache_size": 100}),
        (baselines.FourierSVC, {"kernel": "linear"}),
        (baselines.FourierSVC, {"warm_start": True}),
    ],
)
def test_what_a_method_cannot_honour_it_does_not_accept(kind, option):
    with pytest.raises(TypeError, match="unexpected keyword"):
        kind(**option)


def test_parameters_can_be_searched():
    X, y = make_classification(120, 5, random_state=0)
    search = GridSearchCV(baselines.SMOClassifier(), {"C": [0.1, 1.0], "gamma": [0.01, 0.2]}, cv=3).fit(X, y)
    assert set(search.best_params_) == {"C", "gamma"}
    assert search.best_score_ > 0.7


def test_own_parameters_come_first_and_shared_ones_are_keywords():
    assert baselines.PegasosClassifier(0.5).alpha == 0.5
    assert repr(baselines.KernelPerceptron(3, gamma=2.0)) == "KernelPerceptron(epochs=3, gamma=2.0)"
    with pytest.raises(TypeError):
        baselines.PegasosClassifier(0.5, "rbf")


def test_fourier_features_weigh_and_merge_rows_as_the_others_do():
    X, y = make_moons(80, noise=0.2, random_state=1)
    weights = np.random.default_rng(0).integers(0, 4, 80)
    weighted = baselines.FourierSVC(gamma=1.0, random_state=0).fit(X, y, weights)
    repeated = baselines.FourierSVC(gamma=1.0, random_state=0).fit(X.repeat(weights, axis=0), y.repeat(weights))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-9)
    assert weighted.n_inner_products_ == 256 * np.count_nonzero(weights)


def test_fourier_features_serve_several_classes_and_sparse_rows():
    X, y = load_iris(return_X_y=True)
    model = baselines.FourierSVC(gamma=0.3, random_state=0).fit(X, y)
    assert model.decision_function(X).shape == (150, 3)
    assert model.score(X, y) > 0.9
    assert baselines.FourierSVC(gamma=0.3, random_state=0).fit(sparse.csr_matrix(X), y).score(X, y) > 0.9
    assert isinstance(model._map, FourierMap)


UNSEEDED = [*METHODS, SVC(early_stopping=True), SBPClassifier(0.2, max_iter=200), baselines.FourierSVC(n_pairs=20)]


@pytest.mark.parametrize("estimator", UNSEEDED, ids=name_of)
def test_without_a_seed_every_fit_is_that_of_seed_zero(moons, estimator):
    unseeded, seeded = (quietly(estimator, *moons, random_state=seed) for seed in (None, 0))
    np.testing.assert_array_equal(unseeded.decision_function(moons[0]), seeded.decision_function(moons[0]))
