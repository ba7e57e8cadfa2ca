"""Compiled search for pairs of points within a distance, leaf by leaf.

Points lie leaf after leaf. A leaf's coordinates are stored together, coordinate after coordinate, so that distances to
all of its points are computed side by side.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from slackwater._jit import compiled, compiled_reordering

_LOOK_AFTER = 8  # coordinates, after which a leaf is given up if all of its points are too far already

Coordinates = NDArray[np.floating]
Places = NDArray[np.int64]


@compiled
def bound_boxes(packed: Coordinates, starts: Places, lower: Coordinates, upper: Coordinates) -> None:
    """The smallest and the largest of each coordinate in each leaf."""
    d = lower.shape[1]
    for leaf in range(lower.shape[0]):
        size = starts[leaf + 1] - starts[leaf]
        for k in range(d):
            first = starts[leaf] * d + k * size
            lower[leaf, k] = packed[first : first + size].min()
            upper[leaf, k] = packed[first : first + size].max()


@compiled
def near_leaves(lower: Coordinates, upper: Coordinates, leaf: int, limit: float, found: Places) -> int:
    """Write the leaves whose box is within the squared distance ``limit`` of this one's; returns how many."""
    count = 0
    for other in range(lower.shape[0]):
        distance = 0.0
        for k in range(lower.shape[1]):
            apart = max(lower[other, k] - upper[leaf, k], lower[leaf, k] - upper[other, k])
            if apart > 0:
                distance += apart * apart
                if distance > limit:
                    break
        if distance <= limit:
            found[count] = other
            count += 1
    return count


@compiled_reordering  # the order of a sum of squares: rounding that single precision has anyway
def squared_distances(point: Coordinates, leaf: Coordinates, limit: float, distances: Coordinates) -> bool:
    """Fill in the squared distances of a point to a leaf's; False if it was seen early that all are too far."""
    size = distances.size
    distances[:] = 0.0
    for k in range(point.size):
        for j in range(size):
            apart = point[k] - leaf[k * size + j]
            distances[j] += apart * apart
        if k == _LOOK_AFTER - 1:
            nearest = distances[0]
            for j in range(size):
                nearest = min(nearest, distances[j])
            if nearest > limit:
                return False
    return True


@compiled
def box_is_near(point: Coordinates, lower: Coordinates, upper: Coordinates, limit: float) -> bool:
    distance = 0.0
    for k in range(point.size):
        apart = max(lower[k] - point[k], point[k] - upper[k])
        if apart > 0:
            distance += apart * apart
            if distance > limit:
                return False
    return True


@compiled
def pairs_within(
    packed: Coordinates,
    starts: Places,
    lower: Coordinates,
    upper: Coordinates,
    leaf: int,
    members: NDArray[np.intp],
    near: Places,
    limit: float,
    columns: NDArray[np.int32],
    squared: NDArray[np.float32],
    lengths: Places,
) -> tuple[int, int]:
    """Points of the near leaves within the squared distance ``limit`` of some members of a leaf.

    Writes their positions into ``columns``, their squared distances into ``squared``, one member after the other, and
    how many each member has into ``lengths``. Returns how many were written and how many distances were computed.
    """
    d = lower.shape[1]
    size = starts[leaf + 1] - starts[leaf]
    point = np.empty(d, packed.dtype)
    distances = np.empty((starts[1:] - starts[:-1]).max(), packed.dtype)
    written = 0
    computed = 0
    for i in range(members.size):
        for k in range(d):
            point[k] = packed[starts[leaf] * d + k * size + members[i]]
        before = written
        for other in near:
            if not box_is_near(point, lower[other], upper[other], limit):
                continue
            first, last = starts[other], starts[other + 1]
            computed += last - first
            reach = distances[: last - first]
            if not squared_distances(point, packed[first * d : last * d], limit, reach):
                continue
            for j in range(last - first):
                if reach[j] <= limit:
                    columns[written] = first + j
                    squared[written] = reach[j]
                    written += 1
        lengths[i] = written - before
    return written, computed
