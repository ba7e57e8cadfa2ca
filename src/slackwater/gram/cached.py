"""Kernel rows kept in memory under a byte budget."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from slackwater.gram.ledger import EvaluationLedger
from slackwater.gram.source import Ahead, DenseRows, IndexArray, Mask, RowSource, as_indices, read_only
from slackwater.kernels.points import Floats
from slackwater.memory import untouched


class CachedRows:
    """The rows last used, kept; over any other source.

    Only K is kept, never labels, so that all one-vs-rest problems share the rows. A row found here costs no
    evaluations. Rows asked for with ``columns`` are served from full rows where those are here, and are not
    kept.

    Not for use by several threads at once: rows delivered are views of memory that the next call may write
    to.

    Parameters
    ----------
    source : RowSource
        Computes what is not here.
    budget_bytes : int
        Memory for the kept rows and for the scratch block together. Under two rows nothing is kept, and every
        call goes through to the source. Only requests for more rows than the scratch block holds, or for some
        columns, are answered in memory of their own beside the budget.
    block_rows : int, default=64
        Most rows computed together on behalf of ``ahead``, and size of the scratch block.
    """

    def __init__(self, source: RowSource, budget_bytes: int, block_rows: int = 64) -> None:
        if budget_bytes < 0:
            raise ValueError(f"budget_bytes must be >= 0, got {budget_bytes}. 0 keeps nothing.")
        if block_rows < 1:
            raise ValueError(f"block_rows must be >= 1, got {block_rows}.")
        self.source = source
        self.block_rows = block_rows
        affordable = budget_bytes // max(1, source.n * source.dtype.itemsize)
        spare = min(block_rows, affordable // 4)
        self.slots = min(affordable - spare, source.n) if affordable >= 2 else 0
        self._slab = untouched((self.slots, source.n), source.dtype)  # pages are taken when first written
        self._shown = read_only(self._slab)
        self._scratch = np.empty((spare if self.slots else 0, source.n), source.dtype)
        self._slot_of: OrderedDict[int, int] = OrderedDict()  # least recently used first
        self._free = 0  # slots below this one have been taken

    @property
    def n(self) -> int:
        """Number of training points."""
        return self.source.n

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the values."""
        return self.source.dtype

    @property
    def row_bytes(self) -> int:
        """Memory that a row takes."""
        return self.n * self.dtype.itemsize

    @property
    def ledger(self) -> EvaluationLedger:
        """The source's ledger: this class computes nothing."""
        return self.source.ledger

    def __contains__(self, index: int) -> bool:
        return index in self._slot_of

    @property
    def nbytes(self) -> int:
        """Memory set aside."""
        return self._slab.nbytes + self._scratch.nbytes

    def rows(self, indices: ArrayLike, columns: ArrayLike | None = None, ahead: Ahead | None = None) -> Floats:
        """Deliver rows, computing those that are not here. One row, or neighbours, come as a view."""
        if columns is None or self.slots == 0:
            slots = self._bring_in(indices, ahead) if columns is None else None
            return self._gather(slots) if slots is not None else self._pass_through(indices, columns)
        wanted = as_indices(indices, self.n)
        return read_only(self._some_columns(wanted, as_indices(columns, self.n, "columns")))

    def fetch(self, indices: ArrayLike, ahead: Ahead | None = None, passing: Mask | None = None) -> DenseRows:
        """Deliver rows where they are kept; those for which there is no room, in memory of their own."""
        slots = self._bring_in(indices, ahead)
        if slots is not None:
            return DenseRows(self._shown, np.array(slots, dtype=np.intp))
        values = self._pass_through(indices, None)
        return DenseRows(values, np.arange(len(values)))

    def _bring_in(self, indices: ArrayLike, ahead: Ahead | None) -> list[int] | None:
        """Where the rows are, after computing those that were missing; None if there is no room for all of them."""
        slots = self._slots_of(indices)
        if slots:
            return slots
        wanted = as_indices(indices, self.n)
        missing = self._touch(wanted)
        held = len(set(wanted.tolist())) - len(missing)
        if len(missing) + held > self.slots:
            return None
        if missing:
            self._bring(missing, ahead, held)
        return [self._slot_of[index] for index in wanted.tolist()]

    def _pass_through(self, indices: ArrayLike, columns: ArrayLike | None) -> Floats:
        """Rows of a request that is too large to be kept: those that are here copied, the others computed."""
        if self.slots == 0:
            return self.source.rows(indices, columns)
        wanted = as_indices(indices, self.n)
        out = np.empty((wanted.size, self.n), self.dtype)
        self._assemble(wanted, out)
        return read_only(out)

    def fill_rows(self, indices: ArrayLike, out: Floats) -> None:
        """Write rows into ``out``; what is computed for it is not kept."""
        wanted = as_indices(indices, self.n)
        self._touch(wanted)
        self._assemble(wanted, out)

    def square(self, indices: IndexArray) -> Floats:
        """Have the values of some points with one another computed; nothing is kept."""
        return self.source.square(indices)

    def diagonal(self) -> NDArray[np.float64]:
        """Deliver the diagonal."""
        return self.source.diagonal()

    def _slots_of(self, indices: ArrayLike) -> list[int] | None:
        """Where the rows are, if all are here: the usual case, kept to a few microseconds."""
        wanted: Any = indices.tolist() if isinstance(indices, np.ndarray) else indices
        try:
            slots = [self._slot_of[index] for index in wanted]
        except (KeyError, TypeError):  # missing, or no list of integers: found out with care elsewhere
            return None
        for index in wanted:
            self._slot_of.move_to_end(index)
        return slots

    def _touch(self, wanted: IndexArray) -> list[int]:
        """Mark the wanted rows as just used, so that none is evicted for another; return the missing."""
        missing: dict[int, None] = {}
        for index in wanted.tolist():
            if index in self._slot_of:
                self._slot_of.move_to_end(index)
            else:
                missing[index] = None
        return list(missing)

    def _bring(self, missing: list[int], ahead: Ahead | None, held: int) -> None:
        """Compute missing rows into slots, and rows wanted next in the same block."""
        extra = [] if ahead is None else self._expected(ahead, missing, held)
        batch = extra + missing  # the missing rows are the most recently used
        slots = self._vacate(len(batch))
        step = max(1, self._scratch.shape[0], self._run_length(slots))
        for start in range(0, len(batch), step):
            self._compute(batch[start : start + step], slots[start : start + step])

    def _expected(self, ahead: Ahead, missing: list[int], held: int) -> list[int]:
        room = min(self.block_rows - len(missing), self.slots // 2, self.slots - held - len(missing))
        remaining = self.ledger.remaining
        if remaining is not None:
            room = min(room, remaining // self.n // 4 - len(missing))  # a small budget is not for guesses
        if room <= 0:
            return []
        taken = set(missing)
        candidates = dict.fromkeys(as_indices(ahead(), self.n, "ahead").tolist())
        useful = [index for index in candidates if index not in self._slot_of and index not in taken]
        return useful[:room][::-1]  # most urgent last: it is evicted last

    def _vacate(self, count: int) -> list[int]:
        """Take ``count`` slots, unused ones first, then the least recently used; in memory order."""
        fresh = min(count, self.slots - self._free)
        slots = list(range(self._free, self._free + fresh))
        self._free += fresh
        slots += [self._slot_of.popitem(last=False)[1] for _ in range(count - fresh)]
        return sorted(slots)

    @staticmethod
    def _run_length(slots: list[int]) -> int:
        """Length of the slots if they follow one another, else 0."""
        return len(slots) if slots[-1] - slots[0] == len(slots) - 1 else 0

    def _compute(self, indices: list[int], slots: list[int]) -> None:
        try:
            if self._run_length(slots):
                self.source.fill_rows(indices, self._slab[slots[0] : slots[-1] + 1])
            else:  # rows that were evicted here and there
                scratch = self._scratch[: len(indices)]
                self.source.fill_rows(indices, scratch)
                self._slab[slots] = scratch
        except BaseException:
            self._forget()
            raise
        self._slot_of.update(zip(indices, slots, strict=True))

    def _forget(self) -> None:
        """Start anew: after a failure the vacated slots hold nothing that can be trusted."""
        self._slot_of.clear()
        self._free = 0

    def _gather(self, slots: list[int]) -> Floats:
        """Rows in these slots, read-only: as a view where the slots follow one another, else as a copy."""
        first = slots[0] if slots else 0
        if slots == list(range(first, first + len(slots))):
            return self._shown[first : first + len(slots)]
        if len(slots) > len(self._scratch):
            return read_only(self._slab[slots])
        return read_only(np.take(self._slab, slots, axis=0, out=self._scratch[: len(slots)], mode="clip"))

    def _assemble(self, wanted: IndexArray, out: Floats) -> None:
        """Copy rows that are here, compute the others straight into ``out``; keep nothing."""
        here = np.array([index in self._slot_of for index in wanted.tolist()], dtype=bool)
        for position in np.flatnonzero(here):
            out[position] = self._slab[self._slot_of[int(wanted[position])]]
        absent = np.flatnonzero(~here)
        for positions in np.split(absent, np.flatnonzero(np.diff(absent) != 1) + 1):
            if positions.size:
                self.source.fill_rows(wanted[positions], out[positions[0] : positions[-1] + 1])

    def _some_columns(self, wanted: IndexArray, columns: IndexArray) -> Floats:
        out = np.empty((wanted.size, columns.size), self.dtype)
        missing = self._touch(wanted)
        for position, index in enumerate(wanted.tolist()):
            if index in self._slot_of:
                np.take(self._slab[self._slot_of[index]], columns, out=out[position], mode="clip")
        if missing:
            values = self.source.rows(missing, columns)
            place = {index: position for position, index in enumerate(missing)}
            for position, index in enumerate(wanted.tolist()):
                if index in place:
                    out[position] = values[place[index]]
        return out
