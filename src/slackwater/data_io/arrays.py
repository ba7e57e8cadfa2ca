"""NumPy's own files: ``.npy``, one array with a column of labels; ``.npz``, arrays ``X`` and ``y``.

In ``.npz`` a sparse X is what ``scipy.sparse.save_npz`` writes (data, indices, indptr, shape), beside ``y``, or the
same with names that begin with ``X_``. No pickle is read, and what a header claims is compared with the bytes that are
there before memory is taken for it.
"""

from __future__ import annotations

import ast
import math
import re
import warnings
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from slackwater.data_io.columns import Wanted, choose_columns, column_name, not_a_number
from slackwater.data_io.labels import LabelColumn, whole_if_all_are
from slackwater.data_io.table import LabelledData
from slackwater.errors import DataError

_PIECES = ("data", "indices", "indptr", "shape")
_MAGIC = b"\x93NUMPY"
_MAX_HEADER = 10_000
_PLAIN = re.compile(r"[<>|=]?(b1|[iu][1248]|f[248]|[SU][1-9]\d{0,4})")
_NUMBERS = "biuf"
_PLAIN_PACKINGS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # deflate cannot expand beyond 1032 : 1


def read_npy(path: Path, *, wanted: Wanted) -> LabelledData:
    """Read a matrix, one column of which may hold labels."""
    try:
        with path.open("rb") as stream:
            matrix = _array(str(path), stream, path.stat().st_size)
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror or error}).") from error
    _require_matrix(str(path), "the array", matrix)
    columns = choose_columns(str(path), matrix.shape[1], None, wanted)
    X = np.ascontiguousarray(_as_floats(matrix)[:, columns.features])
    y = None if columns.label is None else whole_if_all_are(matrix[:, columns.label].astype(np.float64))
    _require_finite(str(path), X)
    return LabelledData(X, y, None)


def read_npz(path: Path, *, wanted: Wanted, string_labels: bool = False) -> LabelledData:
    """Read arrays X and y, X dense or in the pieces of a CSR matrix."""
    try:
        arrays = _archive(path)
    except DataError:
        raise
    except Exception as error:  # damaged archives make zipfile raise whatever it likes
        raise DataError(f"{path}: not a readable .npz file ({' '.join(str(error).split())[:80]}).") from error
    X = _matrix_of(str(path), arrays)
    y = arrays.get("y")
    if y is None and wanted.needs_labels:
        raise DataError(f"{path}: no labels. Expected an array 'y' beside X, found {_listed(arrays)}.")
    if y is not None:
        y = _labels(str(path), y, X.shape[0], string_labels)
    names = arrays.get("feature_names")
    return LabelledData(X, y, None if names is None else _names(str(path), names, X.shape[1]))


def _archive(path: Path) -> dict[str, NDArray[Any]]:
    arrays = {}
    with zipfile.ZipFile(path) as archive:
        for entry in archive.infolist():
            if not entry.filename.endswith(".npy"):
                continue
            name = entry.filename.removesuffix(".npy")
            if entry.compress_type not in _PLAIN_PACKINGS or entry.flag_bits & 1:
                raise DataError(f"{path}: {name!r} is packed as NumPy never packs. Write it by numpy.savez_compressed.")
            # The directory may lie about sizes; deflate cannot unpack to more than this.
            size = min(entry.file_size, 1100 * path.stat().st_size)
            with archive.open(entry) as stream:
                arrays[name] = _array(f"{path}, {name!r:.60}", stream, size)
    return arrays


def _array(place: str, stream: IO[bytes], size: int) -> NDArray[Any]:
    """One array in NumPy's format, if its ``size`` bytes are what its header asks for."""
    shape, by_columns, dtype, begin = _header(place, stream)
    count = math.prod(shape)
    if begin + count * dtype.itemsize > size:
        raise DataError(f"{place}: the header claims {count} values of {dtype}, and the file is too small for them.")
    content = stream.read(count * dtype.itemsize)
    if len(content) != count * dtype.itemsize:
        raise DataError(f"{place}: the file ends too early. It was cut off; get it again.")
    array = np.frombuffer(content, dtype=dtype)
    return array.reshape(shape, order="F" if by_columns else "C")


def _header(place: str, stream: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any], int]:
    """Shape, order, type, and where the values begin.

    Read here rather than by NumPy, whose reader raises whatever Python's parser raises, and knows types that run code.
    """
    start = stream.read(8)
    width = {1: 2, 2: 4, 3: 4}.get(start[6] if len(start) == 8 and start.startswith(_MAGIC) else 0, 0)
    length = int.from_bytes(stream.read(width), "little")
    if not 0 < length <= _MAX_HEADER:
        raise DataError(f"{place}: not an array in NumPy's format.")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of Python's parser, about literals that it takes nevertheless
            header = ast.literal_eval(stream.read(length).decode("latin-1").strip())
        shape, by_columns, kind = header["shape"], header["fortran_order"], header["descr"]
    except (ValueError, SyntaxError, TypeError, KeyError, MemoryError, RecursionError) as error:
        raise DataError(f"{place}: not an array in NumPy's format: its header is damaged.") from error
    if not isinstance(kind, str) or _PLAIN.fullmatch(kind) is None:
        raise DataError(f"{place}: expected numbers or strings, found {str(kind)[:80]!r}. Python objects are not read.")
    if not isinstance(shape, tuple) or len(shape) > 2 or not all(type(n) is int and n >= 0 for n in shape):
        raise DataError(f"{place}: expected an array of up to two dimensions, found the shape {str(shape)[:80]!r}.")
    return shape, bool(by_columns), np.dtype(kind), 8 + width + length


