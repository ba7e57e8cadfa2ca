"""Training state on disk: written whole or not at all, read without executing anything.

A checkpoint is a line with a digest, then a ``.npz`` archive: numeric arrays, and a JSON header under the name
``header``. The digest is checked before anything is parsed. States are dataclasses of arrays, numbers, generators and
such dataclasses; a fresh state of the same solver serves as the mould into which a stored one is poured, so the file
need not name any Python type.
"""

from __future__ import annotations

import dataclasses
import hashlib
import io
import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slackwater.errors import CheckpointError
from slackwater.files import replace_file

_MAGIC = b"slackwater checkpoint 1 "


class Saved(NamedTuple):
    """What a checkpoint holds beside the states."""

    evaluations: int
    seconds: float
    history: NDArray[np.float64]


def write_checkpoint(path: Path, fingerprint: str, states: list[Any], saved: Saved) -> None:
    """Replace the file at ``path`` in one move; a crash or a full disk leaves the former one as it was."""
    arrays: dict[str, NDArray[Any]] = {"history": saved.history}
    header = {
        "fingerprint": fingerprint,
        "evaluations": saved.evaluations,
        "seconds": saved.seconds,
        "states": [_encode(state, f"state{k}", arrays) for k, state in enumerate(states)],
    }
    arrays["header"] = np.array(json.dumps(header))
    archive = io.BytesIO()
    np.savez(archive, **arrays)  # type: ignore[arg-type]
    replace_file(path, _signed(archive.getvalue()))


def _signed(archive: bytes) -> bytes:
    return _MAGIC + hashlib.sha256(archive).hexdigest().encode() + b"\n" + archive


def require_writable(path: Path) -> None:
    """Find out before a long run whether a checkpoint can be written."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(path.name + ".part")
        part.touch()
        part.unlink()
    except (OSError, ValueError) as error:
        raise CheckpointError(
            f"checkpoint {str(path)!r} cannot be written ({error}). Give a path in a folder that can be written to."
        ) from error


def read_checkpoint(path: Path, fingerprint: str, moulds: list[Any]) -> tuple[list[Any], Saved]:
    """States and totals stored at ``path``; CheckpointError if they are damaged or of another problem."""
    try:
        arrays, header = _parsed(path.read_bytes())
    except Exception as error:  # damaged files make zipfile, NumPy and json raise whatever they like
        raise CheckpointError(
            f"checkpoint {str(path)!r} cannot be read ({error}). Delete the file to start afresh."
        ) from error
    if header.get("fingerprint") != fingerprint:
        raise CheckpointError(
            f"checkpoint {str(path)!r} belongs to other data or other parameters than this fit. "
            "Give another path, or delete the file to start afresh."
        )
    try:
        states = [_decode(s, m, arrays) for s, m in zip(header["states"], moulds, strict=True)]
        saved = Saved(int(header["evaluations"]), float(header["seconds"]), arrays["history"])
    except (KeyError, ValueError, TypeError, AttributeError) as error:
        raise CheckpointError(
            f"checkpoint {str(path)!r} is damaged ({error}). Delete the file to start afresh."
        ) from error
    return states, saved


def _parsed(content: bytes) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    start = len(_MAGIC) + 65
    if content[:start] != _signed(content[start:])[:start]:
        raise ValueError("it is no checkpoint of this version, or its digest does not match")
    with np.load(io.BytesIO(content[start:]), allow_pickle=False) as archive:
        arrays = dict(archive)
    header = json.loads(str(arrays["header"]))
    if not isinstance(header, dict):
        raise ValueError("its header is no table")
    return arrays, header


def _encode(value: Any, name: str, arrays: dict[str, NDArray[Any]]) -> Any:
    if isinstance(value, np.ndarray):
        arrays[name] = value
        return {"array": name}
    if isinstance(value, np.random.Generator):
        return {"generator": value.bit_generator.state}
    if dataclasses.is_dataclass(value):
        return {
            "fields": {
                field.name: _encode(getattr(value, field.name), f"{name}.{field.name}", arrays)
                for field in dataclasses.fields(value)
            }
        }
    if isinstance(value, list | tuple):
        return [_encode(item, f"{name}.{k}", arrays) for k, item in enumerate(value)]
    if isinstance(value, np.generic):
        return value.item()
    return value


def _decode(stored: Any, mould: Any, arrays: dict[str, NDArray[Any]]) -> Any:
    if isinstance(stored, dict) and "array" in stored:
        return _like(arrays[stored["array"]], mould)
    if isinstance(stored, dict) and "generator" in stored:
        generator = np.random.default_rng()
        generator.bit_generator.state = stored["generator"]
        return generator
    if isinstance(stored, dict):
        fields = stored["fields"]
        return dataclasses.replace(
            mould, **{name: _decode(part, getattr(mould, name), arrays) for name, part in fields.items()}
        )
    if isinstance(stored, list):
        return type(mould)(_decode(part, m, arrays) for part, m in zip(stored, mould, strict=True))
    return stored


def _like(array: NDArray[Any], mould: Any) -> NDArray[Any]:
    """Compiled loops trust what they are given: an array of another type must not get there."""
    kind = mould.dtype if isinstance(mould, np.ndarray) else np.dtype(np.float64)
    if array.dtype != kind or array.ndim != 1:
        raise ValueError(f"an array of {array.ndim} dimensions of {array.dtype} in place of one of {kind}")
    return array
