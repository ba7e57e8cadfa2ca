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
from slackwater.kernels.blocks import SUM_ROWS, combinations
from slackwater.kernels.near_sums import NearSums
from slackwater.points import DensePoints, GridPoints, Points, as_points, in_double
from slackwater.points.grid import place_on
from slackwater.workers import Workers

# To place a point on a grid, or to make a sparse one dense, takes as long as products with so many others save.
_MIN_SUPPORT_TO_CONVERT = 200
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
        coefficients: NDArray[np.float64],
        biases: NDArray[np.float64],
        workers: Workers,
    ) -> NDArray[np.float64]:
        """Values of k functions, given by their (k, support) coefficients, at m points: shape (m, k).

        In double precision where coefficients are so large (a large C) that the rounding of single precision shows.
        """
        double = calls_for_double(float(np.linalg.norm(coefficients, axis=1).max(initial=0.0)))
        support = self._in_precision(double, workers)
        values = self._sums(in_double(points) if double else points, support, coefficients, workers)
        values += biases
        _require_finite(values, self.kernel)
        return values

    def _sums(
        self, points: Points, support: _Prepared, coefficients: NDArray[np.float64], workers: Workers
    ) -> NDArray[np.float64]:
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
