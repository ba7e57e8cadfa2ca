"""Compiled updates and draws shared by the solvers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from slackwater._jit import compiled, compiled_reordering

_CHUNK = 2048  # doubles: a chunk of the responses stays in the first-level cache while every row is added to it


@compiled_reordering  # elementwise: there is no sum whose order could matter, only fused multiply-adds
def _add(responses: NDArray[np.float64], labels: NDArray[np.int8], row: NDArray[np.floating], amount: float) -> None:
    for i in range(responses.size):
        responses[i] += amount * np.float64(labels[i]) * np.float64(row[i])


@compiled_reordering
def _shrink_and_count(responses: NDArray[np.float64], total: NDArray[np.float64], shrink: float) -> None:
    for i in range(responses.size):
        responses[i] *= shrink
        total[i] += responses[i]


@compiled
def add_rows(
    responses: NDArray[np.float64],
    total: NDArray[np.float64],
    labels: NDArray[np.int8],
    base: NDArray[np.floating],
    places: NDArray[np.intp],
    amounts: NDArray[np.float64],
    shrink: float,
) -> None:
    """c <- shrink·(c + y ∘ Σ_k amounts_k row_k), then total += c (Alg. 1, lines 9-13), chunk by chunk.

    Row k is ``base[places[k]]``.
    """
    for start in range(0, responses.size, _CHUNK):
        stop = min(start + _CHUNK, responses.size)
        part = responses[start:stop]
        for k in range(amounts.size):
            _add(part, labels[start:stop], base[places[k], start:stop], amounts[k])
        _shrink_and_count(part, total[start:stop], shrink)


@compiled
def add_combination(
    responses: NDArray[np.float64],
    labels: NDArray[np.int8],
    base: NDArray[np.floating],
    places: NDArray[np.intp],
    amounts: NDArray[np.float64],
) -> None:
    """c <- c + y ∘ Σ_k amounts_k row_k, row k being ``base[places[k]]``: each row is read once, none is copied."""
    for start in range(0, responses.size, _CHUNK):
        stop = min(start + _CHUNK, responses.size)
        for k in range(amounts.size):
            _add(responses[start:stop], labels[start:stop], base[places[k], start:stop], amounts[k])


@compiled
def first_at_or_below(
    candidates: NDArray[np.intp], start: int, stop: int, responses: NDArray[np.float64], level: float
) -> int:
    """Position of the first candidate from ``start`` on that is not above the level; ``stop`` if none is."""
    for position in range(start, stop):
        if responses[candidates[position]] <= level:
            return position
    return stop


@compiled
def all_at_or_below(
    candidates: NDArray[np.intp], start: int, responses: NDArray[np.float64], level: float, most: int
) -> NDArray[np.intp]:
    """The first ``most`` candidates from ``start`` on that are not above the level."""
    found = np.empty(most, dtype=np.intp)
    count = 0
    for position in range(start, len(candidates)):
        if count == most:
            break
        if responses[candidates[position]] <= level:
            found[count] = candidates[position]
            count += 1
    return found[:count]


@compiled
def pick_at_or_below(
    members: NDArray[np.intp],
    cumulative: NDArray[np.float64],
    responses: NDArray[np.float64],
    level: float,
    uniform: float,
) -> int:
    """The member at the fraction ``uniform`` of the weight of those not above the level.

    Rounding can leave a level a last bit below the lowest response; the lowest member is taken then.
    """
    lowest = members[0]
    wet = 0.0
    previous = 0.0
    for k in range(len(members)):
        if responses[members[k]] < responses[lowest]:
            lowest = members[k]
        if responses[members[k]] <= level:
            wet += cumulative[k] - previous
        previous = cumulative[k]
    target = uniform * wet
    previous = 0.0
    passed = 0.0
    choice = lowest
    for k in range(len(members)):
        if responses[members[k]] <= level:
            choice = members[k]
            passed += cumulative[k] - previous
            if passed > target:
                break
        previous = cumulative[k]
    return int(choice)
