"""Compiled solution of the dual restricted to a block of examples, by steps on pairs or on single coefficients.

With c_i = y_i <w, Φ(x_i)> the dual of the C-form is min ½ ‖w‖² - Σ α_i over 0 <= α_i <= C ω_i (with a bias also
Σ α_i y_i = 0), and its gradient is c - 1. ``shortfall`` is 1 - c, kept for the block only.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from slackwater._jit import compiled, compiled_reordering, compiled_without_nan, larger, smaller

_ROUNDING = 1e-13
# After a step the two examples are level but for rounding; the earlier one is taken then, so that rounding, which
# depends on the order of the rows, does not choose.
TIE, SINGLE_TIE = 1e-11, 1e-5
CHUNK = 128  # examples whose best is kept, so that it is soon found
CLOSED = 1e30  # what keeps a value from being the best; its square is none in single precision
FLAT = 1e-12  # curvature, of K(x, x), below which two examples are the same to the kernel
LEAST = 1e-36  # curvature at all: of two examples that are zero to the kernel


@compiled
def snapped(before: float, change: float, upper: float) -> float:
    """The coefficient after a change: the bound itself where rounding stopped just short of it.

    Which coefficients may move hangs on it. Rounding is that of the coefficient before: with large kernel values all
    coefficients can be tiny beside ``upper``.
    """
    value = before + change
    if value < _ROUNDING * before or value <= 0.0:
        return 0.0
    return upper if value > (1.0 - _ROUNDING) * upper else value


@compiled
def solve_pairs(
    gram: NDArray[np.floating],
    labels: NDArray[np.int8],
    upper: NDArray[np.float64],
    alpha: NDArray[np.float64],
    shortfall: NDArray[np.float64],
    tolerance: float,
    most_steps: int,
) -> int:
    """Second-order pairs (Fan, Chen, Lin 2005): Σ α_i y_i stays; until no pair gains more than ``tolerance``.

    y_i shortfall_i is the bias that would bring example i exactly on its margin; a step brings two biases together.
    All that chooses the pairs is in the precision of the kernel values: steps are twice as quick in single.
    """
    size, real = alpha.size, gram.dtype
    bias, own, best_of = np.empty(size, real), np.empty(size, real), np.empty((size + CHUNK - 1) // CHUNK, real)
    up, down = np.empty(size, real), np.empty(size, real)  # CLOSED where a share in Σ α_i y_i may not rise, or fall
    double = bias.itemsize == 8
    tie = TIE if double else SINGLE_TIE
    for t in range(size):
        bias[t], own[t] = labels[t] * shortfall[t], gram[t, t]
        up[t], down[t] = _doors(labels[t], alpha[t], upper[t])
    i, j, step, move = 0, 0, 0, 0.0
    if size == 0:
        return step
    while True:
        top = _step_and_rise(bias, up, gram[i], gram[j], move, best_of)
        i = _first_to_rise(bias, up, best_of, top - (tie if double else min(tie * max(1.0, abs(top)), 0.5 * tolerance)))
        top = bias[i] - up[i]  # not that of another, or i would gain by moving against itself
        bottom, best = _pair_gains(top, own[i], gram[i], own, bias, down, best_of)
        if best <= 0.0 or top - bottom <= tolerance or step == most_steps:
            break
        j = _first_to_gain(top, own[i], gram[i], own, bias, down, best_of, best * (1.0 - tie))
        if j < 0:
            break
        room_i = upper[i] - alpha[i] if labels[i] > 0 else alpha[i]
        room_j = alpha[j] if labels[j] > 0 else upper[j] - alpha[j]
        curvature = np.float64(own[i]) + np.float64(own[j]) - 2.0 * np.float64(gram[i, j])
        curvature = max(curvature, FLAT * abs(np.float64(own[i])) + LEAST)
        move = min((np.float64(bias[i]) - bias[j]) / curvature, room_i, room_j)
        alpha[i] = snapped(alpha[i], labels[i] * move, upper[i])
        alpha[j] = snapped(alpha[j], -labels[j] * move, upper[j])
        up[i], down[i] = _doors(labels[i], alpha[i], upper[i])
        up[j], down[j] = _doors(labels[j], alpha[j], upper[j])
        step += 1
    for t in range(size):
        shortfall[t] = labels[t] * bias[t]
    return step


@compiled
def _doors(label: int, alpha: float, upper: float) -> tuple[float, float]:
    """0 or CLOSED: whether a coefficient may move so that its share in Σ α_i y_i rises, or falls."""
    grow, shrink = 0.0 if alpha < upper else CLOSED, 0.0 if alpha > 0.0 else CLOSED
    return (grow, shrink) if label > 0 else (shrink, grow)


@compiled_without_nan
def _step_and_rise(
    bias: NDArray[np.floating],
    doors: NDArray[np.floating],
    row_i: NDArray[np.floating],
    row_j: NDArray[np.floating],
    move: float,
    best_of: NDArray[np.floating],
) -> float:
    """Bring the biases up to date with a pair's move; returns the largest of those that may rise."""
    real = bias.dtype.type
    top, step = real(-np.inf), real(move)
    for chunk in range(best_of.size):
        part = slice(chunk * CHUNK, (chunk + 1) * CHUNK)
        biases, closed, ups, downs = bias[part], doors[part], row_i[part], row_j[part]
        best = real(-np.inf)
        for t in range(biases.size):
            biases[t] -= step * (ups[t] - downs[t])
            best = larger(best, biases[t] - closed[t])
        best_of[chunk] = best
        top = larger(top, best)
    return np.float64(top)


