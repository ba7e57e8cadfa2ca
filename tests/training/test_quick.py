"""The quick way takes the road that suits the data, and arrives where the exact one does."""

from __future__ import annotations

import signal
import warnings
from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import make_classification

from slackwater import SVC
from slackwater.errors import ConvergenceWarning, KernelError
from slackwater.gram import direct
from slackwater.solvers.coupling import Scaling
from slackwater.stopping import StopReason
from slackwater.training import audit, course, growth, narrowing, newton, quick, spanning

pytestmark = pytest.mark.usefixtures("growth_of_few")

N = 12_000


def noisy(n=N, seed=0):
    X, y = make_classification(n, 20, n_informative=8, flip_y=0.2, random_state=seed)
    return X.astype(np.float32), y, {"C": 1.0, "gamma": 0.003}  # well on the span's side of its threshold


def separated(n=N, seed=0):
    """A winding border without noise, in many dimensions of which few tell."""
    rng = np.random.default_rng(seed)
    hidden = rng.uniform(-2, 2, (n, 4))
    y = (np.sin(2 * hidden[:, 0]) + hidden[:, 1] * hidden[:, 2] > 0).astype(int)
    X = hidden @ np.random.default_rng(1).normal(size=(4, 120)) / 5 + 0.01 * rng.normal(size=(n, 120))
    return X.astype(np.float32), y, {"C": 10.0, "gamma": 0.5}


def narrow(n=N, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 60, (n, 3))
    y = ((np.floor(X[:, 0] / 5) + np.floor(X[:, 1] / 5)) % 2).astype(int)
    return X.astype(np.float32), y, {"C": 100.0, "gamma": 0.3}


def smooth(n=N, seed=0, blur=0.25):
    """Rings in the plane, where a few hundred points span nearly everything a Gaussian can be made of."""
    rng = np.random.default_rng(seed)
    angle, ring = 2 * np.pi * rng.random(n), rng.integers(4, size=n)
    radius = 1.0 + ring + blur * rng.standard_normal(n)
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1), ring % 2, {"C": 100.0, "gamma": 1.0}


def detailed(n=N, seed=0):
    """So much detail that nearly all examples are support vectors."""
    X, y = make_classification(n, 20, n_informative=10, n_clusters_per_class=6, flip_y=0.02, random_state=seed)
    return X / X.std(), y, {"C": 10.0, "gamma": 0.3}


ROADS = {"span": noisy, "smooth": smooth, "growth": separated, "narrow": narrow, "at once": detailed}


def road_taken(monkeypatch, fit):
    """Which way a fit goes, by watching what it calls."""
    taken = []
    for module, name, road in (
        (narrowing.NarrowTraining, "approximate", "narrow"),
        (quick, "_grown", "growth"),
        (quick, "_with_all", "at once"),
        (spanning, "_expansion", "span"),
    ):
        original = getattr(module, name)

        def watched(*args, original=original, road=road):
            taken.append(road)
            return original(*args)

        monkeypatch.setattr(module, name, watched)
    fit()
    return set(taken)


@pytest.mark.parametrize("road", ROADS)
def test_the_data_decide_which_way_is_taken(monkeypatch, road):
    X, y, settings = ROADS[road]()
    expected = "span" if road == "smooth" else road
    assert road_taken(monkeypatch, lambda: SVC(random_state=0, **settings).fit(X, y)) == {expected}


def test_where_hardly_any_example_is_a_misfit_a_smooth_span_is_not_worth_it(monkeypatch):
    X, y, settings = smooth(blur=0.1)
    assert "span" not in road_taken(monkeypatch, lambda: SVC(random_state=0, **settings).fit(X, y))


@pytest.mark.parametrize("road", ["span", "smooth"])
def test_the_points_of_a_span_do_not_depend_on_the_order_of_the_rows(road):
    X, y, settings = ROADS[road]()
    one, other = (SVC(random_state=0, **settings).fit(X[::way], y[::way]) for way in (1, -1))
    assert {tuple(x) for x in one.support_vectors_} == {tuple(x) for x in other.support_vectors_}
    assert np.mean(one.predict(X) == other.predict(X)) > 0.999


