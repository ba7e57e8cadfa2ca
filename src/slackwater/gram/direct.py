"""Kernel rows computed from the points: the only place that computes, and counts."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from slackwater.gram.ledger import EvaluationLedger
from slackwater.gram.source import Ahead, DenseRows, IndexArray, Mask, as_indices, read_only
from slackwater.kernels.base import Kernel
from slackwater.kernels.blocks import GROUP_ROWS, NotFiniteError, block, hand_over, write
from slackwater.kernels.lines import Lines
from slackwater.kernels.points import Floats, Points, Vectors
from slackwater.kernels.radial import Gaussian
from slackwater.workers import Workers

_ROWS_TAKEN = 4 * GROUP_ROWS  # copied together: of a block of few columns, threads share the groups


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

    def fetch(self, indices: ArrayLike, ahead: Ahead | None = None, passing: Mask | None = None) -> DenseRows:
        """Compute rows; as with ``rows``, their memory is used again by the next call."""
        values = self.rows(indices)
        return DenseRows(values, np.arange(len(values)))

    def fill_rows(self, indices: ArrayLike, out: Floats) -> None:
        """Compute rows straight into ``out``."""
        self._compute(as_indices(indices, self.n), slice(0, self.n), out)

    def hand_over(self, indices: IndexArray, first: int, take: Callable[[int, int, Floats], None]) -> None:
        """Compute rows from column ``first`` on and give them away in tiles, from several threads.

        ``take(position, column, tile)`` gets a tile that begins with the row at a position in ``indices``.
        """
        right = self.points.slice(first, self.n)
        self.ledger.charge(self.ledger.account, len(indices) * len(right))
        for start in range(0, len(indices), _ROWS_TAKEN):

            def pass_on(row: int, column: int, tile: Floats, start: int = start) -> None:
                places = indices[start + row : start + row + len(tile)] - first - column
                self._set_diagonal(tile, places)
                take(start + row, first + column, tile)

            chosen = indices[start : start + _ROWS_TAKEN]
            with named_by(self._names[chosen], self._names[first:]):
                hand_over(self.kernel, self.points.take(chosen), right, pass_on, self._workers)

    def writes(self) -> bool:
        """Whether ``write`` can be asked for."""
        return isinstance(self.kernel, Gaussian) and self.kernel.writes(self.points)

    def write(self, indices: IndexArray, first: int, lines: Lines) -> None:
        """Compute rows from column ``first`` on straight to where they are kept, if the kernel ``writes``."""
        left, right = (cast("Vectors", each) for each in (self.points.take(indices), self.points.slice(first, self.n)))
        self.ledger.charge(self.ledger.account, len(left) * len(right))
        write(cast("Gaussian", self.kernel), left, right, lines, self._workers)
        own = np.flatnonzero(indices >= first)
        lines.base[lines.starts[own] + indices[own] - first] = lines.steps or 1.0

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
        """K(x, x) where it is known: fewer coordinates than x has (gram/axes.py) do not give it.

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
