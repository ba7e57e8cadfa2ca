"""Compiled Gaussian of points in single precision, in one pass from coordinates to values.

Points are packed coordinate by coordinate, so many of the left and right side at a time as a tile in registers has
(``_register_tiles``).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from slackwater._jit import compiled
from slackwater.kernels._register_tiles import ROWS, WIDTH, gaussians_of_differences, gaussians_of_products
from slackwater.points.base import Floats
from slackwater.points.packing import LINE

f32 = np.float32


@compiled
def gaussian32(
    left: Floats,
    right: Floats,
    scale: Any,
    own: Floats,
    others: Floats,
    apart: bool,
    base: NDArray[Any],
    starts: NDArray[np.intp],
    steps: Any,
) -> None:
    """base[starts_i + j] <- exp(scale·p - own_i - others_j), p being the product of left_i and right_j.

    With ``apart``, p is their squared distance: no digit of it is lost, however far from the origin the points are.
    Right points are packed (``points.packing``). ``steps`` is 0, or how many of them 1 has where ``base`` is of whole
    numbers.
    """
    rows, words = left.shape
    groups = (rows + ROWS - 1) // ROWS
    mine, own_here = aligned(groups * ROWS * words, left), np.zeros(groups * ROWS, f32)
    copy_some(own, 0, rows, own_here)
    for first in range(0, rows, ROWS):
        for j in range(min(ROWS, rows - first)):
            for k in range(words):
                mine[first * words + k * ROWS + j] = left[first + j, k]
    others_here, spare = np.zeros(WIDTH, f32), np.empty(ROWS * WIDTH, base.dtype)
    targets = np.empty(ROWS, np.int64)
    for column in range(0, others.size, WIDTH):
        count = min(WIDTH, others.size - column)
        copy_some(others, column, count, others_here)
        for first in range(0, rows, ROWS):
            aim(targets, base, starts, first, rows, column, count, spare)
            place = mine.ctypes.data + 4 * first * words, right.ctypes.data + 4 * column * words
            norms = own_here.ctypes.data + 4 * first, others_here.ctypes.data
            given = (*place, *norms, targets.ctypes.data, words, scale, f32(-1), steps)
            if apart:
                gaussians_of_differences((scale, spare[0]), given)
            else:
                gaussians_of_products((scale, spare[0]), given)
            if count < WIDTH:
                collect(spare, base, starts, first, rows, column, count)


@compiled
def aligned(size: int, like: NDArray[Any]) -> NDArray[Any]:
    """Zeros of an array's type, of four bytes each, the first of which begins a cache line."""
    room = np.zeros(size + LINE, like.dtype)
    first = (-room.ctypes.data // 4) % LINE
    return room[first : first + size]


@compiled
def aim(
    targets: NDArray[np.int64],
    base: NDArray[Any],
    starts: NDArray[np.intp],
    first: int,
    rows: int,
    column: int,
    count: int,
    spare: NDArray[Any],
) -> None:
    """The addresses that a tile writes its rows to, those from ``first`` on, from a column on.

    Rows beyond the last are written aside, and all rows where there are fewer than WIDTH columns.
    """
    begin, aside, size = base.ctypes.data, spare.ctypes.data, base.itemsize
    for i in range(ROWS):
        wanted = first + i < rows and count == WIDTH
        targets[i] = begin + size * (starts[first + i] + column) if wanted else aside + size * i * WIDTH


@compiled
def collect(
    spare: NDArray[Any], base: NDArray[Any], starts: NDArray[np.intp], first: int, rows: int, column: int, count: int
) -> None:
    """Values that were written aside, to where they belong."""
    for i in range(min(ROWS, rows - first)):
        for j in range(count):
            base[starts[first + i] + column + j] = spare[i * WIDTH + j]


@compiled
def copy_some(values: NDArray[Any], first: int, count: int, out: NDArray[Any]) -> None:
    """A loop, not an assignment of slices, whose error messages take a second to compile."""
    for i in range(count):
        out[i] = values[first + i]
