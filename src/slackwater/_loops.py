"""Compiled passes over a data set that belong to no kernel."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from slackwater._jit import compiled


@compiled
def dense_keys(rows: NDArray[np.floating], direction: NDArray[np.float64]) -> NDArray[np.float64]:
    """Inner products summed in one fixed order, so that equal rows have bitwise equal keys (BLAS may not)."""
    keys = np.zeros(rows.shape[0])
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            keys[i] += rows[i, j] * direction[j]
    return keys


@compiled
def sparse_keys(
    indptr: NDArray[np.integer],
    indices: NDArray[np.integer],
    data: NDArray[np.floating],
    direction: NDArray[np.float64],
) -> NDArray[np.float64]:
    """``dense_keys`` of CSR rows; leaving out the zeros does not change the sum."""
    keys = np.zeros(len(indptr) - 1)
    for i in range(len(keys)):
        for k in range(indptr[i], indptr[i + 1]):
            keys[i] += data[k] * direction[indices[k]]
    return keys
