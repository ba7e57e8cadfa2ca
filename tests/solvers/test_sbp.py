"""The Stochastic Batch Perceptron against its naive twin, its certificate and its convergence theorem."""

from __future__ import annotations

import copy

import numpy as np
import pytest

from problems import advance, gaussian_gram, noisy_blobs, precomputed_problem
from reference.optimum import slack_constrained_optimum
from reference.sbp import naive_sbp
from slackwater.errors import IndefiniteKernelError
from slackwater.gram.direct import DirectRows
from slackwater.gram.ledger import EvaluationLedger
from slackwater.gram.precomputed import PrecomputedRows
from slackwater.kernels.custom import Custom
from slackwater.points import as_points
from slackwater.problem import Problem
from slackwater.solvers.averaging import last_iterate, mean_iterate
from slackwater.solvers.basins import OneBasin, TwoBasins
from slackwater.solvers.sbp import StochasticBatchPerceptron
from slackwater.water import level, level_and_bias

BASINS = [OneBasin(), TwoBasins()]


@pytest.mark.parametrize("basins", BASINS)
@pytest.mark.parametrize("nu", [0.0, 1e-3, 0.1])
def test_iterates_equal_those_of_the_naive_algorithm_under_the_same_draws(basins, nu):
    problem = precomputed_problem()
    state, draws = advance(StochasticBatchPerceptron(nu, basins), problem, 300)
    naive = naive_sbp(problem.rows.rows(np.arange(problem.n)), problem.labels, draws)
    np.testing.assert_allclose(state.coefficients.current(), naive.coefficients[-1], rtol=1e-10, atol=1e-13)
    np.testing.assert_allclose(state.responses, naive.responses[-1], rtol=1e-10, atol=1e-13)
    np.testing.assert_allclose(mean_iterate(state).coefficients, naive.coefficients.mean(axis=0), rtol=1e-9, atol=1e-13)
    np.testing.assert_allclose(mean_iterate(state).responses, naive.responses.mean(axis=0), rtol=1e-9, atol=1e-13)


@pytest.mark.parametrize("steps", [1, 2, 3, 15, 16, 17, 100])
def test_suffix_average_covers_the_steps_after_the_previous_power_of_two(steps):
    problem = precomputed_problem()
    state, draws = advance(StochasticBatchPerceptron(0.01, OneBasin(), "suffix"), problem, steps)
    naive = naive_sbp(problem.rows.rows(np.arange(problem.n)), problem.labels, draws)
    power = 1 << (steps.bit_length() - 1)
    first = power // 2
    assert state.origin.step == first
    expected = naive.coefficients[first:].mean(axis=0)
    np.testing.assert_allclose(mean_iterate(state).coefficients, expected, rtol=1e-9, atol=1e-13)


@pytest.mark.parametrize("basins", BASINS)
def test_only_examples_at_or_below_the_level_are_drawn(basins):
    problem = precomputed_problem()
    solver = StochasticBatchPerceptron(0.02, basins)
    state = solver.start(problem, np.random.default_rng(0))
    for _ in range(200):
        indices = solver.draw(problem, state)
        for index, basin_level in zip(indices, state.levels, strict=True):
            assert state.responses[index] <= basin_level
        if basins.count == 2:
            gamma, bias = level_and_bias(state.responses, problem.labels, 0.02 * problem.n)
            assert problem.labels[indices].tolist() == [1, -1]
            np.testing.assert_allclose(basins.margin_and_bias(state.levels), (gamma, bias), atol=1e-12)
        else:
            np.testing.assert_allclose(state.levels[0], level(state.responses, 0.02 * problem.n), atol=1e-12)
        solver.apply(problem, state, indices, problem.rows.fetch(indices))


def test_without_slack_the_lowest_example_is_drawn():
    problem = precomputed_problem(shift=3.0)
    solver = StochasticBatchPerceptron(0.0, OneBasin())
    state, _ = advance(solver, problem, 50)
    (index,) = solver.draw(problem, state)
    assert state.responses[index] == state.responses.min()


