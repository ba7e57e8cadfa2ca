"""Sums of kernel values without those of far points, for kernels that decay with the distance."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from slackwater.deadline import NEVER, Deadline
from slackwater.kernels.base import Kernel
from slackwater.kernels.blocks import block
from slackwater.points import DensePoints, Points
from slackwater.points.leaves import Leaves
from slackwater.workers import Workers

_LEFT_OUT = 1e-6  # of a sum, by all far points together
_MIN_CENTRES, _MIN_POINTS = 4096, 512  # for sorting the centres into leaves to pay
_MAX_SHARE_NEAR = 0.3  # of pairs of leaves
_PROBES = 128
_POINTS_AT_A_TIME = 256


class NearSums:
    """Centres sorted into leaves once; sums over them, for any coefficients and at any points."""

    def __init__(self, kernel: Kernel, centres: DensePoints) -> None:
        self._kernel, self.dtype = kernel, centres.dtype
        self._probes = centres.take(np.linspace(0, len(centres) - 1, _PROBES).astype(np.intp))
        self._centres = centres
        self._leaves: Leaves | None = None

    @classmethod
    def worthwhile(cls, kernel: Kernel, centres: Points) -> NearSums | None:
        """None unless the kernel has sums over leaves and the centres are many dense points."""
        if not isinstance(centres, DensePoints) or len(centres) < _MIN_CENTRES or not kernel.sums_over_leaves:
            return None
        return cls(kernel, centres)

    def at(
        self, points: Points, coefficients: NDArray[np.float64], workers: Workers
    ) -> tuple[NDArray[np.float64], int] | None:
        """Σ_j coefficients[:, j] K(x_i, centre_j), shape (points, functions), and how many distances were computed.

        Less than 1e-6 is left out of each sum. None if too few pairs of leaves are far apart for that to pay.
        """
        if not isinstance(points, DensePoints) or len(points) < _MIN_POINTS or points.dtype != self.dtype:
            return None
        total = float(np.abs(coefficients).sum(axis=1).max())
        least = 1.0 / max(total / _LEFT_OUT, 2.0)
        limit = self._kernel.squared_cutoff(least)
        if np.mean(block(self._kernel, self._probes, self._probes) > least) > _MAX_SHARE_NEAR:
            return None
        leaves = self.leaves(workers.deadline)
        if leaves.share_near(limit) > _MAX_SHARE_NEAR:
            return None
        return self._sums(points, leaves, limit, coefficients, workers)

    def leaves(self, deadline: Deadline = NEVER) -> Leaves:
        """The centres in leaves, sorted when first asked for."""
        if self._leaves is None:
            self._leaves = Leaves(self._centres, deadline)  # twice, if two threads ask at once: the same leaves
        return self._leaves

    def _sums(
        self,
        points: DensePoints,
        leaves: Leaves,
        limit: float,
        coefficients: NDArray[np.float64],
        workers: Workers,
    ) -> tuple[NDArray[np.float64], int]:
        factors = np.ascontiguousarray(coefficients[:, leaves.order].T)
        values = np.empty((len(points), len(coefficients)))

        def add_up(start: int) -> int:
            workers.deadline.check()
            part = slice(start, start + _POINTS_AT_A_TIME)
            return self._kernel.sum_near(leaves.coordinates(points.values[part]), leaves, limit, factors, values[part])

        return values, sum(workers.run(add_up, range(0, len(points), _POINTS_AT_A_TIME)))
