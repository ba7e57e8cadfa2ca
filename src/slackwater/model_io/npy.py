"""One array as the bytes of a ``.npy`` file, and back, with nothing in it that NumPy would have to trust.

NumPy's own reader allocates what a header says before it looks for the data, and knows types that execute code when
they are read. Here the header must be one of ours: version 1.0, numbers or text, as many bytes as the shape says.
"""

from __future__ import annotations

import ast
import io
import math
import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slackwater.errors import ModelFileError

_MAGIC = b"\x93NUMPY\x01\x00"
_MAX_HEADER = 4096
_MAX_FIELDS = 64
_MAX_CODE_POINT = 0x10FFFF
_PLAIN = re.compile(r"[<|](f[48]|[iu][1248]|b1|U[1-9]\d{0,5})")


def is_plain_dtype(dtype: np.dtype[Any]) -> bool:
    """Whether values of this type are numbers or text of fixed size, also as fields of a table."""
    return _PLAIN.fullmatch(dtype.newbyteorder("<").str) is not None


def plain_dtype(name: Any) -> np.dtype[Any] | None:
    """The type of that name, if its values are numbers or text of fixed size."""
    return np.dtype(name) if isinstance(name, str) and _PLAIN.fullmatch(name) else None


def to_npy(array: NDArray[Any]) -> bytes:
    """The file's bytes: little-endian, row by row."""
    stream = io.BytesIO()
    little = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
    np.lib.format.write_array(stream, little, version=(1, 0), allow_pickle=False)
    return stream.getvalue()


def from_npy(content: bytes, name: str) -> NDArray[Any]:
    """The array; ModelFileError where header and data do not fit."""
    if content[: len(_MAGIC)] != _MAGIC or len(content) < len(_MAGIC) + 2:
        raise ModelFileError(f"array {name} must be in NumPy's format 1.0")
    start = len(_MAGIC) + 2
    length = int.from_bytes(content[len(_MAGIC) : start], "little")
    if length > _MAX_HEADER or start + length > len(content):
        raise ModelFileError(f"array {name} must have a header of at most {_MAX_HEADER} bytes, got {length}")
    dtype, shape = _parsed_header(content[start : start + length], name)
    expected = math.prod(shape) * dtype.itemsize
    if expected != len(content) - start - length:
        raise ModelFileError(
            f"array {name} of shape {shape} and type {dtype} must have {expected} bytes, got "
            f"{len(content) - start - length}"
        )
    array = np.frombuffer(content, dtype, offset=start + length).reshape(shape).copy()
    _require_valid(array, name)
    return array


def _parsed_header(text: bytes, name: str) -> tuple[np.dtype[Any], tuple[int, ...]]:
    try:
        header = ast.literal_eval(text.decode("latin1").strip())
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        raise ModelFileError(f"the header of array {name} must be a literal of Python") from None
    if not isinstance(header, dict) or set(header) != {"descr", "fortran_order", "shape"} or header["fortran_order"]:
        raise ModelFileError(f"the header of array {name} must have descr, shape, and fortran_order False")
    shape = header["shape"]
    fits = isinstance(shape, tuple) and len(shape) <= 2 and all(type(n) is int and 0 <= n < 2**48 for n in shape)
    if not fits:
        raise ModelFileError(f"array {name} must have at most two dimensions, got the shape {str(shape)[:60]}")
    return _checked_dtype(header["descr"], name), shape


def _checked_dtype(descr: Any, name: str) -> np.dtype[Any]:
    found = plain_dtype(descr)
    if found is not None:
        return found
    if isinstance(descr, list) and 0 < len(descr) <= _MAX_FIELDS:
        fields = [field for field in descr if isinstance(field, tuple) and len(field) == 2]
        named = [isinstance(key, str) and key.isidentifier() and isinstance(kind, str) for key, kind in fields]
        if len(fields) == len(descr) and all(named) and len({key for key, _ in fields}) == len(fields):
            return np.dtype([(key, _checked_dtype(kind, name)) for key, kind in fields])
    raise ModelFileError(f"array {name} must hold numbers or text, got the type {str(descr)[:60]}")


def _require_valid(array: NDArray[Any], name: str) -> None:
    """Bytes that are no truth value and no character would surprise whoever looks at them."""
    if array.dtype.kind == "b" and array.size and int(array.view(np.uint8).max()) > 1:
        raise ModelFileError(f"array {name} must hold truth values, 0 or 1")
    if array.dtype.kind == "U" and array.size and int(array.reshape(-1).view(np.uint32).max()) > _MAX_CODE_POINT:
        raise ModelFileError(f"array {name} must hold Unicode text")
    for field in array.dtype.names or ():
        _require_valid(np.ascontiguousarray(array[field]), f"{name}.{field}")