@compiled
def _first_chunk(best_of: NDArray[np.floating], least: float) -> int:
    """The first chunk whose best is as large."""
    chunk = 0
    while best_of[chunk] < least:
        chunk += 1
    return chunk


@compiled
def _first_to_rise(
    bias: NDArray[np.floating], doors: NDArray[np.floating], best_of: NDArray[np.floating], least: float
) -> int:
    """The first whose bias may rise and is as large."""
    t = _first_chunk(best_of, least) * CHUNK
    while bias[t] - doors[t] < least and t < bias.size - 1:
        t += 1
    return t


@compiled_without_nan
def _pair_gains(
    top: float,
    own_i: float,
    row: NDArray[np.floating],
    own: NDArray[np.floating],
    bias: NDArray[np.floating],
    doors: NDArray[np.floating],
    best_of: NDArray[np.floating],
) -> tuple[float, float]:
    """What moving i, whose bias is at the top, against each of the others gains; the lowest bias and the best gain."""
    real = bias.dtype.type
    bottom, most, flat = real(np.inf), real(0.0), real(FLAT * abs(own_i) + LEAST)
    for chunk in range(best_of.size):
        part = slice(chunk * CHUNK, (chunk + 1) * CHUNK)
        values, owns, biases, closed = row[part], own[part], bias[part], doors[part]
        best = real(0.0)
        for t in range(biases.size):
            low = biases[t] + closed[t]
            bottom = smaller(bottom, low)
            ahead = larger(top - low, real(0.0))
            best = larger(best, ahead * ahead / larger(own_i + owns[t] - real(2.0) * values[t], flat))
        best_of[chunk] = best
        most = larger(most, best)
    return np.float64(bottom), np.float64(most)


@compiled
def _first_to_gain(
    top: float,
    own_i: float,
    row: NDArray[np.floating],
    own: NDArray[np.floating],
    bias: NDArray[np.floating],
    doors: NDArray[np.floating],
    best_of: NDArray[np.floating],
    least: float,
) -> int:
    """The first that i gains as much by moving against; of one chunk the best, should rounding have it gain less."""
    real = bias.dtype.type
    first, chosen, most = _first_chunk(best_of, least) * CHUNK, -1, 0.0
    flat = real(FLAT * abs(own_i) + LEAST)
    for t in range(first, min(first + CHUNK, bias.size)):
        ahead = max(top - (bias[t] + doors[t]), real(0.0))
        gain = ahead * ahead / max(own_i + own[t] - real(2.0) * row[t], flat)
        if gain >= least:
            return t
        if gain > most:
            chosen, most = t, gain
    return chosen


@compiled
def _first(values: NDArray[np.float64], best_of: NDArray[np.float64], least: float) -> int:
    """The first value to be as large, where the best of each chunk is known."""
    t = _first_chunk(best_of, least) * CHUNK
    while values[t] < least:
        t += 1
    return t


@compiled
def solve_singles(
    gram: NDArray[np.floating],
    labels: NDArray[np.int8],
    upper: NDArray[np.float64],
    alpha: NDArray[np.float64],
    shortfall: NDArray[np.float64],
    tolerance: float,
    most_steps: int,
) -> int:
    """The single coefficient that gains most, each time; until none is off by more than ``tolerance``."""
    size = alpha.size
    own, gains, best_of = np.empty(size), np.empty(size), np.empty((size + CHUNK - 1) // CHUNK)
    for t in range(size):
        own[t] = gram[t, t]
    for step in range(most_steps):
        worst, best = _single_gains(own, upper, alpha, shortfall, gains, best_of)
        if best <= 0.0 or worst <= tolerance:
            return step
        i = _first(gains, best_of, best * (1.0 - TIE))
        move = min(max(shortfall[i] / max(own[i], LEAST), -alpha[i]), upper[i] - alpha[i])
        alpha[i] = snapped(alpha[i], move, upper[i])
        _step(shortfall, labels, gram[i], labels[i] * move)
    return most_steps


@compiled_without_nan
def _single_gains(
    own: NDArray[np.float64],
    upper: NDArray[np.float64],
    alpha: NDArray[np.float64],
    shortfall: NDArray[np.float64],
    gains: NDArray[np.float64],
    best_of: NDArray[np.float64],
) -> tuple[float, float]:
    """What moving each coefficient alone gains; by how much the worst of those that may move is off, and the best."""
    worst = most = 0.0
    for chunk in range(best_of.size):
        part = slice(chunk * CHUNK, (chunk + 1) * CHUNK)
        owns, bound, now, short, gain = own[part], upper[part], alpha[part], shortfall[part], gains[part]
        best = 0.0
        for t in range(now.size):
            move = smaller(larger(short[t] / larger(owns[t], LEAST), -now[t]), bound[t] - now[t])
            gain[t] = move * (short[t] - 0.5 * move * owns[t])
            best = larger(best, gain[t])
            worst = larger(worst, abs(short[t]) if move != 0.0 else 0.0)
        best_of[chunk] = best
        most = larger(most, best)
    return worst, most


@compiled_reordering  # elementwise
def _step(shortfall: NDArray[np.float64], labels: NDArray[np.int8], row: NDArray[np.floating], amount: float) -> None:
    """Bring the shortfalls up to date with a coefficient's move."""
    for t in range(shortfall.size):
        shortfall[t] -= amount * labels[t] * row[t]


@compiled
def balanced_violations(
    labels: NDArray[np.int8],
    upper: NDArray[np.float64],
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
        can_grow, can_shrink = alpha[i] < upper[i], alpha[i] > 0.0
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
