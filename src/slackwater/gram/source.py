"""Where solvers get kernel values from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from slackwater.gram.ledger import EvaluationLedger
from slackwater.kernels.points import Floats

Ahead = Callable[[], ArrayLike]
IndexArray = NDArray[np.intp]
_ROWS_SUMMED = 128  # together: their copies stay in cache


class RowBlock(Protocol):
    """Some rows of a kernel matrix, however they are kept. Read-only, and valid until the source is asked again."""

    def __len__(self) -> int: ...

    def among(self, numbers: IndexArray) -> NDArray[np.float64]:
        """The values of the rows with one another, a square; ``numbers`` are those of the rows in the matrix."""

    def part(self, positions: IndexArray) -> RowBlock:
        """Some of the rows, by their positions in the block."""

    def add_to(self, responses: NDArray[np.float64], labels: NDArray[np.int8], amounts: NDArray[np.float64]) -> None:
        """responses += labels ∘ Σ_k amounts_k row_k."""


@dataclass(frozen=True)
class DenseRows:
    """Rows where they lie: row k is ``step * base[places[k]]``. Nothing is copied to bring them together."""

    base: NDArray[Any]
    places: IndexArray
    step: float = 1.0

    def __len__(self) -> int:
        return len(self.places)

    def among(self, numbers: IndexArray) -> NDArray[np.float64]:
        """The values of the rows with one another, a square; ``numbers`` are those of the rows in the matrix."""
        from slackwater.gram import _loops

        out = np.empty((len(self), len(self)))
        _loops.gather(self.base, self.places, numbers, np.argsort(numbers), self.step, out)
        return out

    def part(self, positions: IndexArray) -> DenseRows:
        """Some of the rows, by their positions in the block."""
        return DenseRows(self.base, self.places[positions], self.step)

    def add_to(self, responses: NDArray[np.float64], labels: NDArray[np.int8], amounts: NDArray[np.float64]) -> None:
        """responses += labels ∘ Σ_k amounts_k row_k."""
        from slackwater.gram import _loops

        _loops.add_combination(responses, labels, self.base, self.places, self.step * amounts)

    def combinations(self, coefficients: Floats, first: int) -> NDArray[np.float64]:
        """Σ_k coefficients[:, k] row_k from column ``first`` on: shape (functions, columns).

        Rows in double precision are multiplied in double, others in single; parts of the rows are summed in double.
        """
        largest = np.abs(coefficients).max(initial=0.0)
        single = self.base.dtype != np.float64 and (largest == 0.0 or 1e-30 < largest < 1e30)
        factors = (self.step * coefficients).astype(np.float32 if single else np.float64)
        sums = np.zeros((len(factors), self.base.shape[1] - first))
        rows = np.empty((_ROWS_SUMMED, sums.shape[1]), factors.dtype)
        for start in range(0, len(self), _ROWS_SUMMED):
            places = self.places[start : start + _ROWS_SUMMED]
            for row, place in zip(rows, places, strict=False):
                row[:] = self.base[place, first:]
            sums += factors[:, start : start + _ROWS_SUMMED] @ rows[: len(places)]
        return sums


class RowSource(Protocol):
    """Rows of the kernel matrix of one training set, :math:`K_{ij} = K(x_i, x_j)`.

    Attributes
    ----------
    n : int
        Number of training points.
    dtype : numpy dtype
        Type of the values.
    row_bytes : int
        Memory that a row takes.
    ledger : EvaluationLedger
        Where the values are charged.
    """

    @property
    def n(self) -> int: ...

    @property
    def dtype(self) -> np.dtype[Any]: ...

    @property
    def row_bytes(self) -> int: ...

    @property
    def ledger(self) -> EvaluationLedger: ...

    def rows(self, indices: ArrayLike, columns: ArrayLike | None = None, ahead: Ahead | None = None) -> Floats:
        """Deliver rows of the matrix.

        Parameters
        ----------
        indices : array of int
            Which rows, in which order; repetitions are allowed.
        columns : array of int, optional
            Which columns; all of them by default.
        ahead : callable, optional
            Returns indices of rows likely to be wanted next, most urgent first. A source that keeps rows and
            must compute one anyway asks it and computes those in the same block, which is cheaper; others
            ignore it.

        Returns
        -------
        ndarray of shape (len(indices), n or len(columns))
            Read-only, and valid until the next call.
        """

    def fetch(self, indices: ArrayLike, ahead: Ahead | None = None) -> RowBlock:
        """Deliver whole rows as ``rows`` does, but leave them where they are."""

    def fill_rows(self, indices: ArrayLike, out: Floats) -> None:
        """Write rows of the matrix into ``out``, of shape (len(indices), n)."""

    def diagonal(self) -> NDArray[np.float64]:
        """Deliver :math:`K_{ii}` for all i."""


def as_indices(indices: ArrayLike, n: int, name: str = "indices") -> IndexArray:
    """Check row numbers: one-dimensional, whole, and from 0 to n - 1."""
    array = np.atleast_1d(np.asarray(indices))
    if array.ndim != 1 or (array.dtype.kind not in "iu" and array.size):
        raise ValueError(f"{name} must be a list of integers, got shape {array.shape} of {array.dtype}.")
    array = array.astype(np.intp, copy=False)
    if array.size and not (array.min() >= 0 and array.max() < n):
        raise IndexError(f"{name} must lie between 0 and {n - 1}, got {array.min()} to {array.max()}.")
    return array


def read_only(values: Floats) -> Floats:
    """Return a view that cannot be written to."""
    view = values.view()
    view.flags.writeable = False
    return view
