"""Compiled sums of Gaussian values over the points of near leaves."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from slackwater._jit import compiled, compiled_reordering
from slackwater.kernels._loops import exp64
from slackwater.points._leaf_loops import Coordinates, Places, box_is_near, squared_distances


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
            if not box_is_near(points[i], lower[leaf], upper[leaf], limit):
                continue
            first, last = starts[leaf], starts[leaf + 1]
            computed += last - first
            reach = distances[: last - first]
            if not squared_distances(points[i], packed[first * d : last * d], limit, reach):
                continue
            _add_sums(reach, gamma, coefficients[first:last], values, out[i])
    return computed
