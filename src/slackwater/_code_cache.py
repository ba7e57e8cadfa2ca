"""Compiled loops on disk: one file for each loop and signature, found by a digest of all that it depends on.

numba's own cache has an index file for each loop, in which processes that compile at the same time overwrite one
another's entries, of a folder that has to be writable; and it does not notice when a loop of another file changes that
a loop calls. Here names are digests, so there is no index; files are checked before they are used; and a folder that
was filled when an image was built may be read-only.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import pickle
import platform
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numba
from numba.core.compiler import CompileResult
from numba.core.runtime import rtsys
from numba.core.serialize import dumps

_PACKAGE = Path(__file__).parent
_DIGEST = 16  # bytes
_PREFIX = "loops-"
_IMPORTED = re.compile(r"^from slackwater\.([\w.]+) import", re.MULTILINE)
_MONTH = 30 * 24 * 3600.0  # seconds


@functools.cache
def source_digest() -> str:
    """Of all sources that are compiled or write compiled code, and of the compiler: any change makes all code stale."""
    digest = hashlib.blake2b(f"{numba.__version__} {sys.version_info[:2]}".encode(), digest_size=8)
    sources = set(_PACKAGE.rglob("*_loops.py"))
    for loops in tuple(sources):  # constants come from other modules
        sources |= {_module(name) for name in _IMPORTED.findall(loops.read_text(encoding="utf-8"))}
    for source in sorted(sources):
        digest.update(source.read_bytes())
    return digest.hexdigest()


def _module(name: str) -> Path:
    """The file of a module of this package."""
    path = _PACKAGE.joinpath(*name.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def _user_folder() -> Path | None:
    """Where caches of this user are kept; None if there is no such place."""
    given = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    folder = Path(given) if given else Path(os.path.expanduser("~")) / ".cache"
    return folder / "slackwater" if folder.is_absolute() else None  # "~" itself, where there is no home


@functools.cache
def folders() -> tuple[Path, ...]:
    """Where compiled loops are looked for; they are written to the first that can be written to."""
    given = os.environ.get("NUMBA_CACHE_DIR")
    places = [Path(given) / "slackwater"] if given else [_PACKAGE / "__pycache__", _user_folder()]
    return tuple(place / f"{_PREFIX}{source_digest()}" for place in places if place is not None)


@functools.cache
def writable_folder() -> Path | None:
    """The first folder that can be written to, made if need be; None if there is none."""
    for folder in folders():
        with contextlib.suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=folder).close()
            _remove_stale(folder)
            return folder
    return None


def _remove_stale(current: Path) -> None:
    """Code of other versions: all of it beside the sources, elsewhere what nobody has added to for a month."""
    for other in set(current.parent.glob(f"{_PREFIX}*")) - {current}:
        if current.parent == _PACKAGE / "__pycache__" or time.time() - other.stat().st_mtime > _MONTH:
            shutil.rmtree(other, ignore_errors=True)


class LoopCache:
    """The compiled forms of one function, in the interface that numba's dispatchers expect."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._name = f"{function.__module__}.{function.__qualname__}"

    @property
    def cache_path(self) -> str | None:
        """Where it is written to."""
        folder = writable_folder()
        return None if folder is None else str(folder)

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        """The code for a signature; None if there is none for this processor, or none that can be read.

        Code needs numba's runtime, but not what the compiler knows of types and functions: to load that takes 0.15 s,
        and the compiler does so by itself where it is needed.
        """
        rtsys.initialize(target_context)
        name = self._file_name(signature, target_context.codegen())
        for payload in self._payloads(name):
            with contextlib.suppress(Exception):  # of another build of the compiler: as if it were not there
                return CompileResult._rebuild(target_context, *pickle.loads(payload))
        return None

    def save_overload(self, signature: Any, result: Any) -> None:
        """Keep the code for a signature, if there is a place for it."""
        folder = writable_folder()
        if folder is None or result.library.has_dynamic_globals:
            return
        name, payload = self._file_name(signature, result.codegen), dumps(result._reduce())
        with contextlib.suppress(OSError):  # a full disk must not end a fit
            _write(folder / name, hashlib.blake2b(payload, digest_size=_DIGEST).digest() + payload)

    def enable(self) -> None:
        """It always is."""

    def disable(self) -> None:
        """It never is."""

    def flush(self) -> None:
        """Files go when the sources change."""

    def _file_name(self, signature: Any, codegen: Any) -> str:
        key = repr((self._name, signature, codegen.magic_tuple(), platform.machine()))
        return f"{self._name.rsplit('.', 1)[-1]}-{hashlib.blake2b(key.encode(), digest_size=_DIGEST).hexdigest()}"

    def _payloads(self, name: str) -> Iterator[bytes]:
        """What the folders have by that name, as far as it is whole: damaged machine code would crash the process."""
        for folder in folders():
            with contextlib.suppress(OSError):
                content = (folder / name).read_bytes()
                digest, payload = content[:_DIGEST], content[_DIGEST:]
                if hashlib.blake2b(payload, digest_size=_DIGEST).digest() == digest:
                    yield payload


def _write(path: Path, content: bytes) -> None:
    """As a whole or not at all, also beside other processes that write the same."""
    handle, part = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.chmod(part, 0o644)  # an image is built by one user and run by another
        os.replace(part, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(part)
        raise
