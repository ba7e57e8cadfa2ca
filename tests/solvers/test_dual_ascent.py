"""SDCA and SMO: naive twins, independent optima, costs, shrinking."""

from __future__ import annotations

import copy
import math

import numpy as np
import pytest
from sklearn import svm

from problems import advance, precomputed_problem
from reference.optimum import regularised_optimum
from reference.rivals import naive_pairs, naive_sdca, naive_singles
from slackwater.solvers import smo
from slackwater.solvers.sdca import SDCA
from slackwater.solvers.smo import SMOPairs, SMOSingles

FORMS = [SMOPairs, SMOSingles]


def gram_of(problem):
    return np.array(problem.rows.matrix)


def run_to_the_end(solver, problem, most=200_000):
    state = solver.start(problem, np.random.default_rng(0))
    while state.violation > solver.tol and state.step < most:
        advance(solver, problem, 1, state)
    return state


def test_sdca_makes_the_steps_of_the_naive_algorithm():
    problem = precomputed_problem(weights=np.random.default_rng(0).uniform(0.5, 2.0, 60))
    solver = SDCA(1.5)
    state = solver.start(problem, np.random.default_rng(0))
    looked_at = []
    for _ in range(1000):
        looked_at.append(copy.deepcopy(state.urn).draw(problem.all_examples, state.responses, math.inf))
        advance(solver, problem, 1, state)
    naive = naive_sdca(gram_of(problem), problem.labels, looked_at, 1.5 * problem.weights)
    np.testing.assert_allclose(state.alpha, naive, rtol=1e-9, atol=1e-12)


def test_sdca_pays_for_a_row_only_where_a_coefficient_moves():
    problem = precomputed_problem()
    solver = SDCA(1.0)
    state = solver.start(problem, np.random.default_rng(0))
    for _ in range(500):
        evaluations, alpha = problem.rows.ledger.train, state.alpha.copy()
        _, (indices,) = advance(solver, problem, 1, state)
        assert problem.rows.ledger.train - evaluations == len(indices) * problem.n
        moved = np.flatnonzero(state.alpha != alpha)
        assert set(moved) <= set(indices.tolist())
    assert problem.rows.ledger.train < 500 * problem.n


