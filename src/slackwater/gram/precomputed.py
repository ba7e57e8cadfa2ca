"""Kernel rows of a matrix the user computed."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from slackwater.errors import IndefiniteKernelError, KernelError
from slackwater.gram.ledger import EvaluationLedger
from slackwater.gram.source import Ahead, DenseRows, IndexArray, Mask, as_indices, read_only
from slackwater.points.base import Floats

TILE = 512  # rows and columns compared at a time
ASYMMETRY = {
    np.dtype(np.float32): 1e-5,
    np.dtype(np.float64): 1e-5,
}  # float64 matrices are often float32 by origin


class PrecomputedRows:
    """Rows of a square, symmetric, finite matrix.

    Values delivered are charged like values computed: the ledger says what a method would have paid.
    Delivering a row twice charges it twice; the diagonal is charged once.

    Parameters
    ----------
    matrix : ndarray of shape (n, n)
        float32 and float64 are used as they are, and must not be changed meanwhile.
    ledger : EvaluationLedger
    """

    def __init__(self, matrix: ArrayLike, ledger: EvaluationLedger) -> None:
        values = np.asarray(matrix)
        if values.ndim != 2 or values.shape[0] != values.shape[1]:
            raise ValueError(
                f"a precomputed kernel must be a square matrix, got shape {values.shape}. "
                "Pass K(X, X), one row and one column for each training point."
            )
        if values.dtype not in ASYMMETRY:
            values = values.astype(np.float64)
        require_finite(values)
        require_symmetric(values)
        self.matrix = read_only(values)
        self.ledger = ledger
        self._diagonal: NDArray[np.float64] | None = None

    @property
    def n(self) -> int:
        """Number of training points."""
        return len(self.matrix)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the values."""
        return self.matrix.dtype

    @property
    def row_bytes(self) -> int:
        """Memory that a row takes."""
        return self.n * self.dtype.itemsize

    @property
    def slots(self) -> int:
        """All rows are at hand."""
        return self.n

    def part(self, indices: IndexArray) -> PrecomputedRows:
        """The rows and columns of some points, charged to the same ledger."""
        part = copy.copy(self)
        part.matrix, part._diagonal = read_only(self.matrix[np.ix_(indices, indices)]), None
        return part

    def rows(self, indices: ArrayLike, columns: ArrayLike | None = None, ahead: Ahead | None = None) -> Floats:
        """Deliver rows: as a view where they follow one another in the matrix, else as a copy."""
        wanted = as_indices(indices, self.n)
        values = self.matrix[consecutive(wanted)]
        if columns is not None:
            values = values[:, as_indices(columns, self.n, "columns")]
        self.ledger.charge(self.ledger.account, values.size)
        return read_only(values)

    def fetch(self, indices: ArrayLike, ahead: Ahead | None = None, transient: Mask | None = None) -> DenseRows:
        """Point at the rows in the matrix."""
        wanted = as_indices(indices, self.n)
        self.ledger.charge(self.ledger.account, wanted.size * self.n)
        return DenseRows(read_only(self.matrix), wanted)

    def fill_rows(self, indices: ArrayLike, out: Floats) -> None:
        """Copy rows into ``out``."""
        np.copyto(out, self.rows(indices), casting="no")

    bounded_by_one = False  # nobody says so
    cheap_to_recompute = False
    rows_together = 1

    def write_into(self, slab: NDArray[Any], slots: IndexArray, indices: IndexArray, first: int) -> None:
        """Copy rows, from column ``first`` on, into those slots of a slab."""
        slab[slots, first:] = self.matrix[indices, first:]
        self.ledger.charge(self.ledger.account, len(indices) * (self.n - first))

    def square(self, indices: IndexArray) -> Floats:
        """Copy the values of some points with one another."""
        self.ledger.charge(self.ledger.account, indices.size**2)
        return np.ascontiguousarray(self.matrix[np.ix_(indices, indices)])

    def diagonal(self) -> NDArray[np.float64]:
        """Deliver the diagonal."""
        if self._diagonal is None:
            self._diagonal = self.matrix.diagonal().astype(np.float64)
            self._diagonal.flags.writeable = False
            self.ledger.charge(self.ledger.account, self.n)
        return self._diagonal


def consecutive(indices: NDArray[np.intp]) -> NDArray[np.intp] | slice:
    """Turn indices that count up by one into a slice, so that indexing with it makes a view."""
    if indices.size and np.all(np.diff(indices) == 1):
        return slice(int(indices[0]), int(indices[-1]) + 1)
    return indices


def require_finite(matrix: Floats) -> None:
    """Raise KernelError naming the first value that is NaN or infinite."""
    for start in range(0, matrix.shape[0], TILE):
        finite = np.isfinite(matrix[start : start + TILE])
        if not finite.all():
            row, column = (int(axis[0]) for axis in np.nonzero(~finite))
            value = matrix[start + row, column]
            raise KernelError(
                f"the precomputed kernel is {value} at [{start + row}, {column}], expected finite numbers."
            )


def require_bounded(matrix: Floats) -> None:
    """Raise IndefiniteKernelError naming a pair with |K_ij| > √(K_ii K_jj): no such matrix is semi-definite."""
    scale = np.sqrt(np.maximum(matrix.diagonal().astype(np.float64), 0.0))
    for start in range(0, matrix.shape[0], TILE):
        tile = np.abs(matrix[start : start + TILE].astype(np.float64))
        excess = tile - (1.0 + 1e-4) * np.outer(scale[start : start + TILE], scale)
        if excess.size and excess.max() > 1e-6 * max(1.0, float(scale.max()) ** 2):
            row, column = (int(axis) for axis in np.unravel_index(int(excess.argmax()), excess.shape))
            raise IndefiniteKernelError(
                f"a precomputed kernel must be positive semi-definite, got K[{start + row}, {column}] = "
                f"{matrix[start + row, column]} beside the diagonal entries {scale[start + row] ** 2:g} and "
                f"{scale[column] ** 2:g}. Check the kernel, or clip the negative eigenvalues."
            )


def require_symmetric(matrix: Floats) -> None:
    """Raise KernelError naming the worst pair if K and its transpose differ."""
    largest = max((float(np.abs(matrix[i : i + TILE]).max()) for i in range(0, len(matrix), TILE)), default=0.0)
    tolerance = ASYMMETRY[matrix.dtype] * largest
    for top in range(0, len(matrix), TILE):
        for left in range(0, top + TILE, TILE):
            tile = matrix[top : top + TILE, left : left + TILE]
            difference = np.abs(tile - matrix[left : left + TILE, top : top + TILE].T)
            if difference.size and difference.max() > tolerance:
                row, column = np.unravel_index(int(difference.argmax()), difference.shape)
                i, j = top + int(row), left + int(column)
                raise KernelError(
                    f"a precomputed kernel must be symmetric, got K[{i}, {j}] = {matrix[i, j]} but "
                    f"K[{j}, {i}] = {matrix[j, i]}. Pass (K + K.T) / 2 if the difference is rounding."
                )
