"""Compiled Gaussian of points on a grid, by integer products.

Four coordinates of one byte, or two of two bytes, make a word. One instruction (AVX-512 VNNI) multiplies the words of
sixteen points with a word of another and adds the products up: 220 a nanosecond on one core of a Zen 4, or 110, where
BLAS has 47. Integers are summed without error, modulo 2³², and squared distances fit into that.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from llvmlite import ir
from numpy.typing import NDArray

from slackwater._jit import called, compiled, emitted, processor_has
from slackwater.errors import warn
from slackwater.kernels._loops import exp32
from slackwater.points._loops import pack_some
from slackwater.points.base import Floats
from slackwater.points.grid import LINE, ROWS_TOGETHER

f32 = np.float32
Words = NDArray[np.uint32]
Whole = NDArray[np.int32]

LANES = 16  # words, or sums, in a register
ROWS, REGISTERS = ROWS_TOGETHER, 2  # left points, registers of right ones: with their sums they take 27 of 32
WIDTH = REGISTERS * LANES


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
        warn(
            f"the loop for AVX-512 VNNI cannot be used ({reason}); kernel values of pixels, counts and indicators are "
            "computed by BLAS instead, which takes longer. Results are the same.",
            RuntimeWarning,
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
    sums = [builder.phi(words) for _ in range(ROWS * REGISTERS)]
    first_left, first_right = builder.mul(step, long(ROWS)), builder.mul(step, long(REGISTERS))
    theirs = [load(right, words, builder.add(first_right, long(n))) for n in range(REGISTERS)]
    mine = [spread(load(left, word, builder.add(first_left, long(i))), words) for i in range(ROWS)]
    pairs = [(i, n) for i in range(ROWS) for n in range(REGISTERS)]
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
    how many of them 1 has where ``base`` is of two-byte integers.
    """
    packed_left, own_here = _packed_left(left, flip, own)
    packed_right = _aligned(WIDTH * left.shape[1])
    others_here, values = np.zeros(WIDTH, np.int32), np.empty(ROWS * WIDTH, f32)
    for first in range(0, right.shape[0], WIDTH):
        count = min(WIDTH, right.shape[0] - first)
        pack_some(right, first, WIDTH, np.uint32(0), packed_right)
        others_here[:count] = others[first : first + count]
        places = starts + first
        sides = packed_left, packed_right, own_here, others_here
        _meet(left.shape, sides, code, factor, values, base, places, count, steps)


@compiled
def gaussian32_packed(
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
    """The same, for right points whose words are packed (``points.grid.Packing``)."""
    packed_left, own_here = _packed_left(left, flip, own)
    size = WIDTH * left.shape[1]
    others_here, values = np.zeros(WIDTH, np.int32), np.empty(ROWS * WIDTH, f32)
    for first in range(0, others.size, WIDTH):
        count = min(WIDTH, others.size - first)
        packed_right = right[first // WIDTH * size : (first // WIDTH + 1) * size]
        others_here[:count] = others[first : first + count]
        places = starts + first
        sides = packed_left, packed_right, own_here, others_here
        _meet(left.shape, sides, code, factor, values, base, places, count, steps)


@compiled
def _packed_left(left: Words, flip: Any, own: Whole) -> tuple[Words, Whole]:
    """ROWS rows side by side, word by word, with their bits flipped; and what to add for each."""
    rows, words = left.shape
    groups = (rows + ROWS - 1) // ROWS
    packed, own_here = _aligned(groups * ROWS * words), np.zeros(groups * ROWS, np.int32)
    own_here[:rows] = own
    for group in range(groups):
        pack_some(left, group * ROWS, ROWS, flip, packed[group * ROWS * words : (group + 1) * ROWS * words])
    return packed, own_here


@compiled
def _meet(
    shape: tuple[int, int],
    sides: tuple[Words, Words, Whole, Whole],
    code: Any,
    factor: Any,
    values: Floats,
    base: NDArray[Any],
    places: NDArray[np.intp],
    count: int,
    steps: Any,
) -> None:
    """All left points, ROWS at a time, with WIDTH right ones, of which ``count`` are wanted."""
    (rows, words), (left, right, own, others) = shape, sides
    theirs, their_norms, out = right.ctypes.data, others.ctypes.data, values.ctypes.data
    for first in range(0, rows, ROWS):
        mine, norms = left.ctypes.data + 4 * first * words, own.ctypes.data + 4 * first
        _exponents(code, (mine, theirs, norms, their_norms, out, words, factor))
        for i in range(min(ROWS, rows - first)):
            place = places[first + i]
            _finish(values[i * WIDTH : (i + 1) * WIDTH], steps, base[place : place + count])


@compiled
def _aligned(size: int) -> Words:
    """Words, the first of which begins a cache line."""
    room = np.empty(size + LINE, np.uint32)
    first = (-room.ctypes.data // 4) % LINE
    return room[first : first + size]


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
