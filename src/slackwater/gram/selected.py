"""Kernel rows of a selection of points, kept in one stretch of memory while the selection changes."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from slackwater.gram.features import Features
from slackwater.gram.ledger import EvaluationLedger
from slackwater.gram.source import Ahead, DenseRows, IndexArray, as_indices
from slackwater.kernels.points import Floats
from slackwater.kernels.radial import Gaussian

STEPS = 2**16 - 1  # to which values between 0 and 1 are rounded where rows are kept coarsely
ROUNDING = 1.0 / STEPS / np.sqrt(12.0)  # root mean square
_SCRATCH_BYTES = 2**26
_ROWS_MOVED = 32  # by one thread at a time


class RowMemory:
    """Where rows are kept. A page written to before costs nothing; a fresh one can take longer than its values."""

    def __init__(self, features: Features) -> None:
        largest = features.n**2 * features.points.dtype.itemsize + _SCRATCH_BYTES
        self._bytes = np.empty(min(features.cache_bytes + _SCRATCH_BYTES, largest), np.uint8)

    def scratch(self, width: int, dtype: np.dtype[Any]) -> Floats:
        """Room for a few rows: (rows, width)."""
        rows = max(1, _SCRATCH_BYTES // (width * dtype.itemsize))
        if width * dtype.itemsize > _SCRATCH_BYTES:
            return np.empty((1, width), dtype)
        return self._shaped(self._bytes[:_SCRATCH_BYTES], rows, width, dtype)

    def slab(self, width: int, dtype: np.dtype[Any]) -> NDArray[Any]:
        """Room for all rows that there is room for, at most as many as columns: (rows, width)."""
        room = self._bytes[_SCRATCH_BYTES:]
        return self._shaped(room, min(len(room) // (width * dtype.itemsize), width), width, dtype)

    @staticmethod
    def _shaped(room: NDArray[np.uint8], rows: int, width: int, dtype: np.dtype[Any]) -> NDArray[Any]:
        return room[: rows * width * dtype.itemsize].view(dtype).reshape(rows, width)


class SelectedRows:
    """Rows of the kernel matrix of some points; those last used are kept, and can be carried over to other points.

    Parameters
    ----------
    features : Features
        The points.
    memory : RowMemory
        Who had it before loses it.
    coarse : bool
        Keep values in two bytes, rounded to 1/65535: half the memory, for kernels between 0 and 1.
    """

    def __init__(self, features: Features, memory: RowMemory, coarse: bool) -> None:
        if coarse and not isinstance(features.kernel, Gaussian):
            raise ValueError("only values of a Gaussian are known to lie between 0 and 1")
        self.coarse = coarse
        self._source = features.direct_rows()
        self._memory, self._workers = memory, features.workers
        kept_dtype = np.dtype(np.uint16) if coarse else self.dtype
        self._slab = memory.slab(self.n, kept_dtype)
        self._scratch = memory.scratch(self.n, self.dtype)
        self._slot_of: OrderedDict[int, int] = OrderedDict()  # least recently used first

    @property
    def n(self) -> int:
        """Number of points."""
        return self._source.n

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the values."""
        return self._source.dtype

    @property
    def row_bytes(self) -> int:
        """Memory that a row takes."""
        return self.n * self._slab.itemsize

    @property
    def ledger(self) -> EvaluationLedger:
        """The meter of the points."""
        return self._source.ledger

    @property
    def slots(self) -> int:
        """How many rows there is room for."""
        return len(self._slab)

    def fetch(self, indices: ArrayLike, ahead: Ahead | None = None) -> DenseRows:
        """Deliver rows where they are kept; those for which there is no room, in memory of their own."""
        wanted = as_indices(indices, self.n)
        missing = [index for index in dict.fromkeys(wanted.tolist()) if not self._touched(index)]
        if len(set(wanted.tolist())) > self.slots:
            return self._source.fetch(wanted)
        slots = self._vacated(len(missing))
        for start in range(0, len(missing), len(self._scratch)):
            self._compute(missing[start : start + len(self._scratch)], slots[start : start + len(self._scratch)])
        self._slot_of.update(zip(missing, slots, strict=True))
        places = np.array([self._slot_of[index] for index in wanted.tolist()], dtype=np.intp)
        return DenseRows(self._slab, places, self._step)

    def rows(self, indices: ArrayLike, columns: ArrayLike | None = None, ahead: Ahead | None = None) -> Floats:
        """Compute rows; nothing is kept."""
        return self._source.rows(indices, columns)

    def fill_rows(self, indices: ArrayLike, out: Floats) -> None:
        """Compute rows straight into ``out``."""
        self._source.fill_rows(indices, out)

    def diagonal(self) -> NDArray[np.float64]:
        """Deliver the diagonal."""
        return self._source.diagonal()

    def carried_over(self, features: Features, kept: IndexArray, rows: IndexArray) -> SelectedRows:
        """The rows held here, for another selection and in the same memory; this object is of no use afterwards.

        Parameters
        ----------
        features : Features
            The other points: those kept first, in their order; behind them new ones, whose values are computed here.
        kept : ndarray of int
            The points of this selection that stay, ascending.
        rows : ndarray of int
            Rows to carry over, among those kept and by their numbers so far; those that are not held are left out.
        """
        other = SelectedRows(features, self._memory, self.coarse)
        held = sorted((self._slot_of[row], row) for row in rows.tolist() if row in self._slot_of)[: other.slots]
        places, numbers = np.array(held, dtype=np.intp).reshape(-1, 2).T
        self._bring_together(places, kept)
        other._draw_apart(len(places), len(kept))
        other._complete(np.searchsorted(kept, numbers), len(kept))
        return other

    @property
    def _step(self) -> float:
        return 1.0 / STEPS if self.coarse else 1.0

    def _touched(self, index: int) -> bool:
        """Whether a row is here; it counts as just used."""
        if index not in self._slot_of:
            return False
        self._slot_of.move_to_end(index)
        return True

    def _vacated(self, count: int) -> list[int]:
        """Slots, unused ones first, then those of the rows least recently used."""
        used = len(self._slot_of)
        fresh = min(count, self.slots - used)
        return [*range(used, used + fresh), *(self._slot_of.popitem(last=False)[1] for _ in range(count - fresh))]

    def _compute(self, indices: list[int], slots: list[int]) -> None:
        scratch = self._scratch[: len(indices)]
        self._source.fill_rows(indices, scratch)
        self._keep(scratch, np.array(slots, dtype=np.intp), 0)

    def _complete(self, rows: IndexArray, known: int) -> None:
        """These rows are in the first slots; of their columns only the first ``known`` are there yet."""
        scratch = self._memory.scratch(max(self.n - known, 1), self.dtype)
        for start in range(0, len(rows) if known < self.n else 0, len(scratch)):
            part = rows[start : start + len(scratch)]
            self._source.fill_rows(part, scratch[: len(part)], known)
            self._keep(scratch[: len(part)], np.arange(start, start + len(part)), known)
        self._slot_of.update(zip(rows.tolist(), range(len(rows)), strict=True))

    def _bring_together(self, places: IndexArray, kept: IndexArray) -> None:
        """Move some columns of the rows at these places to the front of the memory: the first row goes first.

        So many rows are moved side by side as do not overwrite what the others of them have still to read.
        """
        sources = places * self.n
        done = int(np.count_nonzero(places == np.arange(len(places)))) if len(kept) == self.n else 0  # they stay
        while done < len(places):
            upto = max(done + 1, min(len(places), int(sources[done]) // max(len(kept), 1)))
            self._move(sources[done:upto], kept, done, len(kept))
            done = upto

    def _draw_apart(self, rows: int, width: int) -> None:
        """Give rows of this width, which follow one another, the room of all columns: the last row goes first."""
        columns = np.arange(width)
        left = rows
        while left > 0 and width < self.n:
            upto = min(left - 1, -(-left * width // self.n))
            self._move(np.arange(upto, left) * width, columns, upto, self.n)
            left = upto

    def _move(self, sources: IndexArray, columns: IndexArray, first: int, width: int) -> None:
        from slackwater.gram import _loops

        memory = self._slab.reshape(-1)

        def move(start: int) -> None:
            _loops.move_rows(memory, sources[start : start + _ROWS_MOVED], columns, first + start, width)

        self._workers.run(move, range(0, len(sources), _ROWS_MOVED))

    def _keep(self, values: Floats, slots: IndexArray, first: int) -> None:
        from slackwater.gram import _loops

        def keep(start: int) -> None:
            part = slice(start, start + _ROWS_MOVED)
            if self.coarse:
                _loops.keep_coarsely(values[part], self._slab, slots[part], first)
            else:
                self._slab[slots[part], first:] = values[part]

        self._workers.run(keep, range(0, len(slots), _ROWS_MOVED))
