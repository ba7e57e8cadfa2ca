"""SBPClassifier as a user meets it."""

from __future__ import annotations

import io
import itertools
import os
import pickle
import signal
import sys
import threading

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris, make_moons
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from fake_time import FakeTime, timed_by
from slackwater import SBPClassifier
from slackwater.errors import ConvergenceWarning, IndefiniteKernelError, IndefiniteKernelWarning, KernelError

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture(scope="module")
def moons():
    return make_moons(300, noise=0.25, random_state=0)


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


def quick(**parameters):
    return SBPClassifier(**{"nu": 0.02, "gamma": 1.0, "max_iter": 500, "random_state": 0, **parameters})


# ---- the answer


@pytest.mark.parametrize("bias", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_margin_and_decision_values_approach_those_of_libsvm(moons, bias):
    """With nu = loss / norm of SVC's optimum, both problems have the same solution (Lemma 2.1)."""
    X, y = moons
    K = rbf_kernel(X, gamma=1.0)
    if bias:
        svc = SVC(C=1.0, kernel="precomputed", tol=1e-6).fit(K, y)
        alpha, intercept = svc.dual_coef_[0], svc.intercept_[0]
        w = np.zeros(len(y))
        w[svc.support_] = alpha
    else:  # an exact optimum without bias: dual coordinate ascent to convergence, on 300 points
        w, intercept = dual_optimum_without_bias(K, np.where(y == 1, 1.0, -1.0), 1.0), 0.0
    norm = np.sqrt(w @ K @ w)
    values = K @ w + intercept
    loss = np.maximum(0.0, 1.0 - np.where(y == 1, 1, -1) * values).mean()
    model = SBPClassifier(
        loss / norm, kernel="precomputed", fit_intercept=bias, max_iter=100_000, tol=1e-3, random_state=0
    ).fit(K, y)
    assert model.margin_ == pytest.approx(1.0 / norm, rel=0.01)
    assert model.slack_nu_ == pytest.approx(loss / norm, rel=0.02)
    assert np.abs(model.decision_function(K) - values).max() < 0.1


def dual_optimum_without_bias(K, signs, C):
    """max Σα - ½ αᵀQα over [0, C]ⁿ by SciPy's bounded quasi-Newton."""
    from scipy.optimize import minimize

    Q = signs[:, None] * K * signs[None, :]
    solved = minimize(
        lambda a: (0.5 * a @ Q @ a - a.sum(), Q @ a - 1.0),
        np.zeros(len(signs)),
        jac=True,
        bounds=[(0.0, C)] * len(signs),
        method="L-BFGS-B",
        options={"maxiter": 20_000, "ftol": 1e-15, "gtol": 1e-8, "maxfun": 100_000},
    )
    return solved.x * signs


def test_without_slack_separable_data_are_separated_with_the_hard_margin():
    rng = np.random.default_rng(0)
    X = np.r_[rng.random((40, 2)), rng.random((40, 2)) + 1.5]
    y = np.repeat([0, 1], 40)
    model = SBPClassifier(
        0.0, kernel="linear", fit_intercept=True, max_iter=20_000, average="suffix", random_state=0
    ).fit(X, y)
    svc = SVC(C=1e6, kernel="linear").fit(X, y)
    assert model.score(X, y) == 1.0
    assert model.margin_ == pytest.approx(1.0 / np.linalg.norm(svc.coef_), rel=0.03)
    np.testing.assert_allclose(model.coef_, svc.coef_, rtol=0.1)


def test_several_classes_are_trained_over_shared_rows(iris):
    X, y = iris
    model = quick(max_iter=300, nu=0.05, gamma=0.5).fit(X, y)
    assert model.score(X, y) > 0.95
    assert model.decision_function(X).shape == (150, 3)
    assert model.dual_coef_.shape == (3, len(model.support_))
    separate = sum(quick(max_iter=300, nu=0.05, gamma=0.5).fit(X, y == k).n_kernel_evals_ for k in range(3))
    assert model.n_kernel_evals_ < separate
    for k in range(3):
        alone = quick(max_iter=300, nu=0.05, gamma=0.5).fit(X, y == k)
        np.testing.assert_allclose(model.decision_function(X)[:, k], alone.decision_function(X), atol=1e-8)


def test_fitted_attributes_agree_with_each_other(moons):
    X, y = moons
    model = quick(fit_intercept=True).fit(X, y)
    np.testing.assert_array_equal(model.support_vectors_, X[model.support_])
    by_hand = rbf_kernel(X, model.support_vectors_, gamma=1.0) @ model.dual_coef_[0] + model.intercept_[0]
    np.testing.assert_allclose(model.decision_function(X), by_hand, atol=1e-9)
    assert model.n_support_.tolist() == np.bincount(y[model.support_]).tolist()
    assert abs(model.dual_coef_.sum()) < 1e-9
    assert model.n_iter_ == 500
    assert model.stop_reason_ == "max_iter"
    assert 0.0 < model.gap_ < 1.0
    history = model.history_
    assert history["step"][-1] == 500
    assert history["margin"][-1] == model.margin_
    assert (np.diff(history["evaluations"]) >= 0).all()
    assert (np.diff(history["bound"]) <= 0).all()
    assert model.n_kernel_evals_ == history["evaluations"][-1]


@pytest.mark.parametrize(
    ("kernel", "container"),
    [
        *itertools.product(["rbf", "laplacian", "linear", "poly"], [np.asarray, sparse.csr_matrix]),
        ("precomputed", np.asarray),
    ],
)
def test_every_kernel_learns(iris, kernel, container):
    X, y = iris[0][50:], iris[1][50:]
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    if kernel == "precomputed":
        X = rbf_kernel(X, gamma=0.5)
    model = quick(kernel=kernel, gamma=0.5, coef0=1.0, nu=0.1, fit_intercept=True).fit(container(X), y)
    assert model.score(container(X), y) > 0.9


def test_the_sigmoid_kernel_warns_that_it_is_no_kernel(iris):
    X, y = iris[0][:100] - iris[0][:100].mean(axis=0), iris[1][:100]
    with pytest.warns(IndefiniteKernelWarning, match="gap_ is nan"):
        model = quick(kernel="sigmoid", gamma=0.5).fit(X, y)
    assert model.score(X, y) > 0.9
    assert np.isnan(model.gap_)


def test_a_callable_kernel_compares_arbitrary_objects():
    def common_letters(A, B):
        return np.array([[len(set(a) & set(b)) / np.sqrt(len(set(a)) * len(set(b))) for b in B] for a in A])

    words = ["aab", "abb", "bab", "baa", "xyz", "zzy", "yx", "xzz"] * 2
    labels = ["ab"] * 4 + ["xyz"] * 4
    model = quick(kernel=common_letters).fit(words, labels * 2)
    assert model.predict(["ba", "zy"]).tolist() == ["ab", "xyz"]
    assert set(model.support_vectors_) <= set(words)


def test_precomputed_prediction_takes_all_columns_or_those_of_the_support(moons):
    X, y = moons
    K = rbf_kernel(X, gamma=1.0)
    model = quick(kernel="precomputed").fit(K[:200, :200], y[:200])
    all_columns = model.decision_function(K[200:, :200])
    np.testing.assert_array_equal(all_columns, model.decision_function(K[200:][:, model.support_]))
    with pytest.raises(ValueError, match=r"200.*support"):
        model.decision_function(K[200:, :150])


# ---- weights


def test_an_integer_weight_is_the_same_as_repetition(moons):
    X, y = moons
    weights = np.random.default_rng(0).integers(0, 4, len(y))
    for parameters in ({}, {"fit_intercept": True}, {"early_stopping": True}, {"class_weight": {0: 3.0}}):
        weighted = quick(gamma=0.7, **parameters).fit(X, y, sample_weight=weights)
        repeated = quick(gamma=0.7, **parameters).fit(X.repeat(weights, axis=0), y.repeat(weights))
        np.testing.assert_allclose(weighted.decision_function(X), repeated.decision_function(X), atol=1e-8)


def test_the_order_of_the_rows_does_not_matter(moons):
    X, y = moons
    shuffle = np.random.default_rng(1).permutation(len(y))
    one, other = quick().fit(X, y), quick().fit(X[shuffle], y[shuffle])
    np.testing.assert_allclose(one.decision_function(X), other.decision_function(X), atol=1e-8)


def test_class_weights_multiply_sample_weights(moons):
    X, y = moons
    by_class = quick(class_weight={0: 3.0, 1: 0.5}).fit(X, y)
    by_sample = quick().fit(X, y, sample_weight=np.where(y == 0, 3.0, 0.5))
    np.testing.assert_array_equal(by_class.decision_function(X), by_sample.decision_function(X))


# ---- determinism


def test_the_same_seed_gives_the_same_model_bit_for_bit(iris):
    X, y = iris
    for parameters in ({}, {"fit_intercept": True, "average": "suffix"}, {"early_stopping": True}):
        one, other = quick(**parameters).fit(X, y), quick(**parameters).fit(X, y)
        np.testing.assert_array_equal(one.dual_coef_, other.dual_coef_)
        np.testing.assert_array_equal(one.intercept_, other.intercept_)
        assert one.n_kernel_evals_ == other.n_kernel_evals_
    assert not np.array_equal(quick(random_state=1).fit(X, y).dual_coef_, one.dual_coef_)


def test_cache_size_does_not_change_the_model(moons):
    X, y = moons
    models = [quick(cache_size=size).fit(X, y) for size in (0, 0.01, 0.1, 200)]
    for model in models[1:]:
        np.testing.assert_allclose(model.decision_function(X), models[0].decision_function(X), atol=1e-9)
    assert models[0].n_kernel_evals_ > models[-1].n_kernel_evals_


def test_threads_and_verbosity_do_not_change_the_model(moons, capsys):
    X, y = moons
    one = quick(n_jobs=1).fit(X, y)
    for parameters in ({"n_jobs": 2}, {"verbose": 2}):
        np.testing.assert_array_equal(one.dual_coef_, quick(**parameters).fit(X, y).dual_coef_)
    assert "support vectors" in capsys.readouterr().err


# ---- budgets and endings


def test_step_budget_is_met_exactly_and_named(moons):
    with pytest.warns(ConvergenceWarning, match="raise max_iter"):
        model = quick(max_iter=77).fit(*moons)
    assert (model.n_iter_, model.stop_reason_) == (77, "max_iter")


@pytest.mark.parametrize("rows", [1, 2, 7, 20])
@pytest.mark.parametrize("cache_size", [0, 200])
def test_evaluation_budget_is_never_exceeded_and_is_used_up(moons, rows, cache_size):
    X, y = moons
    budget = rows * len(y) + 5
    with pytest.warns(ConvergenceWarning, match="raise max_kernel_evals"):
        model = quick(max_kernel_evals=budget, cache_size=cache_size).fit(X, y)
    assert model.stop_reason_ == "max_kernel_evals"
    assert budget - len(y) < model.n_kernel_evals_ <= budget


def test_time_budget_ends_the_run(moons):
    with pytest.warns(ConvergenceWarning, match="raise max_time"):
        model = timed_by(FakeTime(tick=0.001), quick(max_time=0.2, max_iter=10**6, tol=0.0)).fit(*moons)
    assert model.stop_reason_ == "max_time"
    assert 0.195 <= model.history_["seconds"][-1] < 0.21  # earlier by what judging the models took


def test_a_resumed_run_has_the_time_that_is_left(moons, tmp_path):
    now, settings = FakeTime(tick=0.001), {"max_iter": 10**6, "tol": 0.0, "checkpoint": tmp_path / "state"}
    first = timed_by(now, quick(max_time=0.2, **settings)).fit(*moons)
    now.spend(100.0)
    resumed = timed_by(now, quick(max_time=0.3, **settings)).fit(*moons)
    assert resumed.n_iter_ > first.n_iter_
    assert 0.295 <= resumed.history_["seconds"][-1] < 0.31


def test_tolerance_ends_the_run_without_a_warning(moons, recwarn):
    model = quick(tol=0.2, max_iter=10**6, nu=0.1).fit(*moons)
    assert model.stop_reason_ == "tol"
    assert model.gap_ <= 0.2
    assert not [w for w in recwarn if issubclass(w.category, ConvergenceWarning)]


def test_a_stalled_holdout_error_ends_the_run(moons):
    model = quick(early_stopping=True, max_iter=10**6, tol=0.0, n_iter_no_change=4).fit(*moons)
    assert model.stop_reason_ == "early_stopping"
    errors = model.history_["holdout_error"]
    assert (errors[-4:] >= errors[:-4].min()).all()
    assert model.score(*moons) > 0.9


def test_ctrl_c_keeps_the_model_reached(moons):
    def press_at(moment):
        if moment.step == 1000:
            os.kill(os.getpid(), signal.SIGINT)

    model = quick(max_iter=10**6, tol=0.0, callback=press_at)
    with pytest.raises(KeyboardInterrupt, match="interrupted"):
        model.fit(*moons)
    assert (model.stop_reason_, model.n_iter_) == ("interrupted", 1000)
    assert model.score(*moons) > 0.85
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_default_budget_is_finite(moons):
    assert SBPClassifier(tol=0.0, random_state=0).fit(*moons).n_iter_ == SBPClassifier().max_iter


# ---- going on


@pytest.mark.parametrize("parameters", [{}, {"fit_intercept": True, "average": "suffix"}])
def test_warm_start_continues_where_the_last_fit_stopped(iris, parameters):
    X, y = iris
    whole = quick(max_iter=300, tol=0.0, **parameters).fit(X, y)
    parts = quick(max_iter=100, tol=0.0, warm_start=True, **parameters)
    for _ in range(3):
        parts.fit(X, y)
    assert parts.n_iter_ == 300
    np.testing.assert_allclose(parts.dual_coef_, whole.dual_coef_, rtol=1e-9, atol=1e-12)


def test_warm_start_moves_on_to_another_nu(moons):
    X, y = moons
    model = quick(nu=0.2, max_iter=2000, warm_start=True).fit(X, y)
    model.set_params(nu=0.02).fit(X, y)
    fresh = quick(nu=0.02, max_iter=4000, tol=0.0).fit(X, y)
    assert model.margin_ == pytest.approx(fresh.margin_, rel=0.1)


def test_warm_start_on_other_data_says_that_it_starts_afresh(moons):
    X, y = moons
    model = quick(max_iter=50, warm_start=True).fit(X, y)
    with pytest.warns(UserWarning, match="starts afresh"):
        model.fit(X[:200], y[:200])
    assert model.n_iter_ == 50


@pytest.mark.parametrize("parameters", [{}, {"early_stopping": True, "n_iter_no_change": 8}])
def test_a_checkpoint_resumes_to_the_identical_model(iris, tmp_path, parameters):
    X, y = iris
    K = rbf_kernel(X, gamma=0.5)
    settings = {"kernel": "precomputed", "tol": 0.0, **parameters}
    whole = quick(max_iter=400, **settings).fit(K, y)
    quick(max_iter=150, checkpoint=tmp_path / "run.ckpt", **settings).fit(K, y)
    resumed = quick(max_iter=400, checkpoint=tmp_path / "run.ckpt", **settings).fit(K, y)
    np.testing.assert_array_equal(resumed.dual_coef_, whole.dual_coef_)
    assert resumed.n_iter_ == whole.n_iter_
    assert resumed.n_kernel_evals_ == whole.n_kernel_evals_
    regular = np.isin(resumed.history_["step"], whole.history_["step"])
    for column in ("step", "margin", "gap"):
        np.testing.assert_array_equal(resumed.history_[column][regular], whole.history_[column])


def test_a_checkpoint_of_other_parameters_is_refused(moons, tmp_path):
    quick(max_iter=20, checkpoint=tmp_path / "run.ckpt").fit(*moons)
    with pytest.raises(ValueError, match="other data or other parameters"):
        quick(max_iter=20, nu=0.3, checkpoint=tmp_path / "run.ckpt").fit(*moons)


def test_a_disk_that_fails_costs_the_checkpoint_but_not_the_model(moons, tmp_path, monkeypatch):
    def full_disk(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.warns(RuntimeWarning, match="No space left"):
        model = quick(checkpoint=tmp_path / "run.ckpt").fit(*moons)
    assert model.score(*moons) > 0.85


# ---- containers


def test_float32_stays_float32(moons):
    X, y = moons
    model = quick().fit(X.astype(np.float32), y)
    assert model.support_vectors_.dtype == np.float32
    assert quick().fit(X, y).support_vectors_.dtype == np.float64


def test_csr_with_wide_indices_is_accepted(moons):
    X, y = moons
    wide = sparse.csr_array(X)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    one, other = quick().fit(wide, y), quick().fit(X, y)
    np.testing.assert_allclose(one.decision_function(wide), other.decision_function(X), atol=1e-8)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_data_frames_are_accepted(moons, frame):
    X, y = moons
    table = frame({"a": X[:, 0], "b": X[:, 1]})
    model = quick().fit(table, y)
    theirs = getattr(SVC().fit(table, y), "feature_names_in_", np.empty(0))  # older ones know pandas' names only
    assert list(getattr(model, "feature_names_in_", [])) == list(theirs)
    assert frame is pl.DataFrame or list(theirs) == ["a", "b"]
    np.testing.assert_array_equal(model.predict(table), quick().fit(X, y).predict(X))


def test_a_model_survives_pickling_and_cloning(moons):
    X, y = moons
    model = quick(warm_start=True).fit(X, y)
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.decision_function(X), model.decision_function(X))
    copy.fit(X, y)
    model.fit(X, y)
    np.testing.assert_array_equal(copy.dual_coef_, model.dual_coef_)
    assert clone(model).get_params() == model.get_params()


def test_grid_search_and_pipelines_work(moons):
    X, y = moons
    search = GridSearchCV(
        make_pipeline(StandardScaler(), quick(max_iter=100)), {"sbpclassifier__nu": [0.01, 0.1]}, n_jobs=2
    )
    assert search.fit(X, y).best_score_ > 0.85


def test_fitting_in_two_python_threads_at_once_gives_the_same_models(moons):
    X, y = moons
    expected = quick(n_jobs=2).fit(X, y).dual_coef_
    found = {}

    def work(name):
        found[name] = quick(n_jobs=2).fit(X, y).dual_coef_

    threads = [threading.Thread(target=work, args=(k,)) for k in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == [0, 1]
    for coefficients in found.values():
        np.testing.assert_array_equal(coefficients, expected)


# ---- bad input


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"nu": -0.1}, r"nu must be a number from 0 to 1e9, got -0.1.*hard margin"),
        ({"nu": float("nan")}, "nu must be"),
        ({"nu": "0.1"}, "nu must be"),
        ({"kernel": "gauss"}, r"kernel must be one of.*rbf"),
        ({"gamma": -1.0}, "gamma must be"),
        ({"gamma": "wide"}, "gamma must be"),
        ({"kernel": "poly", "degree": -1}, "degree must be"),
        ({"tol": -1}, "tol must be"),
        ({"max_iter": 0}, "max_iter must be a whole number >= 1, or -1, got 0"),
        ({"max_iter": True}, "max_iter must be"),
        ({"max_time": 0}, "max_time must be"),
        ({"max_kernel_evals": 10}, "max_kernel_evals must allow for one step, 300"),
        ({"validation_fraction": 1.0}, "validation_fraction must be"),
        ({"n_iter_no_change": 0}, "n_iter_no_change must be"),
        ({"cache_size": -1}, "cache_size must be"),
        ({"class_weight": {7: 1.0}}, r"class_weight must name classes of y, got 7"),
        ({"class_weight": {0: -1.0}}, "class_weight must be > 0"),
        ({"class_weight": 3}, "class_weight must be"),
        ({"average": "mean"}, "average must be one of uniform, suffix, last"),
        ({"decision_function_shape": "ovo"}, "decision_function_shape must be"),
        ({"n_jobs": 0}, "n_jobs must be"),
        ({"checkpoint": 5}, "checkpoint must be"),
        ({"verbose": -1}, "verbose must be"),
        ({"early_stopping": "yes"}, "early_stopping must be"),
    ],
)
def test_a_bad_parameter_is_named_with_its_rule(moons, parameters, message):
    with pytest.raises(ValueError, match=message):
        quick(**parameters).fit(*moons)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda X, y: (np.where(X > 1, np.nan, X), y), "NaN"),
        (lambda X, y: (np.where(X > 1, np.inf, X), y), "infinity"),
        (lambda X, y: (X, np.zeros_like(y)), "two classes"),
        (lambda X, y: (X[:0], y[:0]), "0 sample"),
        (lambda X, y: (X[:, :0], y), "0 feature"),
        (lambda X, y: (X, y[:-1]), "one label for each row"),
        (lambda X, y: (X[:, 0], y), "Expected 2D"),
        (lambda X, y: (X, None), "requires y to be passed, but the target y is None"),
        (lambda X, y: (X, np.linspace(0, 1, len(y))), "continuous|class"),
    ],
)
def test_bad_data_are_refused(moons, spoil, message):
    with pytest.raises(ValueError, match=message):
        quick().fit(*spoil(*moons))


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.full(300, -1.0), "all samples have zero or negative weights"),
        (np.full(300, np.nan), "sample_weight must be finite"),
        (np.zeros(300), "all samples have zero or negative weights"),
        (np.ones(7), "one weight for each row"),
    ],
)
def test_bad_weights_are_refused(moons, weights, message):
    with pytest.raises(ValueError, match=message):
        quick().fit(*moons, sample_weight=weights)


