"""Fitted attributes and parameters as JSON and plain arrays, and back: values only, never code.

JSON holds numbers, text, None, and tables with one key that says what they are:

======================  ==============================================================================
``{"array": name}``     an array of one or two dimensions, a member of the archive
``{"table": name}``     a dict of equally long columns, one member with a field for each
``{"csr": {...}}``      a sparse matrix: ``data``, ``indices``, ``indptr`` (arrays), ``shape``, ``kind``
``{"short": [...]}``    a short array of one dimension, with its ``dtype``
``{"objects": [...]}``  an array of Python objects: text, numbers, None
``{"list": [...]}``     a list or tuple
``{"mapping": [...]}``  a dict as pairs
``{"float": "nan"}``    a number that JSON does not have
``{"decisions": [...]}``  ``decisions_``, a row for each
======================  ==============================================================================
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from slackwater.errors import ModelFileError
from slackwater.fitting.decisions import Decision, Decisions
from slackwater.model_io.npy import is_plain_dtype, plain_dtype

Arrays = dict[str, NDArray[Any]]

_MAX_SHORT = 32  # entries of an array that people may want to read in the header,
_MAX_SHORT_ITEM = 4096  # and bytes of each
_SPARSE = {"matrix": scipy.sparse.csr_matrix, "array": scipy.sparse.csr_array}


def encode(value: Any, name: str, arrays: Arrays) -> Any:
    """A value as JSON; its arrays are added to ``arrays`` under names that begin with ``name``."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": str(value)}
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, np.ndarray):
        return _encode_array(value, name, arrays)
    if scipy.sparse.issparse(value):
        return _encode_sparse(value.tocsr(), name, arrays)
    if isinstance(value, Decisions):
        return {"decisions": [[encode(field, name, arrays) for field in decision] for decision in value]}
    if isinstance(value, Mapping):
        return _encode_mapping(value, name, arrays)
    if isinstance(value, list | tuple):
        return {"list": [encode(item, f"{name}.{number}", arrays) for number, item in enumerate(value)]}
    raise TypeError(
        f"{name} must be numbers, text, arrays, or lists and dicts of them to be stored in a model file, got "
        f"{type(value).__name__}. Use joblib.dump for a model that holds other objects."
    )


def _encode_array(array: NDArray[Any], name: str, arrays: Arrays) -> Any:
    if array.dtype.kind == "O":
        return {"objects": [encode(item, name, arrays) for item in array.ravel().tolist()], "shape": list(array.shape)}
    if not is_plain_dtype(array.dtype):
        raise TypeError(f"{name} must be an array of numbers or text to be stored in a model file, got {array.dtype}.")
    if array.ndim == 1 and array.size <= _MAX_SHORT and array.dtype.itemsize <= _MAX_SHORT_ITEM:
        return {
            "short": [encode(item, name, arrays) for item in array.tolist()],
            "dtype": array.dtype.newbyteorder("<").str,
        }
    arrays[name] = array
    return {"array": name}


def _encode_sparse(matrix: Any, name: str, arrays: Arrays) -> Any:
    kind = "array" if isinstance(matrix, scipy.sparse.sparray) else "matrix"
    parts = {part: encode(getattr(matrix, part), f"{name}.{part}", arrays) for part in ("data", "indices", "indptr")}
    return {"csr": {**parts, "shape": list(matrix.shape), "kind": kind}}


def _encode_mapping(value: Mapping[Any, Any], name: str, arrays: Arrays) -> Any:
    columns = [column for column in value.values() if isinstance(column, np.ndarray) and column.ndim == 1]
    if value and len(columns) == len(value) and len({len(column) for column in columns}) == 1:
        table = np.empty(len(columns[0]), dtype=[(str(key), column.dtype) for key, column in value.items()])
        for key, column in value.items():
            table[str(key)] = column
        arrays[name] = table
        return {"table": name}
    pairs = [
        [encode(key, name, arrays), encode(item, f"{name}.{number}", arrays)]
        for number, (key, item) in enumerate(value.items())
    ]
    return {"mapping": pairs}


def decode(stored: Any, arrays: Arrays) -> Any:
    """What ``encode`` has made JSON of; ModelFileError for anything else."""
    if stored is None or isinstance(stored, bool | int | float | str):
        return stored
    if isinstance(stored, dict):
        for key, decoder in _DECODERS.items():
            if key in stored:
                return decoder(stored, arrays)
    raise ModelFileError(f"a stored value must be one of {', '.join(_DECODERS)}, got {str(stored)[:60]!r}")


def _array_of(stored: Any, arrays: Arrays) -> NDArray[Any]:
    name = stored.get("array", stored.get("table"))
    if not isinstance(name, str) or name not in arrays:
        raise ModelFileError(f"its arrays must be members of the archive, got the name {str(name)[:60]!r}")
    return arrays[name]


def _decode_array(stored: Any, arrays: Arrays) -> NDArray[Any]:
    array = _array_of(stored, arrays)
    if array.dtype.names is not None:
        raise ModelFileError("an array must not have named fields")
    return array


def _decode_table(stored: Any, arrays: Arrays) -> dict[str, NDArray[Any]]:
    array = _array_of(stored, arrays)
    if array.dtype.names is None or array.ndim != 1:
        raise ModelFileError("a table must have named columns")
    return {name: np.ascontiguousarray(array[name]) for name in array.dtype.names}


