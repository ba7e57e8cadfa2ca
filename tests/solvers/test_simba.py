"""SIMBA: its parts one by one, its price, and that it finds the SBP's optimum."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linprog

from problems import advance, feature_problem, noisy_blobs, precomputed_problem
from reference.optimum import slack_constrained_optimum
from slackwater.gram.ledger import EvaluationLedger
from slackwater.gram.table import FeatureTable
from slackwater.points import as_points
from slackwater.problem import Problem
from slackwater.solvers.basins import OneBasin
from slackwater.solvers.sbp import StochasticBatchPerceptron
from slackwater.solvers.simba import SIMBA, best_slack


@pytest.mark.parametrize("seed", range(12))
def test_the_slack_is_what_a_linear_program_finds(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 30))
    past = rng.standard_normal(n)
    weights = rng.choice([0.0, 0.5, 1.0, 3.0], n) if seed % 2 else None
    if weights is not None:
        weights[0] = 1.0
    omega = np.ones(n) if weights is None else weights
    volume = float(rng.uniform(0.0, 2.5 * omega.sum()))
    p = omega * np.exp(-past)
    slack = best_slack(past, weights, volume, 2.0)
    solved = linprog(-p, A_ub=[omega], b_ub=[volume], bounds=[(0.0, 2.0)] * n, method="highs")
    assert omega @ slack <= volume + 1e-9
    assert slack.min() >= 0.0
    assert slack.max() <= 2.0
    assert p @ slack == pytest.approx(-solved.fun, abs=1e-9)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_table_delivers_rows_columns_and_products_at_their_price(container, dtype):
    X = np.random.default_rng(0).integers(-2, 3, (25, 4)).astype(dtype)
    table = FeatureTable(as_points(container(X)), EvaluationLedger())
    np.testing.assert_array_equal(table.example(3), X[3])
    assert table.ledger.train == 1
    np.testing.assert_array_equal(table.feature(2), X[:, 2])
    assert table.ledger.train == 1 + 7  # 25/4, rounded up
    np.testing.assert_allclose(table.products(np.arange(4.0)), X @ np.arange(4.0))
    assert table.ledger.train == 1 + 7 + 25


def test_estimated_responses_are_right_on_average():
    problem = feature_problem(n=30)
    solver = SIMBA(0.1)
    state, _ = advance(solver, problem, 50)
    X = np.array(problem.rows.points.raw)
    exact = problem.labels * (X @ state.direction.current())
    estimates = np.array([solver._estimated_responses(problem, state) for _ in range(4000)])
    error = estimates.std(axis=0) / np.sqrt(4000)
    assert (np.abs(estimates.mean(axis=0) - exact) <= 5 * error + 1e-12).all()


def test_the_direction_is_the_combination_of_examples_that_the_coefficients_say():
    problem = feature_problem(n=40)
    state, _ = advance(SIMBA(0.1), problem, 400)
    X = np.array(problem.rows.points.raw)
    now, mean = state.coefficients.current(), state.coefficients.total()
    np.testing.assert_allclose(state.direction.current(), (now * problem.labels) @ X, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(state.direction.total(), (mean * problem.labels) @ X, rtol=1e-9, atol=1e-10)
    assert np.linalg.norm(state.direction.current()) <= 1.0 + 1e-12


def test_a_step_costs_one_example_and_one_feature_of_all():
    problem = feature_problem(n=61)
    solver = SIMBA(0.1)
    state = solver.start(problem, np.random.default_rng(0))
    assert problem.rows.ledger.train == 61  # the largest norm
    for step in range(1, 20):
        advance(solver, problem, 1, state)
        assert problem.rows.ledger.train == 61 + step * (1 + 31)
    solver.assess(problem, state)
    assert problem.rows.ledger.train == 61 + 19 * 32
    assert problem.rows.ledger.score == 61


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("weighted", [False, True])
def test_bounds_enclose_the_independent_optimum(seed, weighted):
    weights = np.random.default_rng(seed).integers(1, 4, 30).astype(float) if weighted else None
    problem = feature_problem(n=30, seed=seed, weights=weights)
    X = np.array(problem.rows.points.raw)
    nu = 0.2
    optimum = slack_constrained_optimum(X @ X.T, problem.labels, nu * problem.total_weight, weights)
    solver = SIMBA(nu)
    state = solver.start(problem, np.random.default_rng(seed))
    for _ in range(8):
        advance(solver, problem, 150, state)
        found = solver.assess(problem, state)
        solver.remember(state, found)
        assert found.objective <= optimum.upper + 1e-6
        assert found.bound >= optimum.lower - 1e-6


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2))])
@pytest.mark.parametrize("nu", [0.05, 0.3])
def test_simba_and_the_sbp_with_a_linear_kernel_agree_on_the_objective(seed, nu):
    problem = feature_problem(n=80, seed=seed, shift=1.5)
    simba, sbp = SIMBA(nu), StochasticBatchPerceptron(nu, OneBasin())
    reached = simba.assess(problem, advance(simba, problem, 8000, seed=seed)[0]).objective
    expected = sbp.assess(problem, advance(sbp, problem, 8000, seed=seed)[0]).objective
    assert reached == pytest.approx(expected, rel=0.02)


def test_kernel_rows_are_refused():
    with pytest.raises(TypeError, match="needs the features"):
        SIMBA(0.1).start(precomputed_problem(), np.random.default_rng(0))


def test_examples_that_are_all_zero_do_no_harm():
    X, labels = noisy_blobs(10, 0)
    problem = Problem(FeatureTable(as_points(0.0 * X), EvaluationLedger()), labels, None, np.arange(10))
    solver = SIMBA(0.1)
    state, _ = advance(solver, problem, 50)
    assert np.isfinite(solver.assess(problem, state).objective)
