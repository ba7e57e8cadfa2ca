"""Compiled working-set selection and steps of SMO.

``active`` holds the examples that are searched; responses are kept up to date for all. For a pair, ``signed`` is
y_i (1 - c_i), the bias that would bring example i on its margin: one that can rise wants a larger one. Of examples that
are equally good but for rounding, the one of lowest ``rank`` is taken, so that the order of the rows does not choose.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from slackwater._jit import compiled
from slackwater.solvers._dual_loops import FLAT, LEAST, TIE, snapped


@compiled
def first_of_pair(
    active: NDArray[np.intp],
    rank: NDArray[np.intp],
    labels: NDArray[np.int8],
    upper: NDArray[np.float64],
    alpha: NDArray[np.float64],
    responses: NDArray[np.float64],
) -> tuple[int, float]:
    """The example that can rise (in y_i α_i) and wants to most: its number and its ``signed`` value; -1 if none can."""
    top, chosen = -np.inf, -1
    for k in range(active.size):
        t = active[k]
        if labels[t] > 0:
            if alpha[t] >= upper[t]:
                continue
            value = 1.0 - responses[t]
        else:
            if alpha[t] <= 0.0:
                continue
            value = responses[t] - 1.0
        if value > top + TIE:
            top, chosen = value, t
        elif value > top - TIE and rank[t] < rank[chosen]:
            top, chosen = max(top, value), t
    return chosen, top


@compiled
def second_of_pair(
    active: NDArray[np.intp],
    rank: NDArray[np.intp],
    labels: NDArray[np.int8],
    upper: NDArray[np.float64],
    alpha: NDArray[np.float64],
    responses: NDArray[np.float64],
    diagonal: NDArray[np.float64],
    first: int,
    top: float,
    row: NDArray[np.floating],
) -> tuple[int, float]:
    """The partner with which the first gains most, to second order (Fan, Chen, Lin 2005, WSS 2), and the lowest value.

    ``top`` minus the lowest ``signed`` value of those that can fall is by how much the optimality conditions are
    violated.
    """
    bottom, chosen = np.inf, -1
    best, best_curvature = 0.0, 1.0  # gains are best/best_curvature, compared without dividing
    own = diagonal[first]
    for k in range(active.size):
        t = active[k]
        if labels[t] > 0:
            if alpha[t] <= 0.0:
                continue
            value = 1.0 - responses[t]
        else:
            if alpha[t] >= upper[t]:
                continue
            value = responses[t] - 1.0
        if value < bottom:
            bottom = value
        difference = top - value
        if difference > 0.0:
            curvature = max(own + diagonal[t] - 2.0 * np.float64(row[t]), FLAT * abs(own) + LEAST)
            gain, bar = difference * difference * best_curvature, best * curvature
            if gain > bar * (1.0 + TIE) or (gain > bar * (1.0 - TIE) and rank[t] < rank[chosen]):
                best, best_curvature, chosen = difference * difference, curvature, t
    return chosen, bottom


@compiled
def worst_at_zero(
    active: NDArray[np.intp],
    labels: NDArray[np.int8],
    left_out: NDArray[np.bool_],
    alpha: NDArray[np.float64],
    responses: NDArray[np.float64],
    bias: float,
    most: int,
) -> NDArray[np.intp]:
    """Up to ``most`` examples whose coefficients are 0 and that fall short of their margin most, worst first."""
    found = np.empty(most, dtype=np.intp)
    values = np.empty(most)
    count = 0
    for k in range(active.size):
        t = active[k]
        shortfall = 1.0 - responses[t] - labels[t] * bias
        if left_out[t] or alpha[t] > 0.0 or shortfall <= 0.0 or (count == most and shortfall <= values[count - 1]):
            continue
        place = min(count, most - 1)
        while place > 0 and values[place - 1] < shortfall:
            values[place], found[place] = values[place - 1], found[place - 1]
            place -= 1
        values[place], found[place] = shortfall, t
        count = min(count + 1, most)
    return found[:count]


@compiled
def move_pair(
    labels: NDArray[np.int8],
    upper: NDArray[np.float64],
    alpha: NDArray[np.float64],
    responses: NDArray[np.float64],
    diagonal: NDArray[np.float64],
    first: int,
    second: int,
    row: NDArray[np.floating],
) -> float:
    """Move a pair to its best values, Σ α_i y_i unchanged; return by how much y_i α_i of the first has grown."""
    curvature = diagonal[first] + diagonal[second] - 2.0 * np.float64(row[second])
    curvature = max(curvature, FLAT * abs(diagonal[first]) + LEAST)
    wanted = (labels[first] * (1.0 - responses[first]) - labels[second] * (1.0 - responses[second])) / curvature
    room_first = upper[first] - alpha[first] if labels[first] > 0 else alpha[first]
    room_second = alpha[second] if labels[second] > 0 else upper[second] - alpha[second]
    move = min(wanted, room_first, room_second)
    alpha[first] = snapped(alpha[first], labels[first] * move, upper[first])
    alpha[second] = snapped(alpha[second], -labels[second] * move, upper[second])
    return float(move)


@compiled
def _possible_move(upper: float, alpha: float, response: float, own: float) -> float:
    """From a coefficient to its best value, all others fixed."""
    return min(max((1.0 - response) / max(own, LEAST), -alpha), upper - alpha)


@compiled
def best_single(
    active: NDArray[np.intp],
    rank: NDArray[np.intp],
    upper: NDArray[np.float64],
    alpha: NDArray[np.float64],
    responses: NDArray[np.float64],
    diagonal: NDArray[np.float64],
) -> tuple[int, float]:
    """The coefficient with which the dual gains most, set to its best value, and the violation; -1 if none gains."""
    best, chosen, violation = 0.0, -1, 0.0
    for k in range(active.size):
        t = active[k]
        move = _possible_move(upper[t], alpha[t], responses[t], diagonal[t])
        if move != 0.0:
            shortfall = 1.0 - responses[t]
            violation = max(violation, abs(shortfall))
            gain = move * (shortfall - 0.5 * move * diagonal[t])
            if gain > best * (1.0 + TIE):
                best, chosen = gain, t
            elif gain > best * (1.0 - TIE) and rank[t] < rank[chosen]:
                best, chosen = max(best, gain), t
    return chosen, violation


@compiled
def move_single(
    upper: NDArray[np.float64],
    alpha: NDArray[np.float64],
    responses: NDArray[np.float64],
    diagonal: NDArray[np.float64],
    chosen: int,
) -> float:
    """Set a coefficient to its best value; return by how much it has grown."""
    move = _possible_move(upper[chosen], alpha[chosen], responses[chosen], diagonal[chosen])
    alpha[chosen] = snapped(alpha[chosen], move, upper[chosen])
    return move
