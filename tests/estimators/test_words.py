"""Warnings say what is true: which criterion failed, by how much, and what helps."""

from __future__ import annotations

import os
import re
import signal
import warnings

import numpy as np
import pytest
from sklearn.datasets import make_classification, make_moons

from slackwater import SVC, SBPClassifier
from slackwater.errors import ConvergenceWarning
from slackwater.estimators.outcome import short_of_gap
from slackwater.estimators.watching import warn_unless_converged
from slackwater.expansion import Expansion
from slackwater.fitting.result import BinaryResult
from slackwater.solvers.base import Assessment
from slackwater.stopping import GapBelow, Progress, StopReason


@pytest.fixture(scope="module")
def moons():
    return make_moons(400, noise=0.25, random_state=0)


def words_of(model, X, y):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y)
    return [str(warning.message) for warning in caught]


def ended(gap, violation):
    assessment = Assessment(1.0, 0.9, gap, 1.0, 0.1, 3, None, violation)
    return BinaryResult(Expansion(np.arange(0), np.empty(0), 0.0), assessment, StopReason.STEPS, 7)


@pytest.mark.parametrize(
    ("gap", "violation", "words"),
    [
        (0.02, 0.0, "at the relative gap 0.02, above tol=0.001"),
        (3e-4, 0.05, "within tol=0.001, but with the optimality conditions violated by 0.05, above ten times that"),
        (3e-4, 0.005, ""),
    ],
)
def test_the_criterion_that_failed_is_named(gap, violation, words):
    said = short_of_gap([ended(1e-5, 0.0), ended(gap, violation)], 1e-3)
    assert said.endswith(words)
    met = GapBelow(1e-3)(Progress(7, 0, 0.0, gap=gap, violation=violation)) is not None
    assert (said == "") == met


def test_a_gap_within_the_tolerance_is_never_called_above_it():
    X, y = make_classification(1500, 10, flip_y=0.2, random_state=0)
    said = {steps: words_of(SVC(C=10.0, tol=1e-2, max_iter=steps), X, y) for steps in (1, 2, 3, 11)}
    for steps in (1, 2):
        (above,) = said[steps]
        assert re.search(r"at the relative gap 0\.\d+, above tol=0\.01\.", above)
        assert "optimality" not in above
    (within,) = said[3]
    violated = re.search(r"gap 0\.00\d+, within tol=0\.01, .* conditions violated by (0\.\d+), above ten", within)
    assert violated is not None
    assert float(violated[1]) > 10 * 1e-2
    assert said[11] == []


@pytest.mark.parametrize("n", [4000, 9000])
def test_a_tolerance_that_was_not_stated_is_not_called_none(n):
    X, y = make_classification(n, 20, flip_y=0.1, random_state=0)
    budget = {"max_iter": 1} if n == 4000 else {"max_time": 1e-6}
    (said,) = words_of(SVC(C=10.0, **budget), X, y)
    assert "None" not in said
    assert ("above the default tolerance 0.0001" in said) == (n == 4000)
    assert ("estimated relative gap" in said) == (n == 9000)


@pytest.mark.parametrize("kept", [{}, {"warm_start": True}])
def test_an_interrupted_run_is_told_how_it_can_be_continued(moons, kept):
    def press_at(moment):
        if moment.step == 100:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt) as raised:
        SBPClassifier(0.1, max_iter=10**6, tol=0.0, callback=press_at, **kept).fit(*moons)
    said = str(raised.value)
    assert ("fit goes on from here" in said) == bool(kept)
    assert ("it needs warm_start=True or a checkpoint" in said) == (not kept)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("method", [SVC(tol=1e-12), SBPClassifier(0.1, tol=0.0, gamma=1.0, cache_size=0)])
def test_evaluations_are_counted_from_the_first_of_continued_fits(moons, method):
    X, y = moons
    model = method.set_params(max_iter=2, warm_start=True).fit(X, y)
    first, steps = model.n_kernel_evals_, model.n_iter_
    model.fit(X, y)
    assert np.all(model.n_iter_ > steps)
    assert model.n_kernel_evals_ > first
    assert model.n_kernel_evals_ == model.history_["evaluations"][-1]
    assert model.history_["evaluations"][0] > first


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_on_other_rows_a_state_starts_afresh_and_says_so_and_a_model_goes_on(moons):
    X, y = moons
    state = SBPClassifier(0.1, tol=0.0, gamma=1.0, cache_size=0, max_iter=2, warm_start=True).fit(X, y)
    first = state.n_kernel_evals_
    with pytest.warns(UserWarning, match="starts afresh"):
        state.fit(X[:300], y[:300])
    assert state.n_kernel_evals_ < first
    model = SVC(max_iter=2, warm_start=True).fit(X, y)
    first = model.n_kernel_evals_
    assert model.fit(X[:300], y[:300]).n_kernel_evals_ > first


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_budget_of_evaluations_is_for_each_call(moons):
    X, y = moons
    model = SBPClassifier(0.1, tol=0.0, max_kernel_evals=20 * len(y), warm_start=True, cache_size=0).fit(X, y)
    first = model.n_kernel_evals_
    model.fit(X, y)
    assert 1.5 * first < model.n_kernel_evals_ <= 2 * 20 * len(y)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_checkpoint_counts_evaluations_once(moons, tmp_path):
    X, y = moons
    kept = {"checkpoint": tmp_path / "state", "warm_start": True}
    model = SBPClassifier(0.1, tol=0.0, max_iter=20, cache_size=0, **kept).fit(X, y)
    first = model.n_kernel_evals_
    model.set_params(max_iter=40).fit(X, y)
    assert model.n_iter_ == 60
    assert 2 * first < model.n_kernel_evals_ <= 3.5 * first


def test_there_is_no_warning_where_the_last_look_finds_the_tolerance_met():
    model = SBPClassifier(tol=1e-3)
    with pytest.warns(ConvergenceWarning, match="raise max_iter"):
        warn_unless_converged(model, [ended(2e-3, 0.0)])
    warn_unless_converged(model, [ended(3e-4, 0.0)])  # a warning would be an error here