@pytest.mark.parametrize(("form", "naive"), [(SMOPairs, naive_pairs), (SMOSingles, naive_singles)])
@pytest.mark.parametrize("C", [0.3, 10.0])
def test_smo_chooses_and_moves_as_the_naive_algorithm_does(form, naive, C):
    problem = precomputed_problem(n=40, weights=np.random.default_rng(1).uniform(0.5, 2.0, 40))
    solver = form(C, 0.0)
    state = solver.start(problem, np.random.default_rng(0))
    chosen = []
    for _ in range(60):
        indices = solver.draw(problem, state)
        chosen.append((state.first, indices[0]) if form is SMOPairs else indices[0])
        solver.apply(problem, state, indices, problem.rows.fetch(indices))
    alpha, expected = naive(gram_of(problem), problem.labels, C * problem.weights, 60)
    assert chosen[:30] == expected[:30]  # later, rounding may decide between nearly equal gains
    np.testing.assert_allclose(state.alpha.sum(), alpha.sum(), rtol=1e-3)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("C", [0.1, 1.0, 100.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_smo_reaches_the_optimum_that_others_report(form, C, weighted):
    weights = np.random.default_rng(2).uniform(0.3, 3.0, 120) if weighted else None
    problem = precomputed_problem(n=120, seed=3, weights=weights, shift=0.7)
    solver = form(C, 1e-4)
    found = solver.assess(problem, run_to_the_end(solver, problem))
    best = (
        libsvm_objective(problem, C)
        if form is SMOPairs
        else regularised_optimum(gram_of(problem), problem.labels, C, weights).upper
    )
    assert found.violation <= 1e-4
    assert found.bound <= found.objective
    assert found.objective == pytest.approx(best, rel=1e-3)


def libsvm_objective(problem, C):
    gram = gram_of(problem)
    model = svm.SVC(C=C, kernel="precomputed", tol=1e-8).fit(gram, problem.labels, problem.weights)
    beta = np.zeros(problem.n)
    beta[model.support_] = model.dual_coef_[0]
    omega = np.ones(problem.n) if problem.weights is None else problem.weights
    margins = problem.labels * model.decision_function(gram)
    return 0.5 * beta @ gram @ beta + C * omega @ np.maximum(0.0, 1.0 - margins)


@pytest.mark.parametrize("C", [0.1, 1.0, 10.0])
def test_sdca_reaches_the_optimum_of_a_quadratic_program(C):
    problem = precomputed_problem(n=100, seed=5)
    solver = SDCA(C)
    state, _ = advance(solver, problem, 40_000)
    optimum = regularised_optimum(gram_of(problem), problem.labels, C)
    found = solver.assess(problem, state)
    assert found.objective == pytest.approx(optimum.upper, rel=1e-3)
    assert found.bound <= optimum.upper * (1 + 1e-9)


@pytest.mark.parametrize("form", FORMS)
def test_a_step_of_smo_costs_a_row_for_each_coefficient_and_the_diagonal_once(form):
    problem = precomputed_problem()
    solver = form(1.0, 0.0)
    advance(solver, problem, 25)
    assert problem.rows.ledger.train == (25 * solver.rows_a_step + 1) * problem.n


def test_pairs_stay_balanced_and_within_their_bounds():
    problem = precomputed_problem(n=80, seed=1)
    state = run_to_the_end(SMOPairs(2.0, 1e-5), problem)
    assert abs(problem.labels @ state.alpha) <= 1e-10 * state.alpha.sum()
    assert state.alpha.min() >= 0.0
    assert state.alpha.max() <= 2.0


@pytest.mark.parametrize("form", FORMS)
def test_responses_belong_to_the_coefficients(form):
    problem = precomputed_problem(n=80, seed=1)
    state = run_to_the_end(form(2.0, 1e-6), problem)
    signed = problem.labels[:, None] * gram_of(problem) * problem.labels[None, :]
    np.testing.assert_allclose(state.responses, signed @ state.alpha, atol=1e-9)


@pytest.mark.parametrize("form", FORMS)
def test_shrinking_changes_what_is_searched_but_not_the_optimum(form, monkeypatch):
    problem = precomputed_problem(n=150, seed=4, shift=1.0)
    monkeypatch.setattr(smo, "_SHRINK_EVERY", 10)
    solver = form(5.0, 1e-5)
    state, fewest = solver.start(problem, np.random.default_rng(0)), problem.n
    while state.violation > 1e-5:
        advance(solver, problem, 1, state)
        fewest = min(fewest, len(state.active))
    monkeypatch.setattr(smo, "_SHRINK_EVERY", 10**9)
    whole = run_to_the_end(solver, problem)
    assert fewest < 0.6 * problem.n
    assert len(state.active) == problem.n  # all were looked at before the end was declared
    shrunk, plain = solver.assess(problem, state), solver.assess(problem, whole)
    assert shrunk.objective == pytest.approx(plain.objective, rel=1e-6)


@pytest.mark.parametrize("form", FORMS)
def test_a_choice_made_twice_does_not_break_the_budget(form, monkeypatch):
    monkeypatch.setattr(smo, "_SHRINK_EVERY", 5)
    problem = precomputed_problem(n=60, seed=4)
    solver = form(5.0, 0.05)
    state, shrunk = solver.start(problem, np.random.default_rng(0)), 0
    while state.violation > solver.tol:
        allowed = solver.outlook(problem, state).next_cost
        shrunk += len(state.active) < problem.n
        before = problem.rows.ledger.train
        advance(solver, problem, 1, state)
        assert problem.rows.ledger.train - before <= allowed
    assert shrunk > 0


@pytest.mark.parametrize("form", FORMS)
def test_hold_out_examples_are_never_moved_but_kept_up_to_date(form):
    base = precomputed_problem(n=60)
    weights = np.ones(60)
    weights[:10] = 0.0
    problem = type(base)(base.rows, base.labels, weights, base.order, holdout=1.0 - weights)
    state = run_to_the_end(form(1.0, 1e-3), problem)
    signed = base.labels[:, None] * gram_of(base) * base.labels[None, :]
    assert not state.alpha[:10].any()
    np.testing.assert_allclose(state.responses, signed @ state.alpha, atol=1e-10)


@pytest.mark.parametrize("form", FORMS)
def test_another_c_is_reached_from_the_last_point(form):
    problem = precomputed_problem(n=100, seed=2)
    state = run_to_the_end(form(1.0, 1e-4), problem)
    solver = form(3.0, 1e-4)
    state = solver.continued(state)
    begun = state.step
    while state.violation > 1e-4:
        advance(solver, problem, 1, state)
    fresh = run_to_the_end(solver, problem)
    assert state.step - begun <= 1.5 * fresh.step
    assert solver.assess(problem, state).objective == pytest.approx(solver.assess(problem, fresh).objective, rel=1e-4)


def test_rows_ahead_are_those_of_the_worst_examples_not_chosen_yet():
    problem = precomputed_problem(n=60)
    solver = SMOPairs(1.0, 1e-3)
    state, _ = advance(solver, problem, 10)
    foreseen = solver.foresee(problem, state, 8)
    wanting = 1.0 - state.responses - problem.labels * state.middle
    fresh = np.flatnonzero((state.alpha == 0.0) & (wanting > 0.0))
    expected = fresh[np.argsort(-wanting[fresh], kind="stable")][:8]
    np.testing.assert_array_equal(foreseen, expected)
    assert not np.isin(solver.foresee(problem, state, 8), foreseen).any()
