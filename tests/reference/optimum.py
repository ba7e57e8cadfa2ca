"""The slack-constrained optimum by a general convex solver: the dual as a smooth problem over the simplex.

    f* = min over p of ‖Σ p_i y_i Φ(x_i)‖ + V·q   subject to   0 <= p_i <= ω_i q, Σ p_i = 1 (Σ p_i y_i = 0 with bias)

solved by SciPy's SLSQP in (p, q), then bracketed: every feasible p is an upper bound, and every
w in the unit ball a lower one, so the answer comes with its own error.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import linprog, minimize


class Optimum(NamedTuple):
    lower: float
    upper: float


def slack_constrained_optimum(
    gram: np.ndarray, labels: np.ndarray, volume: float, weights: np.ndarray | None = None, bias: bool = False
) -> Optimum:
    """Lower and upper bound on the optimum, close together."""
    n = len(labels)
    omega = np.ones(n) if weights is None else np.asarray(weights, dtype=float)
    signed = labels[:, None] * gram * labels[None, :]
    # The jitter keeps the square root smooth where examples cancel; the bounds below are computed without it.
    p = _solve_dual(signed + 1e-14 * np.eye(n), labels, volume, omega, bias)
    norm = np.sqrt(max(p @ signed @ p, 0.0))
    upper = norm + volume * (p / omega).max()
    direction = signed @ p / norm if norm > 1e-7 else np.zeros(n)
    return Optimum(_level_by_lp(direction, labels, volume, omega, bias), upper)


def _solve_dual(signed, labels, volume, omega, bias) -> np.ndarray:
    n = len(labels)
    start = omega / omega.sum()
    if bias:
        for sign in (-1, 1):
            part = labels == sign
            start[part] = 0.5 * omega[part] / omega[part].sum()

    def value(z):
        return np.sqrt(z[:n] @ signed @ z[:n]) + volume * z[n]

    def gradient(z):
        product = signed @ z[:n]
        return np.append(product / np.sqrt(max(z[:n] @ product, 1e-300)), volume)

    rows = [np.append(np.ones(n), 0.0)] + ([np.append(labels.astype(float), 0.0)] if bias else [])
    targets = [1.0] + ([0.0] if bias else [])
    constraints = [
        {"type": "eq", "fun": lambda z: np.array(rows) @ z - targets, "jac": lambda z: np.array(rows)},
        {
            "type": "ineq",
            "fun": lambda z: omega * z[n] - z[:n],
            "jac": lambda z: np.hstack([-np.eye(n), omega[:, None]]),
        },
    ]
    solved = minimize(
        value,
        np.append(start, (start / omega).max()),
        jac=gradient,
        bounds=[(0.0, 1.0)] * n + [(0.0, None)],
        constraints=constraints,
        method="SLSQP",
        options={"maxiter": 2000, "ftol": 1e-14},
    )
    p = np.maximum(solved.x[:n], 0.0)
    if bias:
        for sign in (-1, 1):
            p[labels == sign] *= 0.5 / p[labels == sign].sum()
        return p
    return p / p.sum()


def _level_by_lp(responses, labels, volume, omega, bias) -> float:
    """f(w): maximise g over (g, b, xi) with c_i + y_i b + xi_i >= g, Σ ω_i ξ_i <= V; HiGHS."""
    n = len(labels)
    cost = np.concatenate(([-1.0, 0.0], np.zeros(n)))
    floor = np.hstack([np.ones((n, 1)), -labels[:, None].astype(float), -np.eye(n)])
    slack = np.concatenate(([0.0, 0.0], omega))[None, :]
    free = (None, None)
    solved = linprog(
        cost,
        A_ub=np.vstack([floor, slack]),
        b_ub=np.append(responses, volume),
        bounds=[free, free if bias else (0.0, 0.0)] + [(0.0, None)] * n,
        method="highs",
    )
    return -solved.fun
