"""The online Perceptron against its naive twin, its mistake bound and its price."""

from __future__ import annotations

import numpy as np
import pytest

from problems import advance, precomputed_problem
from reference.rivals import naive_perceptron
from slackwater.problem import Problem
from slackwater.solvers.perceptron import CONVERSIONS, Perceptron


def mistake_bound(total_loss, norm, radius=1.0):
    """Λ + r‖u‖√Λ + r²‖u‖², Λ being the sum of u's hinge losses (arXiv:1204.0566, eq. D.7)."""
    reach = radius * norm
    return total_loss + reach * np.sqrt(total_loss) + reach**2


def passes_of(problem, epochs, seed=0):
    """The order in which the solver sees the examples."""
    orders, _ = np.random.default_rng(seed).spawn(2)
    return np.concatenate([orders.permutation(problem.all_examples.members) for _ in range(epochs)])


@pytest.mark.parametrize("weighted", [False, True])
def test_every_iterate_and_its_mean_equal_the_naive_ones(weighted):
    weights = np.random.default_rng(1).integers(1, 4, 60).astype(float) if weighted else None
    problem = precomputed_problem(weights=weights, shift=0.6)
    state, _ = advance(Perceptron(), problem, 180)
    gram = np.array(problem.rows.matrix)
    history, mistakes = naive_perceptron(gram, problem.labels, passes_of(problem, 3), weights)
    np.testing.assert_array_equal(CONVERSIONS["last"](state.coefficients, 180), history[-1])
    np.testing.assert_allclose(CONVERSIONS["averaged"](state.coefficients, 180), history[1:].mean(axis=0), atol=1e-12)
    assert any(np.array_equal(CONVERSIONS["sampled"](state.coefficients, 180), each) for each in history[:-1])
    assert state.mistakes == len(mistakes)
    assert state.passes == 3


def test_a_step_costs_one_evaluation_for_each_support_vector_so_far():
    problem = precomputed_problem(shift=0.6)
    solver = Perceptron()
    state = solver.start(problem, np.random.default_rng(0))
    for _ in range(150):
        support = np.count_nonzero(state.coefficients.now.current())
        before = problem.rows.ledger.train
        assert solver.outlook(problem, state).next_cost == support
        advance(solver, problem, 1, state)
        assert problem.rows.ledger.train - before == support
    assert state.mistakes > 5


def test_the_sampled_iterate_is_uniform_among_those_before_each_step():
    """Chi-square over 800 seeds: which of 20 iterates was kept; the iterates differ by their number of steps."""
    problem = precomputed_problem(n=20)
    kept = np.zeros(20)
    for seed in range(800):
        solver = Perceptron("sampled")
        state = solver.start(problem, np.random.default_rng(seed))
        last = 0
        for step in range(20):
            before = state.samples.bit_generator.state
            solver.draw(problem, state)
            probe = np.random.default_rng()
            probe.bit_generator.state = before
            if probe.random() * (step + 1) < 1.0:
                last = step
            solver.apply(problem, state, np.empty(0, dtype=np.intp), problem.rows.fetch(np.empty(0, dtype=np.intp)))
        kept[last] += 1
    assert ((kept - 40) ** 2 / 40).sum() < 50  # 19 degrees of freedom: one in ten thousand


@pytest.mark.parametrize("seed", range(20))
def test_mistakes_on_separable_data_obey_the_bound_of_the_theorem(seed):
    """A first pass errs at most (r‖u‖)² times, for any u that separates with margin 1; so do all passes together."""
    rng = np.random.default_rng(seed)
    n = 200
    direction = rng.standard_normal(5)
    direction /= np.linalg.norm(direction)
    labels = np.where(rng.random(n) < 0.5, 1, -1).astype(np.int8)
    X = rng.standard_normal((n, 5))
    X += (labels * rng.uniform(0.3, 1.0, n) - X @ direction)[:, None] * direction
    margin = (labels * (X @ direction)).min()
    problem = precomputed_problem(n)
    problem = Problem(type(problem.rows)(X @ X.T, problem.rows.ledger), labels, None, np.arange(n))
    bound = mistake_bound(0.0, 1.0 / margin, np.linalg.norm(X, axis=1).max())
    state, _ = advance(Perceptron(), problem, n, seed=seed)
    assert state.mistakes <= bound
    while state.last_pass > 0:
        advance(Perceptron(), problem, n, state)
    assert state.mistakes <= bound
    assert (labels * (X @ (X.T @ CONVERSIONS["last"](state.coefficients, state.step))) > 0).all()


@pytest.mark.parametrize("seed", range(10))
def test_mistakes_on_noisy_data_obey_the_bound_of_the_theorem(seed):
    problem = precomputed_problem(n=150, seed=seed, shift=0.5)
    gram = np.array(problem.rows.matrix)
    state, _ = advance(Perceptron(), problem, 150, seed=seed)
    for scale in (0.1, 0.3, 1.0):  # any u will do
        u = scale * problem.labels.astype(float)
        losses = np.maximum(0.0, 1.0 - problem.labels * (gram @ u))
        assert state.mistakes <= mistake_bound(losses.sum(), np.sqrt(u @ gram @ u))


def test_the_hold_out_part_is_judged_without_being_charged_to_training():
    base = precomputed_problem(n=100, shift=0.8)
    weights = np.ones(100)
    weights[::5] = 0.0
    problem = Problem(base.rows, base.labels, weights, base.order, holdout=1.0 - weights)
    gram = np.array(base.rows.matrix)
    for average in CONVERSIONS:
        solver = Perceptron(average)
        state, _ = advance(solver, problem, 160)
        expansion = solver.expansion(problem, state)
        values = gram[:, expansion.support] @ expansion.coefficients
        wrong = (problem.labels * values <= 0.0)[::5].mean()
        assert solver.assess(problem, state).holdout_error == pytest.approx(wrong, abs=0.051)  # ties at zero
        assert not np.isin(expansion.support, np.arange(0, 100, 5)).any()
    assert base.rows.ledger.score > 0
