"""Whole kernel matrices in memory, shared by all runs on a data set.

The meter charges what a method would have paid; what is computed is the matrix, once. For MNIST it takes 14.4 GB.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from slackwater.datasets import Dataset

from sbp_paper.experiments.data import Selection
from sbp_paper.experiments.gaussian import Floats, combinations, kernel_matrix
from sbp_paper.experiments.holding import holding
from sbp_paper.experiments.machine import available_memory

_KEY_SEED = 20120626  # any constant
_SHARE_OF_MEMORY = 0.8  # the rest is for the data, the processes and everybody else


@dataclass(frozen=True)
class Held:
    """A data set with its kernel matrix. Equal rows are not merged: n is the paper's."""

    data: Dataset
    gamma: float
    matrix: Floats

    @property
    def n(self) -> int:
        return len(self.matrix)

    def test_errors(self, coefficients: NDArray[np.float64]) -> list[float]:
        """Test errors of k functions, given by their (k, n) signed coefficients; charged to nobody."""
        values = combinations(self.data.X_test, self.data.X_train, coefficients, self.gamma)
        predicted = np.where(values > 0.0, 1, -1)
        return [float(error) for error in np.mean(predicted != self.data.y_test[:, None], axis=0)]


@dataclass(frozen=True)
class KernelMatrix:
    """The kernel matrix of a training part. Called, it is held in memory for a ``with`` block."""

    selection: Selection
    gamma: float

    def __call__(self) -> AbstractContextManager[Held]:
        return holding(self, self._compute)

    def _compute(self) -> Held:
        data = ordered_by_content(self.selection.load())
        _require_room(len(data.y_train) ** 2 * data.X_train.dtype.itemsize)
        return Held(data, self.gamma, kernel_matrix(data.X_train, self.gamma))


def ordered_by_content(data: Dataset) -> Dataset:
    """The same, the order of its training rows a matter of what they are: by their products with a fixed vector.

    Ties, and which examples a seed draws, do not depend then on the order in which a copy of the data is stored.
    """
    direction = np.random.default_rng(_KEY_SEED).standard_normal(data.X_train.shape[1])
    keys = data.X_train.astype(np.float64) @ direction
    order = np.lexsort((data.y_train, keys))
    return data._replace(X_train=data.X_train[order], y_train=data.y_train[order])


def _require_room(needed: int) -> None:
    """Memory is promised before it is there: without this a process would be killed half-way."""
    memory = available_memory()
    most = _SHARE_OF_MEMORY * memory if memory is not None else float("inf")
    if needed > most:
        raise MemoryError(f"the kernel matrix takes {needed / 1e9:.1f} GB; {most / 1e9:.1f} GB may be used here.")
