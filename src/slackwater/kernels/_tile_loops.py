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

f32 = np.float32


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

    With ``apart``, p is their squared distance: no digit of it is lost, however far from the origin the points are.
    ``steps`` is 0, or how many of them 1 has where ``base`` is of whole numbers.
    """
    rows, coordinates = left.shape
    groups = (rows + ROWS - 1) // ROWS
    packed_left, own_here = np.zeros(groups * ROWS * coordinates, f32), np.zeros(groups * ROWS, f32)
    copy_some(own, 0, rows, own_here)
    for first in range(0, rows, ROWS):
        _pack(left, times, first, ROWS, first * coordinates, packed_left)
    packed_right, others_here = np.zeros(WIDTH * coordinates, f32), np.zeros(WIDTH, f32)
    spare, targets = np.empty(ROWS * WIDTH, base.dtype), np.empty(ROWS, np.int64)
    mine, theirs, norms = packed_left.ctypes.data, packed_right.ctypes.data, own_here.ctypes.data
    their_norms, to = others_here.ctypes.data, targets.ctypes.data
    for column in range(0, right.shape[0], WIDTH):
        count = min(WIDTH, right.shape[0] - column)
        _pack(right, times, column, WIDTH, 0, packed_right)
        copy_some(others, column, count, others_here)
        for first in range(0, rows, ROWS):
            here = min(ROWS, rows - first)
            aim(targets, base, starts, first, here, column, count, spare)
            place = mine + 4 * first * coordinates, theirs, norms + 4 * first, their_norms, to
            if apart:
                gaussians_of_differences((times, spare[0]), (*place, coordinates, scale, f32(-1), steps))
            else:
                gaussians_of_products((times, spare[0]), (*place, coordinates, scale, f32(-1), steps))
            if count < WIDTH:
                collect(spare, base, starts, first, here, column, count)


@compiled
def _pack(points: Floats, times: Any, first: int, width: int, place: int, packed: Floats) -> None:
    """Some points side by side, coordinate by coordinate. Behind the last ones whatever was there stays."""
    for j in range(min(width, points.shape[0] - first)):
        for k in range(points.shape[1]):
            packed[place + k * width + j] = times * points[first + j, k]


@compiled
def aim(
    targets: NDArray[np.int64],
    base: NDArray[Any],
    starts: NDArray[np.intp],
    first: int,
    here: int,
    column: int,
    count: int,
    spare: NDArray[Any],
) -> None:
    """The addresses that a tile writes its rows to: those from ``first`` on, so many ``here``, from a column on.

    Rows that nobody wants are written aside, and all rows where there are fewer than WIDTH columns.
    """
    begin, aside, size = base.ctypes.data, spare.ctypes.data, base.itemsize
    for i in range(ROWS):
        wanted = i < here and count == WIDTH
        targets[i] = begin + size * (starts[first + i] + column) if wanted else aside + size * i * WIDTH


@compiled
def collect(
    spare: NDArray[Any], base: NDArray[Any], starts: NDArray[np.intp], first: int, here: int, column: int, count: int
) -> None:
    """Values that were written aside, to where they belong."""
    for i in range(here):
        for j in range(count):
            base[starts[first + i] + column + j] = spare[i * WIDTH + j]


@compiled
def copy_some(values: NDArray[Any], first: int, count: int, out: NDArray[Any]) -> None:
    """A loop, not an assignment of slices, whose error messages take a second to compile."""
    for i in range(count):
        out[i] = values[first + i]
