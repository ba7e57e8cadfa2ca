"""Decision values: an expansion whose support is prepared once and used many times."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slackwater.errors import KernelError
from slackwater.gram.precision import calls_for_double
from slackwater.kernels.base import Kernel
from slackwater.kernels.blocks import SUM_ROWS, combinations, in_type_of_values
from slackwater.kernels.near_sums import NearSums
from slackwater.linear_functions import LinearFunctions
from slackwater.points import DensePoints, Floats, GridPoints, Points, Vectors, as_points, in_double
from slackwater.points.grid import place_on
from slackwater.votes import pair_number
from slackwater.workers import Workers

# To place a point on a grid, or to make a sparse one dense, takes as long as products with so many others save.
_MIN_SUPPORT_TO_CONVERT = 200
_MAX_WEIGHTS = 2**24  # numbers: of the functions of a linear kernel, in double precision 128 MB
_MAX_DENSE_PAIRS = 64  # of classes, whose coefficients are multiplied as one matrix, most of which is zeros
_MIN_PRODUCTS_SHARED = 2**22  # coordinates multiplied, for a second thread to be worth waking


@dataclass
class _Prepared:
    """The support in one precision, in the forms that are quickest to multiply; None where there is no such form."""

    kernel: Kernel
    given: Points
    dense: Points  # as the kernel is quickest with it
    on_grid: GridPoints | None
    near: NearSums | None  # sums without far support vectors

    @cached_property
    def centred(self) -> tuple[NDArray[np.float64], DensePoints] | None:
        """The origin, and the support shifted to it, where that makes single precision enough.

        Found when it is first asked for, by all threads that ask alike: points on a grid do not.
        """
        support = self.dense
        if not isinstance(support, DensePoints) or support.dtype != np.float32 or len(support) == 0:
            return None
        origin = self.kernel.better_origin(support)
        shifted = None if origin is None else support.shifted(origin)
        return None if origin is None or shifted is None else (origin, shifted)


@dataclass(frozen=True)
class PairCoefficients:
    """The coefficients of one-vs-one models in LIBSVM's layout: of k - 1 pairs for each support vector.

    Support vectors are grouped by class; those of class a have in row b - 1 (b > a) or b (b < a) the coefficient of
    the pair of a and b.
    """

    table: NDArray[np.float64]  # (k - 1, support)
    n_support: NDArray[np.integer[Any]]  # of each class

    @property
    def n_classes(self) -> int:
        return len(self.n_support)

    @property
    def n_pairs(self) -> int:
        return self.n_classes * (self.n_classes - 1) // 2

    @cached_property
    def ends(self) -> NDArray[np.intp]:
        """Where the support vectors of each class end."""
        return np.cumsum(self.n_support)

    @cached_property
    def pairs_with(self) -> list[NDArray[np.intp]]:
        """The numbers of the pairs of each class with the others, in the order of the rows of the table."""
        found = []
        for code in range(self.n_classes):
            before, after = np.arange(code), np.arange(code + 1, self.n_classes)
            numbers = [pair_number(before, code, self.n_classes), pair_number(code, after, self.n_classes)]
            found.append(np.concatenate(numbers))
        return found

    @cached_property
    def dense(self) -> NDArray[np.float64]:
        """The same as one row for each pair: (pairs, support), mostly zeros."""
        found = np.zeros((self.n_pairs, self.table.shape[1]))
        for code, end in enumerate(self.ends):
            part = slice(int(end - self.n_support[code]), int(end))
            found[self.pairs_with[code], part] = self.table[:, part]
        return found

    @cached_property
    def largest_norm(self) -> float:
        """Of the coefficients of a pair."""
        squares = np.zeros(self.n_pairs)
        for code, end in enumerate(self.ends):
            squares[self.pairs_with[code]] += (self.table[:, end - self.n_support[code] : end] ** 2).sum(axis=1)
        return float(np.sqrt(squares.max(initial=0.0)))


@dataclass(frozen=True)
class _PairFactors:
    """``PairCoefficients`` as tiles are multiplied by them, class by class."""

    coefficients: PairCoefficients
    factors: Floats  # (support, k - 1)

    @property
    def functions(self) -> int:
        return self.coefficients.n_pairs

    def add_to(self, sums: NDArray[np.float64], tile: Floats, first: int) -> None:
        ends = self.coefficients.ends
        last = first + tile.shape[1]
        # A row of the sums for each pair: those of a class are far apart, and a column would be a cache line each.
        turned = sums.T
        for code in range(int(np.searchsorted(ends, first, side="right")), self.coefficients.n_classes):
            start = max(first, int(ends[code] - self.coefficients.n_support[code]))
            stop = min(last, int(ends[code]))
            if start >= last:
                break
            if stop > start:
                own = self.factors[start:stop].T @ tile[:, start - first : stop - first].T
                turned[self.coefficients.pairs_with[code]] += own


class PreparedSupport:
    """The support vectors of a fitted model, prepared for predictions when first asked for.

    May be used by several threads at once. Pickles as the support alone: what was prepared is prepared again.

    Parameters
    ----------
    kernel : Kernel
    support : array, CSR matrix, sequence of objects, or Points
    """

    def __init__(self, kernel: Kernel, support: Any) -> None:
        self.kernel, self.support = kernel, support
        self._lock = threading.Lock()
        self._prepared: dict[bool, _Prepared] = {}  # by whether it is in double precision

    def __reduce__(self) -> tuple[Any, ...]:
        return PreparedSupport, (self.kernel, self.support)

    def decision_values(
        self,
        points: Points,
        coefficients: NDArray[np.float64] | PairCoefficients,
        biases: NDArray[np.float64],
        workers: Workers,
    ) -> NDArray[np.float64]:
        """Values of k functions, given by their (k, support) coefficients, at m points: shape (m, k).

        In double precision where coefficients are so large (a large C) that the rounding of single precision shows.
        """
        with np.errstate(over="ignore"):  # infinite, it calls for double precision as well
            if isinstance(coefficients, PairCoefficients):
                largest = coefficients.largest_norm
            else:
                largest = float(np.linalg.norm(coefficients, axis=1).max(initial=0.0))
        double = calls_for_double(largest * self._largest_value)
        support = self._in_precision(double, workers)
        values = self._sums(in_double(points) if double else points, support, coefficients, workers)
        values += biases
        _require_finite(values, self.kernel)
        return values

    def _sums(
        self,
        points: Points,
        support: _Prepared,
        coefficients: NDArray[np.float64] | PairCoefficients,
        workers: Workers,
    ) -> NDArray[np.float64]:
        if self._linear is not None and isinstance(points, Vectors):
            dense = coefficients.dense if isinstance(coefficients, PairCoefficients) else coefficients
            if dense.shape[0] * points.n_features <= _MAX_WEIGHTS:
                return self._linear.values(points, dense, workers)
        if isinstance(coefficients, PairCoefficients):
            if coefficients.n_pairs > _MAX_DENSE_PAIRS:
                both = self._quickest(points, support, workers)
                dtype = np.result_type(both[0].dtype, both[1].dtype)
                factors = _PairFactors(coefficients, in_type_of_values(coefficients.table, dtype))
                return combinations(self.kernel, *both, factors, workers)
            coefficients = coefficients.dense
        near = None if support.near is None else support.near.at(points, coefficients, workers)
        if near is not None:
            return near[0]
        return combinations(self.kernel, *self._quickest(points, support, workers), coefficients, workers)

    def _quickest(self, points: Points, support: _Prepared, workers: Workers) -> tuple[Points, Points]:
        """Points and support in the form for which values are soonest computed."""
        if points.dtype != np.float32 or support.given.dtype != np.float32:
            return points, support.dense
        many = len(support.given) >= _MIN_SUPPORT_TO_CONVERT
        prepared = self.kernel.prepared(points) if many else points
        if not isinstance(prepared, DensePoints):
            return points, support.given
        if support.on_grid is not None:
            placed = place_on(support.on_grid.grid, prepared, workers)
            if placed is not None:
                return placed, support.on_grid
        if support.centred is not None:
            shifted = prepared.shifted(support.centred[0])
            if shifted is not None:
                return shifted, support.centred[1]
        return prepared, support.dense

    @cached_property
    def _largest_value(self) -> float:
        """Of the kernel, at points like the support vectors."""
        return self.kernel.largest_value(as_points(self.support))

    @cached_property
    def _linear(self) -> LinearFunctions | None:
        """Functions by their weights, where the kernel is an inner product."""
        support = as_points(self.support) if self.kernel.is_inner_product else None
        return LinearFunctions(support) if isinstance(support, Vectors) else None

    def _in_precision(self, double: bool, workers: Workers) -> _Prepared:
        found = self._prepared.get(double)
        if found is None:
            with self._lock:
                found = self._prepared.get(double) or self._prepare(double, workers)
                self._prepared[double] = found
        return found

    def _prepare(self, double: bool, workers: Workers) -> _Prepared:
        given = in_double(as_points(self.support)) if double else as_points(self.support)
        dense = self.kernel.prepared(given)
        single = dense if isinstance(dense, DensePoints) and dense.dtype == np.float32 else None
        return _Prepared(
            kernel=self.kernel,
            given=given,
            dense=dense,
            on_grid=None if single is None else self._on_grid(single, workers),
            near=NearSums.worthwhile(self.kernel, given),
        )

    def _on_grid(self, support: DensePoints, workers: Workers) -> GridPoints | None:
        found = self.kernel.on_grid(workers, support) if len(support) >= _MIN_SUPPORT_TO_CONVERT else None
        return None if found is None else found[0]


def decision_values(
    kernel: Kernel,
    points: Points,
    support: Points,
    coefficients: NDArray[np.float64],
    biases: NDArray[np.float64],
    workers: Workers,
) -> NDArray[np.float64]:
    """``PreparedSupport.decision_values``, once."""
    return PreparedSupport(kernel, support).decision_values(points, coefficients, biases, workers)


def threads_pay(n_points: int, n_support: int, n_features: int) -> bool:
    """Whether predictions take so long that threads are worth waking."""
    return n_points > SUM_ROWS or n_points * n_support * n_features >= _MIN_PRODUCTS_SHARED


def _require_finite(values: NDArray[np.float64], kernel: Kernel) -> None:
    if np.isfinite(values).all():
        return
    row = int(np.flatnonzero(~np.isfinite(values).all(axis=1))[0])
    raise KernelError(
        f"the {kernel.name} kernel overflows at row {row} of X: its decision value is {values[row].tolist()}. "
        "Check that X is scaled as the training data were."
    )