def test_kernels_that_are_none_are_refused_before_training(moons):
    X, y = moons
    with pytest.raises(KernelError, match="finite"):
        quick(kernel=lambda A, B: np.full((len(A), len(B)), np.nan)).fit(X, y)
    with pytest.raises(KernelError, match="shape"):
        quick(kernel=lambda A, B: np.ones((len(B), len(A) + 1))).fit(X, y)
    with pytest.raises(IndefiniteKernelError, match="positive semi-definite"):
        quick(kernel=lambda A, B: -rbf_kernel(A, B)).fit(X, y)
    with pytest.raises(IndefiniteKernelError, match="positive semi-definite"):
        quick(kernel="precomputed").fit(1.0 - rbf_kernel(X), y)
    with pytest.raises(ValueError, match=r"square|symmetric"):
        quick(kernel="precomputed").fit(X, y)


def test_predicting_with_other_features_is_refused(moons):
    model = quick().fit(*moons)
    with pytest.raises(ValueError, match="3 features"):
        model.predict(np.zeros((2, 3)))


# ---- what a hostile tester found


def test_another_callable_or_other_objects_do_not_resume_a_checkpoint(moons, tmp_path):
    X, y = moons
    quick(kernel=lambda A, B: rbf_kernel(A, B), max_iter=20, checkpoint=tmp_path / "a").fit(X, y)
    with pytest.raises(ValueError, match="other data or other parameters"):
        quick(kernel=lambda A, B: A @ B.T, max_iter=40, checkpoint=tmp_path / "a").fit(X, y)

    def shared_letters(A, B):
        return np.array([[float(len(set(a) & set(b))) for b in B] for a in A])

    quick(kernel=shared_letters, max_iter=20, checkpoint=tmp_path / "b").fit(["abc", "bcd", "xyz", "xyw"], [0, 0, 1, 1])
    with pytest.raises(ValueError, match="other data or other parameters"):
        quick(kernel=shared_letters, max_iter=40, checkpoint=tmp_path / "b").fit(
            ["xyz", "abc", "bcd", "qrs"], [0, 0, 1, 1]
        )


