"""Rows of svmlight text, compiled: bytes in, arrays out.

Every loop relies on the text ending with a newline, which no token contains: so none of them asks for the end.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from slackwater._jit import compiled
from slackwater.data_io._decimal_loops import EXACT, NOT_A_NUMBER, TOO_LARGE, UNDECIDED, _decimal

FINE, BAD_LABEL, BAD_INDEX, INDEX_TOO_LARGE, NOT_ASCENDING, BAD_VALUE, VALUE_TOO_LARGE = range(7)

_NEWLINE, _SPACE, _TAB, _RETURN, _HASH, _COLON = 10, 32, 9, 13, 35, 58
_LARGEST_INDEX = 2**31 - 1


@compiled
def count_lines_and_entries(text: NDArray[np.uint8]) -> tuple[int, int]:
    """Newlines and colons: no more rows and no more entries than these."""
    lines, colons = 0, 0
    for at in range(len(text)):
        lines += text[at] == _NEWLINE
        colons += text[at] == _COLON
    return lines, colons


@compiled
def _past_blanks(text: NDArray[np.uint8], at: int) -> int:
    while text[at] == _SPACE or text[at] == _TAB or text[at] == _RETURN:
        at += 1
    return at


@compiled
def _past_line(text: NDArray[np.uint8], at: int) -> int:
    while text[at] != _NEWLINE:
        at += 1
    return at + 1


@compiled
def _ends_token(byte: int) -> bool:
    return byte in (_SPACE, _NEWLINE, _TAB, _RETURN, _HASH)


@compiled
def _past_token(text: NDArray[np.uint8], at: int) -> tuple[int, bool]:
    """Where a token ends, and whether it has a colon."""
    colon = False
    while not _ends_token(text[at]):
        colon = colon or text[at] == _COLON
        at += 1
    return at, colon


@compiled
def _past_query(text: NDArray[np.uint8], at: int) -> int:
    """Past ``qid:…``, the group of a ranking example, which a classifier has no use for."""
    if text[at] == 113 and text[at + 1] == 105 and text[at + 2] == 100 and text[at + 3] == _COLON:
        at, _ = _past_token(text, at)
    return at


@compiled
def _index(text: NDArray[np.uint8], at: int, previous: int) -> tuple[int, int, int]:
    """Digits and a colon: the number, where the value begins, and what is wrong."""
    first, index = at, 0
    while 48 <= text[at] <= 57:
        index = min(index * 10 + text[at] - 48, _LARGEST_INDEX + 1)
        at += 1
    if at == first or text[at] != _COLON:
        return index, at + 1, BAD_INDEX
    if index > _LARGEST_INDEX:
        return index, at + 1, INDEX_TOO_LARGE
    return index, at + 1, (FINE if index > previous else NOT_ASCENDING)


@compiled
def _entries(
    text: NDArray[np.uint8],
    at: int,
    n: int,
    indices: NDArray[np.int32],
    values: NDArray[np.float64],
    undecided: NDArray[np.int64],
    n_undecided: int,
) -> tuple[int, int, int, int]:
    """The entries of a row from ``at`` on: where they end, numbers of entries and of undecided now, what is wrong."""
    previous = -1
    at = _past_blanks(text, at)
    while text[at] != _NEWLINE and text[at] != _HASH:
        index, start, wrong = _index(text, at, previous)
        if wrong != FINE:
            return at, n, n_undecided, wrong
        value, outcome, end = _decimal(text, start)
        if outcome == NOT_A_NUMBER or not _ends_token(text[end]):
            return start, n, n_undecided, BAD_VALUE
        if outcome == TOO_LARGE:
            return start, n, n_undecided, VALUE_TOO_LARGE
        if outcome == UNDECIDED:
            undecided[n_undecided, 0], undecided[n_undecided, 1] = n, start
            n_undecided += 1
        indices[n], values[n], previous = index, value, index
        n += 1
        at = _past_blanks(text, end)
    return at, n, n_undecided, FINE


@compiled
def _label(text: NDArray[np.uint8], at: int, end: int) -> float:
    """The label as a number; NaN where it is none, or where that is left to the caller."""
    value, outcome, stop = _decimal(text, at)
    return value if outcome == EXACT and stop == end else np.nan


@compiled
def parse_rows(
    text: NDArray[np.uint8],
    labels: NDArray[np.float64],
    label_spans: NDArray[np.int64],
    row_ends: NDArray[np.int64],
    indices: NDArray[np.int32],
    values: NDArray[np.float64],
    undecided: NDArray[np.int64],
) -> tuple[int, int, int, int, int]:
    """Fill the arrays from text that ends with a newline.

    Returns
    -------
    rows, entries, undecided, wrong, place
        How much of each array is filled, FINE or what is wrong, and the byte at which it is.
    """
    at, row, n, n_undecided = 0, 0, 0, 0
    while at < len(text):
        at = _past_blanks(text, at)
        if text[at] != _NEWLINE and text[at] != _HASH:
            end, colon = _past_token(text, at)
            if colon:
                return row, n, n_undecided, BAD_LABEL, at
            labels[row], label_spans[row, 0], label_spans[row, 1] = _label(text, at, end), at, end
            at = _past_query(text, _past_blanks(text, end))
            at, n, n_undecided, wrong = _entries(text, at, n, indices, values, undecided, n_undecided)
            if wrong != FINE:
                return row, n, n_undecided, wrong, at
            row_ends[row] = n
            row += 1
        at = _past_line(text, at)
    return row, n, n_undecided, FINE, at
