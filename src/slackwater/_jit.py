"""The one door to the compiler: how every compiled loop of the package is built.

Only ``_loops.py`` modules import this file, and they are imported when first needed, so that importing
slackwater does not pay for importing numba.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numba

F = TypeVar("F", bound=Callable[..., Any])

# Lets LLVM reorder and fuse sums, which is what vectorises a reduction. A comparison with NaN stays false ("nnan" is
# absent), but do not count on what arithmetic makes of NaN: older LLVMs take x·0 + y for y.
REORDER = frozenset({"reassoc", "contract", "arcp", "nsz"})


def _drop_stale_caches() -> None:
    """Delete compiled code that is older than any loop's source.

    numba compiles a loop anew when its own file changes, but not when a loop of another file that it calls does.
    """
    package = Path(__file__).parent
    newest = max(source.stat().st_mtime for source in [*package.rglob("*_loops.py"), Path(__file__)])
    for index in package.rglob("*_loops.*.nbi"):
        if index.stat().st_mtime < newest:
            index.unlink(missing_ok=True)


with contextlib.suppress(OSError):  # an installation that cannot be written to: its files do not change either
    _drop_stale_caches()


def compiled(function: F) -> F:
    """Compile ``function`` to machine code; it releases the GIL and is kept on disk between runs."""
    return _build(function, fastmath=False)


def compiled_reordering(function: F) -> F:
    """As ``compiled``, with sums free to be reordered (last-bit differences, several times the speed)."""
    return _build(function, fastmath=set(REORDER))


def compiled_summing(function: F) -> F:
    """As ``compiled``, with sums free to be reordered and nothing else: NaN is never lost, whatever the LLVM."""
    return _build(function, fastmath={"reassoc"})


def _build(function: F, **options: Any) -> F:
    options.update(nogil=True, error_model="numpy")
    if function.__name__.startswith("_"):  # by convention called from compiled code only: quicker to compile
        options.update(no_cpython_wrapper=True, no_cfunc_wrapper=True)
    try:
        dispatcher: F = numba.njit(cache=True, **options)(function)
    except RuntimeError:  # no writable place for the disk cache: compile anew in each process
        dispatcher = numba.njit(**options)(function)
    return dispatcher
