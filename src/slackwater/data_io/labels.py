"""A column of labels as it is read: numbers, or words where the first one is a word."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

_EXACT_INTEGERS = 2.0**53
_ALL_OR_NONE = " Labels are all numbers or all words; string_labels (--string-labels) takes them all for words."


class MixedLabelsError(ValueError):
    """A label is not what the labels before it were; ``row`` counts from the first of those just added."""

    def __init__(self, row: int, expected: str, remedy: str = "") -> None:
        super().__init__(expected)
        self.row = row
        self.remedy = remedy


def as_number(text: str) -> float | None:
    """A decimal number as it stands in data files; None for anything else. NaN and infinities are numbers here."""
    if "_" in text:  # which Python allows between digits
        return None
    try:
        return float(text)
    except ValueError:
        return None


def is_several_labels(text: str) -> bool:
    """Whether ``text`` is a list of numbers, as multi-label data have it."""
    parts = text.split(",")
    return len(parts) > 1 and all(as_number(part) is not None for part in parts)


class LabelColumn:
    """Labels in the order of the rows. Memory: eight bytes a row and each distinct word once.

    Parameters
    ----------
    words : bool, default=False
        Take labels for words even where they are numbers.
    """

    def __init__(self, words: bool = False) -> None:
        self._words: bool | None = True if words else None  # None until the first label is seen
        self._numbers: list[NDArray[np.float64]] = []
        self._codes: list[NDArray[np.int64]] = []
        self._known: dict[str, int] = {}

    def wants_words(self, first: str) -> bool:
        """Whether labels are words; the first label of all decides."""
        if self._words is None:
            self._words = as_number(first) is None
        return self._words

    def add_numbers(self, numbers: NDArray[np.float64]) -> None:
        """Labels as finite numbers."""
        odd = np.flatnonzero(~np.isfinite(numbers))
        if len(odd):
            raise MixedLabelsError(int(odd[0]), "a finite number as label", _ALL_OR_NONE)
        self._numbers.append(numbers)

    def add_words(self, words: Sequence[str], first: int = 0) -> None:
        """Labels as words; ``first`` is the number of the first of them, for errors."""
        known = self._known
        before = len(known)
        codes = [known.setdefault(word, len(known)) for word in words]
        for word in islice(known, before, None):
            if not word:
                raise MixedLabelsError(first + words.index(word), "a label")
            if is_several_labels(word):
                raise MixedLabelsError(first + words.index(word), "one label a row (multi-label data cannot be read)")
        self._codes.append(np.array(codes, dtype=np.int64))

    def add_tokens(self, tokens: Sequence[str]) -> None:
        """Labels as text: numbers or words, whatever this column has."""
        if not tokens:
            return
        if self.wants_words(tokens[0]):
            self.add_words(tokens)
        else:
            values = [as_number(token) for token in tokens]
            self.add_numbers(np.array([math.nan if value is None else value for value in values]))

    def finished(self) -> NDArray[Any]:
        """All labels: strings, whole numbers if all are, else doubles."""
        if self._words:
            alphabet = np.array(list(self._known) or [""], dtype=np.str_)
            codes = np.concatenate(self._codes) if self._codes else np.empty(0, dtype=np.int64)
            return np.asarray(alphabet[codes])
        numbers = np.concatenate(self._numbers) if self._numbers else np.empty(0)
        return whole_if_all_are(numbers)


def whole_if_all_are(numbers: NDArray[np.float64]) -> NDArray[Any]:
    """int64 where that loses nothing: labels are then shown as they were written."""
    whole = len(numbers) > 0 and bool(np.all((numbers == np.rint(numbers)) & (np.abs(numbers) < _EXACT_INTEGERS)))
    return numbers.astype(np.int64) if whole else numbers
