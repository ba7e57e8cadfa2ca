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
from llvmlite import ir
from numpy.typing import NDArray

from slackwater._jit import called, compiled, emitted, processor_has
from slackwater.kernels._loops import exp32
from slackwater.points.base import Floats

f32 = np.float32
Words = NDArray[np.uint32]
Whole = NDArray[np.int32]

LANES = 16  # words, or sums, in a register
ROWS, SIDE_BY_SIDE = 12, 2  # left points and registers of right ones: with their sums they take 27 of 32 registers
WIDTH = SIDE_BY_SIDE * LANES
LINE = 64 // 4  # words in a cache line


@functools.cache
def available() -> bool:
    """Whether this processor has the instructions, and the loop compiled for them is right.

    Another LLVM may know the instructions by other names or types. Then points are multiplied by BLAS, as on processors
    without them.
    """
    if not processor_has("avx512vnni"):
        return False
    try:
        right = all(_is_right(code) for code in (np.uint8, np.int16))
        reason = "it computes wrong values"
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
    codes = np.arange(2 * ROWS * 8).reshape(2 * ROWS, 8) % 97
    flip = np.uint32(0x80808080 if code is np.uint8 else 0)
    words = np.ascontiguousarray(codes.astype(code)).view(np.uint32)
    own = (codes**2).sum(axis=1)
    others = own - (256 * codes.sum(axis=1) if code is np.uint8 else 0)
    factor, values = np.float32(-1e-5), np.empty((len(codes), len(codes)), f32)
    norms = own.astype(np.int32), others.astype(np.int32)
    gaussian32(
        words, words, code(0), flip, *norms, factor, values.reshape(-1), np.arange(len(codes)) * len(codes), f32(0)
    )
    exact = np.exp(-1e-5 * ((codes[:, None] - codes) ** 2).sum(axis=2))
    return bool(np.allclose(values, exact, atol=1e-6))


def _emit(builder: Any, instruction: str, arguments: Any) -> None:
    """Compute factor · |left_i - right_j|² for ROWS left points and WIDTH right ones, packed word by word.

    Arguments are addresses, of the packed points, of what to add for each of them, of the result; the number of words
    of a point; the factor.
    """
    left, right, own, others, out, count, factor = arguments
    word, long, single = ir.IntType(32), ir.IntType(64), ir.FloatType()
    words, singles = ir.VectorType(word, LANES), ir.VectorType(single, LANES)
    multiply_add = called(builder, f"llvm.x86.avx512.{instruction}.512", words, [words] * 3)

    def at(address: Any, kind: Any, index: Any) -> Any:
        return builder.gep(builder.inttoptr(address, kind.as_pointer()), [index])

    def load(address: Any, kind: Any, index: Any) -> Any:
        return builder.load(at(address, kind, index), align=4)

    def spread(value: Any, kind: Any) -> Any:
        one = builder.insert_element(ir.Constant(kind, ir.Undefined), value, word(0))
        return builder.shuffle_vector(one, one, words(None))

    before, loop, after = builder.block, *(builder.append_basic_block(name) for name in ("step", "done"))
    builder.branch(loop)
    builder.position_at_end(loop)
    step = builder.phi(long)
    sums = [builder.phi(words) for _ in range(ROWS * SIDE_BY_SIDE)]
    first_left, first_right = builder.mul(step, long(ROWS)), builder.mul(step, long(SIDE_BY_SIDE))
    theirs = [load(right, words, builder.add(first_right, long(n))) for n in range(SIDE_BY_SIDE)]
    mine = [spread(load(left, word, builder.add(first_left, long(i))), words) for i in range(ROWS)]
    pairs = [(i, n) for i in range(ROWS) for n in range(SIDE_BY_SIDE)]
    totals = [
        builder.call(multiply_add, [so_far, theirs[n], mine[i]]) for so_far, (i, n) in zip(sums, pairs, strict=True)
    ]
    following = builder.add(step, long(1))
    starts, ends = [long(0), *[words(None)] * len(sums)], [following, *totals]
    for phi, start, end in zip([step, *sums], starts, ends, strict=True):
        phi.add_incoming(start, before)
        phi.add_incoming(end, loop)
    builder.cbranch(builder.icmp_signed("<", following, count), loop, after)
    builder.position_at_end(after)
    scale = spread(factor, singles)
    for number, (total, (i, n)) in enumerate(zip(totals, pairs, strict=True)):
        norms = builder.add(spread(load(own, word, long(i)), words), load(others, words, long(n)))
        squared = builder.sub(norms, builder.add(total, total))
        builder.store(builder.fmul(scale, builder.sitofp(squared, singles)), at(out, singles, long(number)), align=4)


