"""A ``StoredModel`` as the bytes of a model file, and back: the first format version."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from slackwater.errors import ModelFileError
from slackwater.model_io.archive import packed, unpacked
from slackwater.model_io.model import StoredKernel, StoredModel
from slackwater.model_io.values import Arrays, decode, encode
from slackwater.versions import core_versions

FORMAT = "slackwater model"
VERSION = 1  # a reader reads all versions up to its own
_ATTRIBUTE = re.compile(r"[a-zA-Z][a-zA-Z0-9_]*_")
_PARAMETER = re.compile(r"[a-zA-Z][a-zA-Z0-9_]*")
_INTERNAL = re.compile(r"[a-z][a-z0-9_]*")


def to_bytes(model: StoredModel) -> bytes:
    """The file. TypeError names what cannot be stored."""
    arrays: Arrays = {}
    header = {
        "format": FORMAT,
        "version": VERSION,
        "estimator": model.estimator,
        "parameters": {name: encode(value, name, arrays) for name, value in model.parameters.items()},
        "kernel": None if model.kernel is None else _encode_kernel(model.kernel, arrays),
        "attributes": {name: encode(value, name, arrays) for name, value in model.attributes.items()},
        "internals": {name: encode(value, f"internal.{name}", arrays) for name, value in model.internals.items()},
        "written_by": core_versions(),
    }
    return packed(header, arrays)


def from_bytes(content: bytes) -> StoredModel:
    """The model; ModelFileError where the file is damaged, of another kind or of a later version."""
    header, arrays = unpacked(content)
    _require_format(header)
    try:
        return StoredModel(
            _text(header, "estimator"),
            {name: decode(value, arrays) for name, value in _table(header, "parameters", _PARAMETER).items()},
            {name: decode(value, arrays) for name, value in _table(header, "attributes", _ATTRIBUTE).items()},
            {name: decode(value, arrays) for name, value in _table(header, "internals", _INTERNAL).items()},
            _decode_kernel(header.get("kernel"), arrays),
        )
    except RecursionError:
        raise ModelFileError("its header must not be nested so deeply") from None


def _require_format(header: dict[str, Any]) -> None:
    if header.get("format") != FORMAT:
        raise ModelFileError(f"its format must be {FORMAT!r}, got {str(header.get('format'))[:60]!r}")
    number = header.get("version")
    if type(number) is not int or number < 1:
        raise ModelFileError(f"its version must be a whole number >= 1, got {str(number)[:60]!r}")
    if number > VERSION:
        writer = header.get("written_by")
        by = writer.get("slackwater", "?") if isinstance(writer, dict) else "?"
        raise ModelFileError(
            f"its version must be at most {VERSION}, got {number}: it was written by slackwater {str(by)[:20]}. "
            "Install that version or a later one"
        )


def _text(header: dict[str, Any], name: str) -> str:
    value = header.get(name)
    if not isinstance(value, str):
        raise ModelFileError(f"{name} must be text, got {str(value)[:60]!r}")
    return value


def _table(header: dict[str, Any], name: str, keys: re.Pattern[str]) -> dict[str, Any]:
    value = header.get(name)
    if not isinstance(value, dict):
        raise ModelFileError(f"{name} must be a table, got {str(value)[:60]!r}")
    for key in value:
        if keys.fullmatch(key) is None:
            raise ModelFileError(f"{name} must have names of {name}, got {key[:60]!r}")
    return value


def _encode_kernel(kernel: StoredKernel, arrays: Arrays) -> dict[str, Any]:
    return {
        "name": kernel.name,
        "parameters": {name: encode(value, name, arrays) for name, value in kernel.parameters.items()},
        "custom": kernel.custom,
        "probe": encode(kernel.probe, "kernel.probe", arrays),
    }


def _decode_kernel(stored: Any, arrays: Arrays) -> StoredKernel | None:
    if stored is None:
        return None
    if not isinstance(stored, dict) or not isinstance(stored.get("custom"), bool):
        raise ModelFileError("kernel must be a table that says whether it is custom")
    parameters = {name: decode(value, arrays) for name, value in _table(stored, "parameters", _PARAMETER).items()}
    if any(type(value) not in (int, float) for value in parameters.values()):
        raise ModelFileError(f"the parameters of a kernel must be numbers, got {str(parameters)[:60]}")
    probe = decode(stored.get("probe"), arrays)
    if probe is not None and not _is_square(probe):
        raise ModelFileError("the kernel values of a custom kernel must be a square matrix of numbers")
    return StoredKernel(_text(stored, "name"), parameters, stored["custom"], probe)


def _is_square(probe: Any) -> bool:
    return (
        isinstance(probe, np.ndarray) and probe.dtype == np.float64 and probe.ndim == 2 and len(set(probe.shape)) == 1
    )
