"""Decimal to double, correctly rounded: the nearest double, ties to even, as ``float()`` gives it.

Up to 19 significant digits, w · 10^q. If w < 2^53 and |q| <= 22, both are exact doubles and one operation rounds once
(Clinger, PLDI 1990). Else w is multiplied by the leading 128 bits of 5^q, which decides the rounding but in rare cases
that are recognised (Lemire, Number parsing at a gigabyte per second, Software: Practice and Experience 2021,
arXiv:2101.11408, Algorithm 1). Those cases, longer decimals and subnormal numbers are left to the caller.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from slackwater._jit import compiled

EXACT, UNDECIDED, TOO_LARGE, NOT_A_NUMBER = 0, 1, 2, 3

_LEAST_POWER, _LARGEST_POWER = -342, 308
_MOST_DIGITS = 19  # 10^19 < 2^64
_MOST_EXPONENT = 100_000  # of what is written; more is as good
_NEAR_ONE = np.uint64(0x1FF)  # the bits of a product below those that a double keeps
_ALL_BITS = np.uint64(0xFFFFFFFFFFFFFFFF)
_LOW_HALF = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_ONE = np.uint64(1)
_TEN = np.uint64(10)
_EXACT_INTEGERS = np.uint64(2**53)
_TENS = np.array([10.0**q for q in range(23)])


def _leading_bits(power: int) -> tuple[int, int]:
    """The leading 128 bits of 5^power, rounded up where power < 0 (arXiv:2101.11408, appendix B)."""
    five = 5 ** abs(power)
    if power >= 0:
        bits = five << 128 >> five.bit_length()
    else:
        length = (five - 1).bit_length()
        bits = (1 << (length + 127 if power >= -27 else 2 * length + 128)) // five + 1
        bits >>= max(0, bits.bit_length() - 128)
    return bits >> 64, bits & (2**64 - 1)


_POWERS_OF_FIVE = np.array([_leading_bits(power) for power in range(_LEAST_POWER, _LARGEST_POWER + 1)], dtype=np.uint64)


@compiled
def _product(a: np.uint64, b: np.uint64) -> tuple[np.uint64, np.uint64]:
    """High and low 64 bits of a · b."""
    a_high, a_low, b_high, b_low = a >> _HALF, a & _LOW_HALF, b >> _HALF, b & _LOW_HALF
    low, middle, other = a_low * b_low, a_high * b_low, a_low * b_high
    carried = (low >> _HALF) + (middle & _LOW_HALF) + (other & _LOW_HALF)
    high = a_high * b_high + (middle >> _HALF) + (other >> _HALF) + (carried >> _HALF)
    return high, (carried << _HALF) | (low & _LOW_HALF)


@compiled
def _leading_zeros(value: np.uint64) -> int:
    zeros = 0
    for step in (32, 16, 8, 4, 2, 1):
        if value >> np.uint64(64 - step) == np.uint64(0):
            value <<= np.uint64(step)
            zeros += step
    return zeros


@compiled
def _by_long_product(w: np.uint64, q: int) -> tuple[float, int]:
    """w · 10^q for w > 0: Algorithm 1 of arXiv:2101.11408."""
    zeros = _leading_zeros(w)
    w <<= np.uint64(zeros)
    high, low = _product(w, _POWERS_OF_FIVE[q - _LEAST_POWER, 0])
    if high & _NEAR_ONE == _NEAR_ONE:
        more, _ = _product(w, _POWERS_OF_FIVE[q - _LEAST_POWER, 1])
        low += more
        if low < more:
            high += _ONE
    if low == _ALL_BITS and (q < -27 or q > 55):
        return 0.0, UNDECIDED
    upper = np.int64(high >> np.uint64(63))
    shift = np.uint64(upper + 9)
    mantissa = high >> shift
    exponent = ((217706 * q) >> 16) + 63 + upper - zeros  # 217706 / 2^16: log2(10)
    if exponent <= -1022:
        return 0.0, UNDECIDED
    # Exactly between two doubles, to the even one; below 5^-4 and above 5^23 there are no such products.
    between = low <= _ONE and -4 <= q <= 23 and mantissa & np.uint64(3) == _ONE
    if between and mantissa << shift == high:
        mantissa -= _ONE
    mantissa = (mantissa + (mantissa & _ONE)) >> _ONE
    if mantissa == _EXACT_INTEGERS:
        mantissa, exponent = mantissa >> _ONE, exponent + 1
    if exponent > 1023:
        return 0.0, TOO_LARGE
    return math.ldexp(np.float64(mantissa), int(exponent) - 52), EXACT


@compiled
def _rounded(w: np.uint64, q: int) -> tuple[float, int]:
    """w · 10^q as the nearest double, or that it is too large or not decided here."""
    if w == np.uint64(0):
        return 0.0, EXACT
    if w <= _EXACT_INTEGERS and -22 <= q <= 22:
        return (np.float64(w) / _TENS[-q] if q < 0 else np.float64(w) * _TENS[q]), EXACT
    if q > _LARGEST_POWER:
        return 0.0, TOO_LARGE
    if q < _LEAST_POWER:  # w < 10^19, so less than half of the least double
        return 0.0, EXACT
    return _by_long_product(w, q)


@compiled
def _digits(text: NDArray[np.uint8], at: int, w: np.uint64, kept: int) -> tuple[int, np.uint64, int, int]:
    """Append digits to w: where they end, w, its significant digits, how many did not fit."""
    lost = 0
    digit = np.uint64(text[at]) - np.uint64(48)
    while digit < _TEN:
        if kept < _MOST_DIGITS:
            w = w * _TEN + digit
            kept += 1 if w > np.uint64(0) else 0
        else:
            lost += 1
        at += 1
        digit = np.uint64(text[at]) - np.uint64(48)
    return at, w, kept, lost


@compiled
def _exponent(text: NDArray[np.uint8], at: int) -> tuple[int, int]:
    """The number after an e, and where it ends; where it begins if it is none."""
    sign, start = 1, at
    if text[at] == 43 or text[at] == 45:
        sign = 44 - text[at]
        at += 1
    first, value = at, 0
    while 48 <= text[at] <= 57:
        value = min(value * 10 + text[at] - 48, _MOST_EXPONENT)
        at += 1
    return sign * value, (at if at > first else start)


@compiled
def _decimal(text: NDArray[np.uint8], at: int) -> tuple[float, int, int]:
    """The number at ``at``: value, outcome, where it ends. Something that is no part of one must follow in ``text``."""
    negative = text[at] == 45
    if negative or text[at] == 43:
        at += 1
    end, w, kept, lost = _digits(text, at, np.uint64(0), 0)
    n_digits, q = end - at, lost
    any_lost = lost > 0
    if text[end] == 46:
        at = end + 1
        end, w, kept, lost = _digits(text, at, w, kept)
        n_digits, q, any_lost = n_digits + end - at, q - (end - at - lost), any_lost or lost > 0
    if n_digits == 0:
        return 0.0, NOT_A_NUMBER, end
    if text[end] == 101 or text[end] == 69:
        written, after = _exponent(text, end + 1)
        if after == end + 1:
            return 0.0, NOT_A_NUMBER, end
        q, end = q + written, after
    if any_lost:
        return 0.0, UNDECIDED, end
    value, outcome = _rounded(w, q)
    return (-value if negative else value), outcome, end


@compiled
def parse_decimal(text: NDArray[np.uint8]) -> tuple[float, int, int]:
    """The number that ``text`` begins with: value, outcome, length. The last byte must be no part of a number."""
    return _decimal(text, 0)
