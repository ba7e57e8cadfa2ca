"""svmlight text, LIBSVM's format: ``label index:value index:value … # comment``, a row a line.

Indices ascend within a row. Values are finite decimal numbers, rounded as ``float()`` rounds them. ``qid:…`` after the
label is passed over, empty lines too. Blocks of text are parsed side by side; what is kept is the result alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import chain, islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from slackwater.data_io.growing import GrowingArray
from slackwater.data_io.labels import LabelColumn, MixedLabelsError, as_number
from slackwater.data_io.streams import Source, lines_together
from slackwater.data_io.table import LabelledData
from slackwater.errors import DataError
from slackwater.workers import Workers, thread_count

INDEX_BASES = ("auto", "one", "zero")
_SHORTEST_ROW, _SHORTEST_ENTRY = 2, 4  # bytes, with what parts them from others
_SHORTEST_UNDECIDED = 6  # bytes, at least, of an entry whose value compiled code leaves to Python, such as 1:1e-309
_WORDS_AT_ONCE = 2**14
_SHOWN = 40  # characters of what was found
_MARK = b"\xef\xbb\xbf"  # of UTF-8, which some editors write

_EXPECTED = (
    "",
    "a label, then index:value pairs",
    "index:value with a whole index",
    "an index up to 2147483647",
    "an index larger than the one before it in the row (they must ascend)",
    "a finite decimal number",
    "a number below 1.8e308",
)


class _Block(NamedTuple):
    """Some lines, parsed. ``text`` is kept until their labels have been looked at."""

    text: bytes
    lines: int
    labels: NDArray[np.float64]
    label_spans: NDArray[np.int64]
    row_ends: NDArray[np.int64]
    indices: NDArray[np.int32]
    values: NDArray[np.float64]
    wrong: int
    place: int


def read_svmlight(
    source: Source,
    *,
    n_features: int | None = None,
    indices: str = "auto",
    string_labels: bool = False,
    n_jobs: int | None = None,
) -> LabelledData:
    """Read svmlight text into a CSR matrix and labels.

    Parameters
    ----------
    source : Source
        Plain, gzip, bzip2 or xz.
    n_features : int, optional
        Columns of the matrix; by default as many as the largest index asks for.
    indices : {"auto", "one", "zero"}, default="auto"
        The index of the first feature. "auto": zero if an index is zero, else one, as scikit-learn has it.
    string_labels : bool, default=False
        Take labels for words even where they are numbers.
    n_jobs : int, optional
        Threads.
    """
    if indices not in INDEX_BASES:
        raise ValueError(f"indices must be one of {', '.join(INDEX_BASES)}, got {indices!r}.")
    collected = _Collector(source.name, string_labels)
    texts = _without_mark(lines_together(source.blocks()))
    for text in islice(texts, 1):  # of most files this is all, and threads would take longer to start
        collected.add(_parsed(text))
    second = list(islice(texts, 1))
    if second:
        _parse_together(chain(second, texts), collected, thread_count(n_jobs))
    return collected.finished(n_features, indices)


def _parse_together(texts: Iterator[bytes], collected: _Collector, n_threads: int) -> None:
    with Workers(n_threads) as workers:
        while batch := list(islice(texts, n_threads)):
            for block in workers.run(_parsed, batch):
                collected.add(block)


def _without_mark(texts: Iterator[bytes]) -> Iterator[bytes]:
    for text in islice(texts, 1):
        yield text.removeprefix(_MARK)
    yield from texts


def _parsed(text: bytes) -> _Block:
    from slackwater.data_io._svmlight_loops import FINE, VALUE_TOO_LARGE, count_lines_and_entries, parse_rows

    seen = np.frombuffer(text, dtype=np.uint8)
    lines, entries = count_lines_and_entries(seen)
    rows, entries = min(lines, len(text) // _SHORTEST_ROW + 1), min(entries, len(text) // _SHORTEST_ENTRY + 1)
    labels, label_spans, row_ends = np.empty(rows), np.empty((rows, 2), np.int64), np.empty(rows, np.int64)
    indices, values = np.empty(entries, np.int32), np.empty(entries)
    undecided = np.empty((min(entries, len(text) // _SHORTEST_UNDECIDED + 1), 2), np.int64)
    rows, n, n_undecided, wrong, place = parse_rows(seen, labels, label_spans, row_ends, indices, values, undecided)
    for position, start in undecided[:n_undecided].tolist():
        values[position] = float(_token(text, start))
        if math.isinf(values[position]) and (wrong == FINE or start < place):
            wrong, place = VALUE_TOO_LARGE, start
    return _Block(
        text,
        lines,
        labels[:rows],
        label_spans[:rows],
        row_ends[:rows],
        indices[:n],
        values[:n],
        wrong,
        place,
    )


def _token(text: bytes, start: int) -> str:
    """What stands at ``start``, to the next blank."""
    line = text[start : text.index(b"\n", start)].split(b"#", 1)[0]
    return (line.split(None, 1) or [b""])[0].decode("utf-8", "replace") if line[:1].strip() else ""


class _Collector:
    """Puts parsed blocks together, and says where in the file something is wrong."""

    def __init__(self, name: str, string_labels: bool) -> None:
        self._name = name
        self._labels = LabelColumn(string_labels)
        self._lines = 0
        self._row_ends = GrowingArray("q")
        self._indices = GrowingArray("i")
        self._values = GrowingArray("d")
        self._least, self._largest = 2**31, -1

    def add(self, block: _Block) -> None:
        self._add_labels(block)
        if block.wrong:
            self._refuse(block, block.place, _EXPECTED[block.wrong])
        self._row_ends.append(block.row_ends + len(self._values))
        self._indices.append(block.indices)
        self._values.append(block.values)
        self._lines += block.lines
        if len(block.indices):
            self._least = min(self._least, int(block.indices.min()))
            self._largest = max(self._largest, int(block.indices.max()))

    def _add_labels(self, block: _Block) -> None:
        if not len(block.labels):
            return
        try:
            if self._labels.wants_words(_token(block.text, int(block.label_spans[0, 0]))):
                for first in range(0, len(block.labels), _WORDS_AT_ONCE):
                    self._labels.add_words(self._words(block, first), first)
            else:
                self._labels.add_numbers(_numbers(block))
        except MixedLabelsError as error:
            self._refuse(block, int(block.label_spans[error.row, 0]), f"{error}", error.remedy)

    def _words(self, block: _Block, first: int) -> list[str]:
        spans = block.label_spans[first : first + _WORDS_AT_ONCE].tolist()
        words = [block.text[start:stop].decode("utf-8", "replace") for start, stop in spans]
        if any("\ufffd" in word for word in set(words)):
            bad = next(start for word, (start, _) in zip(words, spans, strict=True) if "\ufffd" in word)
            self._refuse(block, bad, "a label in UTF-8")
        return words

    def _refuse(self, block: _Block, place: int, expected: str, remedy: str = "") -> None:
        line = self._lines + block.text.count(b"\n", 0, place) + 1
        column = place - block.text.rfind(b"\n", 0, place)
        found = _token(block.text, place)
        shown = repr(found if len(found) <= _SHOWN else found[:_SHOWN] + "…") if found else "nothing"
        raise DataError(f"{self._name}, line {line}, column {column}: expected {expected}, found {shown}.{remedy}")

    def finished(self, n_features: int | None, indices: str) -> LabelledData:
        zero_based = indices == "zero" or (indices == "auto" and self._least == 0)
        if indices == "one" and self._least == 0:
            raise DataError(f"{self._name}: index 0 found, but indices start from one. Say that they start from zero.")
        columns = max(self._largest + (1 if zero_based else 0), 0)
        if n_features is not None and columns > n_features:
            raise DataError(
                f"{self._name}: feature index {self._largest} found, but there are {n_features} features "
                f"(indices start from {'zero' if zero_based else 'one'})."
            )
        labels = self._labels.finished()
        if not len(labels):
            raise DataError(f"{self._name}: no rows. Expected lines of a label and index:value pairs.")
        matrix = self._matrix(len(labels), columns if n_features is None else n_features, zero_based)
        return LabelledData(matrix, labels, None)

    def _matrix(self, rows: int, columns: int, zero_based: bool) -> Any:
        values, places = self._values.finished(), self._indices.finished()
        if not zero_based:
            places -= 1
        starts = np.concatenate([np.zeros(1, np.int64), self._row_ends.finished()])
        if len(values) < 2**31 - 1:
            starts = starts.astype(np.int32)
        return sparse.csr_matrix((values, places, starts), shape=(rows, columns), copy=False)


def _numbers(block: _Block) -> NDArray[np.float64]:
    """Labels as numbers; those that compiled code has left undecided by Python's ``float``. NaN for words."""
    labels = block.labels
    for row in np.flatnonzero(np.isnan(labels)).tolist():
        value = as_number(_token(block.text, int(block.label_spans[row, 0])))
        labels[row] = math.nan if value is None else value
    return labels
