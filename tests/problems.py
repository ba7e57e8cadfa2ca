"""Small problems that tests share."""

from __future__ import annotations

import numpy as np

from slackwater.gram.ledger import EvaluationLedger
from slackwater.gram.precomputed import PrecomputedRows
from slackwater.gram.table import FeatureTable
from slackwater.points import as_points
from slackwater.problem import Problem


def gaussian_gram(X: np.ndarray, gamma: float) -> np.ndarray:
    squared = ((X[:, None, :] - X[None, :, :]) ** 2).sum(axis=2)
    return np.exp(-gamma * squared)


def noisy_blobs(n: int, seed: int, shift: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """Two overlapping clouds in the plane, labels ±1, both classes present."""
    rng = np.random.default_rng(seed)
    labels = np.where(rng.random(n) < 0.4, 1, -1).astype(np.int8)
    labels[:2] = (1, -1)
    return rng.standard_normal((n, 2)) + shift * labels[:, None], labels


def precomputed_problem(
    n: int = 60, seed: int = 0, gamma: float = 0.5, weights: np.ndarray | None = None, shift: float = 1.0
) -> Problem:
    X, labels = noisy_blobs(n, seed, shift)
    rows = PrecomputedRows(gaussian_gram(X, gamma), EvaluationLedger())
    return Problem(rows, labels, weights, np.arange(n))


def feature_problem(n: int = 60, seed: int = 0, weights: np.ndarray | None = None, shift: float = 1.0) -> Problem:
    """The same examples by their features, for linear methods."""
    X, labels = noisy_blobs(n, seed, shift)
    return Problem(FeatureTable(as_points(X), EvaluationLedger()), labels, weights, np.arange(n))


def advance(solver, problem, steps, state=None, seed=0):
    """Make steps without the training loop; return the state and what was drawn at each."""
    state = solver.start(problem, np.random.default_rng(seed)) if state is None else state
    draws = []
    for _ in range(steps):
        indices = solver.draw(problem, state)
        solver.apply(problem, state, indices, problem.rows.fetch(indices))
        draws.append(indices)
    return state, draws