# The type of a coordinate says which instruction: of four bytes to a word, or of two shorts.
_exponents = emitted(_emit, {"uint8": "vpdpbusd", "int16": "vpdpwssd"})


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
    """base[starts_i + j] <- exp(factor·|left_i - right_j|²), for rows of words.

    ``code`` is of the type of a coordinate; bits of the left side's words are flipped by ``flip``; ``own`` and
    ``others`` are such that own_i + others_j less twice the sum of products is the squared distance. ``steps`` is 0, or
    how many of them 1 has where ``base`` is of whole numbers.
    """
    rows, words = left.shape
    groups = (rows + ROWS - 1) // ROWS
    packed_left, packed_right = _aligned(groups * ROWS * words), _aligned(WIDTH * words)
    own_here, others_here = np.zeros(groups * ROWS, np.int32), np.zeros(WIDTH, np.int32)
    own_here[:rows] = own
    values = np.empty(ROWS * WIDTH, f32)
    for group in range(groups):
        part = packed_left[group * ROWS * words : (group + 1) * ROWS * words]
        _pack(left, group * ROWS, ROWS, flip, part)
    theirs, their_norms, out = packed_right.ctypes.data, others_here.ctypes.data, values.ctypes.data
    for first in range(0, right.shape[0], WIDTH):
        count = min(WIDTH, right.shape[0] - first)
        _pack(right, first, WIDTH, np.uint32(0), packed_right)
        others_here[:count] = others[first : first + count]
        for group in range(groups):
            mine = packed_left.ctypes.data + 4 * group * ROWS * words
            norms = own_here.ctypes.data + 4 * group * ROWS
            _exponents(code, (mine, theirs, norms, their_norms, out, words, factor))
            for i in range(min(ROWS, rows - group * ROWS)):
                place = starts[group * ROWS + i] + first
                _finish(values[i * WIDTH : (i + 1) * WIDTH], steps, base[place : place + count])


@compiled
def _aligned(size: int) -> Words:
    """Words, the first of which begins a cache line."""
    room = np.empty(size + LINE, np.uint32)
    first = (-room.ctypes.data // 4) % LINE
    return room[first : first + size]


@compiled
def _pack(rows: Words, first: int, width: int, flip: Any, packed: Words) -> None:
    """Rows side by side, word by word; zeros make up their number."""
    count, words = min(width, rows.shape[0] - first), rows.shape[1]
    if count < width:
        packed[:] = np.uint32(0)
    for j in range(count):
        for k in range(words):
            packed[k * width + j] = rows[first + j, k] ^ flip


@compiled
def _finish(exponents: Floats, steps: Any, out: NDArray[Any]) -> None:
    if out.size == WIDTH:  # as nearly always, and LLVM knows how often
        _exponentials(exponents, WIDTH, steps, out)
    else:
        _exponentials(exponents, out.size, steps, out)


@compiled
def _exponentials(exponents: Floats, count: int, steps: Any, out: NDArray[Any]) -> None:
    if steps > f32(0):
        for j in range(count):
            out[j] = exp32(exponents[j]) * steps + f32(0.5)
    else:
        for j in range(count):
            out[j] = exp32(exponents[j])
