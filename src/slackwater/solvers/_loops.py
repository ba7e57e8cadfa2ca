"""Compiled draws shared by the solvers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from slackwater._jit import compiled


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


@compiled
def ranks_at_or_below(
    rank: NDArray[np.int32], responses: NDArray[np.float64], level: float, most: int
) -> NDArray[np.int32]:
    """The ranks of members that are not above the level, up to ``most`` of them; in the order of the responses."""
    found = np.empty(most, dtype=np.int32)
    count = 0
    for i in range(responses.size):
        if responses[i] <= level and rank[i] >= 0:
            found[count] = rank[i]
            count += 1
            if count == most:
                break
    return found[:count]


@compiled
def pick_rank(wet: NDArray[np.int32], cumulative: NDArray[np.float64], uniform: float) -> int:
    """Of ascending ranks, the one at the fraction ``uniform`` of their weight: the choice of ``pick_at_or_below``."""
    weight = 0.0
    for k in wet:
        weight += cumulative[k] - (cumulative[k - 1] if k > 0 else 0.0)
    target, passed = uniform * weight, 0.0
    for k in wet:
        passed += cumulative[k] - (cumulative[k - 1] if k > 0 else 0.0)
        if passed > target:
            return int(k)
    return int(wet[-1])
