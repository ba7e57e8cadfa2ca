"""Kernel rows computed from the points: the only place that computes, and counts."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from slackwater.gram.ledger import EvaluationLedger
from slackwater.gram.source import Ahead, DenseRows, IndexArray, Mask, as_indices, read_only
from slackwater.kernels.base import Kernel
from slackwater.kernels.blocks import GROUP_ROWS, NotFiniteError, block, hand_over, write
from slackwater.kernels.destinations import Destinations
from slackwater.points import Floats, Points, Vectors
from slackwater.workers import Workers

_ROWS_TAKEN = 4 * GROUP_ROWS  # points copied together: of a block of few columns, threads share the groups
_CHEAP = 256  # coordinates: a square of 1024 points takes 1.4 ms with as many on two threads, to gather it 2.3 to 3.5


class DirectRows:
    """Rows of the kernel matrix, computed anew at each request.

    **What counts as an evaluation**: every value K(x, z) computed, whether or not it was computed before. A
    row costs n, a row restricted to some columns costs as many as there are columns, a repeated index costs
    again. The diagonal costs n once, or nothing where the formula makes it 1. Symmetry is not exploited, and
    not credited.

    Parameters
    ----------
    kernel : Kernel
    points : Points
        The training points.
    ledger : EvaluationLedger
        Charged with every value, in the account it is set to.
    workers : Workers, optional
        Threads to compute with.
    names : ndarray of int, optional
        What to call the points in errors: their numbers in the user's data. By default, those here.
    """

    def __init__(
        self,
        kernel: Kernel,
        points: Points,
        ledger: EvaluationLedger,
        workers: Workers | None = None,
        names: IndexArray | None = None,
    ) -> None:
        self.kernel = kernel
        self.points = points
        self.ledger = ledger
        self._workers = workers or Workers()
        self._names = np.arange(len(points)) if names is None else names
        self._one_at_a_time = threading.Lock()
        self._buffer: Floats = np.empty(0, points.dtype)
        self._selected: tuple[IndexArray, Points] | None = None
        self._diagonal: NDArray[np.float64] | None = None

    @property
    def n(self) -> int:
        """Number of training points."""
        return len(self.points)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the values."""
        return self.points.dtype

    @property
    def row_bytes(self) -> int:
        """Memory that a row takes."""
        return self.n * self.dtype.itemsize

    @property
    def slots(self) -> int:
        """None is kept."""
        return 0

    def rows(self, indices: ArrayLike, columns: ArrayLike | None = None, ahead: Ahead | None = None) -> Floats:
        """Compute rows; the memory they are returned in is used again by the next call."""
        wanted = as_indices(indices, self.n)
        chosen = None if columns is None else as_indices(columns, self.n, "columns")
        out = self._room(wanted.size, self.n if chosen is None else chosen.size)
        self._compute(wanted, slice(0, self.n) if chosen is None else chosen, out)
        return read_only(out)

    def fetch(self, indices: ArrayLike, ahead: Ahead | None = None, transient: Mask | None = None) -> DenseRows:
        """Compute rows; as with ``rows``, their memory is used again by the next call."""
        values = self.rows(indices)
        return DenseRows(values, np.arange(len(values)))

    def fill_rows(self, indices: ArrayLike, out: Floats) -> None:
        """Compute rows straight into ``out``."""
        self._compute(as_indices(indices, self.n), slice(0, self.n), out)

    @property
    def bounded_by_one(self) -> bool:
        """As the kernel declares."""
        return self.kernel.bounded_by_one

    @property
    def cheap_to_recompute(self) -> bool:
        """Whether a value takes less time to compute than to fetch a cache line from memory."""
        effort = self.kernel.effort(self.points)
        return effort is not None and effort <= _CHEAP and self.dtype == np.float32

    @property
    def rows_together(self) -> int:
        """As the points are multiplied."""
        return self.points.rows_together if isinstance(self.points, Vectors) else 1

    def write_into(self, slab: NDArray[Any], slots: IndexArray, indices: IndexArray, first: int) -> None:
        """Compute rows, from column ``first`` on, into those slots of a slab."""
        self.ledger.charge(self.ledger.account, len(indices) * (self.n - first))
        if self.kernel.writes(self.points):
            self._write_fused(Destinations.of_slots(slab, slots).part(0, len(slots), first), indices, first)
        else:
            self._write_tiles(slab, slots, indices, first)

    def _write_fused(self, to: Destinations, indices: IndexArray, first: int) -> None:
        """Straight from coordinates to where the values are kept."""
        left, right = (cast("Vectors", each) for each in (self.points.take(indices), self.points.slice(first, self.n)))
        write(self.kernel, left, right, to, self._workers)
        own = np.flatnonzero(indices >= first)
        to.base[to.starts[own] + indices[own] - first] = to.steps or 1.0

    def _write_tiles(self, slab: NDArray[Any], slots: IndexArray, indices: IndexArray, first: int) -> None:
        """By tiles that are copied while they are in cache, from several threads."""
        from slackwater.gram import _loops

        right = self.points.slice(first, self.n)
        for start in range(0, len(indices), _ROWS_TAKEN):

            def keep(row: int, column: int, tile: Floats, start: int = start) -> None:
                rows = slice(start + row, start + row + len(tile))
                self._set_diagonal(tile, indices[rows] - first - column)
                if slab.dtype == np.uint16:
                    _loops.keep_in_two_bytes(tile, slab, slots[rows], first + column)
                else:
                    slab[slots[rows], first + column : first + column + tile.shape[1]] = tile

            chosen = indices[start : start + _ROWS_TAKEN]
            with named_by(self._names[chosen], self._names[first:]):
                hand_over(self.kernel, self.points.take(chosen), right, keep, self._workers)

    def square(self, indices: IndexArray) -> Floats:
        """Compute the values of some points with one another, in the caller's own memory."""
        points = self.points.take(indices)
        out = np.empty((len(indices), len(indices)), self.dtype)
        self.ledger.charge(self.ledger.account, out.size)
        # Several problems may ask at once, which not every kernel can bear.
        alone = nullcontext() if self.kernel.reentrant else self._one_at_a_time
        with alone, named_by(self._names[indices], self._names[indices]):
            block(self.kernel, points, points, out=out, workers=self._workers)
        self._set_diagonal(out, np.arange(len(indices)))
        return out

    def diagonal(self) -> NDArray[np.float64]:
        """Compute the diagonal, once."""
        if self._diagonal is None:
            diagonal = self.kernel.diagonal(self.points)
            if not self.kernel.unit_diagonal:
                self.ledger.charge(self.ledger.account, self.n)
            if not np.isfinite(diagonal).all():
                at = int(np.argmin(np.isfinite(diagonal)))
                name = int(self._names[at])
                raise NotFiniteError(self.kernel.name, name, name, float(diagonal[at]))
            diagonal.flags.writeable = False
            self._diagonal = diagonal
        return self._diagonal

    def _compute(self, indices: IndexArray, columns: IndexArray | slice, out: Floats) -> None:
        left = self.points.take(indices)
        right = self.points if isinstance(columns, slice) else self._select(columns)
        self.ledger.charge(self.ledger.account, out.size)
        with named_by(self._names[indices], self._names[columns]):
            block(self.kernel, left, right, out=out, workers=self._workers)
        if isinstance(columns, slice):
            self._set_diagonal(out, indices)

    def _set_diagonal(self, values: Floats, places: IndexArray) -> None:
        """K(x, x) where it is known: projected points (points/projected.py) do not give it.

        Each row's own column is at ``places``, if it is among these values.
        """
        if self.kernel.unit_diagonal:
            (here,) = np.nonzero((places >= 0) & (places < values.shape[1]))
            values[here, places[here]] = 1.0

    def _select(self, columns: IndexArray) -> Points:
        """Points of some columns; the last choice is kept, for solvers ask for it many times."""
        if self._selected is None or not np.array_equal(self._selected[0], columns):
            self._selected = (columns.copy(), self.points.take(columns))
        return self._selected[1]

    def _room(self, rows: int, columns: int) -> Floats:
        """Reuse one stretch of memory: fresh pages cost as much as the values written to them."""
        if self._buffer.size < rows * columns:
            self._buffer = np.empty(rows * columns, self.dtype)
        return self._buffer[: rows * columns].reshape(rows, columns)


@contextmanager
def named_by(rows: IndexArray, columns: IndexArray) -> Iterator[None]:
    """Name points by what those of the rows and columns are called, not by their position in a block."""
    try:
        yield
    except NotFiniteError as error:
        names = int(rows[error.row]), int(columns[error.column])
        raise NotFiniteError(error.kernel, *names, error.value) from None
