r"""The SVM in the subspace of some landmarks: a linear SVM in orthonormal coordinates of that subspace.

.. math:: \min_{w \in \mathrm{span}\{\Phi(x_p)\},\, b}
    \tfrac12 \|w\|^2 + \sum_i u_i \max(0, 1 - y_i (\langle w, \Phi(x_i)\rangle + b))

Newton's method solves it in a few passes over the examples once the corner of the hinge is smoothed (huberised).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slackwater.points import Floats
from slackwater.workers import Workers

CHUNK = 2048  # examples whose coordinates are worked on by one thread at a time

Doubles = NDArray[np.float64]


class SubspaceModel(NamedTuple):
    """A function in the subspace: its weights in orthonormal coordinates, and the bias."""

    weights: Doubles
    bias: float


@dataclass(frozen=True)
class SubspaceProblem:
    """The examples in orthonormal coordinates z_i of the subspace."""

    coordinates: Floats  # (n, m)
    labels: NDArray[np.int8]
    upper: Doubles  # u_i = C ω_i
    free_bias: bool
    workers: Workers

    def values(self, model: SubspaceModel) -> Doubles:
        """The model's values at all examples."""
        out = np.empty(len(self.labels))
        weights = model.weights.astype(self.coordinates.dtype)

        def evaluate(start: int) -> None:
            self.workers.deadline.check()
            out[start : start + CHUNK] = self.coordinates[start : start + CHUNK] @ weights

        self.workers.run(evaluate, range(0, len(out), CHUNK))
        return out + model.bias

    def objective(self, model: SubspaceModel, values: Doubles | None = None) -> float:
        """With the hinge as it is; ``values`` are the model's, if they are known."""
        shortfall = 1.0 - self.labels * (self.values(model) if values is None else values)
        return 0.5 * float(model.weights @ model.weights) + float(self.upper @ np.maximum(0.0, shortfall))

    def lost_by_smoothing(self, values: Doubles, width: float) -> float:
        """How much less the optimum may cost than the minimiser of the smoothed objective, which has these values.

        The slopes are a feasible dual point then, and this is what its value is below the objective.
        """
        shortfall = 1.0 - self.labels * values
        return float(self.upper @ (np.maximum(0.0, shortfall) - hinge_slope(shortfall, width) * shortfall))

    def rmatvec(self, coefficients: Doubles) -> Doubles:
        """Σ coefficient_i z_i."""

        def partial(start: int) -> Floats:
            self.workers.deadline.check()
            chunk = slice(start, start + CHUNK)
            values: Floats = coefficients[chunk].astype(self.coordinates.dtype) @ self.coordinates[chunk]
            return values

        sums = np.zeros(self.coordinates.shape[1])
        for part in self.workers.run(partial, range(0, len(coefficients), CHUNK)):
            sums += part
        return sums


def subsampled(problems: Sequence[SubspaceProblem], kept: NDArray[np.intp]) -> list[SubspaceProblem]:
    """Problems that share their coordinates, with some of the examples, which represent the others."""
    coordinates, factor = problems[0].coordinates[kept], len(problems[0].labels) / len(kept)
    return [
        replace(problem, coordinates=coordinates, labels=problem.labels[kept], upper=factor * problem.upper[kept])
        for problem in problems
    ]


def hinge_slope(shortfall: Doubles, width: float) -> Doubles:
    """The slope of the smoothed hinge: 0 beyond the margin, 1 for violators, linear over ``width`` between them."""
    slopes: Doubles = np.clip(shortfall / width + 0.5, 0.0, 1.0)
    return slopes
