"""What training returns: w as a combination of examples, and the bias."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from slackwater.errors import KernelError
from slackwater.gram.narrow import narrow_combinations
from slackwater.kernels.base import Kernel
from slackwater.kernels.blocks import combinations
from slackwater.kernels.points import DensePoints, Points, in_double
from slackwater.kernels.radial import Gaussian
from slackwater.workers import Workers

_MANY = 200  # points
SINGLE = float(np.finfo(np.float32).eps)  # what single precision may be off by in a kernel value of about one
MOST_OFF = 0.3  # of the margin: what decision values may be off by if errors add up at random, most by far less


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

    In double precision where coefficients are so large (a large C) that the rounding of single precision would show.
    """
    if SINGLE * float(np.linalg.norm(coefficients, axis=1).max(initial=0.0)) > MOST_OFF:
        points, support = in_double(points), in_double(support)
    near = narrow_combinations(kernel, points, support, coefficients, workers)
    if near is None:
        values = combinations(kernel, *_quicker(kernel, points, support, workers), coefficients, workers)
    else:
        values = near[0]
    values += biases
    if not np.isfinite(values).all():
        row = int(np.flatnonzero(~np.isfinite(values).all(axis=1))[0])
        raise KernelError(
            f"the {kernel.name} kernel overflows at row {row} of X: its decision value is {values[row].tolist()}. "
            "Check that X is scaled as the training data were."
        )
    return values


def _quicker(kernel: Kernel, points: Points, support: Points, workers: Workers) -> tuple[Points, Points]:
    """Points in single precision in a form for which the values of a Gaussian are sooner computed.

    That is dense, unless they are too many or sparse indeed; on a grid, or else seen from where single precision is
    enough, if it is not where they are.
    """
    if not isinstance(kernel, Gaussian) or not points.dtype == support.dtype == np.float32:
        return points, support
    # To place a point on a grid takes as long as products with so many others would save.
    many = len(points) * len(support) >= _MANY * (len(points) + len(support))
    first, second = (kernel.prepared(each) if many else each for each in (points, support))
    if not (isinstance(first, DensePoints) and isinstance(second, DensePoints)):
        return points, support
    found = kernel.on_grid(workers, second, first) if many else None
    if found is not None:
        return found[1], found[0]
    if isinstance(points, DensePoints) and kernel.needs_double(second, second):
        second, first = kernel.seen_from_middle(second, first)
    return first, second
