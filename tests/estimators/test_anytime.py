"""Limits of time and Ctrl-C: kept in every stage, and never without a usable model."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import threading
import time
import warnings

import numpy as np
import pytest
from sklearn.datasets import make_blobs, make_classification

from fake_time import FakeTime, timed_by
from slackwater import SVC, SBPClassifier, baselines, load
from slackwater.deadline import CutShort
from slackwater.errors import ConvergenceWarning
from slackwater.estimators.anytime import _GRACE, _Samples
from slackwater.fitting.context import FitContext
from slackwater.solvers.sbp import StochasticBatchPerceptron
from slackwater.solvers.simba import SIMBA

pytestmark = pytest.mark.filterwarnings("ignore::slackwater.errors.ConvergenceWarning")

GENEROUS = 20.0  # seconds, on a machine with many others at work


@pytest.fixture(scope="module")
def large():
    X, y = make_classification(42_000, 10, n_informative=6, random_state=3)
    return X[:40_000].astype(np.float32), y[:40_000], X[40_000:].astype(np.float32), y[40_000:]


@pytest.fixture(scope="module")
def many_classes():
    X, y = make_blobs(30_000, 6, centers=40, cluster_std=2.0, random_state=0)
    return X[:28_000].astype(np.float32), y[:28_000], X[28_000:].astype(np.float32), y[28_000:]


WAYS = {
    "auto": SVC(),
    "tol": SVC(tol=1e-6),
    "exact": SVC(strategy="exact", C=100.0),
    "subspace": SVC(strategy="subspace"),
    "screening": SVC(strategy="screening"),
    "sparse_kernel": SVC(strategy="sparse_kernel", gamma=0.2),
    "no bias": SVC(fit_intercept=False),
    "linear": SVC(kernel="linear", C=100.0),
    "SBP": SBPClassifier(0.1, tol=0.0, max_iter=10**7),
    "Pegasos": baselines.PegasosClassifier(tol=0.0, max_iter=10**7),
    "SMO": baselines.SMOClassifier(tol=0.0, max_iter=10**7),
    "SDCA": baselines.SDCAClassifier(tol=0.0, max_iter=10**7),
    "Perceptron": baselines.KernelPerceptron(epochs=10**6),
}


@pytest.mark.parametrize("seconds", [1e-9, 0.05])
@pytest.mark.parametrize("way", WAYS)
def test_the_shortest_time_leaves_a_usable_model(way, seconds, large):
    X, y, X_test, y_test = large
    model = WAYS[way].set_params(max_time=seconds, random_state=0)
    start = time.perf_counter()
    model.fit(X, y)
    assert time.perf_counter() - start < GENEROUS
    assert model.stop_reason_ == "max_time"
    assert model.score(X_test, y_test) > 0.55
    assert len(model.support_) > 1
    kept = X[model.support_]
    np.testing.assert_array_equal(kept, model.support_vectors_)


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
@pytest.mark.parametrize("seconds", [1e-9, 0.05, 0.3])
def test_many_classes_share_the_time(multi_class, seconds, many_classes):
    X, y, X_test, y_test = many_classes
    model = SVC(multi_class=multi_class, max_time=seconds).fit(X, y)
    found, true = model.predict(X_test), y_test
    assert len(np.unique(found)) >= 38  # no class is left out
    assert np.mean(found == true) > 0.5


@pytest.mark.parametrize("seconds", [1e-9, 0.05, 0.5])
@pytest.mark.parametrize("classes", ["large", "many_classes"])
def test_fourier_features_keep_to_the_time(seconds, classes, request):
    X, y, X_test, y_test = request.getfixturevalue(classes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        # A thread that goes on compiling would restore the filters that it found, in the middle of pytest.warns.
        baselines.FourierSVC(max_iter=2).fit(X[:100], y[:100])
    model = baselines.FourierSVC(100.0, max_time=seconds, tol=1e-9)
    start = time.perf_counter()
    with pytest.warns(ConvergenceWarning, match="raise max_time"):
        model.fit(X, y)
    assert time.perf_counter() - start < GENEROUS
    assert (model.stop_reason_, model.n_inner_products_ <= 256 * len(X)) == ("max_time", True)
    assert model.score(X_test, y_test) > (0.55 if classes == "large" else 0.2)


@pytest.mark.parametrize("moment", [0.005, 0.1, 0.4])
def test_ctrl_c_leaves_a_model_over_fourier_features(moment, large):
    X, y, X_test, y_test = large
    model = baselines.FourierSVC(100.0, tol=1e-9)
    assert pressed(lambda: model.fit(X, y), moment) is not None
    assert model.stop_reason_ == "interrupted"
    assert model.score(X_test, y_test) > 0.55
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_fourier_features_show_a_line_of_progress(large, monkeypatch):
    X, y, _, _ = (each[:3000] for each in large)
    shown = io.StringIO()
    shown.isatty = lambda: True
    monkeypatch.setattr("sys.stderr", shown)
    baselines.FourierSVC(max_iter=3, verbose=1).fit(X, y)
    assert "computing features" in shown.getvalue()
    assert "solving over the features" in shown.getvalue()
    assert shown.getvalue().count("\n") == 1


def test_a_model_of_a_sample_proves_nothing(large):
    X, y, _, _ = large
    model = SVC(max_time=1e-9).fit(X, y)
    assert (model.strategy_, model.gap_, model.certified_) == ("sample", 1.0, False)
    assert 0.5 < model.certify(X, y) == model.gap_ < 1.0  # of 512 examples or fewer


def test_more_time_makes_a_better_model(large):
    X, y, X_test, y_test = large
    least, more = (SVC(C=10.0, max_time=each).fit(X, y).score(X_test, y_test) for each in (1e-9, 3.0))
    assert more > least + 0.01
    assert SVC(C=10.0).fit(X, y).score(X_test, y_test) >= more - 0.01


def test_time_that_suffices_is_no_limit(large):
    X, y, X_test, _ = (each[:6000] for each in large)
    limited, free = SVC(max_time=1e4).fit(X, y), SVC().fit(X, y)
    assert limited.stop_reason_ == free.stop_reason_ == "tol"
    np.testing.assert_array_equal(limited.decision_function(X_test), free.decision_function(X_test))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_models_of_samples_of_given_kernel_values_are_compared_by_the_columns_that_they_know():
    X, y = make_classification(1500, 20, n_informative=10, flip_y=0.2, random_state=0)
    gram = X @ X.T
    for tick in (3e-3, 0.01, 0.02, 0.05):  # the first sample is cut short, or the fit itself is
        model = timed_by(FakeTime(tick), SVC(C=100.0, kernel="precomputed", max_time=0.05)).fit(gram, y)
        assert model.score(gram, y) > 0.5


def test_gamma_and_class_weights_of_a_sample_are_those_of_all_rows(large):
    X, y, _, _ = large
    model = SVC(max_time=1e-9, class_weight={0: 1.0, 1: 7.0}).fit(X, y)
    assert model._gamma == pytest.approx(1.0 / (X.shape[1] * X.var()), rel=1e-4)
    np.testing.assert_array_equal(model.class_weight_, [1.0, 7.0])


def pressed(fit, seconds):
    """Seconds from Ctrl-C, so many seconds after its beginning, until a fit is over; None if it was over before."""
    moments = []

    def press():
        moments.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(seconds, press)
    timer.start()
    try:
        try:
            fit()
        finally:  # where a fit is over just then, the signal comes while the timer is waited for
            timer.cancel()
            timer.join()
    except KeyboardInterrupt:
        return time.perf_counter() - moments[0]
    return None


@pytest.mark.parametrize("moment", [0.02, 0.4])
@pytest.mark.parametrize("way", WAYS)
def test_ctrl_c_at_any_moment_leaves_a_fitted_estimator(way, moment, large):
    X, y, X_test, y_test = large
    model = WAYS[way].set_params(max_time=None, random_state=0)
    took = pressed(lambda: model.fit(X, y), moment)
    if took is None or (took < 0.1 and model.stop_reason_ == "tol"):
        pytest.skip("the fit was over before, or just then")
    assert (model.stop_reason_, model.fit_status_) == ("interrupted", 1)
    assert model.score(X_test, y_test) > 0.55
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize("stage", [1, 2, 4, 6])
def test_a_stage_cut_short_before_it_has_a_model_leaves_that_of_the_stage_before(stage, large, monkeypatch):
    """As where the first loop that judges its models is still to be compiled."""
    X, y, X_test, y_test = large
    solve_stage, begun = FitContext.solve_stage, []

    def cut(context, tasks, training_set):
        begun.append(training_set.n)
        if len(begun) < stage:
            return solve_stage(context, tasks, training_set)
        context.deadline.interrupted.set()
        raise CutShort(interrupted=True)

    monkeypatch.setattr(FitContext, "solve_stage", cut)
    model = SVC(strategy="screening", random_state=0)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert model.stop_reason_ == "interrupted"
    assert model.score(X_test, y_test) > 0.55


def test_what_judging_the_models_takes_at_the_end_is_part_of_the_time(many_classes, monkeypatch):
    now = FakeTime(tick=1e-3)

    def slow(method):
        def spending(*arguments):
            now.spend(1.0)
            return method(*arguments)

        return spending

    for name in ("assess", "expansion"):
        monkeypatch.setattr(StochasticBatchPerceptron, name, slow(getattr(StochasticBatchPerceptron, name)))
    X, y, _, _ = many_classes
    some = np.flatnonzero(y < 3)[:300]
    model = timed_by(now, SBPClassifier(0.1, tol=0.0, max_iter=-1, max_time=40.0, n_jobs=1))
    began = now.seconds
    model.fit(X[some], y[some])
    assert model.stop_reason_ == "max_time"
    assert 30.0 < now.seconds - began < 44.0  # without: 46, three problems being assessed and scaled


@pytest.mark.parametrize("limit", [2.0, 4.0, 10.0])
def test_time_to_judge_the_models_is_kept_from_the_first_step_on(limit, many_classes, monkeypatch):
    """Before the first regular assessment; where there is not even time for that, there is the model of a sample."""
    now = FakeTime(tick=1e-3)
    judge = SIMBA._responses

    def slowly(*arguments):
        now.spend(1.0)
        return judge(*arguments)

    monkeypatch.setattr(SIMBA, "_responses", slowly)
    X, y, X_test, y_test = many_classes
    some = np.flatnonzero(y < 3)[:300]
    model = timed_by(now, baselines.SIMBAClassifier(0.1, tol=0.0, max_iter=-1, max_time=limit, n_jobs=1))
    began = now.seconds
    model.fit(X[some], y[some])
    assert model.stop_reason_ == "max_time"
    assert now.seconds - began < limit + 1.5
    assert (model.n_iter_ > 0) == (limit == 10.0)  # else the class means
    assert model.score(X_test[y_test < 3], y_test[y_test < 3]) > 0.5


@pytest.mark.parametrize("seconds", [0.05, 0.2, 0.3])
def test_a_first_sample_has_as_much_time_as_where_none_is_left(seconds, large, monkeypatch):
    fitted, given = _Samples._fitted, []

    def noted(samples, size, deadline):
        given.append(deadline.left)
        return fitted(samples, size, deadline)

    monkeypatch.setattr(_Samples, "_fitted", noted)
    X, y, _, _ = large
    timed_by(FakeTime(tick=1e-4), SBPClassifier(0.1, max_time=seconds, n_jobs=1)).fit(X, y)
    assert given[0] == pytest.approx(_GRACE, abs=0.01)


COLD = """
import os, signal, sys, threading, time
import numpy as np
from slackwater import SVC
rng = np.random.default_rng(0)
X = rng.standard_normal((20_000, 6)).astype(np.float32)
y = (X[:, 0] > 0).astype(int)
model = SVC(max_time=float(sys.argv[1]) if sys.argv[1] else None)
if not sys.argv[1]:
    threading.Timer(1.0, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
start = time.perf_counter()
try:
    model.fit(X, y)
except KeyboardInterrupt:
    pass
seconds = time.perf_counter() - start
print(model.stop_reason_, seconds, len(model.support_))
"""


@pytest.mark.parametrize(("limit", "reason"), [("", "interrupted"), ("0.05", "max_time")])
def test_a_fit_ends_while_its_loops_are_compiled(limit, reason, tmp_path):
    """In a process that finds none on disk; to compile all takes several seconds."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    ran = subprocess.run(
        [sys.executable, "-c", COLD, limit], env=environment, capture_output=True, text=True, timeout=300, check=True
    )
    found, seconds, support = ran.stdout.split()
    assert (found, int(support) > 1) == (reason, True)
    compiled = [name for _, _, files in os.walk(tmp_path) for name in files]
    assert len(compiled) < 30  # most were still to be compiled when the fit ended
    assert float(seconds) < GENEROUS