def test_a_class_of_three_examples_does_not_break_a_span():
    X, _, _ = smooth(9000)
    y = np.zeros(len(X), dtype=int)
    y[[10, 4000, 8000]] = 1
    for seed in range(5):
        model = SVC(C=1.0, gamma=1.0, random_state=seed).fit(X, y)
        assert np.isfinite(model.decision_function(X)).all()


def test_a_span_that_numbers_are_too_coarse_for_is_given_up(monkeypatch):
    X, y, settings = noisy()

    def fail(*args):
        raise np.linalg.LinAlgError("not positive definite")

    monkeypatch.setattr(spanning, "minimise", fail)
    assert road_taken(monkeypatch, lambda: SVC(random_state=0, **settings).fit(X, y)) == {"growth"}


def test_coefficients_that_do_not_give_the_values_are_not_delivered(monkeypatch):
    X, y, settings = noisy()
    monkeypatch.setattr(spanning.Basis, "coefficients", lambda basis, weights: 1.1 * weights)
    assert len(SVC(random_state=0, **settings).fit(X, y).support_) > 512  # grown


def test_time_that_runs_out_while_a_span_is_tried_ends_the_fit(monkeypatch):
    X, y, settings = noisy()
    monkeypatch.setattr("slackwater.training.course.Course.cut_short", lambda course: StopReason.SECONDS)
    model = SVC(random_state=0, **settings).fit(X, y)
    assert len(model.support_) > 512  # grown: the span was given up


def test_time_that_runs_out_in_the_last_newton_steps_leaves_the_model_so_far(monkeypatch):
    """The gap says that nothing is known of it then."""
    X, y, settings = smooth()
    whole = SVC(random_state=0, **settings).fit(X, y)
    steps = []
    original = newton._newton_direction

    def counted(problem, *arguments):
        steps.append(len(problem.labels))
        return original(problem, *arguments)

    monkeypatch.setattr(newton, "_newton_direction", counted)
    monkeypatch.setattr(
        "slackwater.training.course.Course.cut_short",
        lambda course: StopReason.SECONDS if steps.count(len(X)) >= 2 else None,
    )
    with pytest.warns(ConvergenceWarning, match="max_time"):
        model = SVC(random_state=0, **settings).fit(X, y)
    assert steps.count(len(X)) == 2
    assert (model.stop_reason_, model.gap_) == ("max_time", 1.0)
    assert whole.gap_ < 0.2
    assert model.score(X, y) > 0.8
    np.testing.assert_array_equal(model.support_, whole.support_)


def test_coordinates_that_do_not_fit_the_memory_are_not_computed(monkeypatch):
    X, y, settings = noisy()
    fit = SVC(random_state=0, cache_size=5.0, **settings).fit
    assert road_taken(monkeypatch, lambda: fit(X, y)) == {"growth"}


@pytest.mark.parametrize(("grows_to", "asked"), [(0.02, 2), (0.04, 1)])
def test_a_span_is_given_up_before_all_examples_are_looked_at(monkeypatch, grows_to, asked):
    """What half of the points would lose: 1 % with the sample, then as said; all are looked at if that bodes well."""
    X, y, settings = noisy()
    losses, seen = iter([0.01, grows_to**0.5 * 0.1, 0.001]), []
    monkeypatch.setattr(
        spanning.Attempt, "shortage", lambda attempt, width, order: spanning.Shortage(next(losses), 0.01)
    )
    original = spanning._problems

    def watched(growth, examples, coordinates):
        seen.append(len(examples))
        return original(growth, examples, coordinates)

    monkeypatch.setattr(spanning, "_problems", watched)
    SVC(random_state=0, **settings).fit(X, y)
    assert len(seen) == 1 + asked
    assert (seen[-1] == N) == (asked == 2)


