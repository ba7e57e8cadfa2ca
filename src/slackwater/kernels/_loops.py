"""Compiled loops of the kernels: exponentials in place, products of sparse rows, L1 distances.

Blocks are passed as a flat array and the distance between two of its rows. A two-dimensional view of some
columns of a larger array would be typed "any stride" and its loops would not be vectorised (measured: eight
times slower).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from slackwater._jit import compiled, compiled_fusing, compiled_reordering
from slackwater.points.base import Floats, Indices

f32 = np.float32

# exp(x) in single precision: ln 2 in two parts, and a polynomial for |r| <= ln 2 / 2, highest power first.
LOG2_E, LN2_HIGH, LN2_LOW = 1.44269504, 0.693359375, -2.12194440e-4
POLYNOMIAL = (1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1, 1.0, 1.0)

# Rows of the right side whose values are gathered before they are written: 16 float32 fill a cache line.
GATHER = 16

# Below, inner loops index [i, k] rather than a row taken out before: taking a row counts a reference, which
# costs more than a short row's arithmetic.


@compiled_fusing
def exp32(x: np.float32) -> Any:
    """Compute exp(min(x, 0)) to 3e-7 relative; 0 below -87.7; NaN stays NaN.

    exp(x) = 2^k · exp(r) with x = k ln 2 + r. The product k ln 2 is taken in two parts, the first exact (Cody
    and Waite), and 2^k is built from its exponent bits; a plain polynomial for exp(r) lets LLVM vectorise the
    caller's loop. Not built with reordering: it would merge the two parts of ln 2.
    """
    x = f32(0) if x > f32(0) else x
    x = f32(-88) if x < f32(-88) else x  # here k = -127, whose exponent bits are those of 0.0
    k = np.floor(x * f32(LOG2_E) + f32(0.5))
    r = (x - k * f32(LN2_HIGH)) - k * f32(LN2_LOW)
    p = f32(POLYNOMIAL[0])
    p = p * r + f32(POLYNOMIAL[1])
    p = p * r + f32(POLYNOMIAL[2])
    p = p * r + f32(POLYNOMIAL[3])
    p = p * r + f32(POLYNOMIAL[4])
    p = p * r + f32(POLYNOMIAL[5])
    p = p * r + f32(POLYNOMIAL[6])
    return p * np.int32((np.int32(k) + np.int32(127)) << np.int32(23)).view(np.float32)


@compiled_fusing
def exp64(x: float) -> Any:
    """Compute exp(min(x, 0)) to 5e-16 relative; 0 below -708.8; NaN stays NaN. As ``exp32``."""
    x = 0.0 if x > 0.0 else x
    x = -709.0 if x < -709.0 else x  # here k = -1023, whose exponent bits are those of 0.0
    k = np.floor(x * 1.4426950408889634 + 0.5)
    r = (x - k * 6.93147180369123816490e-01) - k * 1.90821492927058770002e-10
    p = 1.0 / 479001600.0
    p = p * r + 1.0 / 39916800.0
    p = p * r + 1.0 / 3628800.0
    p = p * r + 1.0 / 362880.0
    p = p * r + 1.0 / 40320.0
    p = p * r + 1.0 / 5040.0
    p = p * r + 1.0 / 720.0
    p = p * r + 1.0 / 120.0
    p = p * r + 1.0 / 24.0
    p = p * r + 1.0 / 6.0
    p = p * r + 0.5
    p = p * (r * r) + r + 1.0
    return p * np.int64((np.int64(np.int32(k)) + np.int64(1023)) << np.int64(52)).view(np.float64)


@compiled_fusing
def gaussian_finish32(block: Floats, stride: int, left: Floats, right: Floats, twice: Any) -> None:
    """In place: inner products become exp(twice·<z, x> - left - right), that is exp(-gamma |z - x|²)."""
    for i in range(left.size):
        row = block[i * stride : i * stride + right.size]
        own = left[i]
        for j in range(right.size):
            row[j] = exp32(twice * row[j] - (own + right[j]))


@compiled_fusing
def gaussian_finish64(block: Floats, stride: int, left: Floats, right: Floats, twice: Any) -> None:
    """As ``gaussian_finish32``, in double precision."""
    for i in range(left.size):
        row = block[i * stride : i * stride + right.size]
        own = left[i]
        for j in range(right.size):
            row[j] = exp64(twice * row[j] - (own + right[j]))


@compiled_fusing
def gaussian_finish_into32(
    products: NDArray[np.float64], left: Floats, right: Floats, twice: float, block: Floats, stride: int
) -> None:
    """From inner products in double to kernel values in single precision, which differ by their own rounding only."""
    for i in range(left.size):
        row = block[i * stride : i * stride + right.size]
        own = left[i]
        for j in range(right.size):
            row[j] = exp32(f32(twice * products[i, j] - (own + right[j])))


@compiled
def gaussian_of_squared_distances(values: Floats, gamma: float) -> None:
    """In place: d² <- exp(-gamma·d²)."""
    for i in range(values.size):
        values[i] = np.exp(values.dtype.type(-gamma * values[i]))


@compiled_fusing
def exponential_finish32(block: Floats, stride: int, rows: int, columns: int, factor: Any) -> None:
    """In place: value v becomes exp(min(factor · v, 0))."""
    for i in range(rows):
        row = block[i * stride : i * stride + columns]
        for j in range(columns):
            row[j] = exp32(factor * row[j])


@compiled_fusing
def exponential_finish64(block: Floats, stride: int, rows: int, columns: int, factor: Any) -> None:
    """As ``exponential_finish32``, in double precision."""
    for i in range(rows):
        row = block[i * stride : i * stride + columns]
        for j in range(columns):
            row[j] = exp64(factor * row[j])


@compiled_reordering
def sparse_products(
    indptr: NDArray[np.int64],
    indices: Indices,
    data: Floats,
    starts: NDArray[np.int32],
    owners: NDArray[np.uint32],
    values: Floats,
    rows: int,
    block: Floats,
    stride: int,
) -> None:
    """Inner products of left rows, given column by column, with CSR right rows.

    Only pairs of entries in the same column are multiplied: the sums of one right row with all left ones fit into the
    first cache, and its entries' columns are added to them.
    """
    sums = np.empty((GATHER, rows), block.dtype)
    for first in range(0, indptr.size - 1, GATHER):
        count = min(GATHER, indptr.size - 1 - first)
        for k in range(count):
            row = sums[k]
            row[:] = 0
            for entry in range(indptr[first + k], indptr[first + k + 1]):
                column, value = indices[entry], block.dtype.type(data[entry])
                for e in range(starts[column], starts[column + 1]):
                    row[owners[e]] += value * block.dtype.type(values[e])
        for i in range(rows):
            for k in range(count):
                block[i * stride + first + k] = sums[k, i]


@compiled_reordering
def sparse_l1_distances(
    indptr: NDArray[np.int64],
    indices: Indices,
    data: Floats,
    starts: NDArray[np.int32],
    owners: NDArray[np.uint32],
    values: Floats,
    rows: int,
    block: Floats,
    stride: int,
) -> None:
    """L1 distances of left rows z, given column by column, to CSR right rows x.

    |z - x|₁ = |z|₁ + |x|₁ + Σ (|z_k - x_k| - |z_k| - |x_k|), summed over the entries that both have.

    In double precision: near rows are the difference of two large sums.
    """
    norms = np.zeros(rows)
    for e in range(values.size):
        norms[owners[e]] += abs(np.float64(values[e]))
    sums = np.empty((GATHER, rows))
    for first in range(0, indptr.size - 1, GATHER):
        count = min(GATHER, indptr.size - 1 - first)
        for k in range(count):
            own = 0.0
            for entry in range(indptr[first + k], indptr[first + k + 1]):
                own += abs(np.float64(data[entry]))
            for i in range(rows):
                sums[k, i] = norms[i] + own
            for entry in range(indptr[first + k], indptr[first + k + 1]):
                column, x = indices[entry], np.float64(data[entry])
                for e in range(starts[column], starts[column + 1]):
                    z = np.float64(values[e])
                    sums[k, owners[e]] += abs(z - x) - abs(z) - abs(x)
        for i in range(rows):
            for k in range(count):
                block[i * stride + first + k] = max(sums[k, i], 0.0)


@compiled_reordering
def dense_l1_distances(left: Floats, right: Floats, block: Floats, stride: int) -> None:
    """L1 distances of dense rows, summed in the type of the data: every term is positive, nothing cancels."""
    for j in range(right.shape[0]):
        for i in range(left.shape[0]):
            total = left.dtype.type(0)
            for k in range(left.shape[1]):
                total += abs(left[i, k] - right[j, k])
            block[i * stride + j] = total
