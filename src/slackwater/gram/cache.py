"""The row cache: kernel rows kept in memory under a byte budget."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from slackwater.gram.ledger import EvaluationLedger
from slackwater.gram.slots import SlotTable
from slackwater.gram.source import Ahead, ComputedRows, DenseRows, IndexArray, Mask, as_indices, read_only
from slackwater.gram.storage import RowMemory, move_columns
from slackwater.kernels.destinations import TWO_BYTE_STEPS
from slackwater.points import Floats
from slackwater.workers import Workers

TWO_BYTE_ROUNDING = 1.0 / TWO_BYTE_STEPS / np.sqrt(12.0)  # root mean square
BLOCK_ROWS = 64  # rows computed together on behalf of a prefetch, at most
_MIN_GATHERED_BY_THREADS = 2**18  # values of a square, for a second thread to be worth waking


class RowCache:
    """The rows last used, over any source that computes rows.

    Only K is kept, never labels, so that all one-vs-rest problems share the rows. A row found here costs no
    evaluations. Rows are computed straight into their slots, those wanted next in the same block. When the selection of
    points changes, rows can be carried over.

    Not for use by several threads at once, but for ``square``: rows delivered are views of memory that the next call
    may write to.

    Parameters
    ----------
    source : ComputedRows
        Computes what is not here.
    memory : RowMemory
        Where rows are kept; whoever had it before loses it. Where fewer than two rows fit nothing is kept, and every
        call goes through to the source. ``fetch`` of more rows than fit, and ``rows`` of several, are answered in
        memory of their own.
    two_bytes : bool, default=False
        Keep values in two bytes, rounded to 1/65535: half the memory, for kernels between 0 and 1.
    workers : Workers, optional
        Threads to move and to add up rows with.
    """

    def __init__(
        self, source: ComputedRows, memory: RowMemory, two_bytes: bool = False, workers: Workers | None = None
    ) -> None:
        if two_bytes and not source.bounded_by_one:
            raise ValueError("only kernels that declare bounded_by_one have values that fit into two bytes")
        self.source, self.two_bytes = source, two_bytes
        self._memory, self._workers = memory, workers or Workers()
        self._slab = memory.slab(source.n, np.dtype(np.uint16) if two_bytes else source.dtype)
        self._shown = read_only(self._slab)
        self._table = SlotTable(source.n, len(self._slab))
        self._step = 1.0 / TWO_BYTE_STEPS if two_bytes else 1.0

    @property
    def n(self) -> int:
        """Number of training points."""
        return self.source.n

    def extend(self, n_rows: int) -> None:
        """Let there be rows with numbers up to this one: those of points that are elsewhere, at the points here."""
        self._table.extend(n_rows)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the values."""
        return self.source.dtype

    @property
    def row_bytes(self) -> int:
        """Memory that a row takes."""
        return self.n * self._slab.itemsize

    @property
    def slots(self) -> int:
        """How many rows there is room for."""
        return len(self._slab)

    @property
    def ledger(self) -> EvaluationLedger:
        """The source's ledger: this class computes nothing."""
        return self.source.ledger

    @property
    def held(self) -> Mask:
        """Which rows are at hand."""
        return self._table.held

    @property
    def cheap_to_recompute(self) -> bool:
        """Whether a value is sooner computed than fetched from a row that is kept, and no budget counts it."""
        return self.source.cheap_to_recompute and self.ledger.limit is None

    def __contains__(self, index: int) -> bool:
        return bool(self._table.slot_of[index] >= 0)

    def fetch(self, indices: ArrayLike, ahead: Ahead | None = None, transient: Mask | None = None) -> DenseRows:
        """Deliver rows where they are kept; those for which there is no room, in memory of their own."""
        slots = self._bring_in(indices, ahead, transient)
        if slots is not None:
            return DenseRows(self._shown, slots, self._step, self._workers)
        values = self._assembled(as_indices(indices, self.n))
        return DenseRows(values, np.arange(len(values)), 1.0, self._workers)

    def rows(self, indices: ArrayLike, columns: ArrayLike | None = None, ahead: Ahead | None = None) -> Floats:
        """Deliver rows, computing those that are not here. One row, or neighbours, come as a view."""
        if columns is not None:
            return read_only(self._some_columns(as_indices(indices, self.n), as_indices(columns, self.n, "columns")))
        slots = self._bring_in(indices, ahead, None)
        return read_only(self._assembled(as_indices(indices, self.n)) if slots is None else self._values_in(slots))

    def fill_rows(self, indices: ArrayLike, out: Floats) -> None:
        """Write rows into ``out``; what is computed for it is not kept."""
        wanted = as_indices(indices, self.n)
        slots = self._table.slot_of[wanted]
        self._table.touch(slots[slots >= 0])
        for position in np.flatnonzero(slots >= 0):
            np.multiply(self._slab[slots[position]], self._step, out=out[position], casting="unsafe")
        absent = np.flatnonzero(slots < 0)
        for positions in np.split(absent, np.flatnonzero(np.diff(absent) != 1) + 1):
            if positions.size:
                self.source.fill_rows(wanted[positions], out[positions[0] : positions[-1] + 1])

    def square(self, indices: IndexArray) -> Floats:
        """Gather the values of some points with one another from rows that are held, and compute the others."""
        slots = self._table.slot_of[indices]
        missing = np.arange(len(indices)) if self.cheap_to_recompute else np.flatnonzero(slots < 0)
        if len(missing) == len(indices):
            return self.source.square(indices)
        from slackwater.gram import _loops

        out, order = np.empty((len(indices), len(indices)), self.dtype), np.argsort(indices)
        threads = self._workers.n_threads if len(indices) ** 2 >= _MIN_GATHERED_BY_THREADS else 1

        def gather(thread: int) -> None:
            _loops.gather(self._slab, slots, indices, order, self._step, out, thread, threads)

        self._workers.run(gather, range(threads))
        if len(missing):
            out[np.ix_(missing, missing)] = self.source.square(indices[missing])
        return out

    def diagonal(self) -> NDArray[np.float64]:
        """Deliver the diagonal."""
        return self.source.diagonal()

    def forget(self) -> None:
        """Hold no rows, as at the beginning."""
        self._table = SlotTable(self.n, self.slots)

    def carried_over(self, source: ComputedRows, kept: IndexArray, rows: IndexArray) -> RowCache:
        """The rows held here, for another selection of points and in the same memory; this object is of no use then.

        Parameters
        ----------
        source : ComputedRows
            Of the other points: those kept first, in that order; behind them new ones, whose values are computed here.
        kept : ndarray of int
            The points of this selection that stay, as ``storage.compacted`` orders them.
        rows : ndarray of int
            Rows to carry over, among those kept and by their numbers so far; those that are not held are left out.
        """
        other = RowCache(source, self._memory, self.two_bytes, self._workers)
        held = self._table.slot_of[rows]
        places = np.sort(held[held >= 0])
        if len(places) > other.slots:  # their values at new points are not worth computing for some of them only
            places = places[: other.slots if len(kept) == other.n else 0]
        numbers, transient = self._table.owner[places], self._table.transient[places]
        move_columns(self._slab, places, kept, self._workers)
        self._memory.move_rows(self._slab.dtype, places * self.n, len(kept), other.n, self._workers)
        new_number = np.empty(self.n, dtype=np.intp)
        new_number[kept] = np.arange(len(kept))
        other._take_over(new_number[numbers], transient, len(kept))
        return other

    def _take_over(self, rows: IndexArray, transient: Mask, known: int) -> None:
        """These rows are in the first slots; compute their columns from ``known`` on."""
        if len(rows) and known < self.n:
            self.source.write_into(self._slab, np.arange(len(rows)), rows, known)
        self._table.hold(rows, self._table.vacate(len(rows), rows[:0]))
        self._table.transient[: len(rows)] = transient

    def _bring_in(self, indices: ArrayLike, ahead: Ahead | None, transient: Mask | None) -> IndexArray | None:
        """The slots of rows, after computing those that were missing; None if there is no room for all of them."""
        wanted = as_indices(indices, len(self._table.slot_of))
        slots = self._table.slot_of[wanted]
        if len(slots) and slots.min() >= 0:  # the usual case of single steps, kept to a few microseconds
            self._table.touch(slots)
        else:
            distinct = np.array(list(dict.fromkeys(wanted.tolist())), dtype=np.intp)
            if len(distinct) > self.slots:
                return None
            self._compute_missing(distinct, ahead)
            slots = self._table.slot_of[wanted]
        # A row that has lasted goes on doing so: an example that has left a bound once may leave it again.
        lasting = slots if transient is None or not self.cheap_to_recompute else slots[~transient]
        self._table.transient[lasting] = False
        return slots

    def _compute_missing(self, wanted: IndexArray, ahead: Ahead | None) -> None:
        """Compute those of some different rows that are not here, and rows expected to be wanted next with them."""
        held = self._table.slot_of[wanted]
        missing, here = wanted[held < 0], held[held >= 0]
        self._table.touch(here)
        if len(missing) == 0:
            return
        extra = self._expected(ahead, missing, len(here)) if ahead is not None else missing[:0]
        batch = np.concatenate([extra, missing])  # the missing rows are the most recently used
        slots = self._table.vacate(len(batch), here)
        self.source.write_into(self._slab, slots, batch, 0)
        self._table.hold(batch, slots)
        self._table.transient[slots[: len(extra)]] = False

    def _expected(self, ahead: Ahead, missing: IndexArray, held: int) -> IndexArray:
        """Rows to prefetch, the most urgent last: it is evicted last."""
        room = min(BLOCK_ROWS - len(missing), self.slots // 2, self.slots - held - len(missing))
        remaining = self.ledger.remaining
        if remaining is not None:
            room = min(room, remaining // self.n // 4 - len(missing))  # a small budget is not for guesses
        if room <= 0:
            return missing[:0]
        taken = set(missing.tolist())
        candidates = dict.fromkeys(as_indices(ahead(), self.n, "ahead").tolist())
        useful = [index for index in candidates if self._table.slot_of[index] < 0 and index not in taken]
        together = self.source.rows_together
        if len(missing) + len(useful[:room]) > together:  # some more would take as long as many more
            room = (len(missing) + len(useful[:room])) // together * together - len(missing)
        return np.array(useful[: max(room, 0)][::-1], dtype=np.intp)

    def _values_in(self, slots: IndexArray) -> Floats:
        """The rows in these slots: a view where they follow one another and are kept as floats."""
        if self.two_bytes:
            return (self._step * self._slab[slots]).astype(self.dtype)
        if len(slots) and (slots == np.arange(slots[0], slots[0] + len(slots))).all():
            return self._shown[slots[0] : slots[0] + len(slots)]
        return self._slab[slots]

    def _assembled(self, wanted: IndexArray) -> Floats:
        """Rows of a request that is too large to be kept: those that are here copied, the others computed."""
        if self.slots == 0:
            return self.source.rows(wanted)
        out = np.empty((wanted.size, self.n), self.dtype)
        self.fill_rows(wanted, out)
        return out

    def _some_columns(self, wanted: IndexArray, columns: IndexArray) -> Floats:
        """Some columns of rows, out of those held and else computed for the occasion."""
        slots = self._table.slot_of[wanted]
        here = slots >= 0
        if not here.any():
            return self.source.rows(wanted, columns)
        self._table.touch(slots[here])
        out = np.empty((wanted.size, columns.size), self.dtype)
        out[here] = self._step * self._slab[slots[here][:, None], columns]
        missing, positions = np.unique(wanted[~here], return_inverse=True)
        if len(missing):
            out[~here] = self.source.rows(missing, columns)[positions]
        return out
