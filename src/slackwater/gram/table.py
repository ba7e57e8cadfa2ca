"""Examples by their features, for methods that need the features themselves: rows and columns of X.

The meter runs in the same currency as for kernels, inner products of d features: a method that reads single rows and
columns pays for as many inner products as read that many values, rounded up.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from slackwater.deadline import pieces
from slackwater.gram.direct import DirectRows
from slackwater.gram.ledger import EvaluationLedger
from slackwater.kernels.dot import Linear
from slackwater.memory import untouched
from slackwater.points import SparsePoints, Vectors
from slackwater.workers import Workers

Values = NDArray[np.float64]

_TOGETHER = 2**16  # features that are read at once: in double precision they stay in the cache


class FeatureTable(DirectRows):
    """Rows of the linear kernel, and the n × d features behind them: kept by rows and by columns, to read both fast."""

    def __init__(self, points: Vectors, ledger: EvaluationLedger, workers: Workers | None = None) -> None:
        super().__init__(Linear(), points, ledger, workers)
        self.n_features = points.n_features
        self._by_row = points.raw
        sparse = isinstance(points, SparsePoints)
        self._by_column = self._by_row.tocsc() if sparse else _transposed(self._by_row)

    @property
    def column_cost(self) -> int:
        """Inner products that read as many values as a column has."""
        return -(-self.n // max(self.n_features, 1))

    def example(self, index: int) -> Values:
        """The d features of an example; costs one inner product."""
        self.ledger.charge(self.ledger.account, 1)
        if isinstance(self.points, SparsePoints):
            return _filled(self._by_row, index, self.n_features)
        return np.asarray(self._by_row[index], dtype=np.float64)

    def feature(self, column: int) -> Values:
        """One feature of all n examples; costs n/d inner products."""
        self.ledger.charge(self.ledger.account, self.column_cost)
        if isinstance(self.points, SparsePoints):
            return _filled(self._by_column, column, self.n)
        return np.asarray(self._by_column[column], dtype=np.float64)

    def products(self, direction: Values) -> Values:
        """The inner product of every example with a vector; costs n."""
        self.ledger.charge(self.ledger.account, self.n)
        if isinstance(self.points, SparsePoints):
            return np.asarray(self._by_row @ direction, dtype=np.float64)
        step = max(1, _TOGETHER // max(self.n_features, 1))
        found = np.empty(self.n)

        def multiply(start: int) -> None:
            part = slice(start, start + step)
            found[part] = self._by_row[part] @ direction

        self._workers.run(multiply, range(0, self.n, step))
        return found


def _transposed(rows: NDArray[Any]) -> NDArray[Any]:
    """The columns of an array as rows, a few of these at a time."""
    columns = untouched(rows.shape[::-1], rows.dtype)
    for part in pieces(len(rows), max(1, _TOGETHER // max(rows.shape[1], 1))):
        columns[:, part] = rows[part].T
    return columns


def _filled(matrix: Any, line: int, length: int) -> Values:
    """A row of a CSR matrix or a column of a CSC one, zeros included."""
    indptr, indices, data = matrix.indptr, matrix.indices, matrix.data
    values = np.zeros(length)
    part = slice(indptr[line], indptr[line + 1])
    values[indices[part]] = data[part]
    return values
