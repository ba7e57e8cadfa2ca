"""Compiled Gaussian of points on a grid: products of whole numbers, four of which go where one of fractions does.

Four coordinates of a byte each, or two of two bytes, are a word. One instruction of the processor (AVX-512 VNNI)
multiplies the words of sixteen points with a word of another and adds all that up: 220 products a nanosecond on one
core of a Zen 4, or 110, where BLAS takes 47. Whole numbers are summed without error, modulo 2³², and squared distances
fit into that.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numpy.typing import NDArray

from slackwater._jit import called, compiled, emitted, processor_has
from slackwater.kernels._loops import exp32
from slackwater.kernels.points import Floats

f32 = np.float32
Words = NDArray[np.uint32]
Whole = NDArray[np.int32]

LANES = 16  # words, or sums, in a register
ROWS, SIDE_BY_SIDE = 12, 2  # left points and registers of right ones: with their sums they take 27 of 32 registers
WIDTH = SIDE_BY_SIDE * LANES
LINE = 64 // 4  # words in a cache line


def available() -> bool:
    """Whether this processor has the instructions."""
    return processor_has("avx512vnni")


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


@compiled
def encode(
    values: Floats,
    origin: NDArray[np.float64],
    step: float,
    most_off: float,
    codes: NDArray[np.uint8],
    own: Whole,
    others: Whole,
) -> bool:
    """codes <- (values - origin) / step, which is from 0 to 255; whether these are whole, but for so much of a step.

    The bytes of the left side will be taken less 128, for the instruction wants them signed. So a sum of products lacks
    128 times the sum of the right side's, and twice that is made up for in ``others``.
    """
    within, inverse, ones = True, 1.0 / step, np.ones(codes.shape[1], np.uint8)
    for i in range(values.shape[0]):
        row, target = values[i], codes[i]
        for k in range(row.size):
            exact = (np.float64(row[k]) - origin[k]) * inverse
            whole = np.floor(exact + 0.5)
            within &= abs(exact - whole) <= most_off
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
