"""What training returns: w as a combination of examples, and the bias."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from slackwater.errors import KernelError
from slackwater.kernels.base import Kernel
from slackwater.kernels.points import Points, quicker_form
from slackwater.workers import Workers

_TILE_ROWS = 256
_TILE_COLUMNS = 1024  # a tile of 256 × 1024 floats stays in the second-level cache until it is summed


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


def decision_values(
    kernel: Kernel,
    points: Points,
    support: Points,
    coefficients: NDArray[np.float64],
    biases: NDArray[np.float64],
    workers: Workers,
) -> NDArray[np.float64]:
    """Values of k functions, given by their (k, support) coefficients, at m points: shape (m, k).

    Computed tile by tile: the m × support kernel matrix is never held. A float32 kernel value is multiplied in
    float32 and summed in float64 over the tiles.
    """
    values = np.empty((len(points), len(coefficients)))
    support = quicker_form(support)
    dtype = np.result_type(points.dtype, support.dtype)
    extreme = np.abs(coefficients).max(initial=0.0) > 1e30 or np.abs(coefficients).max(initial=1.0) < 1e-30
    factors = np.ascontiguousarray(coefficients.T, dtype=np.float64 if extreme else dtype)

    def evaluate(start: int) -> None:
        left = quicker_form(points.slice(start, min(start + _TILE_ROWS, len(points))))
        sums = np.zeros((len(left), len(coefficients)))
        tile = np.empty((len(left), _TILE_COLUMNS), dtype=dtype)
        for first in range(0, len(support), _TILE_COLUMNS):
            right = support.slice(first, min(first + _TILE_COLUMNS, len(support)))
            out = tile[:, : len(right)]
            kernel.fill(left, right, out)
            with np.errstate(over="ignore", invalid="ignore"):  # looked for in the sums
                sums += out @ factors[first : first + len(right)]
        values[start : start + len(left)] = sums + biases

    workers.run(evaluate, range(0, len(points), _TILE_ROWS))
    if not np.isfinite(values).all():
        row = int(np.flatnonzero(~np.isfinite(values).all(axis=1))[0])
        raise KernelError(
            f"the {kernel.name} kernel overflows at row {row} of X: its decision value is {values[row].tolist()}. "
            "Check that X is scaled as the training data were."
        )
    return values
