"""Gaussians of two groups of points whose sums never leave the registers, written for LLVM.

ROWS left points meet WIDTH right ones. Coordinate after coordinate (or word after word, of four bytes or two shorts),
their products are added up in registers; exponentials are computed of the sums where they are, and written to where the
values are kept. A loop that the compiler vectorises by itself keeps sums in memory and takes twice as long, BLAS and a
second pass 1.7 to 1.9 times (Zen 5, 8 to 784 coordinates; with AVX2 as long: bench/tiles.py).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from llvmlite import ir

from slackwater._jit import called, emitted, processor_has
from slackwater.kernels._loops import LN2_HIGH, LN2_LOW, LOG2_E, POLYNOMIAL

# Numbers in a register, left points, registers of right ones. Sums, right points and a left one take 27 registers of 32
# with AVX-512, else 15 of 16.
LANES, ROWS, REGISTERS = (16, 12, 2) if processor_has("avx512f") else (8, 6, 2)
WIDTH = REGISTERS * LANES

_WORD, _LONG, _SINGLE = ir.IntType(32), ir.IntType(64), ir.FloatType()
_WORDS, _SINGLES = ir.VectorType(_WORD, LANES), ir.VectorType(_SINGLE, LANES)
_INTEGER_PRODUCTS = {"uint8": "vpdpbusd", "int16": "vpdpwssd"}  # four bytes to a word, or two shorts
_BYTES = {"float32": 4, "uint16": 2}
Accumulate = Callable[[Any, Any, Any], Any]  # the sums so far, right coordinates, a left one: the sums


def _emit(accumulator: Callable[[Any, str], Accumulate], builder: Any, kinds: Any, arguments: Any) -> None:
    """Write the Gaussians of ROWS left points and WIDTH right ones, both packed coordinate by coordinate.

    ``kinds`` are the types of a coordinate and of a value: float32, or uint16 for a number of steps. Arguments are
    addresses: of the packed points, of what is added for each left and right point, of ROWS addresses to write to; the
    number of coordinates; two factors, of the sums and of what is added to them; the number of steps that 1 has.
    """
    left, right, own, others, targets, count, of_sums, of_terms, steps = arguments
    coordinate, value = kinds
    number = _SINGLE if coordinate == "float32" else _WORD
    vector = ir.VectorType(number, LANES)
    accumulate = accumulator(builder, coordinate)
    before, loop, after = builder.block, *(builder.append_basic_block(name) for name in ("step", "done"))
    builder.branch(loop)
    builder.position_at_end(loop)
    step = builder.phi(_LONG)
    sums = [builder.phi(vector) for _ in range(ROWS * REGISTERS)]
    first_left, first_right = builder.mul(step, _LONG(ROWS)), builder.mul(step, _LONG(REGISTERS))
    theirs = [_load(builder, right, vector, builder.add(first_right, _LONG(n))) for n in range(REGISTERS)]
    mine = [_spread(builder, _load(builder, left, number, builder.add(first_left, _LONG(i)))) for i in range(ROWS)]
    pairs = [(i, n) for i in range(ROWS) for n in range(REGISTERS)]
    totals = [accumulate(so_far, theirs[n], mine[i]) for so_far, (i, n) in zip(sums, pairs, strict=True)]
    following = builder.add(step, _LONG(1))
    starts, ends = [_LONG(0), *[vector(None)] * len(sums)], [following, *totals]
    for phi, start, end in zip([step, *sums], starts, ends, strict=True):
        phi.add_incoming(start, before)
        phi.add_incoming(end, loop)
    builder.cbranch(builder.icmp_signed("<", following, count), loop, after)
    builder.position_at_end(after)
    factors = _spread(builder, of_sums), _spread(builder, of_terms)
    for total, (i, n) in zip(totals, pairs, strict=True):
        exponents = _exponents(builder, total, own, others, i, n, factors)
        place = builder.add(_load(builder, targets, _LONG, _LONG(i)), _LONG(n * LANES * _BYTES[value]))
        _store(builder, _exponential(builder, exponents), value, steps, place)


def _exponents(builder: Any, total: Any, own: Any, others: Any, i: int, n: int, factors: Any) -> Any:
    """of_sums·total + of_terms·(own_i + others_j); whole numbers are exact until then, modulo 2³²."""
    of_sums, of_terms = factors
    number = total.type.element
    mine = _spread(builder, _load(builder, own, number, _LONG(i)))
    theirs = _load(builder, others, total.type, _LONG(n))
    fused = _multiply_add(builder)
    if number == _SINGLE:
        return builder.call(fused, [of_sums, total, builder.fmul(of_terms, builder.fadd(mine, theirs))])
    squared = builder.sub(builder.add(mine, theirs), builder.add(total, total))
    return builder.fmul(of_terms, builder.sitofp(squared, _SINGLES))


def _exponential(builder: Any, x: Any) -> Any:
    """exp(min(x, 0)) as ``_loops.exp32`` has it, of LANES numbers."""
    fused = _multiply_add(builder)
    floor = called(builder, f"llvm.floor.v{LANES}f32", _SINGLES, [_SINGLES])

    def constant(value: float) -> Any:
        return ir.Constant(_SINGLES, [ir.Constant(_SINGLE, value)] * LANES)

    def chosen(condition: str, bound: float, x: Any) -> Any:
        return builder.select(builder.fcmp_ordered(condition, x, constant(bound)), constant(bound), x)

    x = chosen("<", -88.0, chosen(">", 0.0, x))
    k = builder.call(floor, [builder.call(fused, [x, constant(LOG2_E), constant(0.5)])])
    r = builder.call(fused, [k, constant(-LN2_HIGH), x])
    r = builder.call(fused, [k, constant(-LN2_LOW), r])
    p = constant(POLYNOMIAL[0])
    for coefficient in POLYNOMIAL[1:]:
        p = builder.call(fused, [p, r, constant(coefficient)])
    bias, shift = (ir.Constant(_WORDS, [_WORD(number)] * LANES) for number in (127, 23))
    power = builder.bitcast(builder.shl(builder.add(builder.fptosi(k, _WORDS), bias), shift), _SINGLES)
    return builder.fmul(p, power)


def _store(builder: Any, values: Any, kind: str, steps: Any, address: Any) -> None:
    """LANES values at an address, as they are or as the nearest number of steps."""
    if kind == "uint16":
        fused = _multiply_add(builder)
        half = ir.Constant(_SINGLES, [ir.Constant(_SINGLE, 0.5)] * LANES)
        whole = builder.fptosi(builder.call(fused, [values, _spread(builder, steps), half]), _WORDS)
        values = builder.trunc(whole, ir.VectorType(ir.IntType(16), LANES))
    builder.store(values, builder.inttoptr(address, values.type.as_pointer()), align=_BYTES[kind])


def _multiply_add(builder: Any) -> Any:
    """a·b + c, rounded once where the processor can."""
    return called(builder, f"llvm.fmuladd.v{LANES}f32", _SINGLES, [_SINGLES] * 3)


def _load(builder: Any, address: Any, kind: Any, index: Any) -> Any:
    place = builder.gep(builder.inttoptr(address, kind.as_pointer()), [index])
    return builder.load(place, align=8 if kind == _LONG else 4)


def _spread(builder: Any, value: Any) -> Any:
    """LANES times the same number."""
    vector = ir.VectorType(value.type, LANES)
    one = builder.insert_element(ir.Constant(vector, ir.Undefined), value, _WORD(0))
    return builder.shuffle_vector(one, one, _WORDS(None))


def _of_integers(builder: Any, coordinate: str) -> Accumulate:
    """Products of four bytes or two shorts at a time, which one instruction multiplies and adds up (VNNI)."""
    name = f"llvm.x86.avx512.{_INTEGER_PRODUCTS[coordinate]}.512"
    instruction = called(builder, name, _WORDS, [_WORDS] * 3)
    return lambda so_far, theirs, mine: builder.call(instruction, [so_far, theirs, mine])


def _of_products(builder: Any, coordinate: str) -> Accumulate:
    fused = _multiply_add(builder)
    return lambda so_far, theirs, mine: builder.call(fused, [theirs, mine, so_far])


def _of_differences(builder: Any, coordinate: str) -> Accumulate:
    """Squares of differences: no digit is lost, however far from the origin the points are."""
    fused = _multiply_add(builder)

    def accumulate(so_far: Any, theirs: Any, mine: Any) -> Any:
        difference = builder.fsub(theirs, mine)
        return builder.call(fused, [difference, difference, so_far])

    return accumulate


gaussians_of_integers = emitted(partial(_emit, _of_integers))
gaussians_of_products = emitted(partial(_emit, _of_products))
gaussians_of_differences = emitted(partial(_emit, _of_differences))
