"""A model as one ``.npz`` file: arrays, and a header in JSON. No pickle, no compression, a digest over everything.

``numpy.load(path)["header"].tobytes()`` is the SHA-256 digest in hexadecimal, a line feed, and the JSON. The digest is
over that JSON and over the names and bytes of all other members in the order of their names. Members are stored as they
are, so that no file can unfold to more than its own size.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Mapping
from typing import Any

import numpy as np

from slackwater.errors import ModelFileError
from slackwater.model_io.npy import from_npy, to_npy
from slackwater.model_io.values import Arrays

MAGIC = b"PK\x03\x04"  # with which a zip archive that is not empty begins
_HEADER = "header"
_MAX_MEMBERS = 256
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the same model is the same file, whenever it is written
_DIGEST_LENGTH = 64


def packed(header: Mapping[str, Any], arrays: Arrays) -> bytes:
    """The file."""
    members = {name: to_npy(array) for name, array in arrays.items()}
    text = json.dumps(header, allow_nan=False, ensure_ascii=False, separators=(",", ":")).encode(
        "utf-8", "surrogatepass"
    )
    signed = _digest(text, members).encode() + b"\n" + text
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive:
        for name, content in {_HEADER: to_npy(np.frombuffer(signed, np.uint8)), **members}.items():
            archive.writestr(zipfile.ZipInfo(f"{name}.npy", _EPOCH), content)
    return stream.getvalue()


def unpacked(content: bytes) -> tuple[dict[str, Any], Arrays]:
    """Header and arrays; ModelFileError if the file is damaged."""
    members = _members(content)
    if _HEADER not in members:
        raise ModelFileError("it must have a header, and is an archive of something else")
    signed = from_npy(members.pop(_HEADER), _HEADER)
    if signed.dtype != np.uint8 or signed.ndim != 1:
        raise ModelFileError("its header must be bytes")
    text = signed.tobytes()[_DIGEST_LENGTH + 1 :]
    if signed.tobytes()[: _DIGEST_LENGTH + 1] != _digest(text, members).encode() + b"\n":
        raise ModelFileError("its digest must match its content, and does not: the file was damaged or changed")
    return _parsed(text), {name: from_npy(each, name) for name, each in members.items()}


def _digest(text: bytes, members: Mapping[str, bytes]) -> str:
    found = hashlib.sha256(text)
    for name in sorted(members):
        found.update(f"\0{name}\0{len(members[name])}\0".encode())
        found.update(members[name])
    return found.hexdigest()


def _members(content: bytes) -> dict[str, bytes]:
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            infos = archive.infolist()
            _require_harmless(infos, len(content))
            return {info.filename.removesuffix(".npy"): archive.read(info) for info in infos}
    except ModelFileError:
        raise
    except Exception as error:  # damaged archives make zipfile raise whatever it likes
        reason = " ".join(str(error).split())[:200]
        raise ModelFileError(f"it must be a whole archive, and is damaged ({reason})") from None


def _require_harmless(infos: list[zipfile.ZipInfo], size: int) -> None:
    """Before anything is read: few members, each stored as it is, together no larger than the file."""
    if len(infos) > _MAX_MEMBERS:
        raise ModelFileError(f"it must have at most {_MAX_MEMBERS} arrays, got {len(infos)}")
    names = {info.filename for info in infos}
    if len(names) != len(infos) or not all(name.endswith(".npy") for name in names):
        raise ModelFileError("its members must be arrays (.npy) with different names")
    for info in infos:
        if info.compress_type != zipfile.ZIP_STORED or info.flag_bits & 1 or info.file_size != info.compress_size:
            raise ModelFileError(f"member {info.filename[:60]!r} must be neither compressed nor encrypted")
    if sum(info.file_size for info in infos) > size:
        raise ModelFileError(f"its arrays must be smaller together than the file, {size} bytes")


def _parsed(text: bytes) -> dict[str, Any]:
    try:
        header = json.loads(text.decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError):
        raise ModelFileError("its header must be JSON") from None
    if not isinstance(header, dict):
        raise ModelFileError(f"its header must be a table, got {type(header).__name__}")
    return header
