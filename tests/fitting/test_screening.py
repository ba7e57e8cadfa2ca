"""Screening: how far beyond the margin, what is looked at again, and what rows may cost."""

from __future__ import annotations

import numpy as np
import pytest

from fitting_problems import few, objective, separated, svc
from slackwater import SVC
from slackwater.fitting import audit, compression
from slackwater.fitting.screening_margin import ScreeningMargin
from slackwater.fitting.settings import AuditSettings, ScreeningSettings
from slackwater.kernels import _grid_loops
from slackwater.points.projected import QuantisedPoints
from slackwater.solvers.coupling import Scaling

SETTINGS = ScreeningSettings()


def test_margins_that_hardly_change_leave_the_least_screening_margin():
    margin = ScreeningMargin(1.1, SETTINGS)
    assert margin.value == 1.1
    margin.learn(0.2 + 0.01 * np.random.default_rng(0).standard_normal(200))
    assert margin.value == 1.1


@pytest.mark.parametrize("mean", [-0.3, 0.0, 0.2])
def test_margins_that_change_are_allowed_for(mean):
    """Of examples screened at the margin learnt, few would have come within the margin of 1."""
    change = mean + 0.5 * np.random.default_rng(0).standard_normal(1000)
    margin = ScreeningMargin(1.1, SETTINGS)
    margin.learn(change)
    assert margin.value > 1.1
    assert np.mean(margin.value + change < 1.0) < 0.1
    assert np.mean(1.1 + change < 1.0) > 0.2


def test_few_examples_teach_nothing():
    margin = ScreeningMargin(1.1, SETTINGS)
    margin.learn(np.linspace(-3.0, 0.0, 20))
    margin.learn(np.empty(0))
    assert margin.value == 1.1


@pytest.mark.parametrize(("n", "watched"), [(0, 0), (5, 5), (512, 512), (513, 257), (10_000, 500)])
def test_of_many_screened_examples_some_are_watched_evenly_spread(n, watched):
    margin = ScreeningMargin(1.2, SETTINGS)
    margin.watch(np.arange(n))
    assert len(margin.watched) == watched
    assert len(set(np.diff(margin.watched).tolist())) <= 1


