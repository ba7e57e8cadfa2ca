"""A working set of the dual whose kernel matrix is in memory."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from slackwater.gram.features import Features
from slackwater.memory import SpareMemory
from slackwater.points import Floats

_ROWS_TOGETHER = 1024  # rows of the matrix computed at a time
_PADDING = 16  # values between the rows of the matrix
_MATRICES = 3  # as large as that of the working set: itself, and a part of it in double precision


def capacity_of(n_bytes: int, dtype: np.dtype[Any]) -> int:
    """The examples of a working set that is solved in so much memory."""
    return int(math.sqrt(n_bytes / (_MATRICES * dtype.itemsize)))


def bytes_for(examples: int, dtype: np.dtype[Any]) -> int:
    """The memory in which a working set of so many examples is solved."""
    return _MATRICES * dtype.itemsize * examples * (examples + 1)


@dataclass
class WorkingSet:
    """Examples whose kernel values with one another are in memory: the leading square of ``values``.

    ``values`` is larger than that, so that its rows are contiguous for compiled loops and others can join.
    """

    features: Features
    capacity: int
    memory: SpareMemory

    def __post_init__(self) -> None:
        self.indices = np.empty(0, dtype=np.intp)
        self._pages = np.empty(0, dtype=np.uint8)
        self.values: Floats = np.empty((0, 0), self.features.points.dtype)

    def __len__(self) -> int:
        return len(self.indices)

    def admit(self, newcomers: NDArray[np.intp]) -> None:
        """Compute the values of further examples with those here and with one another."""
        from slackwater.gram import _loops

        self._reserve(len(self) + len(newcomers))
        for start in range(0, len(newcomers), _ROWS_TOGETHER):  # with those before them only: the matrix is symmetric
            rows = newcomers[start : start + _ROWS_TOGETHER]
            m, self.indices = len(self), np.concatenate([self.indices, rows])
            self.features.fill_block(rows, self.indices, self.values[m : len(self), : len(self)])
            _loops.mirror(self.values, m, len(self))

    def keep(self, places: NDArray[np.intp]) -> None:
        """Forget all examples but those at these places."""
        kept = self.part(places)
        self.indices = self.indices[places]
        self.values[: len(places), : len(places)] = kept

    def responses(self, alpha: NDArray[np.float64], labels: NDArray[np.int8]) -> NDArray[np.float64]:
        """c_i = y_i <w, Φ(x_i)> of the examples here, whose dual variables and labels are given."""
        from slackwater.gram import _loops

        out, places = np.zeros(len(self)), np.flatnonzero(alpha)
        _loops.add_combination(out, labels, self.values, places, alpha[places] * labels[places], 0, len(self))
        return out

    def part(self, places: NDArray[np.intp], dtype: DTypeLike | None = None) -> Floats:
        """The values of some of the examples with one another: a copy, of another type if one is given."""
        from slackwater.gram import _loops

        out = np.empty((len(places), len(places)), dtype or self.values.dtype)
        _loops.submatrix_rows(self.values, places, 0, len(places), out)
        return out

    def _reserve(self, size: int) -> None:
        """Room for a larger square; at first as much as is likely to be needed, of which pages are used as they are."""
        if size <= len(self.values):
            return
        if size > self.capacity:
            raise ValueError(f"a working set has at most {self.capacity} examples, got {size}.")
        old, pages, m = self.values, self._pages, len(self)
        room = min(self.capacity, 4 * size)
        # Rows a power of two apart would compete for the same lines of the cache.
        n_bytes = room * (room + _PADDING) * old.dtype.itemsize
        self._pages = self.memory.take(n_bytes)
        self.values = self._pages[:n_bytes].view(old.dtype).reshape(room, room + _PADDING)
        self.values[:m, :m] = old[:m, :m]
        self.memory.give_back(pages)

    def release(self) -> None:
        """Let others use the memory."""
        self.memory.give_back(self._pages)
        self.values, self._pages = self.values[:0], self._pages[:0]
