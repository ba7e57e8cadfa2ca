"""The part of a working set's kernel matrix that is solved: kept from one solution to the next.

From one C to the next, and from one violation to a finer one, few examples come and go. Copying a part of k examples
takes k² reads all over the matrix, as long as thousands of steps on it; a newcomer takes the row and the column of one
who has left.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from slackwater.fitting.working_set import WorkingSet
from slackwater.points import Floats

_MAX_NEWCOMERS = 0.25  # of the part: its columns are written one value at a time, so that more are better all copied
_MAX_IDLE = 0.15  # of the part, who stay though nobody asks for them: steps pass over them, too
_SPARE = 1.15  # times the part: room for newcomers beyond those who have left
_ROWS_TOGETHER = 256
_PADDING = 16  # values between the rows: a power of two apart, they would compete for the same lines of the cache


class KeptPart:
    """Kernel values of some examples with one another: the leading square of ``values``."""

    def __init__(self, working: WorkingSet) -> None:
        self.working = working
        self.places = np.empty(0, dtype=np.intp)  # in the working set
        self.values: Floats = np.empty((0, 0), working.values.dtype)
        self._inside = np.zeros(len(working), dtype=bool)

    def holding(self, chosen: NDArray[np.intp]) -> tuple[NDArray[np.intp], Floats]:
        """The places of the chosen examples, and of few others, and kernel values in that order."""
        wanted = np.zeros(len(self.working), dtype=bool)
        wanted[chosen] = True
        newcomers, idle = chosen[~self._inside[chosen]], np.flatnonzero(~wanted[self.places])
        size = len(self.places) + max(0, len(newcomers) - len(idle))
        most = min(len(self.values), int((1.0 + _MAX_IDLE) * len(chosen)))
        if size > most or len(newcomers) > _MAX_NEWCOMERS * len(chosen):
            self._copy(chosen)
        elif len(newcomers):
            self._replace(idle, newcomers)
        return self.places, self.values

    def _copy(self, chosen: NDArray[np.intp]) -> None:
        from slackwater.gram import _loops

        if len(chosen) > len(self.values):
            room = int(_SPARE * len(chosen))
            self.values = np.empty((0, 0), self.working.values.dtype)  # before there are both
            self.values = np.empty((room, room + _PADDING), self.working.values.dtype)
        self.places = chosen
        source, out = self.working.values, self.values
        self._by_rows(lambda first, last: _loops.submatrix_rows(source, chosen, first, last, out))
        self._inside[:] = False
        self._inside[chosen] = True

    def _replace(self, idle: NDArray[np.intp], newcomers: NDArray[np.intp]) -> None:
        """Write the newcomers' values over those of idle examples, and behind the others."""
        from slackwater.gram import _loops

        leaving = idle[: len(newcomers)]
        behind = np.arange(len(self.places), len(self.places) + len(newcomers) - len(leaving))
        self._inside[self.places[leaving]] = False
        self._inside[newcomers] = True
        self.places = np.concatenate([self.places, newcomers[len(leaving) :]])
        self.places[leaving] = newcomers[: len(leaving)]
        slots = np.concatenate([leaving, behind])
        source, places, out = self.working.values, self.places, self.values
        self._by_rows(lambda first, last: _loops.replace_members(source, places, slots, first, last, out))

    def _by_rows(self, write: Callable[[int, int], None]) -> None:
        """Write the rows, some hundred by each thread at a time."""
        size = len(self.places)
        firsts = range(0, size, _ROWS_TOGETHER)
        self.working.features.workers.run(lambda first: write(first, min(first + _ROWS_TOGETHER, size)), firsts)
