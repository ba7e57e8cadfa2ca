"""Newton's method over shards: the sums of parts are those of the whole."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_moons

from shards.parts import problems_in, session_of
from slackwater.fitting.subspace.basis import independent_basis
from slackwater.fitting.subspace.newton import LocalLosses, minimise
from slackwater.fitting.subspace.problem import SubspaceModel, SubspaceProblem
from slackwater.shards.form import packed
from slackwater.shards.session import Call
from slackwater.shards.subspace import ShardedLosses
from slackwater.workers import Workers


def both(n=500, m=20, width=0.5, shards=3):
    """The losses of one problem in a subspace: over shards, and in one place."""
    X, y = make_moons(n, noise=0.3, random_state=0)
    session = session_of(X, y.astype(np.intp), C=2.0, gamma=2.0, shards=shards)
    points = session.plan.form.points(X, Workers())
    landmarks = points.take(np.arange(0, n, n // m))
    K = np.exp(-2.0 * ((X[:, None] - landmarks.raw[None]) ** 2).sum(axis=-1))
    gram = K[:: n // m]
    basis = independent_basis(gram)
    factor = basis._replace(members=np.arange(len(basis.members)))
    span = Call("span", (0, packed(landmarks.take(basis.members)), factor))
    session.transport.call([span] * shards, lambda _: span)
    coordinates = np.linalg.solve(basis.factor, K[:, basis.members].T).T
    labels = np.where(y == 1, 1, -1).astype(np.int8)
    problem = SubspaceProblem(coordinates, labels, np.full(n, 2.0), True, Workers())
    return ShardedLosses(session, True, span, width), LocalLosses(problem, width), problem, len(basis.members)


def test_sums_of_shards_are_those_of_all_examples():
    sharded, local, _, m = both()
    rng = np.random.default_rng(0)
    model, direction = (SubspaceModel(rng.standard_normal(m), rng.standard_normal()) for _ in range(2))
    for each in (sharded, local):
        each.begin(model)
    assert sharded.total() == pytest.approx(local.total())
    for one, other in zip(sharded.derivatives(False), local.derivatives(False), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)
    for each in (sharded, local):
        each.look_along(direction)
    assert sharded.slope(0.3) == pytest.approx(local.slope(0.3))
    for each in (sharded, local):
        each.advance(0.3)
    assert sharded.total() == pytest.approx(local.total())


def test_newton_over_shards_ends_at_the_same_model():
    from slackwater.fitting.subspace.newton import minimise_losses

    sharded, _, problem, m = both()
    start = SubspaceModel(np.zeros(m), 0.0)
    found, expected = minimise_losses(sharded, start, 1e-9), minimise(problem, start, 0.5, 1e-9)
    assert problem.objective(found) == pytest.approx(problem.objective(expected), rel=1e-6)
    sharded.begin(found)
    assert 0.5 * found.weights @ found.weights + sharded.hinge() == pytest.approx(problem.objective(found), rel=1e-6)


def test_a_shard_that_was_made_again_answers_as_before():
    """Questions say where Newton's method is, so nothing is lost with a shard but its coordinates."""
    sharded, _, _, m = both()
    sharded.begin(SubspaceModel(np.ones(m), 0.1))
    sharded.look_along(SubspaceModel(-np.ones(m), 0.2))
    before = sharded.slope(0.5), sharded.total()
    shard = sharded.session.transport.shards[0]
    shard.forget_span()
    getattr(shard, sharded.make_span.method)(*sharded.make_span.arguments)
    assert (sharded.slope(0.5), sharded.total()) == pytest.approx(before, rel=1e-12)


def test_problems_know_their_sizes():
    X, y = make_moons(120, noise=0.3, random_state=0)
    (problem,) = problems_in(session_of(X, y.astype(np.intp), shards=4))
    assert (problem.n, problem.total_weight) == (120, 120.0)