def test_a_precomputed_matrix_changed_anywhere_does_not_resume(moons, tmp_path):
    X, y = moons
    K = rbf_kernel(X)
    quick(kernel="precomputed", max_iter=20, checkpoint=tmp_path / "c").fit(K, y)
    K[5, 7] = K[7, 5] = K[5, 7] * 0.99
    with pytest.raises(ValueError, match="other data or other parameters"):
        quick(kernel="precomputed", max_iter=40, checkpoint=tmp_path / "c").fit(K, y)


def test_another_holdout_part_does_not_inherit_the_bound(moons):
    X, y = moons
    model = quick(max_iter=2000, warm_start=True).fit(X, y)
    with pytest.warns(UserWarning, match="starts afresh"):
        model.set_params(early_stopping=True, validation_fraction=0.5, n_iter_no_change=1000, max_iter=300).fit(X, y)
    best = quick(early_stopping=True, validation_fraction=0.5, n_iter_no_change=1000, max_iter=5000).fit(X, y).margin_
    assert best <= model.margin_ / (1 - model.gap_) * (1 + 1e-9)


def test_refits_without_a_seed_hold_out_the_same_rows(moons, recwarn):
    model = quick(random_state=None, early_stopping=True, max_iter=50, warm_start=True).fit(*moons)
    model.fit(*moons)
    assert not [w for w in recwarn if "starts afresh" in str(w.message)]


