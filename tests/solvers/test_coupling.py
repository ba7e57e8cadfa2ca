"""The best multiple and bias, and blocks solved exactly, against SciPy."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from problems import gaussian_gram, noisy_blobs
from slackwater.gram.ledger import EvaluationLedger
from slackwater.gram.precomputed import PrecomputedRows
from slackwater.problem import Problem
from slackwater.solvers import _dual_loops
from slackwater.solvers.coupling import Balanced, Free, merge_blocks


def _cost(problem, responses, norm, C, scale, bias):
    weights = np.ones(problem.n) if problem.weights is None else problem.weights
    margins = scale * responses + problem.labels * bias
    return 0.5 * (scale * norm) ** 2 + C * (weights * np.maximum(0.0, 1.0 - margins)).sum()


def _problem(rng, weighted):
    n = int(rng.integers(2, 30))
    labels = np.where(rng.random(n) < 0.5, 1, -1).astype(np.int8)
    labels[:2] = (1, -1)
    weights = rng.integers(0, 3, n).astype(float)
    weights[:2] = 1.0
    return Problem(PrecomputedRows(np.eye(n), EvaluationLedger()), labels, weights if weighted else None, np.arange(n))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("coupling", [Free(), Balanced()])
@given(seed=st.integers(0, 10_000))
def test_no_other_multiple_of_w_and_no_other_bias_costs_less(coupling, weighted, seed):
    rng = np.random.default_rng(seed)
    problem = _problem(rng, weighted)
    responses = np.round(rng.standard_normal(problem.n) + 0.5, int(rng.integers(0, 3)))
    norm, C = float(rng.uniform(0.2, 3.0)), float(10.0 ** rng.uniform(-2, 2))
    found = coupling.best_scale(problem, responses, norm, C)
    best = _cost(problem, responses, norm, C, *found)
    free = 0.0 if isinstance(coupling, Free) else 1.0
    for reach in (1.0, 0.1, 1e-3, 1e-5):
        for scale, bias in reach * rng.standard_normal((50, 2)):
            other = _cost(problem, responses, norm, C, max(0.0, found.scale + scale), found.bias + free * bias)
            assert best <= other * (1.0 + 1e-9)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("coupling", [Free(), Balanced()])
def test_sorting_and_searching_find_the_same(monkeypatch, coupling, weighted):
    for seed in range(50):
        rng = np.random.default_rng(seed)
        problem = _problem(rng, weighted)
        responses = np.round(rng.standard_normal(problem.n) + 0.5, int(rng.integers(0, 3)))
        by_sorting = coupling.best_scale(problem, responses, 1.3, 2.0)
        with monkeypatch.context() as patch:
            patch.setattr("slackwater.solvers.coupling._SORTED", 0)
            by_search = coupling.best_scale(problem, responses, 1.3, 2.0)
        assert by_sorting == pytest.approx(by_search, rel=1e-9, abs=1e-12)


@given(st.integers(0, 10_000))
def test_swapping_the_classes_negates_the_bias(seed):
    rng = np.random.default_rng(seed)
    problem = _problem(rng, weighted=False)
    swapped = replace(problem, labels=(-problem.labels).astype(np.int8))
    responses = rng.standard_normal(problem.n)
    one, other = (Balanced().best_scale(each, responses, 1.0, 1.0) for each in (problem, swapped))
    assert one.scale == pytest.approx(other.scale, abs=1e-12)
    assert one.bias == pytest.approx(-other.bias, abs=1e-12)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("balanced", [False, True])
def test_a_block_is_solved_to_the_optimum_of_its_quadratic_programme(seed, balanced):
    X, labels = noisy_blobs(25, seed)
    gram = gaussian_gram(X, 0.5)
    upper = np.random.default_rng(seed).uniform(0.5, 2.0, 25)
    alpha, shortfall = np.zeros(25), np.ones(25)
    solve = _dual_loops.solve_pairs if balanced else _dual_loops.solve_singles
    steps = solve(gram, labels, upper, alpha, shortfall, 1e-9, 100_000)
    assert steps < 100_000
    Q = labels[:, None] * gram * labels[None, :]
    constraints = (
        [{"type": "eq", "fun": lambda a: labels @ a, "jac": lambda a: labels.astype(float)}] if balanced else []
    )
    solved = minimize(
        lambda a: 0.5 * a @ Q @ a - a.sum(),
        np.zeros(25),
        jac=lambda a: Q @ a - 1.0,
        bounds=[(0.0, c) for c in upper],
        constraints=constraints,
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 1000},
    )
    assert 0.5 * alpha @ Q @ alpha - alpha.sum() <= solved.fun + 1e-8
    assert (alpha >= 0).all()
    assert (alpha <= upper).all()
    np.testing.assert_allclose(shortfall, 1.0 - Q @ alpha, atol=1e-9)
    if balanced:
        assert abs(labels @ alpha) <= 1e-9


def _plain_pairs(gram, labels, upper, alpha, shortfall, tolerance, most_steps):
    """As ``solve_pairs``, word by word in NumPy."""
    own = np.diag(gram)
    for step in range(most_steps):
        bias = labels * shortfall
        grows, shrinks = alpha < upper, alpha > 0.0
        rises, falls = np.where(labels > 0, grows, shrinks), np.where(labels > 0, shrinks, grows)
        if not rises.any() or not falls.any():
            return step
        i = int(np.argmax(np.where(rises, bias >= bias[rises].max() - _dual_loops.TIE, False)))
        curvature = np.maximum(own[i] + own - 2.0 * gram[i], _dual_loops.FLAT * own[i] + _dual_loops.LEAST)
        gains = np.where(falls, np.maximum(bias[i] - bias, 0.0) ** 2 / curvature, 0.0)
        if gains.max() <= 0.0 or bias[i] - bias[falls].min() <= tolerance:
            return step
        j = int(np.argmax(gains >= gains.max() * (1.0 - _dual_loops.TIE)))
        room_i = upper[i] - alpha[i] if labels[i] > 0 else alpha[i]
        room_j = alpha[j] if labels[j] > 0 else upper[j] - alpha[j]
        move = min((bias[i] - bias[j]) / curvature[j], room_i, room_j)
        alpha[i] = _dual_loops.snapped(alpha[i], labels[i] * move, upper[i])
        alpha[j] = _dual_loops.snapped(alpha[j], -labels[j] * move, upper[j])
        shortfall -= labels * move * (gram[i] - gram[j])
    return most_steps


@given(seed=st.integers(0, 10_000), C=st.sampled_from([1.0, 100.0]))
def test_a_block_in_single_precision_is_solved_as_well_as_its_tolerance_asks_for(seed, C):
    X, labels = noisy_blobs(300, seed)
    gram, upper = gaussian_gram(X, 0.5), np.full(300, C)
    values = []
    for kind in (np.float32, np.float64):
        alpha, shortfall = np.zeros(300), np.ones(300)
        assert _dual_loops.solve_pairs(gram.astype(kind), labels, upper, alpha, shortfall, 0.01, 10**6) < 10**6
        assert abs(labels @ alpha) <= 1e-6 * C
        found = Balanced().violations(labels, upper, alpha, 1.0 - labels * (gram @ (labels * alpha)))
        assert found.largest <= 0.01 + 1e-5 * C
        values.append(alpha.sum() - 0.5 * (labels * alpha) @ gram @ (labels * alpha))
    assert values[0] == pytest.approx(values[1], rel=1e-3)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_where_no_coefficient_may_rise_nothing_moves(kind):
    labels, upper = np.array([1, 1, -1], dtype=np.int8), np.ones(3)
    alpha, shortfall = np.array([1.0, 1.0, 0.0]), np.array([3.0, 2.0, -5.0])
    assert _dual_loops.solve_pairs(np.eye(3, dtype=kind), labels, upper, alpha, shortfall, 1e-3, 10) == 0


def _plain_singles(gram, labels, upper, alpha, shortfall, tolerance, most_steps):
    """As ``solve_singles``, word by word in NumPy."""
    own = np.maximum(np.diag(gram), _dual_loops.LEAST)
    for step in range(most_steps):
        moves = np.clip(shortfall / own, -alpha, upper - alpha)
        gains = moves * (shortfall - 0.5 * moves * np.diag(gram))
        if gains.max() <= 0.0 or np.abs(shortfall[moves != 0.0]).max(initial=0.0) <= tolerance:
            return step
        i = int(np.argmax(gains >= gains.max() * (1.0 - _dual_loops.TIE)))
        alpha[i] = _dual_loops.snapped(alpha[i], moves[i], upper[i])
        shortfall -= labels * labels[i] * moves[i] * gram[i]
    return most_steps


@pytest.mark.parametrize("size", [2, 63, 64, 65, 200])
@pytest.mark.parametrize("balanced", [False, True])
@given(seed=st.integers(0, 10_000), most_steps=st.integers(0, 60))
def test_compiled_steps_are_those_of_their_twin_in_numpy(balanced, size, seed, most_steps):
    X, labels = noisy_blobs(size, seed)
    gram = gaussian_gram(X, 0.5)
    rng = np.random.default_rng(seed)
    upper = rng.uniform(0.5, 2.0, size)
    before = rng.choice([0.0, 0.3, 1.0], size) * upper
    compiled, plain = (
        (_dual_loops.solve_pairs, _plain_pairs) if balanced else (_dual_loops.solve_singles, _plain_singles)
    )
    found = []
    for solve in (compiled, plain):
        alpha, shortfall = before.copy(), 1.0 - labels * (gram @ (labels * before))
        steps = solve(gram, labels, upper, alpha, shortfall, 1e-3, most_steps)
        found.append((steps, alpha, shortfall))
    assert found[0][0] == found[1][0]
    np.testing.assert_allclose(found[0][1], found[1][1], atol=1e-9)
    np.testing.assert_allclose(found[0][2], found[1][2], atol=1e-9)


def test_an_example_is_not_paired_with_itself():
    """Two are level but for less than counts as a tie; the first must not gain by moving against itself."""
    gram = np.array([[1.0, 0.2, 0.1], [0.2, 1.0, 0.3], [0.1, 0.3, 1.0]])
    labels, upper, alpha = np.array([1, 1, -1], dtype=np.int8), np.ones(3), np.full(3, 0.5)
    shortfall = np.array([0.3 - 0.5 * _dual_loops.TIE, 0.3, -0.3 + 2e-9])
    assert _dual_loops.solve_pairs(gram, labels, upper, alpha, shortfall, 1e-9, 1000) < 1000
    assert np.abs(alpha - 0.5).max() > 0.0


def test_violations_vanish_at_the_optimum_only():
    X, labels = noisy_blobs(20, 1)
    gram = gaussian_gram(X, 0.5)
    for coupling in (Free(), Balanced()):
        upper, alpha, shortfall = np.ones(20), np.zeros(20), np.ones(20)
        assert coupling.violations(labels, upper, alpha, shortfall).largest > 0.5
        coupling.solver()(gram, labels, upper, alpha, shortfall, 1e-10, 100_000)
        assert coupling.violations(labels, upper, alpha, shortfall).largest <= 1e-9


def test_a_block_holds_the_worst_violators_and_nothing_twice():
    rising = np.array([3.0, -np.inf, 1.0, 0.5, 2.0, -1.0])
    falling = np.array([0.1, 4.0, -np.inf, -np.inf, 1.0, 0.2])
    block = merge_blocks(rising.copy(), falling.copy(), np.array([4]), 4)
    assert set(block.tolist()) == {0, 1, 2}
    everything = merge_blocks(rising.copy(), falling.copy(), np.empty(0, dtype=np.intp), 100)
    assert sorted(everything.tolist()) == [0, 1, 2, 3, 4, 5]
