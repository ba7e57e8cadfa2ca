"""A usable model at any moment: more time never makes it notably worse, early stopping keeps the best one."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import svm
from sklearn.datasets import make_classification
from sklearn.metrics.pairwise import rbf_kernel

from slackwater import SVC, SBPClassifier
from slackwater.baselines import SDCAClassifier
from slackwater.errors import ConvergenceWarning
from slackwater.solvers.dual_blocks import block_size

pytestmark = pytest.mark.filterwarnings("ignore::slackwater.errors.ConvergenceWarning")


@pytest.fixture(scope="module")
def noisy():
    """Clusters with labels of which one in a hundred is wrong: the worst violators are outliers."""
    X, y = make_classification(12_000, 10, n_informative=5, random_state=3)
    return X[:8000], y[:8000], X[8000:], y[8000:]


@pytest.fixture(scope="module")
def rarely_positive():
    """Labels of which one in four is positive, and one in six is wrong."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((9000, 8))
    y = (X[:, 0] + 0.5 * X[:, 1] * X[:, 2] + 0.5 * rng.standard_normal(9000) > 0.8).astype(int)
    return X[:6000], y[:6000], X[6000:], y[6000:]


def errors(data, budgets, **parameters):
    X, y, X_test, y_test = data
    return [1.0 - SVC(random_state=0, **parameters, **each).fit(X, y).score(X_test, y_test) for each in budgets]


@pytest.mark.parametrize("C", [1.0, 100.0])
@pytest.mark.parametrize("data", ["noisy", "rarely_positive"])
def test_more_steps_never_make_the_model_notably_worse(data, C, request):
    steps = (1, 2, 3, 5, 8, 12)
    found = errors(request.getfixturevalue(data), [{"max_iter": each} for each in steps], C=C, tol=1e-3)
    assert (found <= np.minimum.accumulate(found) + 0.01).all(), found


@pytest.mark.parametrize("seed", [0, 1])
def test_single_steps_of_a_dual_ascent_never_make_the_model_notably_worse(seed, rarely_positive):
    """Where the last model was returned, errors rose by up to 8 points."""
    X, y, X_test, y_test = rarely_positive
    steps, model = 2 ** np.arange(6, 13), SDCAClassifier(1000.0, gamma=0.1, tol=0.0, random_state=seed)
    found = [1.0 - model.set_params(max_iter=int(k)).fit(X, y).score(X_test, y_test) for k in steps]
    assert (found <= np.minimum.accumulate(found) + 0.02).all(), found


def test_once_the_gap_is_small_the_best_model_of_a_dual_ascent_is_that_of_the_lowest_objective():
    X, y = make_classification(600, 5, random_state=0)
    model = SDCAClassifier(1.0, gamma=0.1, tol=0.0, max_iter=6000).fit(X, y)
    assert model.gap_ < 0.05
    assert model.gap_ <= model.history_["gap"][-1] * 1.001


def test_the_quick_way_keeps_what_it_has_when_a_budget_runs_out():
    X, y = make_classification(14_000, 10, n_informative=5, random_state=3)
    found = errors((X[:10_000], y[:10_000], X[10_000:], y[10_000:]), [{"max_iter": k} for k in (1, 2, 5, 10, 20)])
    assert (found <= np.minimum.accumulate(found) + 0.01).all(), found


def test_a_few_blocks_leave_support_vectors_of_both_classes(rarely_positive):
    X, y, _, _ = rarely_positive
    for steps in (1, 2, 5, 10):
        model = SVC(C=100.0, tol=1e-3, max_iter=steps, random_state=0).fit(X, y)
        assert (model.n_support_ > 0).all()


def test_the_gap_is_that_of_the_model_returned(noisy):
    X, y, _, _ = noisy
    model = SVC(C=100.0, gamma=0.3, tol=1e-3, max_iter=9, random_state=0).fit(X, y)
    values = model.decision_function(X) * np.where(y == 1, 1, -1)
    primal = 0.5 / model.margin_**2 + 100.0 * np.maximum(0.0, 1.0 - values).sum()
    bound = model.history_["bound"][-1]
    assert (primal - bound) / primal == pytest.approx(model.gap_, rel=1e-3)


def test_stopping_and_going_on_leads_to_the_same_model(noisy):
    X, y, X_test, _ = noisy
    whole = SVC(C=10.0, tol=1e-4, random_state=0).fit(X, y)
    parts = SVC(C=10.0, tol=1e-4, max_iter=4, random_state=0, warm_start=True).fit(X, y)
    assert parts.n_iter_ == 4
    parts.set_params(max_iter=1).fit(X, y)
    assert parts.n_iter_ == 5
    parts.set_params(max_iter=-1).fit(X, y)
    assert parts.stop_reason_ == "tol"
    np.testing.assert_allclose(parts.decision_function(X_test), whole.decision_function(X_test), atol=0.02)


def test_early_stopping_waits_for_a_tenth_of_an_epoch_for_each_assessment_of_its_patience():
    """Not for as many blocks, which are a third of that."""
    X, y = make_classification(20_000, 10, n_informative=5, random_state=3)
    patience, trained = 5, 0.9 * 15_000
    model = SVC(tol=1e-9, early_stopping=True, n_iter_no_change=patience, random_state=0).fit(X[:15_000], y[:15_000])
    assert model.stop_reason_ == "early_stopping"
    best = model.history_["step"][model.history_["holdout_error"].argmin()]
    in_blocks = [block_size(number) for number in range(best, model.n_iter_[0])]
    assert sum(in_blocks) >= 0.1 * patience * trained > 2 * sum(in_blocks[:patience])
    whole = SVC(random_state=0).fit(X[:15_000], y[:15_000])
    assert model.score(X[15_000:], y[15_000:]) >= whole.score(X[15_000:], y[15_000:]) - 0.005


