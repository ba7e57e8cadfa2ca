"""Sums over all examples, estimated from some of them, with the limit that they stay below in 95 of 100 cases."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from slackwater.fitting.comparison import CONFIDENCE


@dataclass(frozen=True)
class Estimate:
    """A sum over examples, some of which were drawn at random."""

    total: float
    variance: float

    @property
    def upper(self) -> float:
        """The sum is below this with a confidence of 95 % (one-sided, by the normal distribution)."""
        return self.total + CONFIDENCE * math.sqrt(self.variance)

    def __add__(self, other: Estimate) -> Estimate:
        return Estimate(self.total + other.total, self.variance + other.variance)


def estimated_sum(values: NDArray[np.float64], size: int, largest: float) -> Estimate:
    """The sum over a population of ``size``, of which these values were drawn without replacement.

    One more value, the ``largest`` that is deemed possible, counts in the variance: a few large ones among many zeros
    are easily missed.
    """
    drawn = len(values)
    if drawn == 0:
        return Estimate(0.0, 0.0)
    mean = float(values.mean())
    spread = float(np.mean((values - mean) ** 2)) + largest**2 / drawn
    return Estimate(size * mean, size * (size - drawn) / drawn * spread)
