"""The best bias, and blocks solved exactly, against SciPy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from problems import gaussian_gram, noisy_blobs
from slackwater.solvers import _dual_loops
from slackwater.solvers.coupling import Balanced, Free, merge_blocks


@given(st.integers(0, 10_000))
def test_the_best_bias_minimises_the_hinge_loss(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 30))
    labels = np.where(rng.random(n) < 0.5, 1, -1).astype(np.int8)
    labels[:2] = (1, -1)
    shortfall = np.round(rng.standard_normal(n), int(rng.integers(0, 3)))
    caps = rng.integers(0, 3, n).astype(float)
    caps[:2] = 1.0

    def loss(bias):
        return (caps * np.maximum(0.0, shortfall - labels * bias)).sum()

    found = Balanced().best_bias(labels, shortfall, caps)
    assert loss(found) <= min(loss(labels[i] * shortfall[i]) for i in range(n)) + 1e-9


@given(st.integers(0, 10_000))
def test_swapping_the_classes_negates_the_best_bias(seed):
    rng = np.random.default_rng(seed)
    labels = np.where(rng.random(20) < 0.5, 1, -1).astype(np.int8)
    labels[:2] = (1, -1)
    shortfall, caps = rng.standard_normal(20), np.ones(20)
    one, other = (Balanced().best_bias(y, shortfall, caps) for y in (labels, (-labels).astype(np.int8)))
    assert one == pytest.approx(-other, abs=1e-12)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("balanced", [False, True])
def test_a_block_is_solved_to_the_optimum_of_its_quadratic_programme(seed, balanced):
    X, labels = noisy_blobs(25, seed)
    gram = gaussian_gram(X, 0.5)
    caps = np.random.default_rng(seed).uniform(0.5, 2.0, 25)
    alpha, shortfall = np.zeros(25), np.ones(25)
    solve = _dual_loops.solve_pairs if balanced else _dual_loops.solve_singles
    steps = solve(gram, labels, caps, alpha, shortfall, 1e-9, 100_000)
    assert steps < 100_000
    Q = labels[:, None] * gram * labels[None, :]
    constraints = (
        [{"type": "eq", "fun": lambda a: labels @ a, "jac": lambda a: labels.astype(float)}] if balanced else []
    )
    solved = minimize(
        lambda a: 0.5 * a @ Q @ a - a.sum(),
        np.zeros(25),
        jac=lambda a: Q @ a - 1.0,
        bounds=[(0.0, c) for c in caps],
        constraints=constraints,
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 1000},
    )
    assert 0.5 * alpha @ Q @ alpha - alpha.sum() <= solved.fun + 1e-8
    assert (alpha >= 0).all()
    assert (alpha <= caps).all()
    np.testing.assert_allclose(shortfall, 1.0 - Q @ alpha, atol=1e-9)
    if balanced:
        assert abs(labels @ alpha) <= 1e-9


def test_violations_vanish_at_the_optimum_only():
    X, labels = noisy_blobs(20, 1)
    gram = gaussian_gram(X, 0.5)
    for coupling in (Free(), Balanced()):
        caps, alpha, shortfall = np.ones(20), np.zeros(20), np.ones(20)
        assert coupling.violations(labels, caps, alpha, shortfall).largest > 0.5
        coupling.solver()(gram, labels, caps, alpha, shortfall, 1e-10, 100_000)
        assert coupling.violations(labels, caps, alpha, shortfall).largest <= 1e-9


def test_a_block_holds_the_worst_violators_and_nothing_twice():
    rising = np.array([3.0, -np.inf, 1.0, 0.5, 2.0, -1.0])
    falling = np.array([0.1, 4.0, -np.inf, -np.inf, 1.0, 0.2])
    block = merge_blocks(rising.copy(), falling.copy(), np.array([4]), 4)
    assert set(block.tolist()) == {0, 1, 2}
    everything = merge_blocks(rising.copy(), falling.copy(), np.empty(0, dtype=np.intp), 100)
    assert sorted(everything.tolist()) == [0, 1, 2, 3, 4, 5]