@pytest.mark.parametrize("C", [1.0, 100.0])
@pytest.mark.parametrize("data", ["noisy", "rarely_positive"])
def test_early_stopping_is_as_good_as_going_on(data, C, request):
    X, y, X_test, y_test = request.getfixturevalue(data)
    given = {"C": C, "gamma": 0.1, "random_state": 0}
    stopped = SVC(tol=1e-9, early_stopping=True, n_iter_no_change=4, **given).fit(X, y)
    assert stopped.stop_reason_ == "early_stopping"
    assert stopped.score(X_test, y_test) >= SVC(tol=1e-3, **given).fit(X, y).score(X_test, y_test) - 0.01


@pytest.mark.parametrize("estimator", [SVC(C=100.0, gamma=1.0, tol=1e-9), SBPClassifier(nu=0.05, gamma=1.0, tol=0.0)])
def test_early_stopping_keeps_the_model_with_the_least_hold_out_error(estimator, noisy, tmp_path):
    X, y, _, _ = (each[:2500] for each in noisy)
    estimator.set_params(early_stopping=True, n_iter_no_change=2, validation_fraction=0.3, random_state=0)
    model = estimator.fit(X, y)
    errors = model.history_["holdout_error"]
    assert model.stop_reason_ == "early_stopping"
    held_out_at_best = errors.min()
    assert errors[-1] >= held_out_at_best
    last_best = int(np.flatnonzero(errors == held_out_at_best)[-1])
    assert model.margin_ == pytest.approx(model.history_["margin"][last_best])
    assert len(model.support_) == model.history_["n_support"][last_best]


@pytest.mark.parametrize("steps", [3, 10])
def test_the_best_model_so_far_outlives_an_interruption(noisy, tmp_path, steps):
    X, y, X_test, _ = noisy
    given = {"C": 100.0, "gamma": 0.3, "tol": 1e-9, "early_stopping": True, "random_state": 0, "n_iter_no_change": 1}
    whole = SVC(**given).fit(X, y)
    SVC(**given, max_iter=steps, checkpoint=tmp_path / "c").fit(X, y)
    resumed = SVC(**given, checkpoint=tmp_path / "c").fit(X, y)
    assert resumed.stop_reason_ == whole.stop_reason_
    np.testing.assert_array_equal(resumed.decision_function(X_test), whole.decision_function(X_test))


def test_a_large_c_has_no_larger_error_than_libsvm_in_single_precision():
    """Coefficients of a million times the rounding of single precision are as large as the margin."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3000, 4)).astype(np.float32)
    y = (np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + rng.standard_normal(3000) > 0).astype(int)
    ours = SVC(C=1e6, gamma=0.05, max_iter=200).fit(X[:600], y[:600])
    theirs = svm.SVC(C=1e6, gamma=0.05, max_iter=100_000).fit(X[:600], y[:600])
    assert ours.score(X[:600], y[:600]) >= theirs.score(X[:600], y[:600]) - 0.01
    assert ours.score(X[600:], y[600:]) >= theirs.score(X[600:], y[600:]) - 0.01


def test_predictions_in_single_precision_are_those_in_double_where_coefficients_are_large():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((800, 4)).astype(np.float32)
    y = (X[:, 0] + rng.standard_normal(800) > 0).astype(int)
    model = SVC(C=1e6, gamma=0.03, max_iter=60).fit(X[:500], y[:500])
    assert np.abs(model.dual_coef_).max() > 1e5
    values = rbf_kernel(X.astype(np.float64), model.support_vectors_.astype(np.float64), gamma=0.03)
    expected = values @ model.dual_coef_[0] + model.intercept_
    np.testing.assert_allclose(model.decision_function(X), expected, atol=1e-6)


@pytest.mark.parametrize(("C", "strategy"), [(1e6, "exact"), (1.0, "sparse_kernel")])
def test_a_large_c_keeps_large_sets_from_single_precision(C, strategy):
    """Which all strategies but the exact one compute in; here the kernel is so narrow that either is quick."""
    X = np.random.default_rng(0).uniform(0, 60, (8200, 3)).astype(np.float32)
    y = (X[:, 0] > 30).astype(int)
    model = SVC(C=C, gamma=1.0, max_iter=3 if strategy == "exact" else 10_000).fit(X, y)
    assert model.strategy_ == strategy
    errors = [each for each in model.decisions_ if each.measured == "error of single precision, in margins"]
    assert [each.outcome for each in errors] == (["taken"] if strategy == "exact" else [])


def test_a_fit_that_rounding_keeps_from_its_tolerance_stops_with_a_warning():
    rng = np.random.default_rng(0)
    X = 1e-4 * rng.standard_normal((600, 3))
    y = (rng.random(600) < 0.5).astype(int)
    with pytest.warns(ConvergenceWarning, match="stalled"):
        model = SVC(C=1e8, gamma=1e-3, tol=1e-12).fit(X, y)
    assert model.stop_reason_ == "stalled"
    assert model.n_iter_ < 2000
