"""The compiled walk over two sorted basins: raise the water, point by point, until its rule is met."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from slackwater._jit import compiled
from slackwater.water._scan_loops import Basin


class Rule(NamedTuple):
    """The sum of levels when a weight k with sum S is wet: (a + b S)/(c k + d S); inf if c k + d S <= 0."""

    a: float
    b: float
    c: float
    d: float


class Filling(NamedTuple):
    """Where a walk over two sorted basins ended."""

    level: float  # x⁺ + x⁻
    x_pos: float
    x_neg: float
    i_pos: int
    i_neg: int
    proven: bool


@compiled
def candidate(rule: Rule, kappa: float, total: float) -> float:
    denominator = rule.c * kappa + rule.d * total
    if denominator > 0.0:
        return (rule.a + rule.b * total) / denominator
    return np.inf


@compiled
def _advance(basin: Basin, i: int, weight: float, total: float, kappa: float) -> tuple[int, float, float]:
    """Put under water the points that a weight ``kappa`` covers whole."""
    while i < basin.points.size and weight + basin.weights[i] <= kappa:
        weight += basin.weights[i]
        total += basin.weights[i] * basin.points[i]
        i += 1
    return i, weight, total


@compiled
def _partial(basin: Basin, i: int, weight: float, kappa: float) -> float:
    """The sum of the part of point i that is under water."""
    if i < basin.points.size and weight < kappa:
        return float((kappa - weight) * basin.points[i])
    return 0.0


@compiled
def _next(basin: Basin, i: int) -> float:
    """q(k+), which the water must not pass; at the window's end its ceiling, which bounds it from below."""
    return basin.points[i] if i < basin.points.size else basin.ceiling


@compiled
def _last(basin: Basin, i: int, weight: float, kappa: float) -> float:
    """q(k-): the highest wet point; at the window's start its floor, which bounds it from above."""
    if i < basin.points.size and weight < kappa:
        return float(basin.points[i])
    return basin.points[i - 1] if i > 0 else basin.floor


@compiled
def _end(basin: Basin, i: int, weight: float) -> float:
    return weight + basin.weights[i] if i < basin.points.size else np.inf


@compiled
def fill(pos: Basin, neg: Basin, rule: Rule) -> Filling:
    """Raise the wet weight kappa, point by point, until the rule's level is below the next points."""
    kappa = max(pos.weight, neg.weight)
    i, pos_weight, pos_total = 0, pos.weight, pos.total
    j, neg_weight, neg_total = 0, neg.weight, neg.total
    while True:
        i, pos_weight, pos_total = _advance(pos, i, pos_weight, pos_total, kappa)
        j, neg_weight, neg_total = _advance(neg, j, neg_weight, neg_total, kappa)
        spent_pos, spent_neg = i == pos.points.size, j == neg.points.size
        pos_sum = pos_total + _partial(pos, i, pos_weight, kappa)
        neg_sum = neg_total + _partial(neg, j, neg_weight, kappa)
        level = candidate(rule, kappa, pos_sum + neg_sum)
        reached = level <= _next(pos, i) + _next(neg, j)
        if reached or spent_pos or spent_neg:
            break
        kappa = min(_end(pos, i, pos_weight), _end(neg, j, neg_weight))
    short = (spent_pos and pos_weight < kappa) or (spent_neg and neg_weight < kappa)
    return _divide(pos, neg, level, i, pos_weight, j, neg_weight, kappa, reached and not short)


@compiled
def _divide(
    pos: Basin,
    neg: Basin,
    level: float,
    i: int,
    pos_weight: float,
    j: int,
    neg_weight: float,
    kappa: float,
    reached: bool,
) -> Filling:
    """Split ``level = x⁺ + x⁻`` at the midpoint of the optimal interval (Alg. 3, lines 39-42)."""
    last_pos, last_neg = _last(pos, i, pos_weight, kappa), _last(neg, j, neg_weight, kappa)
    next_pos, next_neg = _next(pos, i), _next(neg, j)
    if level == np.inf:
        return Filling(level, np.inf, np.inf, i, j, reached)
    proven = reached
    if i == 0 and not pos_weight < kappa:  # last_pos is only a bound: it must not matter
        proven = proven and (j < neg.points.size or neg.ceiling == np.inf) and level - next_neg >= pos.floor
    if j == 0 and not neg_weight < kappa:
        proven = proven and (i < pos.points.size or pos.ceiling == np.inf) and level - next_pos >= neg.floor
    if i == pos.points.size and pos.ceiling < np.inf:  # next_pos is only a bound
        proven = proven and (j > 0 or neg_weight < kappa) and level - last_neg <= pos.ceiling
    if j == neg.points.size and neg.ceiling < np.inf:
        proven = proven and (i > 0 or pos_weight < kappa) and level - last_pos <= neg.ceiling
    rise = max(level - (last_pos + last_neg), 0.0)  # negative only on a kink of the C rule, or by rounding
    rise_pos, rise_neg = min(rise, next_pos - last_pos), min(rise, next_neg - last_neg)
    x_pos = last_pos + 0.5 * ((rise + rise_pos) - rise_neg)
    x_neg = last_neg + 0.5 * ((rise + rise_neg) - rise_pos)
    return Filling(max(level, last_pos + last_neg), x_pos, x_neg, i, j, proven)


@compiled
def sort_basin(basin: Basin) -> None:
    """Sort the points in place, their weights with them: Shell's method.

    Compiling NumPy's sorts takes longer than everything else here; on the few hundred points of a window this
    one is as fast.
    """
    points, weights = basin.points, basin.weights
    gap = 1
    while gap < points.size:
        gap = 3 * gap + 1
    while gap > 1:
        gap //= 3
        for i in range(gap, points.size):
            point, weight = points[i], weights[i]
            j = i
            while j >= gap and points[j - gap] > point:
                points[j], weights[j] = points[j - gap], weights[j - gap]
                j -= gap
            points[j], weights[j] = point, weight
