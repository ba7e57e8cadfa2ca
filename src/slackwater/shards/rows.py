"""Kernel rows of points that have travelled, at a shard's own points of one class.

Rows are kept by class, because problems are made of classes: each pair of classes shares its rows with other pairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from slackwater.gram.cache import RowCache
from slackwater.gram.ledger import EvaluationLedger
from slackwater.gram.source import Ahead, DenseRows, IndexArray, Mask
from slackwater.gram.storage import RowMemory
from slackwater.kernels.base import Kernel
from slackwater.kernels.blocks import combinations, hand_over, write
from slackwater.kernels.destinations import Destinations
from slackwater.points import Floats, Points, Vectors
from slackwater.shards.pieces import Pieces
from slackwater.workers import Workers

_AT_ONCE = 512  # rows added up together, where there is no room to keep them
_CHEAP = 256  # coordinates: a value of so many is sooner computed than fetched from memory (gram/direct.py)


class ForeignRows:
    """Rows K(x, ·) of points x that were sent here, by the numbers that the driver gives them."""

    def __init__(self, kernel: Kernel, pieces: Pieces, dtype: np.dtype[Any], workers: Workers) -> None:
        self.kernel, self.pieces, self.dtype, self.workers = kernel, pieces, dtype, workers
        self.ledger = EvaluationLedger()
        self._numbers: IndexArray = np.empty(0, np.intp)
        self._points: Points | None = None

    def receive(self, numbers: IndexArray, points: Points) -> None:
        """These points are here for the next request; ``numbers`` ascend."""
        self._numbers, self._points = numbers, points

    @property
    def n(self) -> int:
        """The shard's own points."""
        return len(self.pieces)

    @property
    def row_bytes(self) -> int:
        return self.n * self.dtype.itemsize

    @property
    def slots(self) -> int:
        return 0

    @property
    def bounded_by_one(self) -> bool:
        return self.kernel.bounded_by_one

    @property
    def cheap_to_recompute(self) -> bool:
        effort = None if self._points is None else self.kernel.effort(self._points)
        return effort is not None and effort <= _CHEAP and self.dtype == np.float32

    @property
    def rows_together(self) -> int:
        return 1

    def write_into(self, slab: NDArray[Any], slots: IndexArray, indices: IndexArray, first: int) -> None:
        """Compute rows into slots of a slab, one piece of the points after the other."""
        left = self._received().take(np.searchsorted(self._numbers, indices))
        self.ledger.charge("train", len(indices) * self.n)
        for start, right in self.pieces:
            self._write_piece(left, right, slab, slots, start)

    def _write_piece(self, left: Points, right: Points, slab: NDArray[Any], slots: IndexArray, start: int) -> None:
        if self.kernel.writes(right):
            to = Destinations.of_slots(slab, slots).part(0, len(slots), start)
            write(self.kernel, cast("Vectors", left), cast("Vectors", right), to, self.workers)
            return

        def keep(row: int, column: int, tile: Floats) -> None:
            place = slice(start + column, start + column + tile.shape[1])
            slab[slots[row : row + len(tile)], place] = tile

        hand_over(self.kernel, left, right, keep, self.workers)

    def add_up(self, coefficients: NDArray[np.float64]) -> NDArray[np.float64]:
        """Combinations of the rows received, (functions, points): tile by tile, nothing is kept."""
        points, sums = self._received(), np.zeros((len(coefficients), self.n))
        self.ledger.charge("train", len(points) * self.n)
        for start, right in self.pieces:
            for begin in range(0, len(points), _AT_ONCE):
                end = min(begin + _AT_ONCE, len(points))
                some, factors = points.slice(begin, end), coefficients[:, begin:end]
                values = combinations(self.kernel, right, some, factors, self.workers)
                sums[:, start : start + len(right)] += values.T
        return sums

    def _received(self) -> Points:
        if self._points is None:
            raise RuntimeError("no points have been received")
        return self._points

    # Of a row source, what a shard does not ask for.

    def rows(self, indices: ArrayLike, columns: ArrayLike | None = None, ahead: Ahead | None = None) -> Floats:
        raise TypeError("rows of points elsewhere are added up, not delivered")

    def fetch(self, indices: ArrayLike, ahead: Ahead | None = None, transient: Mask | None = None) -> DenseRows:
        raise TypeError("rows of points elsewhere are added up, not delivered")

    def fill_rows(self, indices: ArrayLike, out: Floats) -> None:
        raise TypeError("rows of points elsewhere are added up, not delivered")

    def square(self, indices: IndexArray) -> Floats:
        raise TypeError("rows of points elsewhere are added up, not delivered")

    def diagonal(self) -> NDArray[np.float64]:
        raise TypeError("rows of points elsewhere are added up, not delivered")


class Summand(NamedTuple):
    """What the rows add to one problem's responses."""

    responses: NDArray[np.float64]
    labels: NDArray[np.int8]
    places: IndexArray  # among the rows received
    amounts: NDArray[np.float64]


class ClassRows:
    """Rows over one class of a shard, kept while there is room."""

    def __init__(
        self, kernel: Kernel, pieces: Pieces, dtype: np.dtype[Any], cache_bytes: int, two_bytes: bool, workers: Workers
    ) -> None:
        self._source = ForeignRows(kernel, pieces, dtype, workers)
        self._cache = RowCache(self._source, RowMemory(cache_bytes), two_bytes, workers)

    def add(self, numbers: IndexArray, points: Points, transient: Mask, summands: Sequence[Summand]) -> int:
        """Add rows to the responses of problems; returns how many kernel values were computed."""
        if self._source.n == 0 or len(numbers) == 0:
            return 0
        before = self._source.ledger.train
        self._source.receive(numbers, points)
        if self._cache.slots < len(numbers):
            self._add_without_keeping(len(points), summands)
        else:
            self._cache.extend(int(numbers.max()) + 1)
            rows = self._cache.fetch(numbers, transient=transient)
            for each in summands:
                rows.part(each.places).add_to(each.responses, each.labels, each.amounts)
        return self._source.ledger.train - before

    def add_once(self, points: Points, summands: Sequence[Summand]) -> int:
        """Add rows that are not kept."""
        if self._source.n == 0 or not summands:
            return 0
        self._source.receive(np.arange(len(points)), points)
        self._add_without_keeping(len(points), summands)
        return len(points) * self._source.n

    def _add_without_keeping(self, count: int, summands: Sequence[Summand]) -> None:
        coefficients = np.zeros((len(summands), count))
        for row, each in zip(coefficients, summands, strict=True):
            row[each.places] = each.amounts
        for each, sums in zip(summands, self._source.add_up(coefficients), strict=True):
            each.responses[:] += each.labels * sums