@pytest.mark.parametrize("basins", BASINS)
def test_iterates_stay_in_the_unit_ball_and_rounding_does_not_pile_up(basins):
    problem = precomputed_problem(n=40)
    gram = problem.rows.rows(np.arange(problem.n))
    state, _ = advance(StochasticBatchPerceptron(0.01, basins), problem, 60_000)
    alpha = state.coefficients.current()
    signed = problem.labels[:, None] * gram * problem.labels[None, :]
    assert alpha @ signed @ alpha <= 1.0 + 1e-9
    assert state.squared_norm == pytest.approx(alpha @ signed @ alpha, abs=1e-9)
    np.testing.assert_allclose(state.responses, signed @ alpha, atol=1e-10)
    np.testing.assert_allclose(mean_iterate(state).responses, signed @ mean_iterate(state).coefficients, atol=1e-10)
    assert abs(problem.labels @ alpha) <= (1e-10 if basins.count == 2 else np.inf)


@pytest.mark.slow
def test_responses_do_not_drift_over_two_million_steps():
    problem = precomputed_problem(n=20)
    gram = problem.rows.rows(np.arange(problem.n))
    signed = problem.labels[:, None] * gram * problem.labels[None, :]
    state, _ = advance(StochasticBatchPerceptron(0.01, OneBasin()), problem, 2_000_000)
    np.testing.assert_allclose(state.responses, signed @ state.coefficients.current(), atol=1e-9)
    mean = mean_iterate(state)
    np.testing.assert_allclose(mean.responses, signed @ mean.coefficients, atol=1e-9)


