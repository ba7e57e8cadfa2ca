"""Where solvers get kernel values from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from slackwater.gram.ledger import EvaluationLedger
from slackwater.points.base import Floats
from slackwater.workers import Workers

Ahead = Callable[[], ArrayLike]
IndexArray = NDArray[np.intp]
Mask = NDArray[np.bool_]
_ROWS_SUMMED, _COLUMNS_SUMMED = 128, 4096  # together: their copies stay in cache
_MIN_SHARED = 2**17  # values, for a second thread to be worth waking
_ALONE = Workers()


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
    workers: Workers = _ALONE

    def __len__(self) -> int:
        return len(self.places)

    def among(self, numbers: IndexArray) -> NDArray[np.float64]:
        """The values of the rows with one another, a square; ``numbers`` are those of the rows in the matrix."""
        return np.asarray(self.step * self.base[np.ix_(self.places, numbers)].astype(np.float64))

    def part(self, positions: IndexArray) -> DenseRows:
        """Some of the rows, by their positions in the block."""
        return replace(self, places=self.places[positions])

    def add_to(self, responses: NDArray[np.float64], labels: NDArray[np.int8], amounts: NDArray[np.float64]) -> None:
        """responses += labels ∘ Σ_k amounts_k row_k."""
        from slackwater.gram import _loops

        scaled, n = self.step * amounts, len(responses)

        def add(thread: int, threads: int) -> None:
            first, last = thread * n // threads, (thread + 1) * n // threads
            _loops.add_combination(responses, labels, self.base, self.places, scaled, first, last)

        self._share(add, n * len(amounts) // 2)

    def _share(self, work: Callable[[int, int], None], values: int) -> None:
        """Have threads do ``work(thread, threads)`` if it has so many values that it pays."""
        threads = self.workers.n_threads
        if threads == 1 or values < _MIN_SHARED:
            work(0, 1)
        else:
            self.workers.run(lambda thread: work(thread, threads), range(threads))

    def combinations(self, coefficients: Floats, first: int) -> NDArray[np.float64]:
        """Σ_k coefficients[:, k] row_k from column ``first`` on: shape (functions, columns).

        Rows in double precision are multiplied in double, others in single; parts of the rows are summed in double.
        """
        largest = np.abs(coefficients).max(initial=0.0)
        single = self.base.dtype != np.float64 and (largest == 0.0 or 1e-30 < largest < 1e30)
        factors = (self.step * coefficients).astype(np.float32 if single else np.float64)
        base = self.base[:, first:]
        sums = np.zeros((len(factors), base.shape[1]))

        def add_up(begin: int) -> None:
            columns = slice(begin, begin + _COLUMNS_SUMMED)
            total = sums[:, columns]
            rows = np.empty((_ROWS_SUMMED, total.shape[1]), factors.dtype)
            for start in range(0, len(self), _ROWS_SUMMED):
                places = self.places[start : start + _ROWS_SUMMED]
                for row, place in zip(rows, places, strict=False):
                    row[:] = base[place, columns]
                np.add(total, factors[:, start : start + _ROWS_SUMMED] @ rows[: len(places)], out=total)

        self.workers.run(add_up, range(0, sums.shape[1], _COLUMNS_SUMMED))
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
    slots : int
        How many rows are at hand once they have been asked for; further ones take the place of others.
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
    def slots(self) -> int: ...

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

    def fetch(self, indices: ArrayLike, ahead: Ahead | None = None, transient: Mask | None = None) -> RowBlock:
        """Deliver whole rows as ``rows`` does, but leave them where they are.

        ``transient`` says which of them are not expected to be wanted again: they are the first to be evicted.
        """

    def fill_rows(self, indices: ArrayLike, out: Floats) -> None:
        """Write rows of the matrix into ``out``, of shape (len(indices), n)."""

    def square(self, indices: IndexArray) -> Floats:
        """Deliver the values of some points with one another, in the caller's own memory. No row is kept for it."""

    def diagonal(self) -> NDArray[np.float64]:
        """Deliver :math:`K_{ii}` for all i."""


@runtime_checkable
class Forgetful(Protocol):
    """Rows some of which are held, and can be let go."""

    def forget(self) -> None:
        """Be as if nothing had been asked for yet."""


class ComputedRows(RowSource, Protocol):
    """A source that computes rows, or copies them, to where a cache keeps them."""

    @property
    def bounded_by_one(self) -> bool:
        """Whether all values lie between 0 and 1."""

    @property
    def cheap_to_recompute(self) -> bool:
        """Whether a value takes less time to compute than to fetch from memory."""

    @property
    def rows_together(self) -> int:
        """Rows that are computed in about the time of one."""

    def write_into(self, slab: NDArray[Any], slots: IndexArray, indices: IndexArray, first: int) -> None:
        """Write rows, from column ``first`` on, into those slots of a slab; rounded where it is of two bytes."""


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
