"""Pegasos and descent in a norm ball: naive twins, certificates, independent optima, costs."""

from __future__ import annotations

import copy
import math

import numpy as np
import pytest

from problems import advance, precomputed_problem
from reference.optimum import norm_ball_optimum, regularised_optimum
from reference.rivals import naive_descent, signed_gram
from slackwater.solvers.averaging import AVERAGES, last_iterate, mean_iterate
from slackwater.solvers.norm_ball import NormBallDescent
from slackwater.solvers.pegasos import Pegasos

SOLVERS = [
    Pegasos(average="last", regularisation=0.02),
    Pegasos(average="last", regularisation=0.02, project=True),
    NormBallDescent(average="uniform", ball=3.0),
]
names = pytest.mark.parametrize("solver", SOLVERS, ids=["pegasos", "projected", "ball"])


def gram_of(problem):
    return np.array(problem.rows.matrix)


def advance_and_peek(solver, problem, steps):
    """Make steps; also return the example looked at in each, whether or not it violated its margin."""
    state = solver.start(problem, np.random.default_rng(0))
    looked_at = []
    for _ in range(steps):
        looked_at.append(copy.deepcopy(state.urn).draw(problem.all_examples, state.responses.values, math.inf))
        advance(solver, problem, 1, state)
    return state, looked_at


@names
def test_iterates_equal_those_of_the_naive_algorithm_under_the_same_draws(solver):
    problem = precomputed_problem()
    state, looked_at = advance_and_peek(solver, problem, 1500)

    def pace(t):
        if isinstance(solver, Pegasos):
            return 1 - 1 / t, 1 / (0.02 * t)
        return 1.0, 3.0 / math.sqrt(t)

    naive = naive_descent(gram_of(problem), problem.labels, looked_at, pace, solver.radius)
    signed = signed_gram(gram_of(problem), problem.labels)
    np.testing.assert_allclose(last_iterate(state).coefficients, naive[-1], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(last_iterate(state).responses, signed @ naive[-1], rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(mean_iterate(state).coefficients, naive.mean(axis=0), rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(mean_iterate(state).responses, signed @ naive.mean(axis=0), rtol=1e-8, atol=1e-10)
    assert state.squared_norm == pytest.approx(naive[-1] @ signed @ naive[-1], rel=1e-9)


def test_pegasos_without_projection_counts_violations():
    """w = Σ (violations of i so far) y_i Φ(x_i) / (λt), the form in which it is usually kernelised."""
    problem = precomputed_problem()
    state, draws = advance(SOLVERS[0], problem, 700)
    counts = np.bincount(np.concatenate(draws), minlength=problem.n)
    np.testing.assert_allclose(state.coefficients.current(), counts / (0.02 * 700), rtol=1e-10, atol=1e-12)


@names
def test_a_step_costs_a_row_if_the_margin_is_violated_and_nothing_otherwise(solver):
    problem = precomputed_problem()
    state = solver.start(problem, np.random.default_rng(0))
    for _ in range(300):
        before = problem.rows.ledger.train
        _, (indices,) = advance(solver, problem, 1, state)
        assert problem.rows.ledger.train - before == (problem.n if len(indices) else 0)
    assert 0 < problem.rows.ledger.train < 300 * problem.n


@pytest.mark.parametrize("solver", [SOLVERS[1], SOLVERS[2]], ids=["projected", "ball"])
def test_iterates_stay_in_the_ball(solver):
    problem = precomputed_problem()
    state = solver.start(problem, np.random.default_rng(0))
    for _ in range(200):
        advance(solver, problem, 10, state)
        coefficients, responses = last_iterate(state)
        assert coefficients @ responses <= solver.radius**2 * (1 + 1e-9)


@pytest.mark.parametrize("average", AVERAGES)
@pytest.mark.parametrize("seed", range(4))
def test_bounds_enclose_the_independent_optimum(average, seed):
    weights = np.random.default_rng(seed).integers(1, 4, 40).astype(float) if seed % 2 else None
    problem = precomputed_problem(n=40, seed=seed, weights=weights, shift=0.7)
    total = 40.0 if weights is None else weights.sum()
    lam, ball = 0.03, 2.5
    cases = [
        (Pegasos(average, lam), regularised_optimum(gram_of(problem), problem.labels, 1 / (lam * total), weights), lam),
        (NormBallDescent(average, ball), norm_ball_optimum(gram_of(problem), problem.labels, ball, weights), 1.0),
    ]
    for solver, optimum, unit in cases:
        state = solver.start(problem, np.random.default_rng(seed))
        for _ in range(12):
            advance(solver, problem, 100, state)
            found = solver.assess(problem, state)
            solver.remember(state, found)
            assert found.bound <= optimum.upper * unit * (1 + 1e-6)
            assert found.objective >= optimum.lower * unit * (1 - 1e-6)
            assert found.gap == pytest.approx(max(0.0, 1 - found.bound / found.objective))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("project", [False, True])
def test_a_long_run_of_pegasos_reaches_the_optimum_of_a_quadratic_program(seed, project):
    problem = precomputed_problem(n=100, seed=seed)
    lam = 1 / 100
    optimum = regularised_optimum(gram_of(problem), problem.labels, 1.0)
    assert optimum.upper - optimum.lower <= 1e-5 * optimum.upper
    for average in ("last", "suffix"):
        solver = Pegasos(average=average, regularisation=lam, project=project)
        state, _ = advance(solver, problem, 30_000, seed=seed)
        assert solver.assess(problem, state).objective <= optimum.upper * lam * 1.02


@pytest.mark.parametrize("seed", range(3))
def test_a_long_run_in_the_ball_reaches_the_optimum_of_a_conic_program(seed):
    problem = precomputed_problem(n=60, seed=seed)
    optimum = norm_ball_optimum(gram_of(problem), problem.labels, 3.0)
    assert optimum.upper - optimum.lower <= 1e-5 * optimum.upper
    solver = NormBallDescent(average="suffix", ball=3.0)
    state, _ = advance(solver, problem, 30_000, seed=seed)
    assert optimum.lower * (1 - 1e-6) <= solver.assess(problem, state).objective <= optimum.upper * 1.03


def test_examples_are_drawn_in_proportion_to_their_weights():
    weights = np.array([1.0, 2.0, 3.0, 4.0])
    problem = precomputed_problem(n=4, weights=weights)
    _, looked_at = advance_and_peek(SOLVERS[0], problem, 4000)
    shares = np.bincount(looked_at, minlength=4) / 4000
    np.testing.assert_allclose(shares, weights / 10, atol=0.03)  # four standard deviations


def test_foreseen_examples_violate_their_margins_and_come_next():
    problem = precomputed_problem()
    solver = SOLVERS[0]
    state, _ = advance(solver, problem, 300)
    foreseen = solver.foresee(problem, state, 8)
    assert (state.responses.current()[foreseen] <= 1.0).all()
    _, draws = advance(solver, problem, 200, state)
    assert np.isin(foreseen, np.concatenate(draws)).mean() >= 0.5
