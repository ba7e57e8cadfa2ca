"""scikit-learn's callbacks, from 1.9 on; before, estimators are as they were."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_moons
from sklearn.model_selection import GridSearchCV

from fitting_problems import DATA, svc
from slackwater import SVC, SBPClassifier
from slackwater.baselines import PegasosClassifier, SMOClassifier

WITHOUT = """
import builtins
plain = builtins.__import__
def without_callbacks(name, globals=None, *others):
    if name == "sklearn.callback" and globals["__name__"].startswith("slackwater"):
        raise ImportError(name)
    return plain(name, globals, *others)
builtins.__import__ = without_callbacks
from sklearn.datasets import load_iris
from slackwater import SVC
model = SVC().fit(*load_iris(return_X_y=True))
assert not hasattr(model, "set_callbacks")
assert model.score(*load_iris(return_X_y=True)) > 0.9
"""


def test_a_scikit_learn_without_callbacks_makes_no_fuss():
    found = subprocess.run(
        [sys.executable, "-W", "error", "-c", WITHOUT], capture_output=True, timeout=120, check=False
    )
    assert (found.returncode, found.stderr) == (0, b"")


callback = pytest.importorskip("sklearn.callback", reason="scikit-learn has callbacks from 1.9 on")


class Recorder:
    """Keeps what it is shown; asks for an end at the look with a given number."""

    def __init__(self, stop_at=None):
        self.stop_at, self.looks, self.calls = stop_at, [], []

    def setup(self, estimator, context):
        self.calls.append("setup")

    def teardown(self, estimator, context):
        self.calls.append("teardown")

    def on_fit_task_begin(self, estimator, context):
        self.calls.append(f"begin {context.task_name}")

    def on_fit_task_end(self, estimator, context, *, X=None, y=None, fitted_estimator=None):
        self.calls.append(f"end {context.task_name}")
        if context.task_name == "assessment":
            self.looks.append(fitted_estimator.score(X, y))
            return len(self.looks) == self.stop_at
        self.last = fitted_estimator.decision_function(X)
        return False


@pytest.fixture(scope="module")
def moons():
    return make_moons(300, noise=0.2, random_state=0)


ESTIMATORS = [
    SVC(random_state=0),
    SVC(warm_start=True, random_state=0),
    SBPClassifier(0.02, max_iter=200, random_state=0),
    PegasosClassifier(max_iter=200, random_state=0),
    SMOClassifier(random_state=0),
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_callbacks_see_the_models_on_the_way_and_change_nothing(estimator, moons):
    from sklearn.base import clone

    seen = Recorder()
    watched = clone(estimator).set_callbacks(seen).fit(*moons)
    plain = clone(estimator).fit(*moons)
    np.testing.assert_array_equal(watched.dual_coef_, plain.dual_coef_)
    assert seen.calls[:2] == ["setup", "begin fit"]
    assert seen.calls[-2:] == ["end fit", "teardown"]
    assert len(seen.looks) >= 1
    assert seen.looks[-1] > 0.8
    np.testing.assert_array_equal(seen.last, plain.decision_function(moons[0]))


@pytest.mark.parametrize("parameters", [{}, {"multi_class": "ovr"}, {"warm_start": True}, {"strategy": "exact"}])
def test_models_on_the_way_have_all_classes(parameters):
    X, y = load_iris(return_X_y=True)
    seen = Recorder()
    SVC(random_state=0, **parameters).set_callbacks(seen).fit(X, y)
    assert seen.looks[-1] > 0.9


@pytest.mark.parametrize(("multi_class", "classes"), [("ovo", 2), ("ovr", 3)])
def test_few_features_of_a_linear_kernel_show_each_solution(multi_class, classes):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((4000, 4))
    y = np.argmax(X[:, :classes] + 0.1 * rng.standard_normal((4000, classes)), axis=1)
    seen = Recorder()
    model = SVC(kernel="linear", multi_class=multi_class).set_callbacks(seen).fit(X, y)
    assert (model.strategy_, len(seen.looks)) == ("low_rank", 1 if classes == 2 else 3)
    assert seen.looks[-1] == model.score(X, y) > 0.85


@pytest.mark.parametrize("data", DATA)
def test_every_strategy_shows_its_models_and_ends_when_asked_to(data):
    make, strategy = DATA[data]
    X, y, parameters = make(9000)
    seen = Recorder()
    model = svc(strategy=strategy, **parameters).set_callbacks(seen).fit(X, y)
    assert model.strategy_ == strategy
    assert len(seen.looks) > 3
    assert seen.looks[-1] == pytest.approx(model.score(X, y), abs=0.02)
    ended = svc(strategy=strategy, **parameters).set_callbacks(Recorder(stop_at=2)).fit(X, y)
    assert ended.stop_reason_ == "callback"
    assert ended.score(X, y) > 0.5


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_true_ends_training_with_the_model_reached(moons):
    model = SBPClassifier(0.02, tol=0.0, max_iter=1000, random_state=0).set_callbacks(Recorder(stop_at=3)).fit(*moons)
    assert model.stop_reason_ == "callback"
    assert model.n_iter_ < 100
    X, y = load_iris(return_X_y=True)
    stopped = SVC(max_kernel_evals=10**9, tol=1e-9, random_state=0).set_callbacks(Recorder(stop_at=1)).fit(X, y)
    assert stopped.stop_reason_ == "callback"
    assert (stopped.n_iter_ <= 2).all()  # the pairs after it make the step without which there is no model


def test_scikit_learns_own_callbacks_work_within_a_search(moons):
    X, y = moons
    monitor = callback.ScoringMonitor(scoring="accuracy")
    search = GridSearchCV(SVC(random_state=0).set_callbacks(monitor), {"C": [1.0, 10.0]}, cv=2).fit(X, y)
    logs = monitor.get_logs(select="all")
    assert sum(len(log.data) for log in logs) >= 5
    assert search.best_score_ > 0.9
