"""Rows of a narrow kernel as sparse rows: values too small to matter are neither computed nor kept.

Where the Gaussian is narrow compared with the spread of the data, most pairs of points have next to nothing to do with
each other (on Forest with its raw features 0.13 % of the kernel values exceed 1e-3). Points are sorted into leaves by
splitting at medians; two leaves whose bounding boxes are far apart are never looked at again.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from slackwater.gram.features import Features
from slackwater.gram.ledger import EvaluationLedger
from slackwater.gram.source import Ahead, IndexArray, Mask, as_indices, read_only
from slackwater.kernels.base import Kernel
from slackwater.kernels.blocks import block
from slackwater.kernels.points import DensePoints, Floats, Points
from slackwater.kernels.radial import Gaussian
from slackwater.workers import Workers

NEGLIGIBLE = 1e-4  # kernel values below this are taken for zero
_LEAF = 128
_PROBES = 4096
_MOST_NEAR = 0.3  # pairs of leaves
_LEAVES_AT_A_TIME = 16
_FEWEST_SUPPORT, _FEWEST_POINTS = 4096, 512  # for sorting the support vectors into leaves to pay
_LEFT_OUT = 1e-6  # of a decision value, by far points taken together
_POINTS_AT_A_TIME = 256


@dataclass(frozen=True)
class SparseRows:
    """Rows of a sparse matrix, by number; read-only."""

    matrix: NarrowRows
    places: IndexArray

    def __len__(self) -> int:
        return len(self.places)

    def among(self, numbers: IndexArray) -> NDArray[np.float64]:
        """The values of the rows with one another, a square; ``numbers`` are those of the rows in the matrix."""
        return self.matrix.gathered(self.places, numbers, np.float64)

    def part(self, positions: IndexArray) -> SparseRows:
        """Some of the rows, by their positions in the block."""
        return SparseRows(self.matrix, self.places[positions])

    def add_to(self, responses: NDArray[np.float64], labels: NDArray[np.int8], amounts: NDArray[np.float64]) -> None:
        """responses += labels ∘ Σ_k amounts_k row_k."""
        from slackwater.gram import _narrow_loops

        rows = self.matrix
        _narrow_loops.add_rows(responses, labels, rows.indptr, rows.columns, rows.values, self.places, amounts)


def cut_off(kernel: Gaussian) -> float:
    """The squared distance beyond which kernel values are negligible."""
    return -math.log(NEGLIGIBLE) / kernel.gamma


def share_above_negligible(features: Features, rng: np.random.Generator) -> float:
    """The share of kernel values that are not negligible, from a sample; a point's value with itself aside."""
    probes = rng.permutation(features.n)[:_PROBES]
    rows, columns = np.split(probes, [len(probes) // 8])
    sample = features.part(np.concatenate([rows, columns]))
    values = sample.columns(np.arange(len(rows)))[len(rows) :]
    return float(np.mean(values > NEGLIGIBLE))


def narrow_combinations(
    kernel: Kernel, points: Points, support: Points, coefficients: NDArray[np.float64], workers: Workers
) -> tuple[NDArray[np.float64], int] | None:
    """``kernels.blocks.combinations`` without the values of far points; None if too few of them are far, or if the
    kernel is not a Gaussian of dense points.

    What is left out of a sum is less than _LEFT_OUT in all. Also returns how many distances were computed.
    """
    if not isinstance(kernel, Gaussian) or not isinstance(points, DensePoints) or not isinstance(support, DensePoints):
        return None
    if len(support) < _FEWEST_SUPPORT or len(points) < _FEWEST_POINTS or points.dtype != support.dtype:
        return None
    total = float(np.abs(coefficients).sum(axis=1).max())
    limit = math.log(max(total / _LEFT_OUT, 2.0)) / kernel.gamma
    few = support.take(np.linspace(0, len(support) - 1, 128).astype(np.intp))
    if np.mean(block(kernel, few, few) > math.exp(-kernel.gamma * limit)) > _MOST_NEAR:
        return None
    leaves = Leaves(support)
    if leaves.share_near(limit) > _MOST_NEAR:
        return None
    return _sums_over_leaves(kernel, points, leaves, limit, coefficients, workers)


def _sums_over_leaves(
    kernel: Gaussian,
    points: DensePoints,
    leaves: Leaves,
    limit: float,
    coefficients: NDArray[np.float64],
    workers: Workers,
) -> tuple[NDArray[np.float64], int]:
    from slackwater.gram import _narrow_loops

    factors = np.ascontiguousarray(coefficients[:, leaves.order].T)
    values = np.empty((len(points), len(coefficients)))

    def add_up(start: int) -> int:
        computed: int = _narrow_loops.gaussian_sums(
            leaves.coordinates(points.values[start : start + _POINTS_AT_A_TIME]),
            leaves.packed,
            leaves.starts,
            leaves.lower,
            leaves.upper,
            kernel.gamma,
            limit,
            factors,
            values[start : start + _POINTS_AT_A_TIME],
        )
        return computed

    return values, sum(workers.run(add_up, range(0, len(points), _POINTS_AT_A_TIME)))


def values_without_far_points(
    features: Features, at: IndexArray, support: IndexArray, coefficients: NDArray[np.float64]
) -> NDArray[np.float64]:
    """``Features.values``, without the values of far points where most are far."""
    points = features.points
    near = narrow_combinations(features.kernel, points.take(at), points.take(support), coefficients, features.workers)
    if near is None:
        return features.values(at, support, coefficients)
    values, computed = near
    features.ledger.charge(features.ledger.account, computed)
    return values


class Leaves:
    """Points in an order in which neighbours stand together, cut into leaves with bounding boxes.

    Attributes
    ----------
    order : ndarray of shape (n,)
        The points, leaf after leaf.
    starts : ndarray of shape (leaves + 1,)
        Where in that order each leaf begins.
    """

    def __init__(self, points: DensePoints) -> None:
        from slackwater.gram import _narrow_loops

        values = points.values
        self.order, self.starts = _median_leaves(values)
        spread = values.std(axis=0, dtype=np.float64)
        self.dimensions = np.argsort(-spread, kind="stable")[: max(1, np.count_nonzero(spread))]  # telling ones first
        # Whole numbers, so that whole numbers stay exact.
        self.centre = np.rint(values.mean(axis=0, dtype=np.float64))[self.dimensions].astype(values.dtype)
        d = len(self.dimensions)
        self.packed = np.empty(len(values) * d, values.dtype)
        for first, last in zip(self.starts[:-1], self.starts[1:], strict=True):
            self.packed[first * d : last * d] = self.coordinates(values[self.order[first:last]]).T.ravel()
        self.lower = np.empty((len(self), d), values.dtype)
        self.upper = np.empty_like(self.lower)
        _narrow_loops.bound_boxes(self.packed, self.starts, self.lower, self.upper)

    def __len__(self) -> int:
        return len(self.starts) - 1

    def coordinates(self, values: Floats) -> Floats:
        """Other points, in the coordinates of the leaves."""
        return np.asarray(values[:, self.dimensions] - self.centre)

    def share_near(self, limit: float) -> float:
        """The share of pairs of leaves that are near, from a sample of them."""
        probes = range(0, len(self), max(1, len(self) // 64))
        return float(np.mean([len(self.near(leaf, limit)) for leaf in probes])) / len(self)

    def near(self, leaf: int, limit: float) -> NDArray[np.int64]:
        """The leaves that may have points within the squared distance ``limit`` of points of this leaf."""
        from slackwater.gram import _narrow_loops

        found = np.empty(len(self), np.int64)
        return found[: _narrow_loops.near_leaves(self.lower, self.upper, leaf, limit, found)]


class NarrowRows:
    """The whole matrix of a narrow Gaussian kernel, sparse, of points in the order of ``leaves``.

    Every distance that is begun counts as one evaluation, in the building; after that rows cost nothing.
    """

    def __init__(self, kernel: Gaussian, leaves: Leaves, ledger: EvaluationLedger, workers: Workers) -> None:
        self.ledger = ledger
        self.n = int(leaves.starts[-1])
        self.indptr = np.zeros(self.n + 1, np.int64)
        self.columns = np.empty(0, np.int32)
        self.values = np.empty(0, np.float32)
        self._build(kernel, leaves, workers)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the values."""
        return self.values.dtype

    @property
    def row_bytes(self) -> int:
        """Memory of a row, on average."""
        return int(8 * self.indptr[-1] // self.n)

    @property
    def slots(self) -> int:
        """All rows are at hand."""
        return self.n

    def rows(self, indices: ArrayLike, columns: ArrayLike | None = None, ahead: Ahead | None = None) -> Floats:
        """Deliver rows with their zeros."""
        wanted = as_indices(indices, self.n)
        chosen = np.arange(self.n) if columns is None else as_indices(columns, self.n, "columns")
        return read_only(self.gathered(wanted, chosen, np.float32))

    def fetch(self, indices: ArrayLike, ahead: Ahead | None = None, passing: Mask | None = None) -> SparseRows:
        """Point at the rows."""
        return SparseRows(self, as_indices(indices, self.n))

    def fill_rows(self, indices: ArrayLike, out: Floats) -> None:
        """Write rows, with their zeros, into ``out``."""
        out[...] = self.rows(indices)

    def square(self, indices: IndexArray) -> Floats:
        """Gather the values of some points with one another."""
        values: Floats = self.gathered(indices, indices, np.float32)
        return values

    def diagonal(self) -> NDArray[np.float64]:
        """Ones."""
        return np.ones(self.n)

    def gathered(self, rows: IndexArray, columns: IndexArray, dtype: Any) -> NDArray[Any]:
        """Some columns of some rows as a dense array."""
        from slackwater.gram import _narrow_loops

        position = np.full(self.n, -1, np.int32)
        position[columns] = np.arange(len(columns), dtype=np.int32)
        out = np.zeros((len(rows), len(columns)), dtype)
        _narrow_loops.gather(self.indptr, self.columns, self.values, rows, position, out)
        if len(columns) > 1 and (position[columns] != np.arange(len(columns))).any():  # some are asked for twice
            out = out[:, position[columns]]
        return out

    def _build(self, kernel: Gaussian, leaves: Leaves, workers: Workers) -> None:
        limit = cut_off(kernel)

        def compute(leaf: int) -> tuple[NDArray[np.int32], NDArray[np.float32], NDArray[np.int64], int]:
            return _rows_of_leaf(kernel, leaves, leaf, limit)

        filled = 0
        for first in range(0, len(leaves), _LEAVES_AT_A_TIME):
            batch = range(first, min(first + _LEAVES_AT_A_TIME, len(leaves)))
            for leaf, (columns, values, lengths, computed) in zip(batch, workers.run(compute, batch), strict=True):
                self._reserve(filled + len(values), (leaf + 1) / len(leaves))
                self.columns[filled : filled + len(values)] = columns
                self.values[filled : filled + len(values)] = values
                begin = int(leaves.starts[leaf])
                self.indptr[begin + 1 : begin + 1 + len(lengths)] = filled + np.cumsum(lengths)
                filled += len(values)
                self.ledger.charge(self.ledger.account, computed)
        self.columns.resize(filled, refcheck=False)
        self.values.resize(filled, refcheck=False)

    def _reserve(self, needed: int, done: float) -> None:
        """Make room; memory that is not written to is not taken, and growing it copies nothing."""
        if needed > len(self.values):
            room = int(max(needed * 1.2, needed / done * 1.1))
            self.columns.resize(room, refcheck=False)
            self.values.resize(room, refcheck=False)


def _rows_of_leaf(
    kernel: Gaussian, leaves: Leaves, leaf: int, limit: float
) -> tuple[NDArray[np.int32], NDArray[np.float32], NDArray[np.int64], int]:
    from slackwater.gram import _narrow_loops

    near = leaves.near(leaf, limit)
    size = int(leaves.starts[leaf + 1] - leaves.starts[leaf])
    most = size * int((leaves.starts[near + 1] - leaves.starts[near]).sum())
    columns, values = np.empty(most, np.int32), np.empty(most, np.float32)
    lengths = np.empty(size, np.int64)
    written, computed = _narrow_loops.gaussian_rows(
        leaves.packed,
        leaves.starts,
        leaves.lower,
        leaves.upper,
        leaf,
        near,
        kernel.gamma,
        limit,
        columns,
        values,
        lengths,
    )
    return columns[:written], values[:written], lengths, computed


def _median_leaves(values: Floats) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
    """Split at the median of the widest coordinate until at most _LEAF points are together."""
    order = np.arange(len(values))
    starts = [0]
    parts = [(0, len(values))]
    while parts:
        first, last = parts.pop()
        if last - first <= _LEAF:
            starts.append(last)
            continue
        members = order[first:last]
        sample = values[members[:: max(1, len(members) // 512)]]
        widest = int(np.argmax(sample.std(axis=0)))
        middle = (last - first) // 2
        order[first:last] = members[np.argpartition(values[members, widest], middle)]
        parts += [(first + middle, last), (first, first + middle)]
    return order, np.array(starts, np.int64)
