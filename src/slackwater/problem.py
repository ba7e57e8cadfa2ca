"""One binary training problem: labels, weights and the kernel rows of its examples."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slackwater.gram.source import RowSource


class Basin(NamedTuple):
    """The examples one draw chooses among, in drawing order, with their weights summed up to each of them."""

    members: NDArray[np.intp]
    cumulative: NDArray[np.float64]
    rank: NDArray[np.int32] | None = None  # of each of the n examples among the members; -1 for others


@dataclass(frozen=True)
class Problem:
    """A binary problem as solvers see it.

    Parameters
    ----------
    rows : RowSource
        Kernel rows of the n examples; shared by the problems of one multi-class fit.
    labels : ndarray of shape (n,), int8
        +1 or -1.
    weights : ndarray of shape (n,) or None
        What each example's slack costs. An example of weight zero is carried along: it takes no part in
        training, yet its response is kept up to date, which is how hold-out examples cost nothing extra.
    order : ndarray of shape (n,)
        The order in which draws run through the examples. It depends on the examples' content alone, so
        that the model does not depend on the order of the rows.
    holdout : ndarray or None
        Weight of each example in the hold-out error; zero for training examples.
    """

    rows: RowSource
    labels: NDArray[np.int8]
    weights: NDArray[np.float64] | None
    order: NDArray[np.intp]
    holdout: NDArray[np.float64] | None = None

    @property
    def n(self) -> int:
        return len(self.labels)

    @property
    def id_bound(self) -> int:
        """Above the largest number of an example."""
        return self.n

    @cached_property
    def total_weight(self) -> float:
        return float(self.n if self.weights is None else self.weights.sum())

    @cached_property
    def all_examples(self) -> Basin:
        return self._basin(np.ones(self.n, dtype=bool))

    @cached_property
    def positives(self) -> Basin:
        return self._basin(self.labels > 0)

    @cached_property
    def negatives(self) -> Basin:
        return self._basin(self.labels < 0)

    def _basin(self, chosen: NDArray[np.bool_]) -> Basin:
        if self.weights is not None:
            chosen = chosen & (self.weights > 0)
        members = self.order[chosen[self.order]]
        weights = np.ones(len(members)) if self.weights is None else self.weights[members]
        rank = np.full(self.n, -1, np.int32)
        rank[members] = np.arange(len(members), dtype=np.int32)
        return Basin(members, np.cumsum(weights), rank)
