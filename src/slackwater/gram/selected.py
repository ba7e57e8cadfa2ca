"""Kernel rows of a selection of points, kept in one stretch of memory while the selection changes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from slackwater.gram.features import Features
from slackwater.gram.ledger import EvaluationLedger
from slackwater.gram.source import Ahead, DenseRows, IndexArray, Mask, as_indices
from slackwater.kernels.grid import GridPoints
from slackwater.kernels.lines import STEPS, Lines
from slackwater.kernels.points import DensePoints, Floats
from slackwater.kernels.radial import Gaussian
from slackwater.memory import untouched

ROUNDING = 1.0 / STEPS / np.sqrt(12.0)  # root mean square
_ROWS_MOVED = 32  # by one thread at a time
# Of points with 20 coordinates a value takes 1.5 ns, with 54 2.4 ns, and to keep it in two fresh bytes up to 4 ns where
# a virtual machine gets its memory from the host. Few rows are wanted more than two or three times.
_WORTH_KEEPING, _FEW_COORDINATES = 2**24, 25  # bytes of rows for each coordinate, which are at least so many

_SOON_COMPUTED = 64  # coordinates: a square of 1024 points takes 1.3 ms with 20, 1.4 with 54, to gather it 2.3 to 3.5
_FEWEST_SHARED = 2**18  # values of a square, for a second thread to be worth waking


class RowMemory:
    """Where rows are kept. A page written to before costs nothing; a fresh one can take longer than its values.

    ``n_bytes`` is the most of it; by default, all that points may have.
    """

    def __init__(self, features: Features, n_bytes: int | None = None) -> None:
        largest = features.n**2 * features.points.dtype.itemsize
        most = features.cache_bytes if n_bytes is None else min(n_bytes, features.cache_bytes)
        self._bytes = untouched(min(most, largest), np.uint8)

    def values(self, dtype: np.dtype[Any]) -> NDArray[Any]:
        """All of it, in one row."""
        return self._bytes[: len(self._bytes) // dtype.itemsize * dtype.itemsize].view(dtype)

    def slab(self, width: int, dtype: np.dtype[Any]) -> NDArray[Any]:
        """Room for all rows that there is room for, at most as many as columns: (rows, width)."""
        values = self.values(dtype)
        rows = min(len(values) // width, width)
        return values[: rows * width].reshape(rows, width)


def worth_keeping(features: Features, problems: int) -> int:
    """Memory for rows that costs less time than computing them again would, if few are wanted more than twice.

    ``problems`` is how many share the rows: with several each is wanted more often.
    """
    effort = _effort(features)
    if effort is None:
        return features.cache_bytes
    return min(problems, 2) * max(effort, _FEW_COORDINATES) * _WORTH_KEEPING


def _soon_computed(features: Features) -> bool:
    """Whether a value takes less time to compute than to fetch from a row that is kept, a cache line from memory."""
    effort = _effort(features)
    few = effort is not None and effort <= _SOON_COMPUTED and features.points.dtype == np.float32
    return few and features.ledger.limit is None


def _effort(features: Features) -> int | None:
    """How long a kernel value takes, in coordinates; None where that is not known."""
    if isinstance(features.kernel, Gaussian) and isinstance(features.points, DensePoints | GridPoints):
        return features.points.effort
    return None


def closed_ranks(kept: IndexArray) -> IndexArray:
    """Places kept, ascending, in an order in which most are where they were: the last ones fill the gaps."""
    staying = kept[kept < len(kept)]
    order = np.empty_like(kept)
    order[staying] = staying
    gaps = np.ones(len(kept), dtype=bool)
    gaps[staying] = False
    order[gaps] = kept[len(staying) :]
    return order


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
        self.soon_computed = _soon_computed(features)
        self._memory, self._workers = memory, features.workers
        kept_dtype = np.dtype(np.uint16) if coarse else self.dtype
        self._slab = memory.slab(self.n, kept_dtype)
        self._slot_of = np.full(self.n, -1)  # of each point's row; -1 for those not held
        self._owner = np.full(self.slots, -1)  # whose row is in each slot
        self._used = np.zeros(self.slots, dtype=np.int64)  # when it last was, by a clock that counts rows
        self._passing = np.zeros(self.slots, dtype=bool)  # rows that are the first to make room for others
        self._writes = self._source.writes()
        self._clock = self._taken = 0  # slots below this one have been taken

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

    def fetch(self, indices: ArrayLike, ahead: Ahead | None = None, passing: Mask | None = None) -> DenseRows:
        """Deliver rows where they are kept; those for which there is no room, in memory of their own."""
        wanted = as_indices(indices, self.n)
        distinct = np.unique(wanted)
        if len(distinct) > self.slots:
            return self._source.fetch(wanted)
        held = self._slot_of[distinct]
        self._touch(held[held >= 0])
        missing = distinct[held < 0]
        if len(missing):
            slots = self._vacated(len(missing), held[held >= 0])
            self._compute(missing, slots, 0)
            self._hold(missing, slots)
        # A row that has lasted goes on doing so: whoever has left a bound once may leave it again.
        lasting = wanted if passing is None or not self.soon_computed else wanted[~passing]
        self._passing[self._slot_of[lasting]] = False
        return DenseRows(self._slab, self._slot_of[wanted], self._step, self._workers)

    @property
    def held(self) -> Mask:
        """Whose rows are at hand."""
        return np.asarray(self._slot_of >= 0)

    def rows(self, indices: ArrayLike, columns: ArrayLike | None = None, ahead: Ahead | None = None) -> Floats:
        """Compute rows; nothing is kept."""
        return self._source.rows(indices, columns)

    def fill_rows(self, indices: ArrayLike, out: Floats) -> None:
        """Compute rows straight into ``out``."""
        self._source.fill_rows(indices, out)

    def square(self, indices: IndexArray) -> Floats:
        """Gather the values of some points with one another from rows that are held, and compute the others."""
        slots = self._slot_of[indices]
        missing = np.arange(len(indices)) if self.soon_computed else np.flatnonzero(slots < 0)
        if len(missing) == len(indices):
            return self._source.square(indices)
        from slackwater.gram import _loops

        out, order, threads = np.empty((len(indices), len(indices)), self.dtype), np.argsort(indices), 1
        if len(indices) ** 2 >= _FEWEST_SHARED:
            threads = self._workers.n_threads

        def gather(thread: int) -> None:
            _loops.gather(self._slab, slots, indices, order, self._step, out, thread, threads)

        self._workers.run(gather, range(threads))
        out[np.ix_(missing, missing)] = self._source.square(indices[missing])
        return out

    def diagonal(self) -> NDArray[np.float64]:
        """Deliver the diagonal."""
        return self._source.diagonal()

    def carried_over(self, features: Features, kept: IndexArray, rows: IndexArray) -> SelectedRows:
        """The rows held here, for another selection and in the same memory; this object is of no use afterwards.

        Parameters
        ----------
        features : Features
            The other points: those kept first, in that order; behind them new ones, whose values are computed here.
        kept : ndarray of int
            The points of this selection that stay, as ``closed_ranks`` puts them.
        rows : ndarray of int
            Rows to carry over, among those kept and by their numbers so far; those that are not held are left out.
        """
        other = SelectedRows(features, self._memory, self.coarse)
        held = self._slot_of[rows]
        places = np.sort(held[held >= 0])
        if len(places) > other.slots:  # their values at new points are not worth computing for some of them only
            places = places[: other.slots if len(kept) == other.n else 0]
        numbers, passing = self._owner[places], self._passing[places]
        self._move_columns(places, kept)
        self._move_rows(places * self.n, len(kept), other.n)
        new_number = np.empty(self.n, dtype=np.intp)
        new_number[kept] = np.arange(len(kept))
        other._complete(new_number[numbers], len(kept))
        other._passing[: len(passing)] = passing
        return other

    @property
    def _step(self) -> float:
        return 1.0 / STEPS if self.coarse else 1.0

    def _touch(self, slots: IndexArray) -> None:
        """The rows in these slots count as just used, one after the other."""
        self._used[slots] = self._clock + np.arange(len(slots))
        self._clock += len(slots)

    def _vacated(self, count: int, wanted: IndexArray) -> IndexArray:
        """Slots other than those wanted: of rows that were passing, then unused, then of rows least recently used.

        Whatever is written to them passes, until somebody says that it is to last.
        """
        passing = self._passing[: self._taken].copy()
        passing[wanted] = False
        passed = np.flatnonzero(passing)
        passed = np.sort(passed[np.argsort(self._used[passed], kind="stable")[:count]])
        count -= len(passed)
        fresh = np.arange(self._taken, min(self._taken + count, self.slots))
        count -= len(fresh)
        self._empty(passed)
        oldest = np.sort(np.argpartition(self._used[: self._taken], count - 1)[:count]) if count else fresh[:0]
        self._empty(oldest)
        self._taken += len(fresh)
        slots = np.concatenate([passed, fresh, oldest])
        self._passing[slots] = True
        return slots

    def _empty(self, slots: IndexArray) -> None:
        """From now on these are without their rows, and not to be taken once more."""
        owners = self._owner[slots]
        self._slot_of[owners[owners >= 0]] = -1  # where computing rows failed, there are none
        self._owner[slots] = -1
        self._used[slots] = self._clock

    def _hold(self, rows: IndexArray, slots: IndexArray) -> None:
        """These rows are in these slots now."""
        self._slot_of[rows] = slots
        self._owner[slots] = rows
        self._touch(slots)

    def _compute(self, indices: IndexArray, slots: IndexArray, first: int) -> None:
        """Fill slots with rows from column ``first`` on."""
        from slackwater.gram import _loops

        if self._writes:
            self._source.write(indices, first, Lines.of_slots(self._slab, slots).part(0, len(slots), first))
            return

        def keep(position: int, column: int, tile: Floats) -> None:
            places = slots[position : position + len(tile)]
            if self.coarse:
                _loops.keep_coarsely(tile, self._slab, places, column)
            else:
                self._slab[places, column : column + tile.shape[1]] = tile

        self._source.hand_over(indices, first, keep)

    def _complete(self, rows: IndexArray, known: int) -> None:
        """These rows are in the first slots; of their columns only the first ``known`` are there yet."""
        if len(rows) and known < self.n:
            self._compute(rows, np.arange(len(rows)), known)
        self._hold(rows, self._vacated(len(rows), rows[:0]))

    def _move_columns(self, places: IndexArray, kept: IndexArray) -> None:
        """In the rows at these places, bring the points kept to the first columns."""
        from slackwater.gram import _loops

        targets = np.flatnonzero(kept != np.arange(len(kept)))
        sources = kept[targets]

        def move(start: int) -> None:
            _loops.move_columns(self._slab, places[start : start + _ROWS_MOVED], sources, targets)

        self._workers.run(move, range(0, len(places), _ROWS_MOVED))

    def _move_rows(self, sources: IndexArray, width: int, stride: int) -> None:
        """Move rows from where they begin, ascending, to the multiples of ``stride``: ``width`` values of each."""
        targets = np.arange(len(sources)) * stride
        if (targets <= sources).all():
            self._move_forwards(sources, targets, width)
        elif (targets >= sources).all():
            self._move_backwards(sources, targets, width)
        else:
            self._move_rows(sources, width, width)
            self._move_rows(np.arange(len(sources)) * width, width, stride)

    def _move_forwards(self, sources: IndexArray, targets: IndexArray, width: int) -> None:
        """The first row goes first, and with it as many as end before it began."""
        done = int(np.argmax(np.append(targets != sources, True)))  # those before stay where they are
        while done < len(sources):
            upto = max(done + 1, int(np.searchsorted(targets + width, sources[done], side="right")))
            self._copy(sources[done:upto], targets[done:upto], width)
            done = min(upto, len(sources))

    def _move_backwards(self, sources: IndexArray, targets: IndexArray, width: int) -> None:
        """The last row goes first, and with it as many as begin after it ended."""
        left = len(sources)
        while left > 0:
            first = min(left - 1, int(np.searchsorted(targets, sources[left - 1] + width)))
            self._copy(sources[first:left], targets[first:left], width)
            left = first

    def _copy(self, sources: IndexArray, targets: IndexArray, width: int) -> None:
        """Copy stretches of the memory, none of which overlaps what another is to be copied from."""
        memory = self._memory.values(self._slab.dtype)

        def copy(start: int) -> None:
            for k in range(start, min(start + _ROWS_MOVED, len(sources))):
                memory[targets[k] : targets[k] + width] = memory[sources[k] : sources[k] + width]

        self._workers.run(copy, range(0, len(sources), _ROWS_MOVED))
