"""Compiled solution of the dual restricted to a block of examples, by steps on pairs or on single coefficients.

With c_i = y_i <w, Φ(x_i)> the dual of the C-form is min ½ ‖w‖² - Σ α_i over 0 <= α_i <= cap_i (with a bias also
Σ α_i y_i = 0), and its gradient is c - 1. ``shortfall`` is 1 - c, kept for the block only.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from slackwater._jit import compiled, compiled_reordering

_ROUNDING = 1e-13
# After a step the two examples are level but for rounding; the earlier one is taken then, so that rounding, which
# depends on the order of the rows, does not choose.
TIE = 1e-11
FLAT = 1e-12  # curvature below which two examples are the same to the kernel


@compiled
def snapped(value: float, cap: float) -> float:
    """The bound itself where rounding stopped just short of it: which coefficients may move hangs on it."""
    if value < _ROUNDING * cap:
        return 0.0
    return cap if value > (1.0 - _ROUNDING) * cap else value


@compiled_reordering  # sums of two terms only; what is compared is not reordered
def solve_pairs(
    gram: NDArray[np.float64],
    labels: NDArray[np.int8],
    caps: NDArray[np.float64],
    alpha: NDArray[np.float64],
    shortfall: NDArray[np.float64],
    tolerance: float,
    most_steps: int,
) -> int:
    """Second-order pairs (Fan, Chen, Lin 2005): Σ α_i y_i stays; until no pair gains more than ``tolerance``."""
    size = alpha.size
    for step in range(most_steps):
        top, i = -np.inf, -1
        for t in range(size):
            if (labels[t] > 0 and alpha[t] < caps[t]) or (labels[t] < 0 and alpha[t] > 0.0):
                value = labels[t] * shortfall[t]
                if value > top + TIE:
                    top, i = value, t
        bottom, best, j = np.inf, 0.0, -1
        for t in range(size):
            if (labels[t] > 0 and alpha[t] > 0.0) or (labels[t] < 0 and alpha[t] < caps[t]):
                value = labels[t] * shortfall[t]
                bottom = min(bottom, value)
                if value < top:
                    gain = (top - value) ** 2 / max(gram[i, i] + gram[t, t] - 2.0 * gram[i, t], FLAT)
                    if gain > best * (1.0 + TIE):
                        best, j = gain, t
        if i < 0 or j < 0 or top - bottom <= tolerance:
            return step
        curvature = max(gram[i, i] + gram[j, j] - 2.0 * gram[i, j], FLAT)
        room_i = caps[i] - alpha[i] if labels[i] > 0 else alpha[i]
        room_j = alpha[j] if labels[j] > 0 else caps[j] - alpha[j]
        move = min((top - labels[j] * shortfall[j]) / curvature, room_i, room_j)
        alpha[i] = snapped(alpha[i] + labels[i] * move, caps[i])
        alpha[j] = snapped(alpha[j] - labels[j] * move, caps[j])
        for t in range(size):
            shortfall[t] -= labels[t] * move * (gram[i, t] - gram[j, t])
    return most_steps


@compiled_reordering  # as above
def solve_singles(
    gram: NDArray[np.float64],
    labels: NDArray[np.int8],
    caps: NDArray[np.float64],
    alpha: NDArray[np.float64],
    shortfall: NDArray[np.float64],
    tolerance: float,
    most_steps: int,
) -> int:
    """The single coefficient that gains most, each time; until none is off by more than ``tolerance``."""
    size = alpha.size
    for step in range(most_steps):
        best, chosen, move, worst = 0.0, -1, 0.0, 0.0
        for t in range(size):
            wanted = shortfall[t] / max(gram[t, t], FLAT)
            possible = min(max(wanted, -alpha[t]), caps[t] - alpha[t])
            gain = possible * (shortfall[t] - 0.5 * possible * gram[t, t])
            if possible != 0.0:
                worst = max(worst, abs(shortfall[t]))
            if gain > best * (1.0 + TIE):
                best, chosen, move = gain, t, possible
        if chosen < 0 or worst <= tolerance:
            return step
        alpha[chosen] = snapped(alpha[chosen] + move, caps[chosen])
        for t in range(size):
            shortfall[t] -= labels[t] * labels[chosen] * move * gram[chosen, t]
    return most_steps


@compiled
def balanced_violations(
    labels: NDArray[np.int8],
    caps: NDArray[np.float64],
    alpha: NDArray[np.float64],
    shortfall: NDArray[np.float64],
    rising: NDArray[np.float64],
    falling: NDArray[np.float64],
) -> float:
    """How much each coefficient wants to move, up or down, against one of the middle; returns the widest difference.

    y_i shortfall_i is the bias that would bring example i exactly on its margin.
    """
    top, bottom = -np.inf, np.inf
    for i in range(alpha.size):
        bias = labels[i] * shortfall[i]
        can_grow, can_shrink = alpha[i] < caps[i], alpha[i] > 0.0
        can_rise = can_grow if labels[i] > 0 else can_shrink
        can_fall = can_shrink if labels[i] > 0 else can_grow
        rising[i] = bias if can_rise else -np.inf
        falling[i] = -bias if can_fall else -np.inf
        top = max(top, rising[i])
        bottom = min(bottom, -falling[i])
    middle = 0.5 * (top + bottom)
    for i in range(alpha.size):
        rising[i] -= middle
        falling[i] += middle
    return top - bottom
