"""Sparse rows of a narrow kernel, computed when first asked for.

Values below the rounding of single precision are left out, so that these rows are as good as whole rows in single
precision, and a step of a method that adds single rows costs as much as they have other values. (``gram/narrow.py``
leaves out far more, for a whole matrix, and has to make up for it.)
"""

from __future__ import annotations

import math
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from slackwater.gram.features import Features
from slackwater.gram.ledger import EvaluationLedger
from slackwater.gram.source import Ahead, IndexArray, Mask, as_indices, read_only
from slackwater.points import DensePoints, Floats
from slackwater.points.leaves import Leaves

# The kernel value below which an entry is left out: the spacing of single precision at 1. Added to a response of that
# size, what is left out would be rounded away, entry by entry.
CUTOFF = float(np.finfo(np.float32).eps)
_PROBED_ROWS, _PROBED_COLUMNS = 64, 2048  # points whose values with one another tell the share above the cut-off


class SparseRow(NamedTuple):
    """The entries of a row that are not zero."""

    columns: NDArray[np.intp]
    values: NDArray[np.float32]


@dataclass(frozen=True)
class SparseBlock:
    """Some sparse rows; read-only."""

    rows: list[SparseRow]

    def __len__(self) -> int:
        return len(self.rows)

    def among(self, numbers: IndexArray) -> NDArray[np.float64]:
        """The values of the rows with one another, a square; ``numbers`` are those of the rows in the matrix."""
        order = np.argsort(numbers, kind="stable")
        ascending = numbers[order]
        out = np.zeros((len(self), len(numbers)))
        for own, row in zip(out, self.rows, strict=True):
            wanted = np.isin(row.columns, ascending)
            columns, values = row.columns[wanted], row.values[wanted]
            first = np.searchsorted(ascending, columns)
            past = np.searchsorted(ascending, columns, side="right")
            for begin, end, value in zip(first, past, values, strict=True):
                own[order[begin:end]] = value
        return out

    def part(self, positions: IndexArray) -> SparseBlock:
        """Some of the rows, by their positions in the block."""
        return SparseBlock([self.rows[int(position)] for position in positions])

    def add_to(self, responses: NDArray[np.float64], labels: NDArray[np.int8], amounts: NDArray[np.float64]) -> None:
        """responses += labels ∘ Σ_k amounts_k row_k."""
        from slackwater.gram import _narrow_loops

        for row, amount in zip(self.rows, amounts, strict=True):
            _narrow_loops.add_sparse_row(responses, labels, row.columns, row.values, amount)


def can_be_near(features: Features) -> bool:
    """Whether there can be such rows: of dense points in single precision, for a kernel with a finite cut-off."""
    points = features.points
    if not isinstance(points, DensePoints) or points.projected or points.dtype != np.float32:
        return False
    return features.cache_bytes > 0 and math.isfinite(features.kernel.squared_cutoff(CUTOFF))


def share_above_cutoff(features: Features, rng: np.random.Generator) -> float:
    """The share of kernel values that the rows would hold, from a sample; a point's value with itself aside."""
    chosen = rng.permutation(features.n)[: _PROBED_ROWS + _PROBED_COLUMNS]
    with features.ledger.charging("check"):
        values = features.part(chosen).columns(np.arange(_PROBED_ROWS))[_PROBED_ROWS:]
    return float(np.mean(values > CUTOFF))


class NearRows:
    """Rows of the matrix of a narrow kernel without values below ``CUTOFF``; those last used are kept.

    Every distance that is begun counts as one evaluation; a row found here costs none.
    """

    def __init__(self, features: Features, leaves: Leaves) -> None:
        self._features, self._leaves = features, leaves
        self._limit = features.kernel.squared_cutoff(CUTOFF)
        self._position = np.empty(features.n, np.intp)  # of each point in the order of the leaves
        self._position[leaves.order] = np.arange(features.n)
        self._near: dict[int, NDArray[np.int64]] = {}  # leaves near a leaf
        self._rows: OrderedDict[int, SparseRow] = OrderedDict()  # least recently used first
        self._bytes = 0

    @property
    def n(self) -> int:
        """Number of training points."""
        return self._features.n

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the values."""
        return np.dtype(np.float32)

    @property
    def row_bytes(self) -> int:
        """Memory of a row, on average of those held."""
        return max(1, self._bytes // max(1, len(self._rows)))

    @property
    def slots(self) -> int:
        """How many rows of average length there is room for."""
        return min(self.n, self._features.cache_bytes // self.row_bytes)

    @property
    def ledger(self) -> EvaluationLedger:
        """The meter of the points."""
        return self._features.ledger

    def fetch(self, indices: ArrayLike, ahead: Ahead | None = None, transient: Mask | None = None) -> SparseBlock:
        """Deliver rows, computing those that are not here, on several threads. Nothing is computed ahead."""
        wanted = as_indices(indices, self.n).tolist()
        missing = [index for index in dict.fromkeys(wanted) if index not in self._rows]
        computed = dict(zip(missing, self._features.workers.run(self._compute, missing), strict=True))
        self.ledger.charge(self.ledger.account, sum(count for _, count in computed.values()))
        block = SparseBlock([computed[index][0] if index in computed else self._rows[index] for index in wanted])
        for index, row in zip(wanted, block.rows, strict=True):
            self._keep(index, row)
        return block

    def forget(self) -> None:
        """Hold no rows, as at the beginning."""
        self._rows.clear()
        self._bytes = 0

    def rows(self, indices: ArrayLike, columns: ArrayLike | None = None, ahead: Ahead | None = None) -> Floats:
        """Deliver rows with their zeros."""
        block = self.fetch(indices)
        out = np.zeros((len(block), self.n), np.float32)
        for own, row in zip(out, block.rows, strict=True):
            own[row.columns] = row.values
        return read_only(out if columns is None else out[:, as_indices(columns, self.n, "columns")])

    def fill_rows(self, indices: ArrayLike, out: Floats) -> None:
        """Write rows, with their zeros, into ``out``."""
        out[...] = self.rows(indices)

    def square(self, indices: IndexArray) -> Floats:
        """The values of some points with one another."""
        return self._features.direct_rows().square(indices)

    def diagonal(self) -> NDArray[np.float64]:
        """Deliver the diagonal."""
        return self._features.direct_rows().diagonal()

    def _compute(self, index: int) -> tuple[SparseRow, int]:
        self._features.workers.deadline.check()
        leaves, position = self._leaves, int(self._position[index])
        leaf = int(np.searchsorted(leaves.starts, position, side="right")) - 1
        near = self._near.get(leaf)
        if near is None:
            near = self._near[leaf] = leaves.near(leaf, self._limit)
        member = np.array([position - leaves.starts[leaf]], dtype=np.intp)
        columns, values, _, computed = leaves.pairs_within(leaf, member, near, self._limit)
        values = values.copy()  # of its own: what was found is a part of a larger array
        self._features.kernel.from_squared_distances(values)
        return SparseRow(leaves.order[columns], values), computed

    def _keep(self, index: int, row: SparseRow) -> None:
        """As the row most recently used; others make room."""
        if index not in self._rows:
            self._bytes += row.columns.nbytes + row.values.nbytes
        self._rows[index] = row
        self._rows.move_to_end(index)
        while self._bytes > self._features.cache_bytes and len(self._rows) > 1:
            _, evicted = self._rows.popitem(last=False)
            self._bytes -= evicted.columns.nbytes + evicted.values.nbytes
