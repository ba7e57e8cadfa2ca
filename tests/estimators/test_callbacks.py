"""A callback sees every step and changes nothing but when training ends."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.metrics.pairwise import rbf_kernel

from fake_time import FakeTime, timed_by
from problems import noisy_blobs
from slackwater import SBPClassifier, baselines

pytestmark = pytest.mark.filterwarnings("ignore::slackwater.errors.ConvergenceWarning")

STEPS = 40
WATCHED = [
    SBPClassifier(0.05, gamma=0.5, tol=0.0, max_iter=STEPS),
    SBPClassifier(0.05, gamma=0.5, tol=0.0, max_iter=STEPS, fit_intercept=True, average="last"),
    baselines.PegasosClassifier(0.01, gamma=0.5, tol=0.0, max_iter=STEPS),
    baselines.NormBallSGDClassifier(5.0, gamma=0.5, tol=0.0, max_iter=STEPS),
    baselines.SDCAClassifier(1.0, gamma=0.5, tol=0.0, max_iter=STEPS),
    baselines.SMOClassifier(1.0, gamma=0.5, tol=0.0, max_iter=STEPS),
    baselines.KernelPerceptron(1, gamma=0.5, max_iter=STEPS),
    baselines.SIMBAClassifier(0.05, tol=0.0, max_iter=STEPS),
]
every_watched = pytest.mark.parametrize("estimator", WATCHED, ids=lambda e: type(e).__name__)


def watched(estimator, X, y, callback):
    return clone(estimator).set_params(callback=callback).fit(X, y)


@every_watched
def test_every_step_is_shown_and_the_last_model_is_the_estimators(estimator):
    X, y = noisy_blobs(80, 0)
    seen = []
    fitted = watched(estimator, X, y, lambda moment: seen.append((moment, moment.model())))
    assert [moment.step for moment, _ in seen] == list(range(1, STEPS + 1))
    evaluations = [moment.evaluations for moment, _ in seen]
    assert evaluations == sorted(evaluations)
    assert evaluations[-1] == fitted.n_kernel_evals_
    support, dual_coef, intercept = seen[-1][1]
    np.testing.assert_array_equal(support, fitted.support_)
    np.testing.assert_array_equal(dual_coef, fitted.dual_coef_)
    np.testing.assert_array_equal(intercept, fitted.intercept_)


@every_watched
def test_watching_changes_nothing(estimator):
    X, y = noisy_blobs(80, 0)
    plain = clone(estimator).fit(X, y)
    seen = watched(estimator, X, y, lambda moment: moment.model() and False)
    np.testing.assert_array_equal(plain.dual_coef_, seen.dual_coef_)
    assert plain.n_kernel_evals_ == seen.n_kernel_evals_
    assert plain.stop_reason_ == seen.stop_reason_ == "max_iter"


@every_watched
def test_true_ends_training_after_that_step(estimator):
    X, y = noisy_blobs(80, 0)
    fitted = watched(estimator, X, y, lambda moment: moment.step == 7)
    short = clone(estimator).set_params(max_iter=7).fit(X, y)
    assert (fitted.stop_reason_, fitted.n_iter_) == ("callback", 7)
    np.testing.assert_array_equal(fitted.dual_coef_, short.dual_coef_)


def test_the_model_names_rows_of_the_data_whatever_was_merged():
    X, y = noisy_blobs(60, 1)
    X, y = np.vstack([X[:20], X]), np.append(y[:20], y)
    models = []
    fitted = watched(WATCHED[0], X, y, lambda moment: models.append(moment.model()))
    support, dual_coef, intercept = models[-1]
    values = rbf_kernel(X, X[support], gamma=0.5) @ dual_coef[0] + intercept[0]
    np.testing.assert_allclose(values, fitted.decision_function(X), rtol=1e-9)


def test_several_classes_are_shown_together():
    X, y = load_iris(return_X_y=True)
    models = []
    fitted = watched(WATCHED[0], X, y, lambda moment: models.append(moment.model()))
    assert len(models) == STEPS
    np.testing.assert_array_equal(models[-1].dual_coef, fitted.dual_coef_)
    assert models[-1].intercept.shape == (3,)


def test_the_callbacks_time_is_not_counted():
    X, y = noisy_blobs(60, 1)
    now = FakeTime(tick=0.001)
    fitted = watched(timed_by(now, WATCHED[0]), X, y, lambda moment: now.spend(50.0))
    assert 0.0 < fitted.history_["seconds"][-1] < 50.0 < now.seconds - 1000.0


def test_what_cannot_be_called_is_refused():
    with pytest.raises(ValueError, match="callback must be a function of one argument or None, got 3"):
        watched(WATCHED[0], *noisy_blobs(20, 0), 3)
