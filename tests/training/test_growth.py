"""How cautious growth is in setting examples aside."""

from __future__ import annotations

import numpy as np
import pytest

from slackwater import SVC
from slackwater.training import growth
from slackwater.training.growth import Caution


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
