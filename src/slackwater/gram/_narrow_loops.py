"""Compiled search for the pairs of points whose kernel value matters, leaf by leaf.

Points lie leaf after leaf; a leaf's coordinates are stored together, coordinate by coordinate, so that distances to all
of its points are computed side by side.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from slackwater._jit import compiled, compiled_reordering
from slackwater.kernels._loops import exp64

_LOOK_AFTER = 8  # coordinates, after which a leaf is given up if all of its points are too far already

Singles = NDArray[np.float32]
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
def _squared_distances(point: Coordinates, leaf: Coordinates, limit: float, distances: Coordinates) -> bool:
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
def _box_is_near(point: Coordinates, lower: Coordinates, upper: Coordinates, limit: float) -> bool:
    distance = 0.0
    for k in range(point.size):
        apart = max(lower[k] - point[k], point[k] - upper[k])
        if apart > 0:
            distance += apart * apart
            if distance > limit:
                return False
    return True


@compiled
def gaussian_rows(
    packed: Coordinates,
    starts: Places,
    lower: Coordinates,
    upper: Coordinates,
    leaf: int,
    near: Places,
    gamma: float,
    limit: float,
    columns: NDArray[np.int32],
    values: Singles,
    lengths: Places,
) -> tuple[int, int]:
    """The rows of the points of a leaf, but for values below exp(-gamma·limit).

    Writes one row after the other into ``columns`` and ``values``, their lengths into ``lengths``. Returns how many
    values were written and how many distances were computed.
    """
    d = lower.shape[1]
    size = starts[leaf + 1] - starts[leaf]
    point = np.empty(d, packed.dtype)
    distances = np.empty((starts[1:] - starts[:-1]).max(), packed.dtype)
    written = 0
    computed = 0
    for i in range(size):
        for k in range(d):
            point[k] = packed[starts[leaf] * d + k * size + i]
        before = written
        for other in near:
            if not _box_is_near(point, lower[other], upper[other], limit):
                continue
            first, last = starts[other], starts[other + 1]
            computed += last - first
            reach = distances[: last - first]
            if not _squared_distances(point, packed[first * d : last * d], limit, reach):
                continue
            for j in range(last - first):
                if reach[j] <= limit:
                    columns[written] = first + j
                    values[written] = np.exp(np.float32(-gamma * reach[j]))
                    written += 1
        lengths[i] = written - before
    return written, computed


@compiled_reordering  # of at most a leaf's terms
def _add_sums(
    distances: Coordinates,
    gamma: float,
    coefficients: NDArray[np.float64],
    values: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    """Add Σ_j coefficients[j, :] exp(-gamma·distances_j); far points of a near leaf are computed, too, side by side."""
    for j in range(distances.size):
        values[j] = exp64(-gamma * np.float64(distances[j]))
    for k in range(out.size):
        total = 0.0
        for j in range(distances.size):
            total += coefficients[j, k] * values[j]
        out[k] += total


@compiled
def gaussian_sums(
    points: Coordinates,
    packed: Coordinates,
    starts: Places,
    lower: Coordinates,
    upper: Coordinates,
    gamma: float,
    limit: float,
    coefficients: NDArray[np.float64],
    out: NDArray[np.float64],
) -> int:
    """out[i, :] <- Σ_j coefficients[j, :] K(point i, j) over the points j of all leaves, without far leaves.

    Returns how many distances were computed.
    """
    d = lower.shape[1]
    distances = np.empty((starts[1:] - starts[:-1]).max(), packed.dtype)
    values = np.empty(distances.size)
    computed = 0
    for i in range(points.shape[0]):
        out[i] = 0.0
        for leaf in range(lower.shape[0]):
            if not _box_is_near(points[i], lower[leaf], upper[leaf], limit):
                continue
            first, last = starts[leaf], starts[leaf + 1]
            computed += last - first
            reach = distances[: last - first]
            if not _squared_distances(points[i], packed[first * d : last * d], limit, reach):
                continue
            _add_sums(reach, gamma, coefficients[first:last], values, out[i])
    return computed


@compiled
def gather(
    indptr: Places,
    columns: NDArray[np.int32],
    values: Singles,
    rows: NDArray[np.intp],
    position: NDArray[np.int32],
    out: NDArray[np.floating],
) -> None:
    """Fill ``out[k, position[j]]`` with the values of row ``rows[k]``; columns of position -1 are left out."""
    for k in range(rows.size):
        for entry in range(indptr[rows[k]], indptr[rows[k] + 1]):
            place = position[columns[entry]]
            if place >= 0:
                out[k, place] = values[entry]


@compiled
def add_rows(
    responses: NDArray[np.float64],
    labels: NDArray[np.int8],
    indptr: Places,
    columns: NDArray[np.int32],
    values: Singles,
    rows: NDArray[np.intp],
    amounts: NDArray[np.float64],
) -> None:
    """c <- c + y ∘ Σ_k amounts_k row_k."""
    for k in range(rows.size):
        for entry in range(indptr[rows[k]], indptr[rows[k] + 1]):
            j = columns[entry]
            responses[j] += amounts[k] * labels[j] * values[entry]
