"""The examples of a training set as points, and whatever kernel values are asked of them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from slackwater.gram.cache import RowCache
from slackwater.gram.direct import DirectRows, named_by
from slackwater.gram.ledger import EvaluationLedger
from slackwater.gram.source import IndexArray
from slackwater.gram.storage import RowMemory
from slackwater.kernels.base import Kernel
from slackwater.kernels.blocks import SUM_ROWS, block, combinations
from slackwater.kernels.near_sums import NearSums
from slackwater.memory import untouched
from slackwater.points import DensePoints, Floats, GridPoints, Points
from slackwater.workers import Workers

# What is copied for sums at some points. Copies are cheap beside the products, and packing a support takes as long as
# fifty points do.
_COPIED_BYTES, _SUPPORT_BYTES = 2**24, 2**25


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

    def rows(self, memory: RowMemory | None = None, two_bytes: bool = False) -> RowCache:
        """Rows of the kernel matrix, computed when asked for and kept while there is room."""
        return RowCache(self.direct_rows(), memory or self.row_memory(), two_bytes, self.workers)

    def row_memory(self, limit: int | None = None) -> RowMemory:
        """Memory for rows: as much as points may have, not more than ``limit`` or than all rows take."""
        most = self.cache_bytes if limit is None else min(limit, self.cache_bytes)
        return RowMemory(min(most, self.n**2 * self.points.dtype.itemsize))

    def direct_rows(self) -> DirectRows:
        """Rows of the kernel matrix, computed when asked for."""
        return DirectRows(self.kernel, self.points, self.ledger, self.workers, self.names)

    def part(self, indices: IndexArray) -> Features:
        """Some of the points."""
        return replace(self, points=self.points.take(indices), names=self.names[indices])

    def to_single_precision(self) -> Features:
        """The same with kernel values in single precision, where the kernel says that they are off by 1e-5 at most."""
        points = self.kernel.to_single_precision(self.points)
        return self if points is None or points is self.points else replace(self, points=points)

    def on_grid(self) -> Features:
        """Of dense points in single precision: the same as codes on a grid, if they are on one and it pays."""
        points = self.points
        if not isinstance(points, DensePoints) or points.dtype != np.float32:
            return self
        found = self.kernel.on_grid(self.workers, points)
        return self if found is None else replace(self, points=found[0])

    def fill_block(self, left: IndexArray, right: IndexArray, out: Floats) -> None:
        """Write the kernel values of some points with others into ``out``: shape (len(left), len(right))."""
        self.ledger.charge(self.ledger.account, out.size)
        with named_by(self.names[left], self.names[right]):
            block(self.kernel, self.points.take(left), self.points.take(right), out=out, workers=self.workers)

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
        values = np.zeros((len(at), len(coefficients)))
        for some in _parts(len(support), self._copied_together(len(support), _SUPPORT_BYTES)):
            chosen, own = self.points.take(support[some]), coefficients[:, some]
            for part in _parts(len(at), self._copied_together(len(at), _COPIED_BYTES)):
                values[part] += combinations(self.kernel, self.points.take(at[part]), chosen, own, self.workers)
        return values

    def _copied_together(self, n: int, n_bytes: int) -> int:
        """Of n dense points, so many as take about so much memory, and enough for all threads."""
        if not isinstance(self.points, DensePoints | GridPoints):
            return n
        as_many = n_bytes // max(1, self.points.n_features * self.points.dtype.itemsize) // SUM_ROWS
        return SUM_ROWS * max(as_many, 2 * self.workers.n_threads)

    def values_without_far(
        self, at: IndexArray, support: IndexArray, coefficients: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """The same, without the values of far points where most are far: off by less than 1e-6."""
        sums = NearSums.worthwhile(self.kernel, self.points.take(support))
        near = None if sums is None else sums.at(self.points.take(at), coefficients, self.workers)
        if near is None:
            return self.values(at, support, coefficients)
        values, computed = near
        self.ledger.charge(self.ledger.account, computed)
        return values


# Of points with 20 coordinates a value takes 0.3 ns, with 54 0.6 ns, and to write it to fresh memory 1 ns more where a
# virtual machine gets its memory from the host. Few rows are wanted more than two or three times. With twice as much
# memory mixture takes 1.34 instead of 1.18 s, with half as much scaled Forest 3.4 instead of 3.15 (bench/race.py).
_BYTES_PER_COORDINATE, _MIN_COORDINATES = 2**23, 25


def worth_keeping(features: Features, problems: int) -> int:
    """Memory for rows that costs less time than computing them again would, if few are wanted more than twice.

    ``problems`` is how many share the rows: with several each is wanted more often.
    """
    effort = features.kernel.effort(features.points)
    if effort is None:
        return features.cache_bytes
    return min(problems, 2) * max(effort, _MIN_COORDINATES) * _BYTES_PER_COORDINATE


def beside_a_matrix(features: Features, problems: int) -> int:
    """Memory for the rows of a sample, while another strategy may yet want memory for a matrix of its own."""
    return min(worth_keeping(features, problems), features.cache_bytes, features.matrix_bytes // 2)


def room_for_matrix(features: Features, problems: int) -> int:
    """Memory for such a matrix, beside the rows of a sample."""
    return features.matrix_bytes - beside_a_matrix(features, problems)


def _parts(n: int, size: int) -> list[slice]:
    return [slice(start, min(start + size, n)) for start in range(0, n, max(size, 1))]