@pytest.mark.parametrize("first", [False, True])
def test_warm_start_across_a_change_of_the_bias_starts_afresh(moons, first):
    model = quick(max_iter=20, warm_start=True, fit_intercept=first).fit(*moons)
    with pytest.warns(UserWarning, match="starts afresh"):
        model.set_params(fit_intercept=not first).fit(*moons)


@pytest.mark.parametrize(
    ("weight", "class_weight"),
    [(1.7e308, None), (1e200, {0: 1e200}), (1e-300, {0: 0.5})],
)
@pytest.mark.parametrize("bias", [False, True])
def test_weights_that_double_precision_cannot_add_are_refused(moons, weight, class_weight, bias):
    X, y = moons
    with pytest.raises(ValueError, match="sample_weight times class_weight"):
        quick(class_weight=class_weight, fit_intercept=bias).fit(X, y, np.full(len(y), weight))


@pytest.mark.parametrize("bias", [False, True])
def test_weights_as_small_as_boosting_makes_them_are_taken(moons, bias):
    X, y = moons
    weights = np.where(np.arange(len(y)) % 3, 1.0, 1e-16)
    model = quick(fit_intercept=bias).fit(X, y, weights)
    left_out = quick(fit_intercept=bias).fit(X, y, np.where(weights == 1.0, 1.0, 0.0))
    np.testing.assert_allclose(model.decision_function(X), left_out.decision_function(X), atol=0.1)


