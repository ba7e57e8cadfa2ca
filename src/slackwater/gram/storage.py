"""Memory for kernel rows: one stretch, laid out anew when the selection of points changes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from slackwater.gram.source import IndexArray
from slackwater.memory import untouched
from slackwater.workers import Workers

_ROWS_MOVED = 32  # by one thread at a time


class RowMemory:
    """A stretch of memory for rows. A page written to before costs nothing; a fresh one can cost more than its values.

    Parameters
    ----------
    n_bytes : int
        Its size; pages are taken when first written to.
    """

    def __init__(self, n_bytes: int) -> None:
        self._bytes = untouched(n_bytes, np.uint8)
        self.usable = n_bytes

    def __len__(self) -> int:
        return len(self._bytes)

    def restrict(self, n_bytes: int) -> None:
        """Let rows laid out from now on use so much of it at most."""
        self.usable = min(n_bytes, len(self._bytes))

    def values(self, dtype: np.dtype[Any]) -> NDArray[Any]:
        """All of it, as one array."""
        return self._bytes[: len(self._bytes) // dtype.itemsize * dtype.itemsize].view(dtype)

    def slab(self, width: int, dtype: np.dtype[Any]) -> NDArray[Any]:
        """As many rows as fit, at most one for each column, none if only one would fit: shape (rows, width)."""
        values = self.values(dtype)
        rows = min(self.usable // dtype.itemsize // max(width, 1), width)
        rows = 0 if rows < min(2, width) else rows
        return values[: rows * width].reshape(rows, width)

    def move_rows(self, dtype: np.dtype[Any], sources: IndexArray, width: int, stride: int, workers: Workers) -> None:
        """Move ``width`` values from each of the ascending ``sources`` to the multiples of ``stride``."""
        targets = np.arange(len(sources)) * stride
        if (targets <= sources).all():
            self._move_forwards(dtype, sources, targets, width, workers)
        elif (targets >= sources).all():
            self._move_backwards(dtype, sources, targets, width, workers)
        else:
            self.move_rows(dtype, sources, width, width, workers)
            self.move_rows(dtype, np.arange(len(sources)) * width, width, stride, workers)

    def _move_forwards(
        self, dtype: np.dtype[Any], sources: IndexArray, targets: IndexArray, width: int, workers: Workers
    ) -> None:
        """The first row goes first, and with it as many as end before it began."""
        done = int(np.argmax(np.append(targets != sources, True)))  # those before stay where they are
        while done < len(sources):
            upto = max(done + 1, int(np.searchsorted(targets + width, sources[done], side="right")))
            self._copy(dtype, sources[done:upto], targets[done:upto], width, workers)
            done = min(upto, len(sources))

    def _move_backwards(
        self, dtype: np.dtype[Any], sources: IndexArray, targets: IndexArray, width: int, workers: Workers
    ) -> None:
        """The last row goes first, and with it as many as begin after it ended."""
        left = len(sources)
        while left > 0:
            first = min(left - 1, int(np.searchsorted(targets, sources[left - 1] + width)))
            self._copy(dtype, sources[first:left], targets[first:left], width, workers)
            left = first

    def _copy(
        self, dtype: np.dtype[Any], sources: IndexArray, targets: IndexArray, width: int, workers: Workers
    ) -> None:
        """Copy stretches of memory, none of which overlaps what another is copied from."""
        memory = self.values(dtype)

        def copy(start: int) -> None:
            for k in range(start, min(start + _ROWS_MOVED, len(sources))):
                memory[targets[k] : targets[k] + width] = memory[sources[k] : sources[k] + width]

        workers.run(copy, range(0, len(sources), _ROWS_MOVED))


def move_columns(slab: NDArray[Any], places: IndexArray, kept: IndexArray, workers: Workers) -> None:
    """In some rows of a slab, bring the columns ``kept`` to the front."""
    from slackwater.gram import _loops

    targets = np.flatnonzero(kept != np.arange(len(kept)))
    sources = kept[targets]

    def move(start: int) -> None:
        _loops.move_columns(slab, places[start : start + _ROWS_MOVED], sources, targets)

    workers.run(move, range(0, len(places), _ROWS_MOVED))


def compacted(kept: IndexArray) -> IndexArray:
    """Ascending columns to keep, in an order in which most stay in place: the last ones fill the gaps."""
    staying = kept[kept < len(kept)]
    order = np.empty_like(kept)
    order[staying] = staying
    gaps = np.ones(len(kept), dtype=bool)
    gaps[staying] = False
    order[gaps] = kept[len(staying) :]
    return order