def changing(n, seed=0):
    """A function of much detail, of which each further example tells something new."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 1, (n, 8))
    y = (np.sin(9 * X[:, 0]) + np.sin(9 * X[:, 1] * X[:, 2]) + 0.3 * rng.standard_normal(n) > 0).astype(int)
    return X.astype(np.float32), y


def test_the_screening_margin_grows_where_more_examples_change_the_function():
    X, y = changing(40_000)
    model = svc(C=10.0, gamma=3.0).fit(X, y)
    margins = [each.value for each in model.decisions_.of("screening") if each.measured == "screening margin"]
    assert len(margins) >= 2
    assert margins[0] == SETTINGS.margin
    assert margins[1] > 1.2
    assert model.gap_ <= 0.06


@pytest.mark.parametrize(("megabytes", "room"), [(400, True), (60, False)])
def test_screening_is_given_up_where_margins_change_too_much_unless_there_is_no_room(megabytes, room):
    """With noise and a large C the function changes all over with every further example."""
    X, y = changing(9_000)
    model = svc(C=1000.0, gamma=0.5, cache_size=megabytes).fit(X, y)
    given_up = [
        each
        for each in model.decisions_.of("screening")
        if each.measured == "screening margin" and each.outcome == "declined"
    ]
    assert len(given_up) == room
    assert model.strategy_ == ("exact" if room else "screening")
    assert model.gap_ <= 0.05


def with_a_hidden_part(n, seed):
    """One example in fifty lies off along an axis of its own, labelled by two faint ones: no sketch shows that."""
    rng = np.random.default_rng(seed)
    X = np.zeros((n, 110))
    X[:, :10] = rng.normal(size=(n, 10))
    y = (X[:, 0] > 0).astype(int)
    X[:, 0] += np.where(y, 1.5, -1.5)
    hidden = np.flatnonzero(rng.random(n) < 0.02)
    faint = rng.uniform(-1, 1, (len(hidden), 2))
    X[hidden, 20] = 5.0
    X[hidden, 21:23] = 2.0 * faint
    y[hidden] ^= faint[:, 0] * faint[:, 1] > 0
    X[:, 30:] += 1e-3 * rng.normal(size=(n, 80))
    return X.astype(np.float32), y


@pytest.mark.parametrize("seed", range(3))
def test_a_part_that_a_sketch_does_not_show_is_found(seed):
    X, y = with_a_hidden_part(10_000, seed)
    model = svc(C=1e4, gamma=0.05).fit(X, y)
    exact = SVC(C=1e4, gamma=0.05, random_state=0, tol=1e-3).fit(X, y)
    assert objective(model, X, y) <= 1.1 * exact.history_["bound"][-1]
    assert model.score(X, y) >= exact.score(X, y)


def test_examples_are_readmitted_until_the_gap_is_what_it_says():
    """With a screening margin so small that far too many are set aside, each look readmits more of them."""
    X, y, parameters = separated(9000)
    model = svc(few(screening={"margin": 0.2, "interim_margin": 0.2}), **parameters).fit(X, y)
    looks = [each for each in model.decisions_.of("screening") if each.measured.startswith("relative gap")]
    assert [each.outcome for each in looks[:-1]] == ["declined"] * (len(looks) - 1)
    assert len(looks) >= 2
    exact = SVC(random_state=0, tol=1e-3, **parameters).fit(X, y)
    assert 1.0 - exact.history_["bound"][-1] / objective(model, X, y) <= model.gap_ + 0.01


def test_screened_examples_on_the_wrong_side_are_looked_at_again(monkeypatch):
    """However little their losses are of the objective: of unseen examples as many would be on the wrong side."""
    X, y, parameters = separated(9000)
    settings = few(tolerance={"max_unknown": np.inf})
    for misjudged, outcome in ((6e-4, "declined"), (4e-4, "taken")):
        monkeypatch.setattr(audit.Audit, "misjudged", lambda self, misjudged=misjudged: misjudged)
        model = svc(settings, **parameters).fit(X, y)
        looks = [each for each in model.decisions_.of("screening") if "wrong side" in each.measured]
        assert {each.outcome for each in looks} == {outcome}
        assert (len(looks) == 1) == (outcome == "taken")


def test_the_misjudged_are_those_screened_with_a_margin_below_zero(monkeypatch):
    seen = []
    original = audit.Audit.results
    monkeypatch.setattr(audit.Audit, "results", lambda self: seen.append(self.active) or original(self))
    X, y, parameters = separated(9000)
    svc(**parameters).fit(X, y)
    active = seen[0]
    active.solution.scalings = [Scaling(2.0, 0.5)]
    labels = active.solution.labels[0, :6]
    margins = np.array([-0.1, 0.1, -3.0, 2.0, -1.0, 0.5])
    responses = (margins - 0.5 * labels)[None] / 2.0
    nearest, others, rounded = (
        audit.Stratum(np.arange(k, k + 2), responses[:, k : k + 2], size) for k, size in ((0, 2), (2, 14), (4, 18))
    )
    look = audit.Audit(active, AuditSettings(), (nearest, others), rounded)
    assert look.misjudged() == pytest.approx(1.0 / 9000)  # one of those that represent seven tells nothing,
    look = audit.Audit(active, AuditSettings(min_wrong=1), (nearest, others), rounded)
    assert look.misjudged() == pytest.approx(8.0 / 9000)  # if it did, that there are seven
    assert not look.complete
    none = audit.Stratum(np.empty(0, int), np.empty((1, 0)), 0)
    look = audit.Audit(active, AuditSettings(), (none, none), none)
    assert look.misjudged() == 0.0
    assert look.complete


def flat_classes(n, d=150, seed=0):
    """Two classes by a function of eight coordinates, seen in many, with a little noise in all of them."""
    rng = np.random.default_rng(seed)
    telling = rng.standard_normal((n, 8))
    y = (np.sin(2.0 * telling[:, 0]) + telling[:, 1] * telling[:, 2] > 0).astype(int)
    turn = np.linalg.qr(rng.standard_normal((d, 8)))[0]
    return (telling @ turn.T + 1e-3 * rng.standard_normal((n, d))).astype(np.float32), y


def compressed(monkeypatch, X, y, **parameters):
    """Fit; return the model, the active set when its compression was chosen, and that choice."""
    seen = []
    original = compression.choose_compression

    def watched(active, axes, tol):
        chosen = original(active, axes, tol)
        seen.append((active, chosen))
        return chosen

    monkeypatch.setattr("slackwater.fitting.sample.choose_compression", watched)
    model = svc(**parameters).fit(X, y)
    return model, *seen[0]


def test_rows_are_computed_in_as_few_coordinates_as_tell(monkeypatch):
    X, y = flat_classes(16_000)
    X, X_test, y, y_test = X[:12_000], X[12_000:], y[:12_000], y[12_000:]
    model, active, chosen = compressed(monkeypatch, X, y, C=10.0, gamma=0.3)
    assert chosen.two_byte
    assert chosen.projected is not None
    assert chosen.projected.part(np.arange(10)).points.n_features < 30
    assert active.rows.two_bytes
    assert model.gap_ <= 0.06
    exact = SVC(C=10.0, gamma=0.3, tol=1e-2, random_state=0).fit(X, y)
    assert exact.score(X_test, y_test) > 0.9
    assert abs(model.score(X_test, y_test) - exact.score(X_test, y_test)) <= 0.01


def test_errors_are_tolerated_as_far_as_they_cost_little(monkeypatch):
    X, y = flat_classes(9000)
    errors = np.random.default_rng(0).standard_normal((1, 500))
    rare = 10.0 * (np.arange(500) % 100 == 0)[None, :]  # root mean square 1, too
    for C in (1.0, 1e4):
        _, active, _ = compressed(monkeypatch, X, y, C=C, gamma=0.3)
        assert compression.tolerates(active, 1e-5 * errors, 0.03)
        assert not compression.tolerates(active, 0.1 * errors, 0.03)
    # Where slack is dear, w has to be longer by the largest error.
    sizes = np.geomspace(1e-5, 1.0, 60)
    largest = [max(e for e in sizes if compression.tolerates(active, e * x, 0.03)) for x in (errors, rare)]
    assert largest[1] < 0.5 * largest[0]


@pytest.mark.parametrize("integers", [False, True], ids=["single precision", "whole numbers"])
def test_points_without_dimensions_to_spare_keep_them(monkeypatch, integers):
    if integers and not _grid_loops.available():
        pytest.skip("this processor multiplies whole numbers no quicker")
    monkeypatch.setattr(_grid_loops, "available", lambda code=None: integers)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((9000, 120)).astype(np.float32)
    y = (np.sin(3.0 * X[:, 0]) + X[:, 1] > 0).astype(int)
    _, _, chosen = compressed(monkeypatch, X, y, C=1.0, gamma=0.01)
    assert isinstance(chosen.projected.points, QuantisedPoints) if integers else chosen.projected is None
    if integers:
        assert chosen.projected.part(np.arange(10)).points.n_features == 120