def test_neighbours_closer_than_rounding_do_not_look_like_an_indefinite_kernel():
    X = np.float32([[100.34558105, 100.82161713, 100.3304367], [100.34558868, 100.82162476, 100.33044434]])
    quick(kernel="linear", fit_intercept=True, max_iter=50).fit(X, [0, 1])


def test_an_overflow_in_prediction_is_an_error_not_a_nan(moons):
    X, y = moons
    model = quick(kernel="poly", gamma=0.5, max_iter=50).fit(X, y)
    with pytest.raises(KernelError, match=r"finite|overflows"):
        model.decision_function(X * 1e200)
    tiny = (X * 1e-12).astype(np.float32)
    assert np.isfinite(quick(kernel="poly", gamma=1.0, max_iter=50).fit(tiny, y).decision_function(tiny)).all()


def test_classes_that_cannot_be_separated_without_slack_are_named(moons):
    X, y = moons
    with pytest.warns(ConvergenceWarning, match=r"without a positive margin.*Raise nu"):
        model = SBPClassifier(0.0, kernel="linear", max_iter=200, random_state=0).fit(X, y)
    assert model.margin_ <= 0
    assert np.isnan(model.slack_nu_)


@pytest.mark.parametrize("factor", [1e200, 1e-200])
def test_features_too_large_or_small_for_gamma_scale_are_named(moons, factor):
    X, y = moons
    if factor < 1:
        assert SBPClassifier(max_iter=5).fit(X * factor, y).n_iter_ == 5  # a variance of zero: gamma is 1
    else:
        with pytest.raises(ValueError, match="gamma='scale' cannot be derived"):
            SBPClassifier().fit(X * factor, y)