def test_a_step_cut_short_is_as_if_it_had_not_been_begun(large, tmp_path):
    """The state that a checkpoint keeps is that of an uninterrupted run."""
    X, y, X_test, _ = (each[:9000] for each in large)
    given = {"C": 10.0, "tol": 1e-9, "random_state": 0}
    whole = SVC(max_iter=12, **given).fit(X, y)
    for _ in range(40):
        part = SVC(max_iter=12, max_time=None, checkpoint=tmp_path / "state", **given)
        if pressed(lambda part=part: part.fit(X, y), 0.15) is None:
            break
    assert part.n_iter_ == whole.n_iter_ == 12
    np.testing.assert_array_equal(part.decision_function(X_test), whole.decision_function(X_test))


@pytest.mark.parametrize("kernel", ["precomputed", "callable"])
def test_kernels_of_users_leave_a_model_as_well(kernel, large):
    X, y, X_test, y_test = (each[:1500] for each in large)

    def gaussian(A, B):
        return np.exp(-0.1 * ((A[:, None, :] - B[None, :, :]) ** 2).sum(axis=2))

    if kernel == "precomputed":
        model = SVC(kernel="precomputed", max_time=1e-9).fit(gaussian(X, X), y)
        X_test = gaussian(X_test, X)
    else:
        model = SVC(kernel=gaussian, max_time=1e-9).fit(X, y)
    assert model.stop_reason_ == "max_time"
    assert model.score(X_test, y_test) > 0.55


@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_class_means_put_an_example_where_the_nearest_mean_is(n_classes, multi_class, monkeypatch):
    from slackwater.estimators import anytime

    monkeypatch.setattr(anytime._Samples, "_fitted", lambda *arguments: None)
    X, y = make_blobs(400, 3, centers=n_classes, random_state=1)
    model = SVC(kernel="linear", multi_class=multi_class, max_time=1e-9).fit(X, y)
    means = np.stack([X[y == code].mean(axis=0) for code in range(n_classes)])
    nearest = ((X[:, None] - means) ** 2).sum(axis=2).argmin(axis=1)
    np.testing.assert_array_equal(model.predict(X), nearest)
    assert (model.strategy_, model.stop_reason_, model.certified_) == ("sample", "max_time", False)


def test_a_model_of_a_sample_can_be_stored(large, tmp_path):
    X, y, X_test, _ = large
    model = SVC(max_time=1e-9).fit(X, y)
    model.save(tmp_path / "model")
    np.testing.assert_allclose(load(tmp_path / "model").decision_function(X_test), model.decision_function(X_test))
