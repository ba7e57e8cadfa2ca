"""What training returns: w as a combination of examples, and the bias."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Expansion:
    """The function x -> Σ_i coefficients_i K(x_support_i, x) + bias."""

    support: NDArray[np.intp]
    coefficients: NDArray[np.float64]
    bias: float

    @staticmethod
    def from_dense(coefficients: NDArray[np.float64], bias: float) -> Expansion:
        """Keep the non-zero ones of n signed coefficients."""
        support = np.flatnonzero(coefficients)
        return Expansion(support, coefficients[support], bias)