def _decode_short(stored: Any, arrays: Arrays) -> NDArray[Any]:
    items = _items(stored, "short", arrays)
    kind = plain_dtype(stored.get("dtype"))
    if kind is None or kind.itemsize > _MAX_SHORT_ITEM:
        raise ModelFileError(f"a short array must be of numbers or text, got {str(stored.get('dtype'))[:60]!r}")
    try:
        array = np.array(items, dtype=kind)
    except (ValueError, TypeError, OverflowError):
        raise ModelFileError(f"a short array of type {kind} must hold such values, got {str(items)[:60]}") from None
    if array.ndim != 1:
        raise ModelFileError(f"a short array must have one dimension, got {array.ndim}")
    return array


def _decode_objects(stored: Any, arrays: Arrays) -> NDArray[Any]:
    items = _items(stored, "objects", arrays)
    if any(not isinstance(item, str | int | float | None) for item in items):
        raise ModelFileError("an array of objects must hold text, numbers and None only")
    if stored.get("shape") != [len(items)]:
        raise ModelFileError(f"an array of objects must have one dimension, got {str(stored.get('shape'))[:60]}")
    array = np.empty(len(items), dtype=object)
    array[:] = items
    return array


def _decode_sparse(stored: Any, arrays: Arrays) -> Any:
    parts, shape = stored["csr"], None
    if isinstance(parts, dict):
        shape = parts.get("shape")
    if not isinstance(shape, list) or len(shape) != 2 or not all(type(n) is int and 0 <= n < 2**48 for n in shape):
        raise ModelFileError(f"the shape of a sparse matrix must be two whole numbers >= 0, got {str(shape)[:60]}")
    data, indices, indptr = (decode(parts.get(name), arrays) for name in ("data", "indices", "indptr"))
    _require_csr(data, indices, indptr, shape)
    return _SPARSE["array" if parts.get("kind") == "array" else "matrix"]((data, indices, indptr), shape=tuple(shape))


def _require_csr(data: Any, indices: Any, indptr: Any, shape: list[int]) -> None:
    """Compiled code trusts these arrays: one that points outside of another would let it read other memory."""
    kinds = {"data": (data, "f"), "indices": (indices, "i"), "indptr": (indptr, "i")}
    for name, (array, kind) in kinds.items():
        if not isinstance(array, np.ndarray) or array.ndim != 1 or array.dtype.kind != kind:
            raise ModelFileError(f"{name} of a sparse matrix must be a vector of type {kind!r}")
    if len(indptr) != shape[0] + 1 or indptr[0] != 0 or indptr[-1] != len(data) or (np.diff(indptr) < 0).any():
        raise ModelFileError(f"indptr of a sparse matrix must rise from 0 to {len(data)} in {shape[0]} steps")
    if len(indices) != len(data) or (len(data) and not 0 <= indices.min() <= indices.max() < shape[1]):
        raise ModelFileError(f"indices of a sparse matrix must be {len(data)} numbers from 0 to {shape[1] - 1}")


def _items(stored: Any, key: str, arrays: Arrays) -> list[Any]:
    if not isinstance(stored[key], list):
        raise ModelFileError(f"{key} must be a list, got {str(stored[key])[:60]!r}")
    return [decode(item, arrays) for item in stored[key]]


def _decode_mapping(stored: Any, arrays: Arrays) -> dict[Any, Any]:
    pairs = stored["mapping"]
    if not isinstance(pairs, list) or any(not isinstance(pair, list) or len(pair) != 2 for pair in pairs):
        raise ModelFileError("a mapping must be a list of pairs")
    keys = [decode(key, arrays) for key, _ in pairs]
    if any(not isinstance(key, str | int | float | None) for key in keys):
        raise ModelFileError("the keys of a mapping must be text or numbers")
    return {key: decode(item, arrays) for key, (_, item) in zip(keys, pairs, strict=True)}


def _decode_float(stored: Any, arrays: Arrays) -> float:
    if stored["float"] not in ("nan", "inf", "-inf"):
        raise ModelFileError(f"a number that JSON does not have must be nan or inf, got {str(stored['float'])[:60]!r}")
    return float(stored["float"])


def _decode_decisions(stored: Any, arrays: Arrays) -> Decisions:
    rows = stored["decisions"]
    if not isinstance(rows, list) or any(
        not isinstance(row, list) or len(row) != len(Decision._fields) for row in rows
    ):
        raise ModelFileError(f"decisions must be rows of {len(Decision._fields)} values")
    found = Decisions()
    for row in rows:
        strategy, measured, value, limit, outcome, seconds, problem = (decode(field, arrays) for field in row)
        texts, numbers = (strategy, measured, limit, outcome), (value, seconds, problem)
        if not all(isinstance(text, str) for text in texts) or not all(isinstance(n, int | float) for n in numbers):
            raise ModelFileError("a decision must be text and numbers")
        found.append(Decision(strategy, measured, float(value), limit, outcome, float(seconds), int(problem)))
    return found


_DECODERS: dict[str, Callable[[Any, Arrays], Any]] = {
    "array": _decode_array,
    "table": _decode_table,
    "csr": _decode_sparse,
    "short": _decode_short,
    "objects": _decode_objects,
    "list": lambda stored, arrays: _items(stored, "list", arrays),
    "mapping": _decode_mapping,
    "float": _decode_float,
    "decisions": _decode_decisions,
}
