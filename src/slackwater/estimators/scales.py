"""Coefficients within their bounds: C times the weight of a row, as users of scikit-learn's ``dual_coef_`` expect.

A model found by blocks of rows is the multiple of a dual point that costs least, which may take bounded coefficients a
little beyond C. One factor for each problem is taken out of its coefficients and its bias: their signs and proportions,
hence all labels, stay the same, and decision values are the factor times what coefficients and bias give.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_MAX_EXCESS = 1.05  # beyond, coefficients are not those of a dual point: a model in a subspace has no bounds

Floats = NDArray[np.float64]


def scales(coefficients: Floats, bounds: Floats, n_support: NDArray[np.integer], in_pairs: bool) -> Floats:
    """The factor of each problem, given (rows, support) coefficients.

    With ``in_pairs`` a row of the coefficients belongs to several pairs of classes, as in ``PairCoefficients``.
    """
    ratios = np.abs(coefficients) / bounds
    if in_pairs:
        largest = _largest_of_pairs(ratios, n_support)
    else:
        largest = ratios.max(axis=1, initial=0.0)
    return np.where((largest > 1.0) & (largest <= _MAX_EXCESS), largest, 1.0)


def spread(factors: Floats, n_support: NDArray[np.integer], in_pairs: bool) -> Floats:
    """The factor of each coefficient: (rows, support), or (rows, 1) where a row is a problem."""
    if not in_pairs:
        return factors[:, None]
    n_classes = len(n_support)
    first, second = np.triu_indices(n_classes, 1)
    table = np.ones((n_classes - 1, n_classes))
    table[second - 1, first] = table[first, second] = factors
    return np.repeat(table, n_support, axis=1)


def _largest_of_pairs(ratios: Floats, n_support: NDArray[np.integer]) -> Floats:
    ends = np.cumsum(n_support)
    parts = [ratios[:, end - size : end].max(axis=1, initial=0.0) for size, end in zip(n_support, ends, strict=True)]
    table = np.column_stack(parts)  # (k - 1, k)
    first, second = np.triu_indices(len(n_support), 1)
    return np.asarray(np.maximum(table[second - 1, first], table[first, second]), dtype=np.float64)
