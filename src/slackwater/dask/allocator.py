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
_TRIM, _MAP = -1, -3  # names of numbers in glibc's mallopt: bytes free at the top before they go back to the system,
_KEPT, _LARGEST = 2**26, 2**25  # and of an array before it has pages of its own (the most that glibc allows)
_DEFAULT_MAP = 2**17

_lock = threading.Lock()
_holders = 0


def hold() -> None:
    """Keep what is freed, up to 64 MB, from now on."""
    _count(1)


def let_go() -> None:
    """Give it back as before, if nobody else holds it."""
    _count(-1)


def _count(change: int) -> None:
    global _holders
    with _lock:
        before, _holders = _holders, _holders + change
        asked = os.environ.get(VARIABLE, "")
        if asked.isdigit() and bool(before) != bool(_holders):
            _set(_KEPT if _holders else int(asked), _LARGEST if _holders else _DEFAULT_MAP)


def _set(trim: int, largest: int) -> None:
    try:
        libc = ctypes.CDLL(None)
        libc.mallopt(_TRIM, trim)
        libc.mallopt(_MAP, largest)
        if trim < _KEPT:
            libc.malloc_trim(0)
    except (OSError, AttributeError):  # another C library
        return
