"""Compiled Gaussian of points on a grid, by integer products.

Four coordinates of one byte, or two of two bytes, make a word. One instruction (AVX-512 VNNI) multiplies the words of
sixteen points with a word of another and adds the products up: 220 a nanosecond on one core of a Zen 4, or 110, where
BLAS has 47. Integers are summed without error, modulo 2³², and squared distances fit into that.
"""

from __future__ import annotations

import functools
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slackwater._jit import compiled, processor_has
from slackwater.kernels._register_tiles import ROWS, WIDTH, gaussians_of_integers
from slackwater.kernels._tile_loops import aim, collect, copy_some
from slackwater.points._loops import pack_some
from slackwater.points.grid import LINE, Packing

f32 = np.float32
Words = NDArray[np.uint32]
Whole = NDArray[np.int32]


def supported() -> bool:
    """Whether this processor has the instructions."""
    return processor_has("avx512vnni")


@functools.cache
def available(code: type[np.uint8] | type[np.int16] = np.uint8) -> bool:
    """Whether this processor has the instructions for codes of this type, and the loop compiled for them is right.

    Another LLVM may know the instructions by other names or types. Then points are multiplied by BLAS, as on processors
    without them.
    """
    if not supported():
        return False
    try:
        right, reason = _is_right(code), "it computes wrong values"
    except Exception as error:  # whatever the compiler makes of it
        right, reason = False, f"{type(error).__name__}: {error}".splitlines()[0]
    if not right:
        warnings.warn(
            f"the loop for AVX-512 VNNI cannot be used ({reason}); kernel values of pixels, counts and indicators are "
            "computed by BLAS instead, which takes longer. Results are the same.",
            RuntimeWarning,
            stacklevel=2,
        )
    return right


def _is_right(code: type[np.uint8] | type[np.int16]) -> bool:
    """Compare the values of a few points with those of NumPy."""
    count = 2 * ROWS
    codes = np.arange(count * 8).reshape(count, 8) % 97
    flip = np.uint32(0x80808080 if code is np.uint8 else 0)
    own = (codes**2).sum(axis=1)
    others = own - (256 * codes.sum(axis=1) if code is np.uint8 else 0)
    norms = own.astype(np.int32), others.astype(np.int32)
    points, values = np.ascontiguousarray(codes.astype(code)), np.empty((count, count), f32)
    words = points.view(np.uint32), Packing(points).words
    gaussian32(*words, code(0), flip, *norms, f32(-1e-5), values.reshape(-1), np.arange(count) * count, f32(0))
    exact = np.exp(-1e-5 * ((codes[:, None] - codes) ** 2).sum(axis=2))
    return bool(np.allclose(values, exact, atol=1e-6))


@compiled
def gaussian32(
    left: Words,
    right: Words,
    code: Any,
    flip: Any,
    own: Whole,
    others: Whole,
    factor: Any,
    base: NDArray[Any],
    starts: NDArray[np.intp],
    steps: Any,
) -> None:
    """base[starts_i + j] <- exp(factor·|left_i - right_j|²), for rows of words and words packed as by ``grid.Packing``.

    ``code`` is of the type of a coordinate; bits of the left side's words are flipped by ``flip``; ``own`` and
    ``others`` are such that own_i + others_j less twice the sum of products is the squared distance. ``steps`` is 0, or
    how many of them 1 has where ``base`` is of two-byte integers.
    """
    packed_left, own_here = _packed_left(left, flip, own)
    size = WIDTH * left.shape[1]
    others_here, spare = np.zeros(WIDTH, np.int32), np.empty(ROWS * WIDTH, base.dtype)
    for first in range(0, others.size, WIDTH):
        count = min(WIDTH, others.size - first)
        packed_right = right[first // WIDTH * size : (first // WIDTH + 1) * size]
        copy_some(others, first, count, others_here)
        sides = packed_left, packed_right, own_here, others_here
        _meet(left.shape, sides, code, factor, spare, base, starts, (first, count), steps)


@compiled
def _packed_left(left: Words, flip: Any, own: Whole) -> tuple[Words, Whole]:
    """ROWS rows side by side, word by word, with their bits flipped; and what to add for each."""
    rows, words = left.shape
    groups = (rows + ROWS - 1) // ROWS
    packed, own_here = _aligned(groups * ROWS * words), np.zeros(groups * ROWS, np.int32)
    copy_some(own, 0, rows, own_here)
    for group in range(groups):
        pack_some(left, group * ROWS, ROWS, flip, packed[group * ROWS * words : (group + 1) * ROWS * words])
    return packed, own_here


@compiled
def _meet(
    shape: tuple[int, int],
    sides: tuple[Words, Words, Whole, Whole],
    code: Any,
    factor: Any,
    spare: NDArray[Any],
    base: NDArray[Any],
    starts: NDArray[np.intp],
    columns: tuple[int, int],
    steps: Any,
) -> None:
    """All left points, ROWS at a time, with WIDTH right ones: columns from the first one on, so many of them."""
    (rows, words), (left, right, own, others), (column, count) = shape, sides, columns
    targets = np.empty(ROWS, np.int64)
    mine, theirs, norms, their_norms = left.ctypes.data, right.ctypes.data, own.ctypes.data, others.ctypes.data
    to = targets.ctypes.data
    for first in range(0, rows, ROWS):
        here = min(ROWS, rows - first)
        aim(targets, base, starts, first, here, column, count, spare)
        given = mine + 4 * first * words, theirs, norms + 4 * first, their_norms, to, words, f32(0), factor, steps
        gaussians_of_integers((code, spare[0]), given)
        if count < WIDTH:
            collect(spare, base, starts, first, here, column, count)


@compiled
def _aligned(size: int) -> Words:
    """Words, the first of which begins a cache line."""
    room = np.empty(size + LINE, np.uint32)
    first = (-room.ctypes.data // 4) % LINE
    return room[first : first + size]
