"""Which row is in which slot of a cache, and which slot is vacated next."""

from __future__ import annotations

import numpy as np

from slackwater.gram.source import IndexArray, Mask


class SlotTable:
    """The rows held in a number of slots, with the time of their last use.

    Transient rows, which are not expected to be wanted again, are evicted first; then unused slots are taken; then the
    least recently used rows are evicted.

    Parameters
    ----------
    n : int
        Number of rows there are.
    slots : int
        Number of rows that can be held.
    """

    def __init__(self, n: int, slots: int) -> None:
        self.slot_of = np.full(n, -1)  # of each row; -1 if it is not held
        self.owner = np.full(slots, -1)  # the row in each slot
        self.transient = np.zeros(slots, dtype=bool)
        self._used = np.zeros(slots, dtype=np.int64)  # by a clock that counts rows
        self._clock = self._taken = 0  # slots below this one have been taken

    @property
    def held(self) -> Mask:
        """Which rows are held."""
        return np.asarray(self.slot_of >= 0)

    def extend(self, n: int) -> None:
        """Let there be at least n rows."""
        if n > len(self.slot_of):
            further = max(n, 2 * len(self.slot_of)) - len(self.slot_of)
            self.slot_of = np.concatenate([self.slot_of, np.full(further, -1)])

    def touch(self, slots: IndexArray) -> None:
        """The rows in these slots count as just used, one after the other."""
        self._used[slots] = self._clock + np.arange(len(slots))
        self._clock += len(slots)

    def vacate(self, count: int, wanted: IndexArray) -> IndexArray:
        """Empty ``count`` slots other than those ``wanted``. What is written to them is transient until said otherwise.

        Slots of transient rows come first, then unused ones, then least recently used ones; each part in memory order.
        """
        transient = self.transient[: self._taken].copy()
        transient[wanted] = False
        passed = np.flatnonzero(transient)
        passed = np.sort(passed[np.argsort(self._used[passed], kind="stable")[:count]])
        count -= len(passed)
        fresh = np.arange(self._taken, min(self._taken + count, len(self.owner)))
        count -= len(fresh)
        self._empty(passed)
        oldest = np.sort(np.argpartition(self._used[: self._taken], count - 1)[:count]) if count else fresh[:0]
        self._empty(oldest)
        self._taken += len(fresh)
        slots = np.concatenate([passed, fresh, oldest])
        self.transient[slots] = True
        return slots

    def hold(self, rows: IndexArray, slots: IndexArray) -> None:
        """These rows are in these slots now; the last one counts as most recently used."""
        self.slot_of[rows] = slots
        self.owner[slots] = rows
        self.touch(slots)

    def _empty(self, slots: IndexArray) -> None:
        """Forget the rows in these slots; their time of use keeps them from being chosen twice."""
        owners = self.owner[slots]
        self.slot_of[owners[owners >= 0]] = -1  # where computing rows failed, there are none
        self.owner[slots] = -1
        self._used[slots] = self._clock
