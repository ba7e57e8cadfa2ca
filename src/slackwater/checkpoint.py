"""Training state on disk: written whole or not at all, read without executing anything.

A checkpoint is a line with a digest and the length of a JSON header, the header, then the arrays it names, one after
the other. The header is compared with the size of the file before memory is taken for it, the digest before anything is
parsed, the sizes of all arrays before any of them is made. States are dataclasses of arrays, numbers, generators and
such dataclasses; a fresh state of the same solver serves as the mould into which a stored one is poured, so the file
need not name any Python type, and its arrays must be as long as those of the mould.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import os
import secrets
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slackwater.errors import CheckpointError

_MAGIC = b"slackwater checkpoint 2 "
_FIRST_LINE = len(_MAGIC) + 64 + 1 + 12 + 1
_MAX_HEADER = 2**26  # bytes; a fit of a hundred stages has a few thousand
_TYPES = {"<f8", "<f4", "<i8", "<i4", "|i1", "|u1", "|b1", "<u2", "<u4", "<u8"}
_PIECE = 2**20

Arrays = dict[str, NDArray[Any]]


class Saved(NamedTuple):
    """What a checkpoint holds beside the states."""

    evaluations: int
    seconds: float
    history: NDArray[np.float64]


def packed(header: dict[str, Any], arrays: Arrays) -> bytes:
    """The bytes of a checkpoint."""
    laid_out = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    table = [[name, array.dtype.str, list(array.shape)] for name, array in laid_out.items()]
    text = json.dumps({**header, "arrays": table}).encode()
    return signed(text, b"".join(array.tobytes() for array in laid_out.values()))


def signed(header: bytes, body: bytes) -> bytes:
    digest = hashlib.sha256(header + body).hexdigest().encode()
    return _MAGIC + digest + b" %012d\n" % len(header) + header + body


def require_writable(path: Path) -> None:
    """Find out before a long run whether a checkpoint can be written; nobody else's part file is touched."""
    try:
        if path.is_dir():
            raise IsADirectoryError("it is a folder")
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f"{path.name}.{os.getpid()}-{secrets.token_hex(4)}.part")
        part.touch(exist_ok=False)
        part.unlink()
    except (OSError, ValueError) as error:
        raise CheckpointError(
            f"checkpoint {str(path)!r} cannot be written ({error}). Give the path of a file in a folder that can be "
            "written to."
        ) from error


@dataclasses.dataclass(frozen=True)
class Stored:
    """A checkpoint that was read: its header, and its arrays by name."""

    path: Path
    header: dict[str, Any]
    arrays: Arrays

    def pour(self, stored: Any, mould: Any, n: int | None = None) -> Any:
        """A stored state in the form of a fresh one; ``n`` is the number of examples that it is about."""
        try:
            return _decode(stored, mould, self.arrays, n)
        except (KeyError, ValueError, TypeError, AttributeError, IndexError, RecursionError) as error:
            raise self.damaged(error) from error

    def damaged(self, error: Any) -> CheckpointError:
        return CheckpointError(f"checkpoint {str(self.path)!r} is damaged ({error}). Delete the file to start afresh.")


def open_checkpoint(path: Path, fingerprint: str) -> Stored:
    """What is stored at ``path``; CheckpointError if it is damaged or of another problem."""
    try:
        header, arrays = _parsed(path)
    except Exception as error:  # damaged files make json and NumPy raise whatever they like
        raise CheckpointError(
            f"checkpoint {str(path)!r} cannot be read ({error}). Delete the file to start afresh."
        ) from error
    if header.get("fingerprint") != fingerprint:
        raise CheckpointError(
            f"checkpoint {str(path)!r} belongs to other data or other parameters than this fit. "
            "Give another path, or delete the file to start afresh."
        )
    return Stored(path, header, arrays)


def saved_in(record: dict[str, Any], arrays: Arrays, history: str) -> Saved:
    return Saved(int(record["evaluations"]), float(record["seconds"]), arrays[history])