def _matrix_of(file: str, arrays: Mapping[str, NDArray[Any]]) -> Any:
    for name in ("X", "x"):
        if name in arrays:
            _require_matrix(file, name, arrays[name])
            X = np.ascontiguousarray(_as_floats(arrays[name]))
            _require_finite(file, X)
            return X
    for prefix in ("X_", ""):
        if all(prefix + piece in arrays for piece in _PIECES):
            return _csr(file, [arrays[prefix + piece] for piece in _PIECES], arrays.get(f"{prefix}format"))
    raise DataError(
        f"{file}: no examples. Expected an array 'X' (or data, indices, indptr and shape of a CSR matrix), found "
        f"{_listed(arrays) or 'no arrays'}."
    )


def _listed(arrays: Mapping[str, Any]) -> str:
    return ", ".join(f"{name!r:.60}" for name in sorted(arrays)[:8])


def _csr(file: str, pieces: list[NDArray[Any]], form: NDArray[Any] | None) -> Any:
    data, indices, indptr, shape = pieces
    if form is not None and form.tolist() not in (b"csr", "csr"):
        raise DataError(f"{file}: expected a CSR matrix, found {form.tolist()!r:.40}. Convert it: matrix.tocsr().")
    numbers = [data.dtype.kind in _NUMBERS, *(piece.dtype.kind in "iu" for piece in (indices, indptr, shape))]
    if not all(numbers) or any(piece.ndim != 1 for piece in (data, indices, indptr, shape)) or len(shape) != 2:
        raise DataError(f"{file}: data, indices, indptr and shape must be the arrays of a CSR matrix.")
    rows, columns = (int(size) for size in shape)
    within = len(indptr) == rows + 1 and rows > 0 and columns >= 0 and indptr[0] == 0 and indptr[-1] == len(indices)
    ascending = bool(np.all(indptr[1:] >= indptr[:-1]))
    inside = not len(indices) or (indices.min() >= 0 and indices.max() < columns < 2**31)
    if not (within and ascending and inside and len(data) == len(indices)):
        raise DataError(f"{file}: data, indices, indptr and shape contradict each other. Write the matrix again.")
    values = _as_floats(data)
    if not np.isfinite(values).all():
        raise DataError(f"{file}: expected finite numbers in data, found NaN or infinity.")
    return sparse.csr_matrix((values, indices.astype(np.int32), indptr.astype(np.int64)), shape=(rows, columns))


def _require_matrix(file: str, name: str, array: NDArray[Any]) -> None:
    if array.ndim != 2 or array.dtype.kind not in _NUMBERS or not array.size:
        raise DataError(
            f"{file}: {name} must be a matrix of numbers, rows × features, got {array.dtype} of shape {array.shape}."
        )


def _require_finite(file: str, X: NDArray[Any]) -> None:
    odd = np.argwhere(~np.isfinite(X))
    if len(odd):
        row, column = (int(k) for k in odd[0])
        raise not_a_number(f"{file}, row {row + 1}", column_name(None, column), str(X[row, column]))


def _as_floats(array: NDArray[Any]) -> NDArray[Any]:
    """Single precision as it is, all other numbers as doubles."""
    return array.astype(np.float32 if array.dtype == np.float32 else np.float64, copy=False)


def _labels(file: str, y: NDArray[Any], rows: int, string_labels: bool) -> NDArray[Any]:
    if y.shape != (rows,) or y.dtype.kind not in _NUMBERS + "US":
        raise DataError(
            f"{file}: y must have one label for each of the {rows} rows of X, got {y.dtype} of shape {y.shape}."
        )
    if y.dtype.kind == "S":
        y = np.char.decode(y, "utf-8", "replace")
    if string_labels and y.dtype.kind != "U":
        column = LabelColumn(words=True)
        column.add_words([str(label) for label in whole_if_all_are(y.astype(np.float64)).tolist()])
        return column.finished()
    if y.dtype.kind == "f":
        if not np.isfinite(y).all():
            raise DataError(f"{file}: expected finite labels in y, found NaN or infinity.")
        return whole_if_all_are(y.astype(np.float64))
    return np.array(y)


def _names(file: str, names: NDArray[Any], n_features: int) -> list[str]:
    if names.shape != (n_features,) or names.dtype.kind not in "U":
        raise DataError(
            f"{file}: feature_names must be {n_features} strings, got {names.dtype} of shape {names.shape}."
        )
    return [str(name) for name in names]
