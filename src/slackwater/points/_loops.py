"""Compiled passes over coordinates: squared norms, codes on a grid, their packing."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from slackwater._jit import compiled, compiled_reordering

Floats = NDArray[np.floating[Any]]
Whole = NDArray[np.int32]


@compiled_reordering
def dense_squared_norms(values: Floats) -> NDArray[np.float64]:
    """Sum of squares of each row, in double precision."""
    norms = np.empty(values.shape[0])
    for i in range(values.shape[0]):
        row = values[i]
        total = 0.0
        for k in range(row.size):
            value = np.float64(row[k])
            total += value * value
        norms[i] = total
    return norms


@compiled_reordering
def sparse_squared_norms(indptr: NDArray[np.int64], data: Floats) -> NDArray[np.float64]:
    """Sum of squares of each CSR row, in double precision."""
    norms = np.empty(indptr.size - 1)
    for i in range(norms.size):
        total = 0.0
        for entry in range(indptr[i], indptr[i + 1]):
            value = np.float64(data[entry])
            total += value * value
        norms[i] = total
    return norms


@compiled
def encode(
    values: Floats,
    origin: NDArray[np.float64],
    step: float,
    tolerance: float,
    codes: NDArray[np.uint8],
    own: Whole,
    others: Whole,
) -> bool:
    """codes <- (values - origin) / step; whether all are whole, within ``tolerance``, and from 0 to 255.

    The instruction takes the bytes of its left side as signed, so 128 is subtracted from them. A sum of products lacks
    128 times the sum of the right side's codes then; ``others`` makes up for twice that.
    """
    within, inverse, ones = True, 1.0 / step, np.ones(codes.shape[1], np.uint8)
    for i in range(values.shape[0]):
        row, target = values[i], codes[i]
        for k in range(row.size):
            exact = (np.float64(row[k]) - origin[k]) * inverse
            whole = np.floor(exact + 0.5)
            within &= (abs(exact - whole) <= tolerance) & (whole >= 0.0) & (whole <= 255.0)
            target[k] = np.uint8(np.int32(whole))
        target[row.size :] = np.uint8(0)
        own[i] = _sum_of_products(target, target)
        others[i] = own[i] - 256 * _sum_of_products(target, ones)
    return within


@compiled
def _sum_of_products(first: NDArray[np.uint8], second: NDArray[np.uint8]) -> Any:
    total = np.int32(0)
    for k in range(first.size):
        total = np.int32(total + np.int32(first[k]) * np.int32(second[k]))
    return total


@compiled
def pack(rows: NDArray[np.uint32], width: int, packed: NDArray[np.uint32]) -> None:
    """Rows side by side, word by word, so many at a time; zeros make up the number of the last ones."""
    words = rows.shape[1]
    for first in range(0, rows.shape[0], width):
        count, place = min(width, rows.shape[0] - first), first * words
        if count < width:
            for k in range(width * words):
                packed[place + k] = np.uint32(0)
        for j in range(count):
            for k in range(words):
                packed[place + k * width + j] = rows[first + j, k]
