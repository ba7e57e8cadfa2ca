"""Compiled Gaussian of points on a grid, by integer products.

Four coordinates of one byte, or two of two bytes, make a word. One instruction (AVX-512 VNNI) multiplies the words of
sixteen points with a word of another and adds the products up: 220 a nanosecond on one core of a Zen 4, or 110, where
BLAS has 47. Integers are summed without error, modulo 2³², and squared distances fit into that.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slackwater._jit import compiled, processor_has
from slackwater.errors import warn
from slackwater.kernels._register_tiles import ROWS, WIDTH, gaussians_of_integers
from slackwater.kernels._tile_loops import aim, aligned, collect, copy_some
from slackwater.points.packing import Packing

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
        warn(
            f"the loop for AVX-512 VNNI cannot be used ({reason}); kernel values of pixels, counts and indicators are "
            "computed by BLAS instead, which takes longer. Results are the same.",
            RuntimeWarning,
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
    words = points.view(np.uint32), Packing(points.view(np.uint32)).words(0, count, WIDTH, few=False)
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
    """base[starts_i + j] <- exp(factor·|left_i - right_j|²), for rows of words and packed words (``Packing``).

    ``code`` is of the type of a coordinate; bits of the left side's words are flipped by ``flip``; ``own`` and
    ``others`` are such that own_i + others_j less twice the sum of products is the squared distance. ``steps`` is 0, or
    how many of them 1 has where ``base`` is of two-byte integers.
    """
    rows, words = left.shape
    groups = (rows + ROWS - 1) // ROWS
    mine, own_here = aligned(groups * ROWS * words, left), np.zeros(groups * ROWS, np.int32)
    copy_some(own, 0, rows, own_here)
    for first in range(0, rows, ROWS):
        for j in range(min(ROWS, rows - first)):
            for k in range(words):
                mine[first * words + k * ROWS + j] = left[first + j, k] ^ flip
    others_here, spare = np.zeros(WIDTH, np.int32), np.empty(ROWS * WIDTH, base.dtype)
    targets = np.empty(ROWS, np.int64)
    for column in range(0, others.size, WIDTH):
        count = min(WIDTH, others.size - column)
        copy_some(others, column, count, others_here)
        for first in range(0, rows, ROWS):
            aim(targets, base, starts, first, rows, column, count, spare)
            place = mine.ctypes.data + 4 * first * words, right.ctypes.data + 4 * column * words
            norms = own_here.ctypes.data + 4 * first, others_here.ctypes.data
            factors = f32(0), factor, steps
            gaussians_of_integers((code, spare[0]), (*place, *norms, targets.ctypes.data, words, *factors))
            if count < WIDTH:
                collect(spare, base, starts, first, rows, column, count)
