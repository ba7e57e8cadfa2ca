"""A worker keeps some of the memory that it frees, as long as it holds a shard.

Dask starts workers with MALLOC_TRIM_THRESHOLD_=65536: what is freed goes back to the system at once. Then every array
of a round is made of fresh pages, and a page touched for the first time takes longer than the kernel values written to
it. Without that variable, and on systems without glibc, nothing is done here.
"""

from __future__ import annotations

import ctypes
import os
import threading

VARIABLE = "MALLOC_TRIM_THRESHOLD_"
_TRIM, _MAP = (
    -1,
    -3,
)  # numbers in glibc's mallopt: bytes free before they go back, bytes of an array with pages of its own
_MOST, _SHARE = 2**26, 64  # bytes kept: not more than 64 MB, nor than a 64th of the worker's memory
_DEFAULT_MAP = 2**17

_lock = threading.Lock()
_holders = 0


def hold(memory_limit: int = 0) -> None:
    """Keep some of what is freed from now on; ``memory_limit`` is the worker's, in bytes, 0 if it has none."""
    kept = min(_MOST, memory_limit // _SHARE) if memory_limit else _MOST
    _count(1, kept)


def let_go() -> None:
    """Give it back as before, if nobody else holds it."""
    _count(-1, 0)


def _count(change: int, kept: int) -> None:
    global _holders
    with _lock:
        before, _holders = _holders, _holders + change
        asked = os.environ.get(VARIABLE, "")
        if not asked.isdigit() or bool(before) == bool(_holders):
            return
        if _holders:
            _set(max(kept, int(asked)), max(kept // 2, _DEFAULT_MAP), trim=False)
        else:
            _set(int(asked), _DEFAULT_MAP, trim=True)


def _set(free: int, largest: int, trim: bool) -> None:
    """``largest`` is at most 2**25: the most that glibc allows."""
    try:
        libc = ctypes.CDLL(None)
        libc.mallopt(_TRIM, free)
        libc.mallopt(_MAP, largest)
        if trim:
            libc.malloc_trim(0)
    except (OSError, AttributeError):  # another C library
        return
