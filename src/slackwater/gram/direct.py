"""Kernel rows computed from the points: the only place that computes, and counts."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from slackwater.gram.ledger import EvaluationLedger
from slackwater.gram.source import Ahead, DenseRows, IndexArray, as_indices, read_only
from slackwater.kernels.base import Kernel
from slackwater.kernels.blocks import NotFiniteError, block
from slackwater.kernels.points import Floats, Points
from slackwater.workers import Workers


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
    """

    def __init__(
        self, kernel: Kernel, points: Points, ledger: EvaluationLedger, workers: Workers | None = None
    ) -> None:
        self.kernel = kernel
        self.points = points
        self.ledger = ledger
        self._workers = workers
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

    def rows(self, indices: ArrayLike, columns: ArrayLike | None = None, ahead: Ahead | None = None) -> Floats:
        """Compute rows; the memory they are returned in is used again by the next call."""
        wanted = as_indices(indices, self.n)
        chosen = None if columns is None else as_indices(columns, self.n, "columns")
        out = self._room(wanted.size, self.n if chosen is None else chosen.size)
        self._compute(wanted, slice(0, self.n) if chosen is None else chosen, out)
        return read_only(out)

    def fetch(self, indices: ArrayLike, ahead: Ahead | None = None) -> DenseRows:
        """Compute rows; as with ``rows``, their memory is used again by the next call."""
        values = self.rows(indices)
        return DenseRows(values, np.arange(len(values)))

    def fill_rows(self, indices: ArrayLike, out: Floats, first: int = 0) -> None:
        """Compute rows, from column ``first`` on, straight into ``out``."""
        self._compute(as_indices(indices, self.n), slice(first, self.n), out)

    def diagonal(self) -> NDArray[np.float64]:
        """Compute the diagonal, once."""
        if self._diagonal is None:
            diagonal = self.kernel.diagonal(self.points)
            if not self.kernel.unit_diagonal:
                self.ledger.charge(self.ledger.account, self.n)
            if not np.isfinite(diagonal).all():
                at = int(np.argmin(np.isfinite(diagonal)))
                raise NotFiniteError(self.kernel.name, at, at, float(diagonal[at]))
            diagonal.flags.writeable = False
            self._diagonal = diagonal
        return self._diagonal

    def _compute(self, indices: IndexArray, columns: IndexArray | slice, out: Floats) -> None:
        left = self.points.take(indices)
        if isinstance(columns, slice):
            right = self.points if columns.start == 0 else self.points.slice(columns.start, columns.stop)
        else:
            right = self._select(columns)
        self.ledger.charge(self.ledger.account, out.size)
        try:
            block(self.kernel, left, right, out=out, workers=self._workers)
        except NotFiniteError as error:  # say it by the numbers of the training points
            column = error.column + columns.start if isinstance(columns, slice) else int(columns[error.column])
            raise NotFiniteError(error.kernel, int(indices[error.row]), column, error.value) from None

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