def test_a_span_may_do_though_half_of_it_would_not():
    """Noise, a large C and a kernel so smooth that what each further point adds fades quickly."""
    rng = np.random.default_rng(2)
    X = rng.uniform(-1.0, 1.0, (12_000, 3))
    wave = np.sin(6.0 * X[:, 0]) + np.cos(5.0 * X[:, 1] * X[:, 2])
    y = np.where(wave + 0.4 * rng.standard_normal(len(X)) > 0.5, 1, -1)
    quick, exact = (SVC(C=100.0, gamma=0.5, random_state=0, tol=tol).fit(X, y) for tol in (None, 1e-2))
    assert len(quick.support_) < 200 < len(exact.support_)

    def cost(model):
        values = model.decision_function(X)
        squared_norm = model.dual_coef_[0] @ (values[model.support_] - model.intercept_[0])
        return 0.5 * squared_norm + 100.0 * np.maximum(0.0, 1.0 - y * values).sum()

    assert cost(quick) <= 1.01 * cost(exact)


@pytest.mark.parametrize(("off", "taken"), [(1e-4, True), (0.3, False)])
def test_a_span_is_taken_only_if_its_coefficients_lose_little(monkeypatch, off, taken):
    """They may be so large that single precision shows."""
    X, y, settings = noisy()
    original = spanning._expansion

    def blurred(*arguments):
        expansion = original(*arguments)
        noise = np.random.default_rng(0).standard_normal(len(expansion.coefficients))
        scale = off * np.abs(expansion.coefficients).max()
        return replace(expansion, coefficients=expansion.coefficients + scale * noise)

    monkeypatch.setattr(spanning, "_expansion", blurred)
    model = SVC(**settings, random_state=0).fit(X, y)
    assert (len(model.support_) <= 512) == taken


def test_a_span_that_is_worse_on_unseen_examples_is_declined(monkeypatch):
    """Than the exact models of the same part; which then is where growth goes on."""
    X, y, settings = noisy()
    original = growth.Growth.wrong
    seen = []

    def hardly_better(self, examples, values):
        wrong = original(self, examples, values)
        seen.append(len(examples))
        if len(seen) == len(course.GAPS) + 1:  # tolerances come first, then the span, then the exact models
            wrong = wrong | (np.arange(len(examples)) % 25 == 0)
        return wrong

    monkeypatch.setattr(growth.Growth, "wrong", hardly_better)
    model = SVC(random_state=0, **settings).fit(X, y)
    assert len(seen) == len(course.GAPS) + 2
    assert len(model.support_) > 512


@pytest.mark.parametrize(("coarsely_wrong", "expected"), [(0.0, course.GAPS[0]), (0.05, course.GAPS[1])])
def test_the_tolerance_is_the_coarsest_that_unseen_examples_do_not_tell_from_the_finest(
    monkeypatch, coarsely_wrong, expected
):
    X, y, settings = separated(9000)
    original, tested, chosen = growth.Growth.wrong, [], []

    def wrong(self, examples, values):
        tested.append(len(examples))
        found = original(self, examples, values)
        return found | (np.arange(len(examples)) < coarsely_wrong * len(examples)) if len(tested) == 1 else found

    endings = audit.Audit.endings
    monkeypatch.setattr(growth.Growth, "wrong", wrong)
    monkeypatch.setattr(audit.Audit, "endings", lambda self: chosen.append(self.growth.tol) or endings(self))
    SVC(random_state=0, **settings).fit(X, y)
    assert set(chosen) == {expected}


@pytest.mark.parametrize("road", ROADS)
def test_the_error_is_that_of_the_exact_solution(road):
    X, y, settings = ROADS[road]()
    X_test, y_test = X[8500:], y[8500:]
    X, y = X[:8500], y[:8500]
    model = SVC(random_state=0, **settings).fit(X, y)
    exact = SVC(random_state=0, tol=1e-3, **settings).fit(X, y)
    assert model.score(X_test, y_test) >= exact.score(X_test, y_test) - 0.01
    assert 0.0 <= model.gap_ <= 0.1
    assert model.stop_reason_ == "tol"
    assert np.mean(model.predict(X_test) == exact.predict(X_test)) > 0.95