def _parsed(path: Path) -> tuple[dict[str, Any], Arrays]:
    with open(path, "rb") as stream:
        size = os.fstat(stream.fileno()).st_size
        header_size = _checked(stream, size)
        stream.seek(_FIRST_LINE)
        header = json.loads(stream.read(header_size))
        if not isinstance(header, dict):
            raise ValueError("its header is no table")
        return header, _arrays(stream, header.pop("arrays", []), size - _FIRST_LINE - header_size)


def _checked(stream: BinaryIO, size: int) -> int:
    """The length of the header, after comparing the digest; whatever the file says, in little memory."""
    first = stream.read(_FIRST_LINE)
    if not first.startswith(_MAGIC):
        raise ValueError("it is no checkpoint of this version")
    expected, length = first[len(_MAGIC) :].split()
    header_size = int(length)
    if len(first) < _FIRST_LINE or not 0 < header_size <= min(size - _FIRST_LINE, _MAX_HEADER):
        raise ValueError("its header is not as long as it says")
    digest = hashlib.sha256()
    while piece := stream.read(_PIECE):
        digest.update(piece)
    if digest.hexdigest().encode() != expected:
        raise ValueError("its digest does not match")
    return header_size


def _arrays(stream: BinaryIO, table: list[Any], room: int) -> Arrays:
    """All arrays, once their sizes are known to add up to what is there."""
    shapes = []
    for name, kind, shape in table:
        if kind not in _TYPES or len(shape) > 2 or not all(isinstance(k, int) and k >= 0 for k in shape):
            raise ValueError(f"an array of {kind} with the shape {shape}"[:200])
        shapes.append((str(name), np.dtype(kind), tuple(shape)))
    if sum(kind.itemsize * math.prod(shape) for _, kind, shape in shapes) != room:
        raise ValueError("its arrays are not as large as the file")
    found = {}
    for name, kind, shape in shapes:
        found[name] = np.frombuffer(bytearray(stream.read(kind.itemsize * math.prod(shape))), kind).reshape(shape)
    return found


def encode(value: Any, name: str, arrays: Arrays) -> Any:
    """Plain data for the header; arrays go to ``arrays``, under names that begin with ``name``."""
    if isinstance(value, np.ndarray):
        arrays[name] = value
        return {"array": name}
    if isinstance(value, np.random.Generator):
        return {"generator": value.bit_generator.state}
    if dataclasses.is_dataclass(value):
        return {
            "fields": {
                field.name: encode(getattr(value, field.name), f"{name}.{field.name}", arrays)
                for field in dataclasses.fields(value)
            }
        }
    if isinstance(value, list | tuple):
        return [encode(item, f"{name}.{k}", arrays) for k, item in enumerate(value)]
    if isinstance(value, np.generic):
        return value.item()
    return value


def _decode(stored: Any, mould: Any, arrays: Arrays, n: int | None) -> Any:
    if isinstance(stored, dict) and "array" in stored:
        return _like(arrays[stored["array"]], mould, n)
    if isinstance(stored, dict) and "generator" in stored:
        generator = np.random.default_rng()
        generator.bit_generator.state = stored["generator"]
        return generator
    if isinstance(stored, dict):
        fields = stored["fields"]
        return dataclasses.replace(
            mould, **{name: _decode(part, getattr(mould, name), arrays, n) for name, part in fields.items()}
        )
    if isinstance(stored, list):
        return type(mould)(_decode(part, m, arrays, n) for part, m in zip(stored, mould, strict=True))
    return stored


def _like(array: NDArray[Any], mould: Any, n: int | None) -> NDArray[Any]:
    """Compiled loops trust what they are given: an array of another type or length must not get there."""
    kind = mould.dtype if isinstance(mould, np.ndarray) else np.dtype(np.float64)
    if array.dtype != kind or array.ndim != 1:
        raise ValueError(f"an array of {array.ndim} dimensions of {array.dtype} in place of one of {kind}")
    if n is not None:
        usual = len(mould) if isinstance(mould, np.ndarray) else 0
        if len(array) != usual and usual in (n, n + 1):
            raise ValueError(f"an array of {len(array)} entries in place of {usual}")
        if kind == np.intp and len(array) and not (array.min() >= -1 and array.max() <= n):
            raise ValueError(f"a number of an example that is not from 0 to {n - 1}")
    return array
