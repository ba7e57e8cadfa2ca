"""Coefficients that are scaled as a whole every step, and their average over the steps, in O(1) a step."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_FOLD_BELOW = 2.0**-10  # the sum below cancels by a factor of at most 1/scale: three of sixteen digits


@dataclass
class LazyCoefficients:
    """α(t) = scale·values, and Σ_{s<=t} α(s) = past + scale_sum·values - offset. Mutated in place.

    Projecting on the unit ball multiplies every coefficient; here it multiplies one number. A coefficient that
    grows by d at step t was zero that much longer than ``scale_sum·values`` pretends; ``offset`` takes that back.
    """

    values: NDArray[np.float64]
    offset: NDArray[np.float64]
    past: NDArray[np.float64]
    scale: float = 1.0
    scale_sum: float = 0.0

    @staticmethod
    def zeros(n: int) -> LazyCoefficients:
        return LazyCoefficients(np.zeros(n), np.zeros(n), np.zeros(n))

    def add(self, index: int, amount: float) -> None:
        increment = amount / self.scale
        self.values[index] += increment
        self.offset[index] += self.scale_sum * increment

    def end_step(self, shrink: float) -> None:
        """Multiply all coefficients by ``shrink`` and count them into the sum."""
        self.scale *= shrink
        self.scale_sum += self.scale
        if self.scale < _FOLD_BELOW:
            self._fold()

    def current(self) -> NDArray[np.float64]:
        return self.scale * self.values

    def total(self) -> NDArray[np.float64]:
        """The sum of the coefficients after each step so far."""
        return self.past + (self.scale_sum * self.values - self.offset)

    def _fold(self) -> None:
        self.past = self.total()
        self.values *= self.scale
        self.offset[:] = 0.0
        self.scale = 1.0
        self.scale_sum = 0.0
