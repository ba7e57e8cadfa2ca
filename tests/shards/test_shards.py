"""The dual over shards: the optimum whatever the cut, and messages that do not grow with the data."""

from __future__ import annotations

import functools
import math
import pickle

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from sklearn import svm
from sklearn.datasets import make_classification, make_moons

from shards.parts import session_of, solved
from slackwater.shards.basins import MAX_POINTS
from slackwater.shards.levels import LevelWindows, settle
from slackwater.shards.messages import EVERYTHING, Query, Request
from slackwater.shards.session import LocalTransport, Members
from slackwater.shards.shard import OutOfStepError
from slackwater.shards.solver import Best, _yields
from slackwater.solvers.base import Assessment
from slackwater.solvers.coupling import Balanced, Free
from slackwater.stopping import StopReason


def moons(n=1500, seed=0):
    X, y = make_moons(n, noise=0.3, random_state=seed)
    return X, y.astype(np.intp)


def libsvm_objective(X, y, C, gamma, weights=None):
    """The dual's value: an optimum by another program."""
    model = svm.SVC(C=C, gamma=gamma, tol=1e-8, cache_size=500).fit(X, y, sample_weight=weights)
    distances = ((model.support_vectors_[:, None] - model.support_vectors_[None]) ** 2).sum(axis=-1)
    signed = model.dual_coef_[0]
    return np.abs(signed).sum() - 0.5 * signed @ np.exp(-gamma * distances) @ signed


@pytest.mark.parametrize("shards", [1, 2, 5])
def test_any_cut_has_the_optimum_of_libsvm(shards):
    X, y = moons()
    _, (task,) = solved(session_of(X, y, C=2.0, gamma=2.0, shards=shards))
    optimum = libsvm_objective(X, y, 2.0, 2.0)
    assert task.reason is StopReason.TOLERANCE
    assert task.assessment.bound == pytest.approx(optimum, rel=2e-5)
    assert task.assessment.objective == pytest.approx(optimum, rel=2e-5)


def test_weights_are_those_of_libsvm():
    X, y = moons()
    weights = np.random.default_rng(0).uniform(0.1, 3.0, len(X))
    _, (task,) = solved(session_of(X, y, C=2.0, gamma=2.0, weights=weights))
    assert task.assessment.objective == pytest.approx(libsvm_objective(X, y, 2.0, 2.0, weights), rel=2e-5)


def test_a_problem_without_a_bias_is_solved_to_a_gap_that_holds():
    X, y = moons(800)
    one, other = (solved(session_of(X, y, coupling=Free(), shards=k))[1][0].assessment for k in (1, 3))
    assert one.bound <= other.objective * (1 + 1e-9)
    assert other.bound <= one.objective * (1 + 1e-9)
    assert other.gap <= 1e-5


def test_sparse_rows_have_the_same_optimum_as_dense_ones():
    X, y = moons(600)
    X[np.abs(X) < 0.3] = 0.0
    dense, thin = (solved(session_of(each, y))[1][0].assessment for each in (X, sparse.csr_matrix(X)))
    assert thin.objective == pytest.approx(dense.objective, rel=2e-5)


def test_points_on_disk_give_the_same_model_as_points_in_memory(tmp_path):
    X, y = moons(700)
    _, (here,) = solved(session_of(X, y))
    _, (there,) = solved(session_of(X, y, folder=tmp_path))
    np.testing.assert_array_equal(here.state.support.ids, there.state.support.ids)
    np.testing.assert_array_equal(here.state.support.alpha, there.state.support.alpha)


def test_every_pair_of_classes_has_its_own_optimum():
    X, y = make_classification(900, 6, n_informative=4, n_classes=3, random_state=0)
    _, tasks = solved(session_of(X, y.astype(np.intp), gamma=0.2))
    for task, (a, b) in zip(tasks, [(0, 1), (0, 2), (1, 2)], strict=True):
        both = (y == a) | (y == b)
        assert task.assessment.objective == pytest.approx(libsvm_objective(X[both], y[both], 1.0, 0.2), rel=2e-5)


def test_responses_follow_from_the_support_vectors():
    """What the driver knows is all that a shard needs to be made again."""
    X, y = moons(900)
    session = session_of(X, y)
    solved(session, most=7)
    shard = session.transport.shards[1]
    before = shard._problems[0].responses.copy()
    call = session._catch_up(1)
    shard._problems[0].responses[:] = np.nan
    getattr(shard, call.method)(*call.arguments)
    np.testing.assert_allclose(shard._problems[0].responses, before, atol=1e-9)


