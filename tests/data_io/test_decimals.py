"""Decimal to double against Python's ``float``, bit for bit."""

from __future__ import annotations

import math
import struct
from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from slackwater.data_io._decimal_loops import EXACT, NOT_A_NUMBER, TOO_LARGE, UNDECIDED, parse_decimal


def parsed(text: str) -> tuple[float, int, int]:
    return parse_decimal(np.frombuffer(text.encode() + b"\n", dtype=np.uint8))


def check(text: str) -> int:
    """The outcome; where there is a value, it is the one of ``float``."""
    value, outcome, end = parsed(text)
    assert end == len(text)
    if outcome == TOO_LARGE:
        assert math.isinf(float(text))
    elif outcome == EXACT:
        assert struct.pack("d", value) == struct.pack("d", float(text))
    return outcome


def halfway(x: float) -> Decimal:
    """Exactly between a double and the next one."""
    with localcontext() as context:
        context.prec = 1200
        return (Decimal(x) + Decimal(math.nextafter(x, math.inf))) / 2


finite = st.floats(allow_nan=False, allow_infinity=False)


@given(st.integers(0, 10**19 - 1), st.integers(-400, 400))
@example(9007199254740993, 0)  # 2^53 + 1: a tie
@example(9007199254740992, 22)
@example(9007199254740993, -22)
@example(1, 308)
@example(17976931348623159, 292)  # just too large
@example(22250738585072014, -324)  # the least normal double
@example(5, -324)
def test_decimals_of_up_to_19_digits_are_those_of_float(mantissa, exponent):
    check(f"{mantissa}e{exponent}")


@given(finite, st.sampled_from(["%r", "%.17g", "%.16g", "%.9g", "%.6f", "%.20e"]))
def test_doubles_are_read_as_they_were_written(x, form):
    check(form % x)


@given(st.floats(min_value=1e-15, max_value=1e15), st.integers(-3, 3))
def test_decimals_beside_a_tie_are_rounded_as_float_does(x, nudge):
    with localcontext() as context:
        context.prec = 19
        text = f"{+halfway(x):e}"
        mantissa, _, exponent = text.partition("e")
        digits = int(mantissa.replace(".", "")) + nudge
        check(f"{digits}e{int(exponent) - 18}")


@given(st.floats(max_value=1e308, min_value=-1e308))
def test_exact_ties_are_never_decided_wrongly(x):
    check(f"{halfway(x):e}")


@given(st.text("0123456789", max_size=25), st.text("0123456789", max_size=25), st.integers(-330, 310))
def test_any_digits_around_a_point(whole, fraction, exponent):
    if whole or fraction:
        check(f"-{whole}.{fraction}E{exponent:+d}")


def test_ordinary_decimals_are_decided_by_compiled_code():
    rng = np.random.default_rng(0)
    numbers = rng.standard_normal(20000) * 10.0 ** rng.integers(-30, 30, 20000)
    assert {check(repr(x)) for x in numbers.tolist()} == {EXACT}


@pytest.mark.parametrize("text", ["1e-310", "12345678901234567890", "4.9e-324", "0." + "3" * 30])
def test_what_is_rare_is_left_undecided(text):
    assert check(text) == UNDECIDED


@pytest.mark.parametrize("text", ["", "-", ".", "e5", "nan", "inf", "1e", "1e+", "+-1", "-.e3"])
def test_what_is_no_number_is_said_to_be_none(text):
    assert parsed(text)[1] == NOT_A_NUMBER


def test_the_sign_of_zero_is_kept():
    assert math.copysign(1.0, parsed("-0.0")[0]) == -1.0
