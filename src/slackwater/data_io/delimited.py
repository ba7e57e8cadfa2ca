"""CSV and TSV: a row a line, with or without a row of names."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from itertools import chain, islice

import numpy as np
from numpy.typing import NDArray

from slackwater.data_io.columns import Columns, Wanted, choose_columns, column_name, not_a_number
from slackwater.data_io.growing import GrowingArray
from slackwater.data_io.labels import LabelColumn, MixedLabelsError, as_number
from slackwater.data_io.streams import Source, lines_together
from slackwater.data_io.table import LabelledData
from slackwater.errors import DataError

HEADERS = ("auto", "yes", "no")
MAX_COLUMNS = 2**18  # beyond, data are sparse: svmlight
_DELIMITERS = ",\t;"
_CELLS_AT_ONCE = 2**17

Row = list[str]
Numbered = tuple[int, Row]  # with the line it ends on


def read_delimited(
    source: Source,
    *,
    wanted: Wanted,
    delimiter: str | None = None,
    header: str = "auto",
    string_labels: bool = False,
) -> LabelledData:
    """Read a table of numbers and a column of labels.

    Parameters
    ----------
    source : Source
        Plain, gzip, bzip2 or xz.
    wanted : Wanted
        Which columns.
    delimiter : str, optional
        By default whichever of comma, tab and semicolon the first line has most of.
    header : {"auto", "yes", "no"}, default="auto"
        Whether the first row has names. "auto": if a column has a number in the second row and none in the first, or no
        column has a number in the first.
    string_labels : bool, default=False
        Take labels for words even where they are numbers.
    """
    if header not in HEADERS:
        raise ValueError(f"header must be one of {', '.join(HEADERS)}, got {header!r}.")
    rows = _Rows(source, delimiter)
    beginning = list(islice(rows, 2))
    if not beginning:
        raise DataError(f"{source.name}: no rows.")
    first = beginning[0][1]
    names = first if _is_header(first, beginning[1][1] if len(beginning) > 1 else [], header) else None
    columns = choose_columns(source.name, len(first), names, wanted)
    table = _Table(source.name, names, columns, LabelColumn(string_labels), len(first))
    for batch in _batches(chain(beginning[names is not None :], rows), len(first)):
        table.add(batch)
    return table.finished()


class _Rows:
    """Rows that are not empty, of text that is decoded block by block."""

    def __init__(self, source: Source, delimiter: str | None) -> None:
        self._name = source.name
        lines = _lines(source)
        first = next(lines, "")
        self._delimiter = delimiter or max(_DELIMITERS, key=first.count)
        self._rows = csv.reader(self._checked(chain([first], lines)), delimiter=self._delimiter, strict=True)

    def _checked(self, lines: Iterator[str]) -> Iterator[str]:
        for line in lines:
            if line.count(self._delimiter) >= MAX_COLUMNS:
                raise DataError(
                    f"{self._name}: more than {MAX_COLUMNS} columns. Data of so many features are written as svmlight."
                )
            yield line

    def __iter__(self) -> _Rows:
        return self

    def __next__(self) -> Numbered:
        try:
            row = next(self._rows)
            while not row or (len(row) == 1 and not row[0].strip()):
                row = next(self._rows)
        except csv.Error as error:
            raise DataError(
                f"{self._name}, line {self._rows.line_num}: {error}. Fields with quotes must be quoted as a whole."
            ) from error
        return self._rows.line_num, row


def _lines(source: Source) -> Iterator[str]:
    read = 0
    for block in lines_together(source.blocks()):
        try:
            text = block.decode("utf-8-sig" if read == 0 else "utf-8")
        except UnicodeDecodeError as error:
            line = read + block.count(b"\n", 0, error.start) + 1
            column = error.start - block.rfind(b"\n", 0, error.start)
            raise DataError(
                f"{source.name}, line {line}, column {column}: expected UTF-8, found the byte "
                f"{block[error.start]:#04x}. Convert the file, e.g. by iconv."
            ) from error
        yield from io.StringIO(text, newline="\n")
        read += block.count(b"\n")


def _is_header(first: Row, second: Row, header: str) -> bool:
    if header != "auto":
        return header == "yes"
    above = [as_number(cell) is not None for cell in first]
    below = [as_number(cell) is not None for cell in second]
    return not any(above) or any(low and not high for high, low in zip(above, below, strict=False))


def _batches(rows: Iterator[Numbered], n_columns: int) -> Iterator[list[Numbered]]:
    size = max(1, _CELLS_AT_ONCE // n_columns)
    while batch := list(islice(rows, size)):
        yield batch


class _Table:
    """Numbers and labels of the rows so far."""

    def __init__(self, file: str, names: Row | None, columns: Columns, labels: LabelColumn, n_columns: int) -> None:
        self._file = file
        self._names = names
        self._columns = columns
        self._labels = labels
        self._n_columns = n_columns
        self._values = GrowingArray("d")

    def add(self, batch: list[Numbered]) -> None:
        for line, row in batch:
            if len(row) != self._n_columns:
                raise DataError(
                    f"{self._file}, line {line}: expected {self._n_columns} columns, as in the first line, "
                    f"found {len(row)}."
                )
        cells = [[row[k] for k in self._columns.features] for _, row in batch]
        self._values.append(self._numbers(cells, [line for line, _ in batch]))
        if self._columns.label is not None:
            self._add_labels([(line, row[self._columns.label].strip()) for line, row in batch])

    def _numbers(self, cells: list[Row], lines: list[int]) -> NDArray[np.float64]:
        try:
            numbers = np.array(cells, dtype=np.float64)
            fine = bool(np.isfinite(numbers).all()) and not any("_" in cell for row in cells for cell in row)
        except ValueError:
            fine = False
        if not fine:
            self._refuse_cell(cells, lines)
        return numbers

    def _refuse_cell(self, cells: list[Row], lines: list[int]) -> None:
        for line, row in zip(lines, cells, strict=True):
            for position, cell in zip(self._columns.features, row, strict=True):
                value = as_number(cell)
                if value is None or not np.isfinite(value):
                    raise not_a_number(f"{self._file}, line {line}", column_name(self._names, position), cell)

    def _add_labels(self, labels: list[tuple[int, str]]) -> None:
        try:
            self._labels.add_tokens([label for _, label in labels])
        except MixedLabelsError as error:
            line, found = labels[error.row]
            column = column_name(self._names, self._columns.label or 0)
            raise DataError(
                f"{self._file}, line {line}, {column}: expected {error}, found {found[:40]!r}.{error.remedy}"
            ) from error

    def finished(self) -> LabelledData:
        features = self._columns.features
        X = self._values.finished().reshape(-1, len(features))
        if not len(X):
            raise DataError(f"{self._file}: no rows below the row of names.")
        y = None if self._columns.label is None else self._labels.finished()
        return LabelledData(X, y, None if self._names is None else [self._names[k] for k in features])
