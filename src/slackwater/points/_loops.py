"""Compiled passes over coordinates: squared norms, codes on a grid, their packing."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from slackwater._jit import compiled, compiled_reordering
from slackwater.points.grid import SIDE_BY_SIDE

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
def pack(rows: NDArray[np.uint32], packed: NDArray[np.uint32]) -> None:
    """SIDE_BY_SIDE rows side by side, word by word, then the next ones."""
    size = SIDE_BY_SIDE * rows.shape[1]
    for first in range(0, rows.shape[0], SIDE_BY_SIDE):
        place = first // SIDE_BY_SIDE * size
        pack_some(rows, first, SIDE_BY_SIDE, np.uint32(0), packed[place : place + size])


@compiled
def pack_some(rows: NDArray[np.uint32], first: int, width: int, flip: Any, packed: NDArray[np.uint32]) -> None:
    """Rows side by side, word by word; zeros make up their number."""
    count, words = min(width, rows.shape[0] - first), rows.shape[1]
    if count < width:
        packed[:] = np.uint32(0)
    for j in range(count):
        for k in range(words):
            packed[k * width + j] = rows[first + j, k] ^ flip