@pytest.mark.parametrize("road", ROADS)
def test_the_same_seed_gives_the_same_model(road):
    X, y, settings = ROADS[road]()
    one, other = (SVC(random_state=3, **settings).fit(X, y) for _ in range(2))
    np.testing.assert_array_equal(one.support_, other.support_)
    np.testing.assert_array_equal(one.dual_coef_, other.dual_coef_)
    assert (np.diff(one.support_) > 0).all()


@pytest.mark.parametrize("road", ROADS)
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_objective_is_close_to_the_optimum(road, fit_intercept):
    """gap_ is an estimate here; the exact solver's dual value says what the optimum is."""
    X, y, settings = ROADS[road](9000)
    model = SVC(random_state=0, fit_intercept=fit_intercept, **settings).fit(X, y)
    exact = SVC(random_state=0, tol=1e-3, fit_intercept=fit_intercept, **settings).fit(X, y)
    signs = np.where(y == 1, 1.0, -1.0)
    loss = settings["C"] * np.maximum(0.0, 1.0 - signs * model.decision_function(X)).sum()
    cost = 0.5 / model.margin_**2 + loss
    assert cost <= exact.history_["bound"][-1] * 1.15
    assert 1.0 - exact.history_["bound"][-1] / cost <= model.gap_ + 0.05


@pytest.mark.parametrize("road", ["span", "growth"])
def test_several_classes_share_what_is_computed(road):
    X, y, settings = ROADS[road]()
    y = y + 2 * (X[:, 3] > 0.5)
    model = SVC(random_state=0, **settings).fit(X[:9000], y[:9000])
    exact = SVC(random_state=0, tol=1e-2, **settings).fit(X[:9000], y[:9000])
    assert model.gap_.shape == (len(np.unique(y)),)
    assert model.score(X[9000:], y[9000:]) >= exact.score(X[9000:], y[9000:]) - 0.02


@pytest.mark.parametrize("road", ROADS)
def test_an_example_of_weight_zero_does_not_count(road):
    X, y, settings = ROADS[road]()
    weights = np.ones(len(y))
    weights[::4] = 0.0
    with_zeros = SVC(random_state=0, **settings).fit(X, y, sample_weight=weights)
    without = SVC(random_state=0, **settings).fit(X[weights > 0], y[weights > 0])
    np.testing.assert_array_equal(with_zeros.dual_coef_, without.dual_coef_)


@pytest.mark.parametrize("road", ROADS)
def test_little_time_gives_a_model_nevertheless(road):
    X, y, settings = ROADS[road]()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = SVC(random_state=0, max_time=1e-6, **settings).fit(X, y)
        stepwise = SVC(random_state=0, max_iter=2, **settings).fit(X, y)
    assert model.stop_reason_ == "max_time"
    assert stepwise.n_iter_ <= 2
    assert len(model.predict(X)) == len(y)


def test_a_stated_tolerance_is_certified_by_the_exact_way():
    X, y, settings = separated(8500)
    model = SVC(random_state=0, tol=1e-3, **settings).fit(X, y)
    signs = np.where(y == 1, 1.0, -1.0)
    loss = settings["C"] * np.maximum(0.0, 1.0 - signs * model.decision_function(X)).sum()
    cost = 0.5 / model.margin_**2 + loss
    assert model.gap_ <= 1e-3
    assert cost == pytest.approx(model.history_["objective"][-1], rel=1e-3)


