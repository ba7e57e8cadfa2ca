"""Functions of a linear kernel by their weights, w = Σ_i a_i x_i: a value takes d products, not one for each of them.

Weights are sums of large terms that cancel where C is large or features are raw. So they are added up in extended
precision, from a middle of the support vectors; values are then as precise as doubles are.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from slackwater.points import SparsePoints, Vectors
from slackwater.workers import Workers

Doubles = NDArray[np.float64]

_ROWS_ADDED_UP = 32  # in double precision, before their sum is added in extended precision
_COORDINATES_TOGETHER = 2**20  # of the points that are multiplied at a time


class LinearFunctions:
    """Functions Σ_i a_i <x_i, x> of one set of support vectors; the weights of the last ones are kept."""

    def __init__(self, support: Vectors) -> None:
        self._support = support
        self._kept: tuple[Doubles, Doubles] | None = None  # coefficients, and their weights

    def weights(self, coefficients: Doubles) -> Doubles:
        """Σ_i a_i x_i of k functions, given by (k, support) coefficients: shape (k, d)."""
        kept = self._kept  # of two threads that are here at once, one computes in vain
        if kept is None or not np.array_equal(kept[0], coefficients):
            self._kept = kept = coefficients.copy(), weighted_sums(self._support, coefficients)
        return kept[1]

    def values(self, points: Vectors, coefficients: Doubles, workers: Workers) -> Doubles:
        """Values at m points: shape (m, k)."""
        return values_by_weights(points, self.weights(coefficients), workers)


def weighted_sums(support: Vectors, coefficients: Doubles) -> Doubles:
    """Σ_i a_i x_i, rounded once."""
    n, d = len(support), support.n_features
    origin = support.slice(0, min(n, _ROWS_ADDED_UP)).dense(np.dtype(np.float64)).mean(axis=0) if n else np.zeros(d)
    sums = np.zeros((len(coefficients), d), dtype=np.longdouble)
    for first in range(0, n, _ROWS_ADDED_UP):
        rows = support.slice(first, min(first + _ROWS_ADDED_UP, n)).dense(np.dtype(np.float64))
        sums += coefficients[:, first : first + _ROWS_ADDED_UP] @ (rows - origin)
    sums += coefficients.sum(axis=1, dtype=np.longdouble)[:, None] * origin
    return sums.astype(np.float64)


def values_by_weights(points: Vectors, weights: Doubles, workers: Workers) -> Doubles:
    """<w, x> of k functions at m points: shape (m, k)."""
    size = max(1, _COORDINATES_TOGETHER // max(1, points.n_features))
    parts = [(first, min(first + size, len(points))) for first in range(0, len(points), size)]
    found = workers.run(lambda part: _products(points.slice(*part), weights), parts)
    return np.concatenate(found) if found else np.zeros((0, len(weights)))


def _products(points: Vectors, weights: Doubles) -> Doubles:
    with np.errstate(over="ignore", invalid="ignore"):  # infinite values are found and named by whoever asked for them
        if isinstance(points, SparsePoints):
            return np.asarray(points.raw @ weights.T)
        return np.asarray(points.dense(np.dtype(np.float64)) @ weights.T)