def test_a_round_that_is_asked_for_twice_is_made_once():
    X, y = moons(300)
    session = session_of(X, y, shards=1)
    solved(session, most=2)
    shard, seen = session.transport.shards[0], []
    original = shard.exchange

    def twice(request):
        first, second = original(request), original(request)
        seen.append((first.evaluations, second.evaluations))
        np.testing.assert_array_equal(first.reports[0].wanted, second.reports[0].wanted)
        return second

    shard.exchange = twice
    _, (task,) = solved_from(session)
    assert seen
    assert all(second == 0 for _, second in seen)
    assert task.assessment.gap <= 1e-4


def solved_from(session):
    """A second fit by the same shards, which begin anew."""
    for shard in session.transport.shards:
        shard.restore(0, None, [])
        for problem in shard._problems:
            problem.alpha[:] = problem.responses[:] = 0.0
    fresh = type(session)(session.transport, session.plan, session.ledger, session.workers)
    return solved(fresh, tol=1e-4)


def test_a_shard_that_has_missed_a_round_says_so():
    X, y = moons(100)
    shard = session_of(X, y, shards=1).transport.shards[0]
    with pytest.raises(OutOfStepError, match="at round 0, asked for 5"):
        shard.exchange(Request(5, np.empty(0, np.intp), np.empty(0, bool), None, [], []))


class Weighed(LocalTransport):
    """Counts the bytes of what is said."""

    def call(self, calls, catch_up):
        answers = super().call(calls, catch_up)
        self.down = [*getattr(self, "down", []), *(len(pickle.dumps(each)) for each in calls)]
        self.up = [*getattr(self, "up", []), *(len(pickle.dumps(each)) for each in answers)]
        return answers


def test_messages_do_not_grow_with_the_number_of_examples():
    """Four times the rows: the largest message is as large as before, and below one vector of a shard's length."""
    largest = {}
    for n in (40000, 160000):
        X, y = moons(n)
        session = session_of(X, y, C=2.0, gamma=2.0, shards=2)
        session.transport = Weighed(session.transport.shards)
        solved(session, most=4)
        largest[n] = max(session.transport.down), max(session.transport.up)
    assert largest[160000][0] < 1.2 * largest[40000][0]
    assert largest[160000][1] < 1.2 * largest[40000][1]
    assert max(largest[160000]) < 160000 / 2 * 8


def test_the_level_is_found_from_windows_of_few_points():
    X, y = moons(40000)
    session = session_of(X, y, shards=2)
    solver, _ = solved(session, most=25)
    window = solver.windows[0].now()
    query = Query(0, 0, np.inf, 0.0, window, np.empty(0, np.intp))
    shown = session.transport.shards[0]._report(query)
    assert all(shown.exact)
    assert sum(len(each.points) for each in shown.basins) < 8000
    everything = shown_through_everything(session)
    assert not any(everything.exact)  # strata: never more than so many points
    assert max(len(each.points) for each in everything.basins) <= MAX_POINTS


def shown_through_everything(session):
    query = Query(0, 0, np.inf, 0.0, (EVERYTHING, EVERYTHING), np.empty(0, np.intp))
    return session.transport.shards[0]._report(query)


