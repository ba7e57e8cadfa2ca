"""Compiled Gaussian of points with few coordinates: products and exponentials in one pass, from a core's own cache.

BLAS is made for long sums: of 20 coordinates it takes 0.8 ns a value, and the exponential has to fetch what BLAS wrote.
Here ROWS points of the left side meet WIDTH of the right at a time, TERMS coordinates a turn, and the sums are
finished where they are.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from slackwater._jit import compiled, compiled_fusing, compiled_reordering
from slackwater.kernels._loops import exp32
from slackwater.points.base import Floats

f32 = np.float32
ROWS, TERMS = 2, 4  # their factors and sums fit into the registers of processors with 16 of them
WIDTH = 272  # with 256 the coordinates of a turn would compete for the same lines of the cache


@compiled
def gaussian32(
    left: Floats,
    right: Floats,
    times: Any,
    scale: Any,
    own: Floats,
    others: Floats,
    apart: bool,
    base: NDArray[Any],
    starts: NDArray[np.intp],
    steps: Any,
) -> None:
    """base[starts_i + j] <- exp(scale·p - own_i - others_j), p being the product of times·left_i and times·right_j.

    With ``apart``, p is their squared distance: no digit of it is lost, however far from the origin the points are, and
    it takes about as long. ``steps`` is 0, or how many of them 1 has where ``base`` is of whole numbers.
    """
    rows, coordinates = left.shape
    turns = (coordinates + TERMS - 1) // TERMS
    factors = _factors(left, times, turns)
    sums, packed = np.empty(ROWS * WIDTH, f32), np.zeros(turns * TERMS * WIDTH, f32)
    for first in range(0, right.shape[0], WIDTH):
        count = min(WIDTH, right.shape[0] - first)
        _pack(right, times, first, count, packed)
        for row in range(0, rows, ROWS):
            if apart:
                _sum_squares(factors, row * turns * TERMS, packed, turns, sums)
            else:
                _sum_products(factors, row * turns * TERMS, packed, turns, sums)
            for i in range(row, min(row + ROWS, rows)):
                begin, place = (i - row) * WIDTH, starts[i] + first
                mine, out = sums[begin : begin + count], base[place : place + count]
                _finish(mine, scale, own[i], others[first : first + count], steps, out)


@compiled
def _factors(left: Floats, times: Any, turns: int) -> Floats:
    """The left points, ROWS of them at a time and TERMS of their coordinates a turn; zeros make up the numbers."""
    groups = (left.shape[0] + ROWS - 1) // ROWS
    factors = np.zeros(groups * turns * ROWS * TERMS, f32)
    for i in range(left.shape[0]):
        for k in range(left.shape[1]):
            turn = i // ROWS * turns + k // TERMS
            factors[(turn * ROWS + i % ROWS) * TERMS + k % TERMS] = times * left[i, k]
    return factors


@compiled
def _pack(right: Floats, times: Any, first: int, count: int, packed: Floats) -> None:
    """Some right points, coordinate by coordinate. Behind the last ones whatever was there stays, for nobody to see."""
    for j in range(count):
        for k in range(right.shape[1]):
            packed[k * WIDTH + j] = times * right[first + j, k]


@compiled_reordering  # finite or not, a value enters its own sum alone
def _sum_products(factors: Floats, first: int, packed: Floats, turns: int, sums: Floats) -> None:
    """Products of two left points, four coordinates a turn, with all that are packed.

    All is in one array each, at distances known to LLVM: it need not ask whether they overlap to vectorise the loop.
    """
    for j in range(ROWS * WIDTH):
        sums[j] = f32(0)
    for turn in range(turns):
        f, p = first + turn * ROWS * TERMS, turn * TERMS * WIDTH
        a, b, c, d = factors[f], factors[f + 1], factors[f + 2], factors[f + 3]
        e, g, h, i = factors[f + 4], factors[f + 5], factors[f + 6], factors[f + 7]
        for j in range(WIDTH):
            w, x = packed[p + j], packed[p + WIDTH + j]
            y, z = packed[p + 2 * WIDTH + j], packed[p + 3 * WIDTH + j]
            sums[j] += a * w + b * x + c * y + d * z
            sums[WIDTH + j] += e * w + g * x + h * y + i * z


@compiled_reordering  # as above
def _sum_squares(factors: Floats, first: int, packed: Floats, turns: int, sums: Floats) -> None:
    """Squared distances of two left points, four coordinates a turn, from all that are packed; as ``_sum_products``."""
    for j in range(ROWS * WIDTH):
        sums[j] = f32(0)
    for turn in range(turns):
        f, p = first + turn * ROWS * TERMS, turn * TERMS * WIDTH
        a, b, c, d = factors[f], factors[f + 1], factors[f + 2], factors[f + 3]
        e, g, h, i = factors[f + 4], factors[f + 5], factors[f + 6], factors[f + 7]
        for j in range(WIDTH):
            w, x = packed[p + j], packed[p + WIDTH + j]
            y, z = packed[p + 2 * WIDTH + j], packed[p + 3 * WIDTH + j]
            sums[j] += (a - w) ** 2 + (b - x) ** 2 + (c - y) ** 2 + (d - z) ** 2
            sums[WIDTH + j] += (e - w) ** 2 + (g - x) ** 2 + (h - y) ** 2 + (i - z) ** 2


@compiled_fusing
def _finish(sums: Floats, scale: Any, own: Any, others: Floats, steps: Any, out: NDArray[Any]) -> None:
    if steps > f32(0):
        for j in range(out.size):
            out[j] = exp32(scale * sums[j] - (own + others[j])) * steps + f32(0.5)
    else:
        for j in range(out.size):
            out[j] = exp32(scale * sums[j] - (own + others[j]))
