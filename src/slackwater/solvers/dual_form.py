"""What the methods that ascend in the dual of the C-form share: a feasible point and its certificate.

The dual (arXiv:1204.0566, eq. 4.1) is

    max over 0 <= α_i <= C ω_i (with a bias also Σ α_i y_i = 0) of  Σ α_i - ½ ‖Σ α_i y_i Φ(x_i)‖².
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from slackwater.expansion import Expansion
from slackwater.objectives import hinge_total, weighted_error
from slackwater.problem import Problem
from slackwater.solvers.base import Assessment, due_ever_further_apart
from slackwater.solvers.coupling import Coupling, Scaling


@dataclass
class DualPoint:
    """Coefficients, the most each may be, and the responses that belong to them; mutated in place."""

    step: int
    C: float
    upper: NDArray[np.float64]  # u_i = C ω_i
    alpha: NDArray[np.float64]
    responses: NDArray[np.float64]  # c_i = y_i <w, Φ(x_i)>


@dataclass(frozen=True)
class DualAscent:
    """Assessment, model and warm start of a method whose state is a ``DualPoint``; a subclass chooses and steps."""

    C: float
    coupling: ClassVar[Coupling]

    def coefficient_norm(self, weights: NDArray[np.float64], steps: int | None) -> float:
        """Each is at most C times its weight."""
        return self.C * float(np.linalg.norm(weights))

    @property
    def rows_a_step(self) -> int:
        return self.coupling.least_rows

    def due(self, step: int) -> bool:
        return due_ever_further_apart(step)

    def upper_bounds(self, problem: Problem) -> NDArray[np.float64]:
        """The most each coefficient may be."""
        return np.full(problem.n, self.C) if problem.weights is None else self.C * problem.weights

    def assess(self, problem: Problem, state: DualPoint) -> Assessment:
        """Of the best multiple of the dual point's w, with the best bias: a primal point as good as any it suggests."""
        squared_norm = max(float(state.alpha @ state.responses), 0.0)
        scale, bias = self.scaling(problem, state)
        responses = scale * state.responses
        norm = scale * math.sqrt(squared_norm)
        loss = hinge_total(responses + problem.labels * bias, state.upper)
        primal = 0.5 * norm**2 + loss
        dual = float(state.alpha.sum()) - 0.5 * squared_norm
        holdout = problem.holdout
        return Assessment(
            objective=primal,
            bound=dual,
            gap=max(0.0, (primal - dual) / primal) if primal > 0.0 else 0.0,
            margin=1.0 / norm if norm > 0.0 else math.inf,
            slack_nu=loss / (self.C * problem.total_weight * norm) if norm > 0.0 else math.nan,
            n_support=int(np.count_nonzero(state.alpha)),
            holdout_error=None if holdout is None else weighted_error(responses, problem.labels, bias, holdout),
            scale=scale,
            bias=bias,
        )

    def remember(self, state: DualPoint, assessment: Assessment) -> None:
        """Nothing: the dual value grows with every step, but for rounding."""

    def expansion(self, problem: Problem, state: DualPoint) -> Expansion:
        scale, bias = self.scaling(problem, state)
        return Expansion.from_dense(scale * state.alpha * problem.labels, bias)

    def rescale(self, state: DualPoint) -> None:
        """Scaled to this C the point is feasible, balanced, and near the new optimum."""
        factor = self.C / state.C
        state.alpha *= factor
        state.responses *= factor
        state.upper *= factor
        state.C = self.C

    def scaling(self, problem: Problem, state: DualPoint) -> Scaling:
        """The multiple of the dual point, and the bias, that cost least: the model."""
        norm = math.sqrt(max(float(state.alpha @ state.responses), 0.0))
        return self.coupling.best_scale(problem, state.responses, norm, self.C)
