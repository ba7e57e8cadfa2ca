"""Dual coordinate descent for linear SVMs (Hsieh, Chang, Lin, Keerthi, Sundararajan: ICML 2008, Algorithm 3), no bias.

    min over 0 <= α_i <= C ω_i of  ½ ‖w‖² - Σ α_i,   w = Σ α_i y_i x_i

A step sets one coefficient to its best value, all others fixed, and costs two passes over the features of one example.
Examples at a bound whose gradients point further out than any did in the last pass are set aside until the others have
converged. It is LIBLINEAR's method; here it looks at the clock, and there is a model after each step: before it has
converged the mean of w over the later half of the way, since w itself swings with every example while C is large.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from slackwater.deadline import deadline_of_thread

Floats = NDArray[np.float64]
_VALUES_A_SLICE = 2**18  # features read between two looks at the clock: a fraction of a millisecond


class LinearDual:
    """One binary problem: labels ±1, upper bounds C ω_i, and where the descent is.

    Attributes
    ----------
    passes : int
        Over the examples that were not set aside.
    converged : bool
        Whether no projected gradient differs from another by more than the tolerance, over all examples.
    """

    def __init__(self, labels: NDArray[np.int8], upper: Floats, n_features: int) -> None:
        self._labels, self._upper = labels, upper
        self._alpha, self._w = np.zeros(len(labels)), np.zeros(n_features)
        self._mean, self._earlier = _Mean(n_features), _Mean(n_features)
        self._active = np.arange(len(labels))
        self._before = np.array([math.inf, -math.inf])
        self.passes, self.converged = 0, False

    @property
    def w(self) -> Floats:
        """The model."""
        return self._w if self.converged else self._mean.joined(self._earlier)

    def visit(self, rows: NDArray[np.floating], squared: Floats, first: int, stop: int) -> None:
        """Steps on some examples one after the other, which are no pass yet."""
        self._visit(rows, squared, np.arange(first, stop), np.array([math.inf, -math.inf]))

    def go_through(self, rows: NDArray[np.floating], squared: Floats, tol: float, rng: np.random.Generator) -> None:
        """One pass over the examples that were not set aside, in random order; CutShort leaves a model as well."""
        found, waiting = self._visit(rows, squared, rng.permutation(self._active), self._before)
        self.passes += 1
        self._active = waiting
        if found[0] - found[1] <= tol:
            self.converged = len(waiting) == len(self._labels)
            self._active, self._before = np.arange(len(self._labels)), np.array([math.inf, -math.inf])
        else:
            self._before = np.array(
                [found[0] if found[0] > 0.0 else math.inf, found[1] if found[1] < 0.0 else -math.inf]
            )

    def _visit(
        self, rows: NDArray[np.floating], squared: Floats, waiting: NDArray[np.intp], before: Floats
    ) -> tuple[Floats, NDArray[np.intp]]:
        from slackwater.solvers import _linear_loops

        deadline, found, kept = deadline_of_thread(), np.array([-math.inf, math.inf]), 0
        step = max(1, _VALUES_A_SLICE // max(1, rows.shape[1]))
        for start in range(0, len(waiting), step):
            deadline.check()
            part = (start, min(start + step, len(waiting)), kept)
            kept = _linear_loops.visit(
                rows, self._labels, self._upper, squared, waiting, *part, self._alpha, self._w, before, found
            )
            self._average()
        return found, waiting[:kept]

    def _average(self) -> None:
        """Count w in; from time to time, what is older than half of the way is left out."""
        self._mean.add(self._w)
        if self._mean.count >= 2 * max(self._earlier.count, 1):
            self._earlier, self._mean = self._mean, _Mean(len(self._w))


class _Mean:
    """Of vectors that come one by one."""

    def __init__(self, size: int) -> None:
        self._total, self.count = np.zeros(size), 0

    def add(self, values: Floats) -> None:
        self._total += values
        self.count += 1

    def joined(self, other: _Mean) -> Floats:
        """The mean of all that either has seen."""
        return np.asarray((self._total + other._total) / max(self.count + other.count, 1))
