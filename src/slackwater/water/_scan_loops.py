"""Compiled passes over a class: sums below a window, the points inside it, and the checks of the wrappers."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from slackwater._jit import compiled, compiled_reordering, compiled_summing

CHUNK = 128  # points summed between two looks at whether any fell into the window
LONG_CHUNK = 4096  # where there is nothing to look at: for the sum of sums to lose few digits


class Basin(NamedTuple):
    """What is known of one class: sums below a window, points in it, none known beyond it."""

    points: Any  # float64, inside [floor, ceiling)
    weights: Any  # float64, positive
    weight: float  # of the points below the floor
    total: float  # weighted sum of the points below the floor
    floor: float  # -inf: nothing lies below
    ceiling: float  # inf: nothing lies above


@compiled_reordering
def _sums(values: Any, floor: float, ceiling: float) -> tuple[Any, float, Any]:
    # Reordering is harmless: each sum has at most CHUNK terms of wet points, and counts are exact.
    # The sum is masked by one selection and the counts are int32: this is what LLVM vectorises.
    wet, total, reached = np.int32(0), 0.0, np.int32(0)
    for i in range(values.size):
        below = values[i] < floor
        wet += np.int32(below)
        reached += np.int32(values[i] < ceiling)
        total += np.float64(values[i]) if below else 0.0
    return np.float64(wet), total, reached - wet


@compiled_reordering
def _class_sums(values: Any, labels: Any, sign: int, floor: float, ceiling: float) -> tuple[Any, float, Any]:
    wet, total, reached = np.int32(0), 0.0, np.int32(0)
    for i in range(values.size):
        mine = labels[i] == sign
        below = mine & (values[i] < floor)
        wet += np.int32(below)
        reached += np.int32(mine & (values[i] < ceiling))
        total += np.float64(values[i]) if below else 0.0
    return np.float64(wet), total, reached - wet


@compiled_reordering
def _weighted_sums(values: Any, weights: Any, floor: float, ceiling: float) -> tuple[Any, float, Any]:
    weight, total, wet, reached = 0.0, 0.0, np.int32(0), np.int32(0)
    for i in range(values.size):
        below = values[i] < floor
        wet += np.int32(below)
        reached += np.int32(values[i] < ceiling)
        share = np.float64(weights[i]) if below else 0.0  # selection: weights may be infinite
        weight += share
        total += share * np.float64(values[i])
    return weight, total, reached - wet


@compiled_reordering
def _weighted_class_sums(
    values: Any, labels: Any, sign: int, weights: Any, floor: float, ceiling: float
) -> tuple[Any, float, Any]:
    weight, total, wet, reached = 0.0, 0.0, np.int32(0), np.int32(0)
    for i in range(values.size):
        mine = labels[i] == sign
        below = mine & (values[i] < floor)
        wet += np.int32(below)
        reached += np.int32(mine & (values[i] < ceiling))
        share = np.float64(weights[i]) if below else 0.0  # selection: weights may be infinite
        weight += share
        total += share * np.float64(values[i])
    return weight, total, reached - wet


@compiled
def _chunk_sums(
    values: Any, labels: Any, sign: int, weights: Any, start: int, stop: int, floor: float, ceiling: float
) -> tuple[Any, float, Any]:
    part = values[start:stop]
    if weights is None:
        if labels is None:
            return _sums(part, floor, ceiling)
        return _class_sums(part, labels[start:stop], sign, floor, ceiling)
    if labels is None:
        return _weighted_sums(part, weights[start:stop], floor, ceiling)
    return _weighted_class_sums(part, labels[start:stop], sign, weights[start:stop], floor, ceiling)


@compiled
def share_of(labels: Any, sign: int, weights: Any, i: int) -> float:
    """The weight of point i in the class ``sign``: 0 outside of it."""
    if labels is not None:  # noqa: SIM102 -- numba drops this branch at compile time, not a joint one
        if labels[i] != sign:
            return 0.0
    if weights is not None:
        return np.float64(weights[i])
    return 1.0


@compiled
def member(labels: Any, sign: int, weights: Any, i: int) -> bool:
    """Whether point i belongs to the class ``sign`` and has weight."""
    mine = True
    if labels is not None:
        mine = labels[i] == sign
    if weights is not None:
        mine = mine & (weights[i] > 0.0)
    return mine


@compiled
def _scan(
    values: Any, labels: Any, sign: int, weights: Any, floor: float, ceiling: float, touched: Any
) -> tuple[float, float, int, int]:
    """Sums below the window, and which chunks have points inside it (``touched``), and how many at most."""
    weight, total, inside, chunks = 0.0, 0.0, 0, 0
    for start in range(0, values.size, CHUNK):
        stop = min(start + CHUNK, values.size)
        wet, part, found = _chunk_sums(values, labels, sign, weights, start, stop, floor, ceiling)
        weight += wet
        total += part
        touched[chunks] = start
        chunks += found > 0
        inside += found
    return weight, total, inside, chunks


@compiled
def _collect(
    values: Any, labels: Any, sign: int, weights: Any, floor: float, ceiling: float, starts: Any, out: Any
) -> int:
    """Indices of the points in the window, from the chunks that have any; no branch depends on the data."""
    kept = 0
    for start in starts:
        for i in range(start, min(start + CHUNK, values.size)):
            out[kept] = i
            kept += (values[i] >= floor) & (values[i] < ceiling) & member(labels, sign, weights, i)
    return kept


@compiled
def gather(values: Any, labels: Any, sign: int, weights: Any, floor: float, ceiling: float) -> Basin:
    """One pass over the class: O(n), and a second look at those chunks that have points in the window."""
    # Never so, but it hides from LLVM that sign is a constant: the comparison of labels with a constant is done
    # in their own narrow type, and the whole pass then takes over twice as long.
    if math.isnan(floor):
        sign = 0
    touched = np.empty(values.size // CHUNK + 2, dtype=np.int64)
    weight, total, inside, chunks = _scan(values, labels, sign, weights, floor, ceiling, touched)
    indices = np.empty(inside + 1, dtype=np.int64)
    kept = _collect(values, labels, sign, weights, floor, ceiling, touched[:chunks], indices)
    points, shares = np.empty(kept), np.empty(kept)
    for k in range(kept):
        points[k], shares[k] = values[indices[k]], share_of(labels, sign, weights, indices[k])
    return Basin(points, shares, weight, total, floor, ceiling)


@compiled_reordering
def _wet_sums(values: Any, trial: float) -> tuple[Any, float]:
    wet, total = np.int32(0), 0.0
    for i in range(values.size):
        below = values[i] < trial
        wet += np.int32(below)
        total += np.float64(values[i]) if below else 0.0
    return np.float64(wet), total


@compiled
def below(values: Any, weights: Any, trial: float) -> tuple[float, float]:
    """Weight and weighted sum of the points strictly below ``trial``."""
    weight, total = 0.0, 0.0
    for start in range(0, values.size, LONG_CHUNK):
        part = values[start : min(start + LONG_CHUNK, values.size)]
        if weights is None:
            wet, summed = _wet_sums(part, trial)
        else:
            wet, summed, _ = _weighted_sums(part, weights[start : start + part.size], trial, trial)
        weight += wet
        total += summed
    return weight, total


@compiled
def flat_basin() -> Basin:
    """The second basin of a problem with one: height 0, infinite weight."""
    return Basin(np.zeros(1), np.full(1, np.inf), 0.0, 0.0, -np.inf, np.inf)


@compiled
def gather_second(values: Any, labels: Any, weights: Any, floor: float, ceiling: float) -> Basin:
    if labels is None:
        return flat_basin()
    return gather(values, labels, -1, weights, floor, ceiling)


@compiled_summing
def all_finite(values: Any) -> bool:
    """Whether no value is NaN or infinite: 0 times such a value is NaN, and so is every sum with it."""
    nothing = values[:0].sum()
    for i in range(values.size):
        nothing += values[i] * values.dtype.type(0)
    return bool(nothing == 0)


@compiled
def count_labels(labels: Any) -> tuple[int, int]:
    """The number of +1 and of -1."""
    positives, negatives = 0, 0
    for i in range(labels.size):
        positives += labels[i] == 1
        negatives += labels[i] == -1
    return positives, negatives


@compiled
def excess(labels: Any, weights: Any) -> float:
    """The weight of the positives less that of the negatives."""
    return _class_weight(labels, 1, weights) - _class_weight(labels, -1, weights)


@compiled
def _class_weight(labels: Any, sign: int, weights: Any) -> float:
    weight = 0.0
    for i in range(labels.size):
        weight += share_of(labels, sign, weights, i)
    return weight