def test_rare_classes_are_in_every_sample():
    X, y, settings = noisy()
    rare = np.r_[np.flatnonzero(y == 1)[:40], np.flatnonzero(y == 0)]
    model = SVC(random_state=0, **settings).fit(X[rare], y[rare])
    assert set(np.unique(model.predict(X))) <= {0, 1}
    assert np.isfinite(model.dual_coef_).all()


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
    model = SVC(C=1e4, gamma=0.05, random_state=0).fit(X, y)
    exact = SVC(C=1e4, gamma=0.05, random_state=0, tol=1e-3).fit(X, y)
    signs = np.where(y == 1, 1.0, -1.0)
    loss = 1e4 * np.maximum(0.0, 1.0 - signs * model.decision_function(X)).sum()
    assert 0.5 / model.margin_**2 + loss <= 1.1 * exact.history_["bound"][-1]
    assert model.score(X, y) >= exact.score(X, y)


@pytest.mark.parametrize("rounds", [1, 2, 3])
def test_growth_looks_ever_closer_until_the_gap_is_what_it_says(monkeypatch, rounds):
    """Even if each look but the last finds nothing amiss, all examples are solved in the end."""
    looks = []
    for number, name in enumerate(("_by_sketch", "_at_all", "_with_all"), start=1):
        original = getattr(quick, name)

        def watched(growth, original=original, number=number):
            looks.append(number)
            return original(growth) if number >= rounds else True

        monkeypatch.setattr(quick, name, watched)
    monkeypatch.setattr(growth, "BEYOND", 0.2)  # far too few are let in
    X, y, settings = separated(9000)
    model = SVC(random_state=0, **settings).fit(X, y)
    assert looks[:rounds] == list(range(1, rounds + 1))
    signs = np.where(y == 1, 1.0, -1.0)
    loss = settings["C"] * np.maximum(0.0, 1.0 - signs * model.decision_function(X)).sum()
    objective = 0.5 / model.margin_**2 + loss
    exact = SVC(random_state=0, tol=1e-3, **settings).fit(X, y)
    assert 1.0 - exact.history_["bound"][-1] / objective <= model.gap_ + 0.06