@pytest.mark.parametrize("coupling", [Balanced(), Free()])
def test_assessments_are_those_of_the_responses(coupling):
    """Scale, bias and losses from windows of shards, against a search over all responses at once."""
    X, y = moons(400)
    session = session_of(X, y, C=3.0, coupling=coupling)
    _, (task,) = solved(session, most=4, tol=0.0)
    found = task.assessment
    shards = session.transport.shards
    responses = np.concatenate([each._problems[0].responses for each in shards])
    labels = np.concatenate([each._problems[0].labels for each in shards])
    alpha = np.concatenate([each._problems[0].alpha for each in shards])
    squared = float(alpha @ responses)

    def cost(scale, bias):
        return 0.5 * scale**2 * squared + 3.0 * np.maximum(0.0, 1.0 - scale * responses - bias * labels).sum()

    assert found.objective == pytest.approx(cost(found.scale, found.bias), rel=1e-9)
    free = isinstance(coupling, Balanced)
    searched = minimize(lambda p: cost(p[0], p[1] if free else 0.0), [1.0, 0.0], method="Nelder-Mead", tol=1e-10)
    assert found.objective <= searched.fun * (1 + 1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_a_level_between_many_points_of_one_class_and_none_of_the_other_is_found(seed, monkeypatch):
    """Each class has a window of its own: one narrow, one wide. Equal responses count as one point."""
    rng = np.random.default_rng(seed)
    X, y = moons(200)
    session = session_of(X, y, shards=1)
    problem = session.transport.shards[0]._problems[0]
    n = 12_000  # more than a window may show
    problem.responses = np.concatenate([rng.normal(0.4, 0.2, n), np.full(n, 0.3), [2.5, 3.0, 3.5, -2.0]])
    problem.labels = np.concatenate([-np.ones(2 * n), np.ones(4)]).astype(np.int8)
    parts = [(-1, slice(0, 2 * n)), (1, slice(2 * n, 2 * n + 4))]
    problem.parts = [problem.parts[0]._replace(positions=where, sign=sign) for sign, where in parts]
    problem.upper = np.where(problem.labels > 0, n / 2.0, 1.0)
    problem.alpha = np.zeros(2 * n + 4)
    squared = 40.0
    windows = LevelWindows()
    ask = functools.partial(session.look, 0)
    shard = session.transport.shards[0]
    losses = functools.partial(shard.losses, 0)
    found = settle(ask(windows.now()), windows, squared, 1.0, True, ask, losses)

    def cost(scale, bias):
        shortfall = 1.0 - scale * problem.responses - bias * problem.labels
        return 0.5 * scale**2 * squared + problem.upper @ np.maximum(0.0, shortfall)

    best = min(
        minimize(lambda p: cost(*p), [scale, bias], method="Nelder-Mead", tol=1e-9).fun
        for scale in (0.1, 1.0)
        for bias in (-1.0, 0.0, 1.0)
    )
    assert 0.5 * found.scale**2 * squared + found.loss <= best * (1 + 1e-7)
    assert found.loss == pytest.approx(cost(found.scale, found.bias) - 0.5 * found.scale**2 * squared, rel=1e-9)
    monkeypatch.setattr("slackwater.shards.levels._MAX_LOOKS", 1)  # strata alone: a model near the best, its loss exact
    near = settle(ask((EVERYTHING, EVERYTHING)), LevelWindows(), squared, 1.0, True, ask, losses)
    assert near.loss == pytest.approx(cost(near.scale, near.bias) - 0.5 * near.scale**2 * squared, rel=1e-9)
    assert 0.5 * near.scale**2 * squared + near.loss <= best * (1 + 1e-3)


def test_the_error_on_unseen_examples_is_that_of_those_who_have_not_had_their_turn():
    X, y = moons(900)
    session = session_of(X, y)
    solved(session, most=1)
    turn, scale, bias = 4e-10, 0.7, 0.2
    wrong = weight = examples = 0.0
    for shard in session.transport.shards:
        each = shard._problems[0]
        for k in np.flatnonzero((each.lots > turn) & (each.alpha == 0.0)):
            wrong += each.upper[k] * (each.labels[k] * (scale * each.labels[k] * each.responses[k] + bias) <= 0.0)
            weight += each.upper[k]
            examples += 1
    found = session.call_all("unseen_error", 0, turn, scale, bias)
    assert 0 < examples < 900
    np.testing.assert_allclose(np.sum(found, axis=0), [wrong, weight, examples])


@pytest.mark.parametrize(
    ("error", "objective", "gap", "better"),
    [
        (0.10, 9.0, 0.9, True),  # fewer errors than the best had on what was unseen at its time,
        (0.14, 1.0, 0.9, False),  # more: whatever the objectives are
        (math.nan, 1.0, 0.9, False),  # too few are unseen, and the gap is too large for the objective to tell
        (math.nan, 1.0, 0.1, True),
        (math.nan, 9.0, 0.1, False),
    ],
)
def test_the_better_model_is_that_with_fewer_errors_on_unseen_examples(error, objective, gap, better):
    def assessed(objective, gap):
        return Assessment(objective, (1 - gap) * objective, gap, 1.0, 1.0, 1, None, 0.0, scale=1.0, bias=0.0)

    best = Best(Members.none(), list(assessed(5.0, 0.9)), 0.12)
    assert _yields(best, assessed(objective, gap), error) is better
