"""Points packed for loops that multiply many of them at a time: the first coordinates of all, then the second ones."""

from __future__ import annotations

import threading

import numpy as np
from numpy.typing import NDArray

from slackwater.memory import untouched

Words = NDArray[np.uint32]
LINE = 16  # words in a cache line


class Packing:
    """The words of some points side by side, then those of the next ones; as many as a loop takes together.

    A word is a coordinate in single precision, or as many as four bytes hold. Packed when first asked for, by whichever
    thread is first.
    """

    def __init__(self, rows: Words) -> None:
        self._rows, self._lock = rows, threading.Lock()
        self._packed: Words | None = None
        self._met = 0

    def words(self, first: int, count: int, width: int, few: bool) -> Words:
        """``count`` points from ``first`` on, ``width`` side by side.

        All points are packed, for good, when they have met ``few`` other points for the third time; till then these
        points are, for the occasion. Packing takes as long as products with fifty points.
        """
        if first % width or not (self._packed is not None or (few and self._pays(count))):
            return _packed(self._rows[first : first + count], width)
        return self._whole(width)[first * self._rows.shape[1] :]

    def forget(self) -> None:
        """Free what was packed for good; it is packed again when it is asked for."""
        with self._lock:
            self._packed = None

    def _pays(self, met: int) -> bool:
        """Whether so many of the points, together with those before, make up more than two meetings with all."""
        self._met += met
        return self._met > 2 * len(self._rows)

    def _whole(self, width: int) -> Words:
        with self._lock:
            packed = self._packed = _packed(self._rows, width) if self._packed is None else self._packed
        return packed


def _packed(rows: Words, width: int) -> Words:
    from slackwater.points import _loops

    size = -(-len(rows) // width) * width * rows.shape[1]
    room = untouched(size + LINE, np.uint32)
    first = (-room.ctypes.data // 4) % LINE  # where a cache line begins
    _loops.pack(rows, width, room[first : first + size])
    return room[first : first + size]
