"""Training state on disk: written whole or not at all, read without executing anything.

A checkpoint is a ``.npz`` archive: numeric arrays, and a JSON header under the name ``header``. States are
dataclasses of arrays, numbers, generators and such dataclasses; a fresh state of the same solver serves as the
mould into which a stored one is poured, so the file need not name any Python type.
"""

from __future__ import annotations

import dataclasses
import json
import os
import tempfile
import zipfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slackwater.errors import CheckpointError

_FORMAT = 1


class Saved(NamedTuple):
    """What a checkpoint holds beside the states."""

    evaluations: int
    seconds: float
    history: NDArray[np.float64]


def write_checkpoint(path: Path, fingerprint: str, states: list[Any], saved: Saved) -> None:
    """Replace the file at ``path`` in one move; a crash or a full disk leaves the former one as it was."""
    arrays: dict[str, NDArray[Any]] = {"history": saved.history}
    header = {
        "format": _FORMAT,
        "fingerprint": fingerprint,
        "evaluations": saved.evaluations,
        "seconds": saved.seconds,
        "states": [_encode(state, f"state{k}", arrays) for k, state in enumerate(states)],
    }
    arrays["header"] = np.array(json.dumps(header))
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".part")
    try:
        with os.fdopen(handle, "wb") as stream:
            np.savez(stream, **arrays)  # type: ignore[arg-type]
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


def read_checkpoint(path: Path, fingerprint: str, moulds: list[Any]) -> tuple[list[Any], Saved]:
    """States and totals stored at ``path``; CheckpointError if they are damaged or of another problem."""
    try:
        # Opened here because np.load does not close a file that it finds to be no archive.
        with open(path, "rb") as stream, np.load(stream, allow_pickle=False) as archive:
            arrays = dict(archive)
        header = json.loads(str(arrays["header"]))
        found = header["fingerprint"]
        version = header["format"]
    except (OSError, EOFError, KeyError, ValueError, TypeError, zipfile.BadZipFile) as error:
        raise CheckpointError(
            f"checkpoint {str(path)!r} cannot be read ({error}). Delete the file to start afresh."
        ) from error
    if version != _FORMAT:
        raise CheckpointError(
            f"checkpoint {str(path)!r} has format {version!r}; this version reads {_FORMAT}. "
            "Delete the file to start afresh."
        )
    if found != fingerprint:
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
        return arrays[stored["array"]]
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
