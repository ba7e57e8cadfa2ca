"""The examples of a training set as points, and whatever kernel values are asked of them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from slackwater.gram.cached import CachedRows
from slackwater.gram.direct import DirectRows, named_by
from slackwater.gram.ledger import EvaluationLedger
from slackwater.gram.source import IndexArray
from slackwater.kernels.base import Kernel
from slackwater.kernels.blocks import block, combinations
from slackwater.kernels.points import DensePoints, Floats, Points
from slackwater.kernels.radial import Gaussian
from slackwater.memory import untouched
from slackwater.workers import Workers


@dataclass(frozen=True)
class Features:
    """Points with the kernel, the meter, the threads and the memory to compute with. Every value is charged."""

    kernel: Kernel
    points: Points
    ledger: EvaluationLedger
    workers: Workers
    cache_bytes: int  # for rows that are kept
    matrix_bytes: int  # for a whole matrix that is nearly sparse, or coordinates in a span
    names: IndexArray  # of the points: their numbers in the user's data

    @property
    def n(self) -> int:
        """Number of points."""
        return len(self.points)

    def rows(self) -> CachedRows:
        """Rows of the kernel matrix, computed when asked for and kept while there is room."""
        return CachedRows(self.direct_rows(), self.cache_bytes)

    def direct_rows(self) -> DirectRows:
        """Rows of the kernel matrix, computed when asked for."""
        return DirectRows(self.kernel, self.points, self.ledger, self.workers, self.names)

    def part(self, indices: IndexArray) -> Features:
        """Some of the points."""
        return replace(self, points=self.points.take(indices), names=self.names[indices])

    def lean(self) -> Features:
        """Of dense points with a Gaussian: the same with kernel values in single precision, and coordinates, too, where
        the values hardly feel that (1e-5). If they do, the points are seen from their middle.
        """
        points, single = self.points, np.dtype(np.float32)
        if not isinstance(points, DensePoints) or not isinstance(self.kernel, Gaussian):
            return self
        if self.kernel.needs_double(points, points):
            (points,) = self.kernel.seen_from_middle(points)
        if points.dtype == single:
            return self if points is self.points else replace(self, points=points)
        if self.kernel.feels_rounding(points):
            return replace(self, points=DensePoints(points.values, dtype=single))
        return replace(self, points=DensePoints(points.dense(single)))

    def on_grid(self) -> Features:
        """Of dense points in single precision with a Gaussian: the same on a grid, if they are on one."""
        points = self.points
        if not isinstance(points, DensePoints) or not isinstance(self.kernel, Gaussian) or points.dtype != np.float32:
            return self
        found = self.kernel.on_grid(self.workers, points)
        return self if found is None else replace(self, points=found[0])

    def columns(self, indices: IndexArray) -> Floats:
        """Kernel values of all points with some of them: shape (n, len(indices)), the caller's own."""
        others = self.part(indices)
        out = untouched((self.n, others.n), self.points.dtype)
        self.fill_columns(others, out)
        return out

    def fill_columns(self, others: Features, out: Floats) -> None:
        """Write the kernel values of all points with others into ``out``: shape (n, others.n)."""
        self.ledger.charge(self.ledger.account, self.n * others.n)
        with named_by(self.names, others.names):
            block(self.kernel, self.points, others.points, out=out, workers=self.workers)

    def values(self, at: IndexArray, support: IndexArray, coefficients: NDArray[np.float64]) -> NDArray[np.float64]:
        """Σ_i coefficients[:, i] K(support_i, x) for the points x in ``at``: shape (len(at), functions)."""
        self.ledger.charge(self.ledger.account, len(at) * len(support))
        return combinations(self.kernel, self.points.take(at), self.points.take(support), coefficients, self.workers)
