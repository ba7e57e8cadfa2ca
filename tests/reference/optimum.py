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
    p = solve_dual(signed + 1e-14 * np.eye(n), labels, volume, omega, bias)
    norm = np.sqrt(max(p @ signed @ p, 0.0))
    upper = norm + volume * (p / omega).max()
    direction = signed @ p / norm if norm > 1e-7 else np.zeros(n)
    return Optimum(_level_by_lp(direction, labels, volume, omega, bias), upper)


def solve_dual(signed, labels, volume, omega, bias) -> np.ndarray:
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


class Solution(NamedTuple):
    """Coefficients of a minimiser, and the value between two bounds."""

    alpha: np.ndarray  # w = Σ alpha_i y_i Φ(x_i)
    lower: float
    upper: float


def regularised_optimum(gram: np.ndarray, labels: np.ndarray, C: float, weights: np.ndarray | None = None) -> Solution:
    """The C-form without bias: its dual is a quadratic function in a box, which L-BFGS-B minimises."""
    upper_bounds = C * (np.ones(len(labels)) if weights is None else weights)
    signed = labels[:, None] * gram * labels[None, :]
    solved = minimize(
        lambda a: (0.5 * a @ signed @ a - a.sum(), signed @ a - 1.0),
        0.5 * upper_bounds,
        jac=True,
        bounds=[(0.0, bound) for bound in upper_bounds],
        method="L-BFGS-B",
        options={"maxiter": 100_000, "maxfun": 1_000_000, "ftol": 1e-16, "gtol": 1e-10},
    )
    responses = signed @ solved.x
    upper = 0.5 * solved.x @ responses + upper_bounds @ np.maximum(0.0, 1.0 - responses)
    return Solution(solved.x, -solved.fun, float(upper))


def norm_ball_optimum(
    gram: np.ndarray, labels: np.ndarray, radius: float, weights: np.ndarray | None = None
) -> Solution:
    """Least mean hinge loss with ‖w‖ <= radius: the dual, Σ a - radius·‖Σ a_i y_i Φ(x_i)‖ over a box, by SLSQP."""
    omega = np.ones(len(labels)) if weights is None else np.asarray(weights, dtype=float)
    most = omega / omega.sum()
    signed = labels[:, None] * gram * labels[None, :] + 1e-14 * np.eye(len(labels))

    def value(a):
        norm = np.sqrt(a @ signed @ a)
        return radius * norm - a.sum(), radius * (signed @ a) / max(norm, 1e-300) - 1.0

    solved = minimize(
        value,
        0.5 * most,
        jac=True,
        bounds=[(0.0, each) for each in most],
        method="SLSQP",
        options={"maxiter": 2000, "ftol": 1e-14},
    )
    alpha = solved.x * radius / np.sqrt(solved.x @ signed @ solved.x)
    loss = most @ np.maximum(0.0, 1.0 - signed @ alpha)
    return Solution(alpha, -solved.fun, float(loss))
