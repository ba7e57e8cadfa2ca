"""Points less their mean, by products with vectors: an operator, for methods that need no single row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from slackwater.points.base import Vectors
from slackwater.workers import Workers

Doubles = NDArray[np.float64]

_COORDINATES_TOGETHER = 2**17  # 1 MB in double precision, which stays in cache: fresh memory costs more than products


@dataclass(frozen=True)
class CentredPoints:
    """G, whose rows are x_i - m: made a piece at a time, in double precision, and never all at once.

    With ``centred``, m is the mean: far from their origin, inner products of points have lost the digits that tell
    them apart. Without, it is zero. Sums are taken in the order of the pieces, whatever the number of threads.
    """

    points: Vectors
    workers: Workers
    centred: bool

    @property
    def rank(self) -> int:
        return self.points.n_features

    def part(self, examples: NDArray[np.intp]) -> CentredPoints:
        return CentredPoints(self.points.take(examples), self.workers, self.centred)

    @cached_property
    def pieces(self) -> list[slice]:
        n, size = len(self.points), max(64, _COORDINATES_TOGETHER // max(1, self.rank))
        return [slice(start, min(start + size, n)) for start in range(0, n, size)]

    @cached_property
    def origin(self) -> Doubles:
        """m"""
        if not self.centred:
            return np.zeros(self.rank)
        sums = self.workers.run(lambda piece: self._given(piece).sum(axis=0), self.pieces)
        return np.asarray(np.sum(sums, axis=0) / len(self.points))

    @cached_property
    def squared_norms(self) -> Doubles:
        def norms(piece: slice) -> Doubles:
            rows = self._rows(piece)
            return np.asarray(np.einsum("ij,ij->i", rows, rows))

        return np.concatenate(self.workers.run(norms, self.pieces))

    @property
    def mean_square(self) -> float:
        return float(self.squared_norms.mean())

    def times(self, weights: Doubles) -> Doubles:
        """G w."""
        return np.concatenate(self.workers.run(lambda piece: self._rows(piece) @ weights, self.pieces))

    def transposed_times(self, alpha: Doubles) -> Doubles:
        """Gᵀ α."""
        return self._sum(lambda rows, piece: rows.T @ alpha[piece])

    def weighted_square(self, weights: Doubles) -> Doubles:
        """Gᵀ diag(ω) G."""
        return self._sum(lambda rows, piece: rows.T @ (rows * weights[piece, None]))

    def _sum(self, product: Callable[[Doubles, slice], Doubles]) -> Doubles:
        parts = self.workers.run(lambda piece: product(self._rows(piece), piece), self.pieces)
        return np.asarray(np.sum(parts, axis=0))

    def _given(self, piece: slice) -> Doubles:
        self.workers.deadline.check()
        return np.asarray(self.points.slice(piece.start, piece.stop).dense(np.dtype(np.float64)))

    def _rows(self, piece: slice) -> Doubles:
        return self._given(piece) - self.origin
