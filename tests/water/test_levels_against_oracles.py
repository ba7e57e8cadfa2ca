"""Levels against solvers we did not write, against rational arithmetic and the paper's own algorithms."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog, minimize_scalar

from reference import levels as twin
from slackwater.water import _loops, c_level, c_level_and_bias, level, level_and_bias

LP_TOLERANCE = 1e-9  # HiGHS is run with feasibility 1e-10, absolute, on problems scaled to about 1
EXACT = 1e-12  # of the scale of the wet points: a few hundred roundings of 1.1e-16 at the most
SHAPES = ("normal", "uniform", "ties", "constant", "gap", "heavy", "shifted", "integers")
QUICK = range(60)


def draw(rng, shape, size):
    return {
        "normal": lambda: rng.normal(size=size),
        "uniform": lambda: rng.uniform(-1, 1, size),
        "ties": lambda: rng.choice([-0.5, 0.0, 0.25, 1.0], size),
        "constant": lambda: np.full(size, rng.choice([-1.0, 0.0, 2.0])),
        "gap": lambda: rng.choice([-1.0, 1.0], size) + 1e-3 * rng.normal(size=size),
        "heavy": lambda: np.clip(rng.standard_cauchy(size), -100, 100),
        "shifted": lambda: 10.0 + rng.normal(size=size),
        "integers": lambda: rng.integers(-3, 4, size).astype(float),
    }[shape]()


class Case:
    """A random or adversarial problem; everything follows from the seed."""

    def __init__(self, seed):
        rng = np.random.default_rng(seed)
        size = int(rng.choice([2, 3, 5, 12, 40]))
        self.responses = draw(rng, rng.choice(SHAPES), size)
        if rng.random() < 0.3:
            self.responses = self.responses.astype(np.float32)
        positives = int(rng.choice([1, size - 1, rng.integers(1, size)]))
        self.labels = rng.permutation(np.r_[np.ones(positives), -np.ones(size - positives)]).astype(np.int8)
        self.weights = self._weights(rng, size)
        self.volume = float(rng.choice([0.0, 1e-9, 0.01, 1.0, size, 30.0 * size]))
        self.C = float(10.0 ** rng.uniform(-3, 3))
        self.guess = rng.choice([None, 0.0, 1.0, -1e6, 1e300, math.nan, math.inf])

    def _weights(self, rng, size):
        kind = rng.choice(["none", "uniform", "zeros", "integers"])
        if kind == "none":
            return None
        weights = {
            "uniform": rng.uniform(0.1, 2, size),
            "zeros": rng.uniform(0.1, 2, size) * (rng.random(size) < 0.6),
            "integers": rng.integers(0, 4, size).astype(float),
        }[kind]
        weights[[np.argmax(self.labels), np.argmin(self.labels)]] = 1.0  # both classes keep a point
        return weights

    @property
    def pair_guess(self):
        return None if self.guess is None else (self.guess, 0.5)

    @property
    def scale(self):
        return float(np.abs(self.responses).max()) + self.volume + 1e-300


def lp_level(responses, volume, weights=None, labels=None):
    """max gamma over gamma, b, slack: gamma - y_i b - slack_i <= c_i, sum w_i slack_i <= V, slack >= 0."""
    c = np.asarray(responses, dtype=float)
    w = np.ones(c.size) if weights is None else np.asarray(weights, dtype=float)
    keep = w > 0
    c, w = c[keep], w[keep]
    bias = np.zeros((c.size, 1)) if labels is None else -np.asarray(labels, dtype=float)[keep][:, None]
    rows = np.block([[np.ones((c.size, 1)), bias, -np.eye(c.size)], [np.zeros((1, 2)), w[None, :]]])
    bounds = [(None, None), (None, None) if labels is not None else (0, 0)] + [(0, None)] * c.size
    options = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    cost = np.r_[-1.0, np.zeros(c.size + 1)]
    found = linprog(cost, A_ub=rows, b_ub=np.r_[c, volume], bounds=bounds, method="highs", options=options)
    assert found.status == 0
    return -found.fun


def check_level(seed):
    case = Case(seed)
    gamma = level(case.responses, case.volume, case.weights, guess=case.guess)
    assert gamma == pytest.approx(
        lp_level(case.responses, case.volume, case.weights), abs=LP_TOLERANCE * max(1.0, case.scale)
    )
    assert gamma == pytest.approx(twin.level(case.responses, case.volume, case.weights), abs=EXACT * case.scale)


def check_level_and_bias(seed):
    case = Case(seed)
    arguments = case.responses, case.labels, case.volume, case.weights
    gamma, bias = level_and_bias(*arguments, guess=case.pair_guess)
    expected = lp_level(case.responses, case.volume, case.weights, case.labels)
    assert gamma == pytest.approx(expected, abs=LP_TOLERANCE * max(1.0, case.scale))
    at_that_bias = twin.level(case.responses + case.labels * np.float64(bias), case.volume, case.weights)
    assert at_that_bias == pytest.approx(gamma, abs=EXACT * case.scale)
    twin_gamma, interval = twin.level_and_bias_interval(*arguments)
    assert gamma == pytest.approx(twin_gamma, abs=EXACT * case.scale)
    if case.weights is None:  # else equal partial sums of weights may differ by rounding, and the interval with them
        assert bias == pytest.approx(np.mean(interval), abs=EXACT * case.scale)


def hinge_objective(case, scale, bias):
    margins = scale * case.responses.astype(float) + case.labels * bias
    weights = np.ones(margins.size) if case.weights is None else case.weights
    return 0.5 * scale**2 + case.C * float(np.sum(weights * np.maximum(0.0, 1.0 - margins)))


def check_c_level(seed):
    case = Case(seed)
    gamma = c_level(case.responses, case.C, case.weights, guess=case.guess)
    ours = hinge_objective(case, 1 / gamma, 0.0)
    upper = 2 / gamma + 1.0
    found = minimize_scalar(lambda a: hinge_objective(case, a, 0.0), bounds=(0, upper), method="bounded")
    assert ours <= found.fun * (1 + 1e-12) + 1e-12
    slope = [hinge_objective(case, max(a, 0.0), 0.0) - ours for a in (1 / gamma * (1 - 1e-4), 1 / gamma * (1 + 1e-4))]
    assert min(slope) >= -1e-12 * ours
    expected = twin.c_level(case.responses, case.C, case.weights)
    assert 1 / gamma == pytest.approx(1 / expected, rel=1e-9, abs=1e-12)


def best_bias_value(case, scale):
    """Least objective over the bias: piecewise linear in it, so that some kink y_i(1 - a c_i) is optimal."""
    kinks = case.labels * (1.0 - scale * case.responses.astype(float))
    return min(hinge_objective(case, scale, kink) for kink in kinks)


def check_c_level_and_bias(seed):
    case = Case(seed)
    gamma, bias = c_level_and_bias(case.responses, case.labels, case.C, case.weights, guess=case.pair_guess)
    scale = 1 / gamma
    ours = best_bias_value(case, 0.0) if gamma == math.inf else hinge_objective(case, scale, bias * scale)
    assert ours <= best_bias_value(case, scale) * (1 + 1e-11) + 1e-12
    found = minimize_scalar(lambda a: best_bias_value(case, a), bounds=(0, 2 * scale + 1), method="bounded")
    assert ours <= found.fun * (1 + 1e-11) + 1e-12
    for factor in (1 - 1e-4, 1 + 1e-4):  # a strongly convex function: no better value beside the best
        assert ours <= best_bias_value(case, scale * factor) * (1 + 1e-11) + 1e-12


def check_exact(seed):
    """Magnitudes from 1e-30 to 1e30 side by side, against fractions."""
    rng = np.random.default_rng(seed)
    size = int(rng.choice([2, 3, 10, 50, 600]))
    responses = rng.choice([-1.0, 1.0], size) * 10.0 ** rng.uniform(-30, 30, size)
    if rng.random() < 0.5:
        responses = np.abs(responses)
    responses = responses.astype(rng.choice([np.float32, np.float64]))
    volume = float(10.0 ** rng.uniform(-30, 32))
    guess = rng.choice([None, 0.0, float(np.median(responses))])
    expected = twin.exact_level(responses, volume)
    wet = [Fraction(float(c)) for c in responses if Fraction(float(c)) < expected]
    scale = max([abs(expected), *map(abs, wet)])
    assert abs(Fraction(level(responses, volume, guess=guess)) - expected) <= Fraction(EXACT) * scale
    labels = rng.permutation(np.r_[1, -1, rng.choice([-1, 1], size - 2)])
    gamma, bias = level_and_bias(responses, labels, volume, guess=None if guess is None else (guess, 0.0))
    expected = twin.exact_level_with_bias(responses, labels, volume)
    assert abs(Fraction(gamma) - expected) <= Fraction(EXACT) * max(
        abs(expected), *wet_scale(responses, labels, gamma, bias)
    )


def wet_scale(responses, labels, gamma, bias):
    """Sizes of the points under water at this level and bias, and of the levels themselves."""
    heights = responses.astype(float)
    wet = np.abs(heights[heights <= gamma - labels * bias])
    return [Fraction(float(x)) for x in (*wet, abs(gamma - bias), abs(gamma + bias))]


CHECKS = (check_level, check_level_and_bias, check_c_level, check_c_level_and_bias, check_exact)


@pytest.mark.parametrize("seed", QUICK)
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_agrees_with_an_independent_solver(check, seed):
    check(seed)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(10))
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_agrees_with_an_independent_solver_on_thousands_of_problems(check, block):
    for seed in range(1000 + 250 * block, 1250 + 250 * block):
        check(seed)


@pytest.mark.parametrize("scale", [1e-30, 1e-12, 1e12, 1e30])
@pytest.mark.parametrize("seed", range(8))
def test_agrees_with_the_linear_program_at_any_scale(scale, seed):
    case = Case(seed)  # the program is solved at scale 1: the level is equivariant
    gamma = level(case.responses.astype(float) * scale, case.volume * scale, case.weights)
    assert gamma / scale == pytest.approx(
        lp_level(case.responses, case.volume, case.weights), abs=LP_TOLERANCE * max(1.0, case.scale)
    )
    gamma, _ = level_and_bias(case.responses.astype(float) * scale, case.labels, case.volume * scale, case.weights)
    expected = lp_level(case.responses, case.volume, case.weights, case.labels)
    assert gamma / scale == pytest.approx(expected, abs=LP_TOLERANCE * max(1.0, case.scale))


@pytest.mark.parametrize("seed", range(40))
def test_agrees_with_the_corrected_algorithms_of_the_paper(seed):
    case = Case(seed)
    gamma = level(case.responses, case.volume)
    assert gamma == pytest.approx(twin.find_gamma(case.responses, case.volume), abs=EXACT * case.scale)
    ours = level_and_bias(case.responses, case.labels, case.volume)
    theirs = twin.find_gamma_and_bias(case.labels, case.responses, case.volume)
    assert ours == pytest.approx(theirs, abs=EXACT * case.scale)


def large(seed, size):
    rng = np.random.default_rng(seed)
    responses = draw(rng, SHAPES[seed % len(SHAPES)], size)
    labels = np.where(rng.random(size) < rng.choice([0.001, 0.3, 0.5]), 1, -1)
    labels[:2] = 1, -1
    weights = None if seed % 3 else rng.integers(0, 4, size).astype(float) + (np.arange(size) < 2)
    return rng, responses, labels, weights


def guesses(rng, truth, responses):
    spread = float(np.ptp(responses)) + 1.0
    near = [truth, truth + 1e-9 * spread, truth - 1e-4 * spread, truth + 1e-2 * spread]
    return [None, *near, truth + 100 * spread, -1e300, float(rng.choice(responses))]


@pytest.mark.parametrize("size", [257, 3000, 40_000])
@pytest.mark.parametrize("seed", range(16))
def test_level_of_many_responses_does_not_depend_on_the_guess(seed, size):
    rng, responses, _, weights = large(seed, size)
    for volume in (1e-6, 0.02 * size, 3.0 * size):
        expected = twin.level(responses, volume, weights)
        tolerance = EXACT * (abs(expected) + float(np.abs(responses).max()))
        for guess in guesses(rng, expected, responses):
            assert level(responses, volume, weights, guess=guess) == pytest.approx(expected, abs=tolerance)
    for C in (1e-3, 1.0):
        expected = twin.c_level(responses, C, weights)
        for guess in guesses(rng, 0.0 if math.isinf(expected) else expected, responses):
            assert 1 / c_level(responses, C, weights, guess=guess) == pytest.approx(1 / expected, rel=1e-9)


@pytest.mark.parametrize("size", [300, 2000])
@pytest.mark.parametrize("seed", range(16))
def test_level_and_bias_of_many_responses_do_not_depend_on_the_guess(seed, size):
    rng, responses, labels, weights = large(seed, size)
    for volume in (1e-6, 0.02 * size, 3.0 * size):
        gamma, interval = twin.level_and_bias_interval(responses, labels, volume, weights)
        tolerance = EXACT * (abs(gamma) + float(np.abs(responses).max()) + volume)
        for guess in guesses(rng, gamma, responses):
            pair = None if guess is None else (guess, np.mean(interval) * rng.choice([1.0, 1.001, 0.0]))
            found = level_and_bias(responses, labels, volume, weights, guess=pair)
            assert found == pytest.approx((gamma, np.mean(interval)), abs=tolerance)
    gamma, interval = twin.c_level_and_bias_interval(responses, labels, 0.1, weights)
    for guess in guesses(rng, 0.0 if math.isinf(gamma) else gamma, responses):
        found = c_level_and_bias(responses, labels, 0.1, weights, guess=None if guess is None else (guess, 0.0))
        assert 1 / found[0] == pytest.approx(1 / gamma, rel=1e-9)
        if math.isfinite(gamma):
            assert found[1] == pytest.approx(np.mean(interval), abs=1e-9 * (gamma + np.abs(responses).max()))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("volume", [1e-12, 1e-6, 1e-3, 0.2])
def test_little_water_with_guesses_that_are_far_off_has_the_level_of_the_twin(shape, weighted, volume):
    """Where levels move by more than the water is deep, only points that it can reach are looked at."""
    rng = np.random.default_rng(3)
    responses = draw(rng, shape, 3000)
    labels = np.where(rng.random(3000) < 0.3, 1, -1).astype(np.int8)
    weights = rng.integers(0, 4, 3000).astype(float) if weighted else None
    gamma, (low, high) = twin.level_and_bias_interval(responses, labels, volume, weights)
    scale = 1.0 + np.abs(responses).max()
    for guess in (gamma, gamma + 1.0, gamma - 1.0):
        x_pos, x_neg = _loops.find_level_and_bias(responses, labels, weights, volume, guess, guess, 1.0)
        assert 0.5 * (x_pos + x_neg) == pytest.approx(gamma, abs=1e-11 * scale)
        assert low - 1e-9 * scale <= 0.5 * (x_neg - x_pos) <= high + 1e-9 * scale