def random_problem(seed):
    """A small problem of random size, kernel width, overlap, weights and slack."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 25))
    X, labels = noisy_blobs(n, seed, shift=float(rng.choice([0.1, 0.5, 2.0])))
    if rng.random() < 0.3:
        X[: n // 2] = X[n - n // 2 :]  # repeated points, possibly of opposite labels
    gram = gaussian_gram(X, float(10.0 ** rng.uniform(-2, 1)))
    weights = rng.integers(1, 4, n).astype(float) if rng.random() < 0.5 else None
    nu = float(rng.choice([0.0, 10.0 ** rng.uniform(-4, 0)]))
    rows = PrecomputedRows(gram, EvaluationLedger())
    return Problem(rows, labels, weights, np.arange(n)), nu, gram


def check_certificate(seed):
    """lower <= optimum <= upper at steps on the way, with and without bias, for every average."""
    problem, nu, gram = random_problem(seed)
    for basins in BASINS:
        volume = nu * problem.total_weight
        optimum = slack_constrained_optimum(gram, problem.labels, volume, problem.weights, basins.count == 2)
        slack = 1e-9 + 1e-7 * abs(optimum.upper)
        for average in ("uniform", "suffix", "last"):
            solver = StochasticBatchPerceptron(nu, basins, average)
            state = None
            for _ in range(6):
                state, _ = advance(solver, problem, 7, state, seed)
                found = solver.assess(problem, state)
                assert found.margin <= optimum.upper + slack, seed
                assert found.bound >= optimum.lower - slack, seed


def test_certificate_holds_on_random_problems():
    for seed in range(40):
        check_certificate(seed)


@pytest.mark.slow
@pytest.mark.parametrize("chunk", range(10))
def test_certificate_holds_on_a_thousand_random_problems(chunk):
    for seed in range(1000 + 100 * chunk, 1100 + 100 * chunk):
        check_certificate(seed)


@pytest.mark.parametrize("basins", BASINS)
def test_the_bounds_close_in_on_the_optimum(basins):
    problem = precomputed_problem(n=30)
    gram = problem.rows.rows(np.arange(problem.n))
    optimum = slack_constrained_optimum(gram, problem.labels, 0.05 * problem.n, bias=basins.count == 2)
    assert optimum.upper - optimum.lower <= 1e-4 * optimum.upper
    solver = StochasticBatchPerceptron(0.05, basins)
    state, _ = advance(solver, problem, 30_000)
    found = solver.assess(problem, state)
    assert found.margin >= optimum.lower - 0.02 * optimum.upper
    assert found.bound <= optimum.upper * 1.05
    assert found.gap == pytest.approx(1 - found.margin / found.bound)


@pytest.mark.parametrize(
    ("n", "nu", "basins"), [(60, 0.01, OneBasin()), (30, 0.05, OneBasin()), (30, 0.05, TwoBasins())]
)
def test_suboptimality_falls_as_lemma_3_promises(n, nu, basins):
    """The expected shortfall f* - f(mean iterate) is at most 3/√T, and falls about as 1/√T, over ten seeds.

    3/√T is (D²/(2 η_T) + Σ η_t G²/2)/T, the regret of projected gradient steps η_t = 1/√t, diameter D = 2, G = 1.
    """
    problem = precomputed_problem(n=n)
    gram = problem.rows.rows(np.arange(n))
    optimum = slack_constrained_optimum(gram, problem.labels, nu * n, bias=basins.count == 2).upper
    solver = StochasticBatchPerceptron(nu, basins)
    lengths = np.array([64, 256, 1024, 4096])
    shortfall = np.zeros((10, len(lengths)))
    for seed in range(10):
        state, done = None, 0
        for k, length in enumerate(lengths):
            state, _ = advance(solver, problem, length - done, state, seed)
            done = length
            shortfall[seed, k] = optimum - solver.assess(problem, state).margin
    mean = shortfall.mean(axis=0)
    assert (mean <= 3.0 / np.sqrt(lengths)).all()
    assert np.polyfit(np.log(lengths), np.log(mean), 1)[0] <= -0.4


def test_a_fresh_copy_of_a_state_continues_identically():
    problem = precomputed_problem()
    solver = StochasticBatchPerceptron(0.01, TwoBasins(), "suffix")
    state, _ = advance(solver, problem, 123)
    twin = copy.deepcopy(state)
    advance(solver, problem, 100, state=state)
    advance(solver, problem, 100, state=twin)
    np.testing.assert_array_equal(last_iterate(state).coefficients, last_iterate(twin).coefficients)


def test_rows_foreseen_are_mostly_the_rows_drawn_next():
    problem = precomputed_problem(n=500)
    solver = StochasticBatchPerceptron(0.05, OneBasin())
    state, _ = advance(solver, problem, 300)
    solver.draw(problem, state)
    foreseen = solver.foresee(problem, state, 16)
    _, draws = advance(solver, problem, 16, state=state)
    assert len(np.intersect1d(foreseen, np.concatenate(draws))) >= 8


def test_a_step_of_negative_length_is_refused_as_an_indefinite_kernel():
    kernel = Custom(lambda A, B: np.where(A == B.T, 1.0, 2.0))
    rows = DirectRows(kernel, as_points(np.array([[0.0], [1.0]])), EvaluationLedger())
    problem = Problem(rows, np.array([1, -1], dtype=np.int8), None, np.arange(2))
    with pytest.raises(IndefiniteKernelError, match="positive semi-definite"):
        advance(StochasticBatchPerceptron(0.1, TwoBasins()), problem, 5)


def test_a_kernel_that_is_zero_everywhere_is_refused():
    rows = PrecomputedRows(np.zeros((2, 2)), EvaluationLedger())
    problem = Problem(rows, np.array([1, -1], dtype=np.int8), None, np.arange(2))
    with pytest.raises(IndefiniteKernelError, match="all zero"):
        StochasticBatchPerceptron(0.1, OneBasin()).start(problem, np.random.default_rng(0))