def test_rows_in_double_precision_stay_so_where_values_cancel():
    """A linear kernel of points far from the origin: single precision would lose what tells the classes apart."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((8500, 20))
    y = (X[:, 0] + X[:, 1] + 0.1 * rng.standard_normal(8500) > 0).astype(int)
    model = SVC(kernel="linear", random_state=0).fit(X + 300.0, y)
    assert model.stop_reason_ == "tol"
    assert model.score(X + 300.0, y) > 0.97


@pytest.mark.parametrize("road", ["growth", "narrow"])
def test_slack_nu_counts_all_examples(road):
    X, y, settings = ROADS[road](9000)
    settings = {**settings, "C": 0.5}
    model = SVC(random_state=0, **settings).fit(X, y)
    signs = np.where(y == 1, 1.0, -1.0)
    slack = np.maximum(0.0, 1.0 - signs * model.decision_function(X)).mean()
    assert model.slack_nu_ == pytest.approx(slack * model.margin_, rel=0.15)


@pytest.mark.parametrize("at", ["let_in", "_change", "_likely"])
def test_ctrl_c_between_stages_leaves_a_model(monkeypatch, at):
    original = getattr(growth.Growth, at)
    pressed = []

    def interrupted(self, *args):
        if not pressed:
            pressed.append(at)
            signal.raise_signal(signal.SIGINT)
        return original(self, *args)

    monkeypatch.setattr(growth.Growth, at, interrupted)
    X, y, settings = separated()
    before = signal.getsignal(signal.SIGINT)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = SVC(random_state=0, **settings).fit(X, y)
    assert pressed == [at]
    assert model.stop_reason_ == "interrupted"
    assert model.score(X, y) > 0.8
    assert signal.getsignal(signal.SIGINT) is before


def test_the_history_is_in_order_with_several_classes():
    X, y, settings = separated()
    model = SVC(random_state=0, **settings).fit(X, y + 2 * (X[:, 3] > 0.5))
    assert (np.diff(model.history_["evaluations"]) >= 0).all()


@pytest.mark.parametrize(
    ("fewest", "soon", "most", "grown"),
    [(9000, False, 0.75, True), (9001, False, 0.75, False), (4501, False, 0.0, False), (7000, True, 0.75, False)],
)
def test_few_examples_or_mostly_support_vectors_are_trained_on_all_at_once(monkeypatch, fewest, soon, most, grown):
    """Few are more, where values are soon computed."""
    monkeypatch.setattr(quick, "_FEWEST_TO_GROW", fewest)
    monkeypatch.setattr(quick, "_FEWEST_IF_SOON", 9001)
    monkeypatch.setattr(direct, "_CHEAP", 10**6 if soon else 0)
    monkeypatch.setattr(quick, "_MOST", most)
    X, y, settings = separated(9000)
    assert road_taken(monkeypatch, lambda: SVC(random_state=0, **settings).fit(X, y)) == {
        "growth" if grown else "at once"
    }


def test_all_at_once_comes_to_the_gap_and_the_error_of_the_exact_way(monkeypatch):
    monkeypatch.setattr(quick, "_FEWEST_TO_GROW", 10**6)
    X, y, settings = separated(2 * N)
    model = SVC(random_state=0, **settings).fit(X[:N], y[:N])
    exact = SVC(random_state=0, tol=1e-3, **settings).fit(X[:N], y[:N])
    assert model.gap_ <= 0.05
    assert abs(model.score(X[N:], y[N:]) - exact.score(X[N:], y[N:])) <= 0.005


def test_examples_set_aside_on_the_wrong_side_are_looked_at_again(monkeypatch):
    """However little their losses are of the objective: of unseen examples as many would be on the wrong side."""
    X, y, settings = separated(9000)
    looks = []
    original = quick._by_sketch
    monkeypatch.setattr(quick, "_by_sketch", lambda grown: looks.append(grown) or original(grown))
    monkeypatch.setattr(quick, "HIDDEN", np.inf)
    monkeypatch.setattr(audit.Audit, "misjudged", lambda self: 6e-4)
    SVC(random_state=0, **settings).fit(X, y)
    assert len(looks) == 1
    monkeypatch.setattr(audit.Audit, "misjudged", lambda self: 4e-4)
    SVC(random_state=0, **settings).fit(X, y)
    assert len(looks) == 1


def test_the_misjudged_are_those_set_aside_with_a_margin_below_zero(monkeypatch):
    seen = []
    original = audit.Audit.endings
    monkeypatch.setattr(audit.Audit, "endings", lambda self: seen.append(self.growth) or original(self))
    X, y, settings = separated(9000)
    SVC(random_state=0, **settings).fit(X, y)
    grown = seen[0]
    grown.scalings = [Scaling(2.0, 0.5)]
    labels = grown.labels[0, :6]
    margins = np.array([-0.1, 0.1, -3.0, 2.0, -1.0, 0.5])
    responses = (margins - 0.5 * labels)[None] / 2.0
    nearest, others, active = (
        audit.Stratum(np.arange(k, k + 2), responses[:, k : k + 2], size) for k, size in ((0, 2), (2, 14), (4, 18))
    )
    look = audit.Audit(grown, (nearest, others), active)
    assert look.misjudged() == pytest.approx(1.0 / 9000)  # one of those that stand for seven tells nothing,
    monkeypatch.setattr(audit, "_FEWEST_WRONG", 1)
    assert look.misjudged() == pytest.approx(8.0 / 9000)  # if it did, that there are seven
    none = audit.Stratum(np.empty(0, int), np.empty((1, 0)), 0)
    assert audit.Audit(grown, (none, none), none).misjudged() == 0.0


def test_an_error_names_points_by_their_rows_in_the_data():
    X, y, _ = separated()
    X, y = np.concatenate([X[:50], X]), np.concatenate([y[:50], y])  # copies are merged: inside, numbers are others
    bad = [5000, 5001]
    X[bad], y[bad] = 1e20, [0, 1]  # whose square overflows; of two labels, so that one of them is a violator
    with pytest.raises(KernelError, match=r"points (500[01] and \d+|\d+ and 500[01]) is"):
        SVC(C=1.0, kernel="linear", random_state=0).fit(X, y)
