"""How cautious growth is in setting examples aside."""

from __future__ import annotations

import numpy as np
import pytest

from slackwater import SVC
from slackwater.kernels import _grid_loops
from slackwater.points.projected import QuantisedPoints
from slackwater.training import audit, growth
from slackwater.training.caution import Caution

pytestmark = pytest.mark.usefixtures("growth_of_few")


def test_margins_that_hardly_change_leave_the_least_caution():
    caution = Caution(1.1)
    assert caution.beyond == 1.1
    caution.learn(0.2 + 0.01 * np.random.default_rng(0).standard_normal(200))
    assert caution.beyond == 1.1


@pytest.mark.parametrize("mean", [-0.3, 0.0, 0.2])
def test_margins_that_change_are_allowed_for(mean):
    """Of examples set aside at the margin learnt, few would have come within the margin of 1."""
    change = mean + 0.5 * np.random.default_rng(0).standard_normal(1000)
    caution = Caution(1.1)
    caution.learn(change)
    assert caution.beyond > 1.1
    assert np.mean(caution.beyond + change < 1.0) < 0.1
    assert np.mean(1.1 + change < 1.0) > 0.2


def test_few_examples_teach_nothing():
    caution = Caution(1.1)
    caution.learn(np.linspace(-3.0, 0.0, 20))
    caution.learn(np.empty(0))
    assert caution.beyond == 1.1


@pytest.mark.parametrize("n", [0, 5, 512, 513, 10_000])
def test_of_many_set_aside_some_are_watched_evenly_spread(n):
    caution = Caution(1.2)
    caution.watch(np.arange(n))
    assert len(caution.watched) == min(n, len(caution.watched))
    assert len(caution.watched) <= Caution.MOST_WATCHED
    assert n > Caution.MOST_WATCHED or len(caution.watched) == n
    if n:
        assert caution.watched[-1] >= n - n // Caution.MOST_WATCHED - 2
    assert len(set(np.diff(caution.watched).tolist())) <= 1


def changing(n, seed=0):
    """A function of much detail, of which each further example tells something new."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 1, (n, 8))
    y = (np.sin(9 * X[:, 0]) + np.sin(9 * X[:, 1] * X[:, 2]) + 0.3 * rng.standard_normal(n) > 0).astype(int)
    return X.astype(np.float32), y


def test_caution_is_learnt_where_more_examples_change_the_function(monkeypatch):
    seen = []
    original = growth.Growth.let_in

    def watched(self, newcomers, judge, beyond=growth.BEYOND):
        seen.append((len(newcomers), beyond))
        return original(self, newcomers, judge, beyond)

    monkeypatch.setattr(growth.Growth, "let_in", watched)
    X, y = changing(40_000)
    model = SVC(C=10.0, gamma=3.0, random_state=0).fit(X, y)
    assert len(seen) >= 2
    assert seen[0][1] == growth.BEYOND
    assert seen[1][1] > 1.2
    assert model.gap_ <= 0.06


@pytest.mark.parametrize(("megabytes", "room"), [(400, True), (60, False)])
def test_none_is_set_aside_where_margins_tell_nothing_unless_there_is_no_room(monkeypatch, megabytes, room):
    """With noise and a large C the function changes all over with every further example."""
    seen = []
    original = audit.Audit.endings

    def watched(self):
        seen.append((len(self.growth.aside), self.growth.with_newcomers.beyond))
        return original(self)

    monkeypatch.setattr(audit.Audit, "endings", watched)
    X, y = changing(9_000)
    model = SVC(C=1000.0, gamma=0.5, random_state=0, cache_size=megabytes).fit(X, y)
    assert all(beyond > 4.0 for _, beyond in seen)
    assert (seen[0][0] == 0) == room
    assert model.gap_ <= 0.05


def flat_classes(n, d=150, seed=0):
    """Two classes by a function of eight coordinates, seen in many, with a little noise in all of them."""
    rng = np.random.default_rng(seed)
    telling = rng.standard_normal((n, 8))
    y = (np.sin(2.0 * telling[:, 0]) + telling[:, 1] * telling[:, 2] > 0).astype(int)
    turn = np.linalg.qr(rng.standard_normal((d, 8)))[0]
    return (telling @ turn.T + 1e-3 * rng.standard_normal((n, d))).astype(np.float32), y


def economies(monkeypatch, X, y, **parameters):
    """Fit, and return the model and the growth it came from."""
    seen = []
    original = growth.Growth.economise

    def watched(self, axes):
        original(self, axes)
        seen.append(self)

    monkeypatch.setattr(growth.Growth, "economise", watched)
    model = SVC(random_state=0, **parameters).fit(X, y)
    return model, seen[0]


def test_rows_are_computed_in_as_few_coordinates_as_tell(monkeypatch):
    X, y = flat_classes(16_000)
    X, X_test, y, y_test = X[:12_000], X[12_000:], y[:12_000], y[12_000:]
    model, grown = economies(monkeypatch, X, y, C=10.0, gamma=0.3)
    assert grown.coarse
    assert grown.turned is not None
    assert grown.rows.source.points.n_features < 30
    assert grown.sketch is not None
    assert model.gap_ <= 0.06
    exact = SVC(C=10.0, gamma=0.3, tol=1e-2, random_state=0).fit(X, y)
    assert exact.score(X_test, y_test) > 0.9
    assert abs(model.score(X_test, y_test) - exact.score(X_test, y_test)) <= 0.01


def test_errors_are_tolerated_as_far_as_they_cost_little(monkeypatch):
    X, y = flat_classes(9000)
    errors = np.random.default_rng(0).standard_normal((1, 500))
    rare = 10.0 * (np.arange(500) % 100 == 0)[None, :]  # root mean square 1, too
    for C in (1.0, 1e4):
        _, grown = economies(monkeypatch, X, y, C=C, gamma=0.3)
        assert grown._tolerates(1e-5 * errors)
        assert not grown._tolerates(0.1 * errors)
    # Where slack is dear, w has to be longer by the largest error.
    largest_tolerated = [max(e for e in np.geomspace(1e-5, 1.0, 60) if grown._tolerates(e * x)) for x in (errors, rare)]
    assert largest_tolerated[1] < 0.5 * largest_tolerated[0]


@pytest.mark.parametrize("integers", [False, True], ids=["single precision", "whole numbers"])
def test_points_without_dimensions_to_spare_keep_them(monkeypatch, integers):
    if integers and not _grid_loops.available():
        pytest.skip("this processor multiplies whole numbers no quicker")
    monkeypatch.setattr(_grid_loops, "available", lambda: integers)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((9000, 120)).astype(np.float32)
    y = (np.sin(3.0 * X[:, 0]) + X[:, 1] > 0).astype(int)
    _, grown = economies(monkeypatch, X, y, C=1.0, gamma=0.01)
    assert isinstance(grown.turned.points, QuantisedPoints) if integers else grown.turned is None
    assert grown.sketch is None
    if integers:
        assert grown.turned.part(np.arange(10)).points.n_features == 120
