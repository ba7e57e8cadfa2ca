"""Parquet, through pyarrow, batch by batch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slackwater.data_io.columns import Columns, Wanted, choose_columns, column_name, not_a_number
from slackwater.data_io.growing import GrowingArray
from slackwater.data_io.labels import LabelColumn, MixedLabelsError
from slackwater.data_io.streams import MAX_EXPANSION, Progress
from slackwater.data_io.table import LabelledData
from slackwater.errors import DataError

_ROWS_AT_ONCE = 2**14
# What pyarrow raises, beside its own errors, on values that are not what their schema says
_DAMAGE = (OSError, ValueError, TypeError, LookupError, ArithmeticError, RuntimeError)
_FREE_BYTES = 2**25  # that any file may hold


def read_parquet(
    path: Path, *, wanted: Wanted, string_labels: bool = False, progress: Progress | None = None
) -> LabelledData:
    """Read numeric columns and a column of labels. Needs pyarrow: ``pip install 'slackwater[io]'``."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ModuleNotFoundError as error:
        raise DataError(f"{path}: reading Parquet needs pyarrow: pip install 'slackwater[io]'.") from error
    try:
        with pq.ParquetFile(path) as file:
            return _read(path, file, pa, wanted, LabelColumn(string_labels), progress)
    except DataError:
        raise
    except (pa.ArrowException, *_DAMAGE) as error:
        raise DataError(f"{path}: not a readable Parquet file ({_first_line(error)}).") from error


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


def _read(
    path: Path, file: Any, pa: Any, wanted: Wanted, labels: LabelColumn, progress: Progress | None
) -> LabelledData:
    schema, rows = file.schema_arrow, file.metadata.num_rows
    names = list(schema.names)
    columns = choose_columns(str(path), len(names), names, wanted)
    for position in columns.features:
        _require_numeric(path, names, position, schema.types[position], pa)
    _require_in_proportion(path, rows, len(columns.features))
    values = GrowingArray("d")
    done = 0
    for batch in file.iter_batches(_ROWS_AT_ONCE, columns=_names_used(names, columns)):
        values.append(_numbers(path, names, columns, batch, done, pa))
        if columns.label is not None:
            _add_labels(path, names[columns.label], labels, batch, done)
        done += batch.num_rows
        if progress is not None:
            progress(done, rows)
    if not done:
        raise DataError(f"{path}: no rows.")
    X = values.finished().reshape(-1, len(columns.features))
    return LabelledData(X, None if columns.label is None else labels.finished(), [names[k] for k in columns.features])


def _names_used(names: list[str], columns: Columns) -> list[str]:
    used = [*columns.features, *([] if columns.label is None else [columns.label])]
    return [names[k] for k in used]


def _require_numeric(path: Path, names: list[str], position: int, kind: Any, pa: Any) -> None:
    types = pa.types
    numeric = types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind) or types.is_decimal(kind)
    if not numeric:
        raise DataError(
            f"{path}, {column_name(names, position)}: expected numbers, found the type {kind}. Encode it "
            "(pandas.get_dummies, sklearn.preprocessing.OneHotEncoder) or leave it out (--ignore); if it holds the "
            "labels, say so (--label)."
        )


def _require_in_proportion(path: Path, rows: int, n_features: int) -> None:
    """Repeated values take next to no bytes, so that a small file can claim any number of rows."""
    size = path.stat().st_size
    if 8 * rows * n_features > _FREE_BYTES + MAX_EXPANSION * size:
        raise DataError(
            f"{path}: {size} bytes claim {rows} rows of {n_features} features, beyond {MAX_EXPANSION} : 1. If that is "
            "what you want to read, write it as .npy."
        )


def _numbers(path: Path, names: list[str], columns: Columns, batch: Any, done: int, pa: Any) -> NDArray[np.float64]:
    numbers = np.empty((batch.num_rows, len(columns.features)))
    for k, position in enumerate(columns.features):
        column = batch.column(names[position]).cast(pa.float64(), safe=False)
        numbers[:, k] = column.to_numpy(zero_copy_only=False)
        odd = np.flatnonzero(~np.isfinite(numbers[:, k]))
        if len(odd):
            row = int(odd[0])
            found = "null" if not column[row].is_valid else str(numbers[row, k])
            raise not_a_number(f"{path}, row {done + row + 1}", column_name(names, position), found)
    return numbers


def _add_labels(path: Path, name: str, labels: LabelColumn, batch: Any, done: int) -> None:
    values = batch.column(name).to_pylist()
    try:
        labels.add_tokens(["" if value is None else str(value) for value in values])
    except MixedLabelsError as error:
        raise DataError(
            f"{path}, row {done + error.row + 1}, column {name!r}: expected {error}, found "
            f"{str(values[error.row])[:40]!r}.{error.remedy}"
        ) from error
