"""Whole kernel matrices in memory, shared by all runs on a data set.

The meter charges what a method would have paid; what is computed is the matrix, once. For MNIST it takes 14.4 GB.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from slackwater.datasets.registry import Dataset
from slackwater.examples import row_keys
from slackwater.gram.ledger import EvaluationLedger
from slackwater.gram.precomputed import PrecomputedRows
from slackwater.gram.source import read_only
from slackwater.kernels.blocks import block, combinations
from slackwater.kernels.gaussian import Gaussian
from slackwater.points import Floats, Points, Vectors, as_points
from slackwater.problem import Problem
from slackwater.reproduction.data import Selection
from slackwater.workers import Workers, physical_memory, thread_count

_SHARE_OF_MEMORY = 0.8  # the rest is for the data, the processes and everybody else


class GaussianRows(PrecomputedRows):
    """Rows of a matrix that was computed here: not checked again, which takes as long as to compute it (Adult).

    The diagonal is 1 by formula and costs nothing, as it does where rows are computed when they are needed.
    """

    def __init__(self, matrix: Floats, ledger: EvaluationLedger) -> None:
        self.matrix = read_only(matrix)
        self.ledger = ledger
        self._diagonal = np.ones(len(matrix))
        self._diagonal.flags.writeable = False


@dataclass(frozen=True)
class Held:
    """A data set with its kernel matrix."""

    data: Dataset
    kernel: Gaussian
    points: Points
    order: NDArray[np.intp]  # of drawing, by content: that of the estimators, so that equal seeds draw equal examples
    matrix: Floats

    @property
    def n(self) -> int:
        return len(self.matrix)

    def problem(self) -> Problem:
        """The training problem with a meter of its own. Equal rows are not merged: n is the paper's."""
        return Problem(GaussianRows(self.matrix, EvaluationLedger()), self.data.y_train, None, self.order)

    def test_errors(self, coefficients: NDArray[np.float64]) -> list[float]:
        """Test errors of k functions, given by their (k, n) signed coefficients; charged to nobody."""
        with Workers(thread_count(None)) as workers:
            values = combinations(self.kernel, as_points(self.data.X_test), self.points, coefficients, workers)
        predicted = np.where(values > 0.0, 1, -1)
        return [float(error) for error in np.mean(predicted != self.data.y_test[:, None], axis=0)]


_held: dict[KernelMatrix, Held] = {}


@dataclass(frozen=True)
class KernelMatrix:
    """The kernel matrix of a training part. Called, it is held in memory for a ``with`` block."""

    selection: Selection
    gamma: float

    @contextmanager
    def __call__(self) -> Iterator[Held]:
        if self in _held:
            yield _held[self]
            return
        _held[self] = self._compute()
        try:
            yield _held[self]
        finally:
            del _held[self]

    def _compute(self) -> Held:
        data = self.selection.load()
        _require_room(len(data.y_train) ** 2 * data.X_train.dtype.itemsize)
        kernel = Gaussian(self.gamma)
        given = as_points(data.X_train)
        points = kernel.prepared(given)
        with Workers(thread_count(None)) as workers:
            matrix = block(kernel, points, points, workers=workers)
        np.fill_diagonal(matrix, 1.0)  # as by formula; inner products leave 1 ± 1e-7
        return Held(data, kernel, points, _order(given, data.y_train), matrix)


def _require_room(needed: int) -> None:
    """Memory is promised before it is there: without this a process would be killed half-way."""
    most = int(_SHARE_OF_MEMORY * physical_memory())
    if needed > most:
        raise MemoryError(f"the kernel matrix takes {needed / 1e9:.1f} GB; {most / 1e9:.1f} GB may be used here.")


def _order(points: Points, labels: NDArray[np.int8]) -> NDArray[np.intp]:
    assert isinstance(points, Vectors)
    return np.lexsort((labels, row_keys(points)))