def test_a_progress_line_without_a_terminal_to_write_to_does_not_end_the_run(moons, monkeypatch):
    closed = io.StringIO()
    closed.close()
    for stream in (closed, None, object()):
        monkeypatch.setattr(sys, "stderr", stream)
        quick(verbose=1, max_iter=5).fit(*moons)


def test_one_impossible_entry_of_a_precomputed_matrix_is_found(moons):
    X, y = moons
    K = rbf_kernel(X)
    K[7, 9] = K[9, 7] = 5.0
    with pytest.raises(IndefiniteKernelError, match=r"K\[7, 9\] = 5"):
        quick(kernel="precomputed").fit(K, y)


def test_a_callable_cannot_change_the_data(moons):
    def vandal(A, B):
        values = A @ B.T
        A *= 0
        return values

    X, y = moons
    given = X.copy()
    quick(kernel=vandal).fit(given, y)
    np.testing.assert_array_equal(given, X)


@pytest.mark.parametrize(
    "parameters",
    [
        {"gamma": None}, {"gamma": [1]}, {"gamma": True}, {"coef0": "a"}, {"n_jobs": "2"}, {"n_jobs": 1.5},
        {"kernel": [1]}, {"kernel": np.eye(2)}, {"class_weight": {0: "a"}}, {"class_weight": np.ones(2)},
        {"nu": 10**400}, {"degree": True},
    ],
    ids=str,
)  # fmt: skip
def test_parameters_of_the_wrong_kind_are_named(moons, parameters):
    with pytest.raises(ValueError, match=f"{next(iter(parameters))} must"):
        quick(**parameters).fit(*moons)
