"""Pegasos (Shalev-Shwartz, Singer, Srebro, Cotter 2010), kernelised: subgradient descent on the regularised objective.

    min over w of  λ/2 ‖w‖² + (1/W) Σ ω_i max(0, 1 - y_i <w, Φ(x_i)>)        (arXiv:1204.0566, eq. 2.2)

Step t multiplies w by 1 - 1/t and adds y_i Φ(x_i)/(λt) if example i violates its margin; optionally w is then projected
on the ball of radius 1/√λ, which holds the optimum. An iteration costs n kernel evaluations, or none without violation.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from slackwater.problem import Problem
from slackwater.solvers.hinge_descent import HingeDescent, Pace


@dataclass(frozen=True)
class Pegasos(HingeDescent):
    regularisation: float  # λ
    project: bool = False

    @property
    def radius(self) -> float:
        # λ/2 ‖w*‖² <= 1 - λ/2 ‖w*‖² by strong duality (Pegasos, Theorem 1).
        return 1.0 / math.sqrt(self.regularisation) if self.project else math.inf

    def coefficient_norm(self, weights: NDArray[np.float64], steps: int | None) -> float:
        """On average each is at most its share of the weight, divided by λ."""
        return float(np.linalg.norm(weights) / weights.sum()) / self.regularisation

    def unit(self, problem: Problem) -> float:
        return 1.0

    def pace(self, step: int, unit: float) -> Pace:
        # The first step would multiply w = 0 by nothing; by one, it stays divisible.
        return Pace(1.0 - 1.0 / step if step > 1 else 1.0, 1.0 / (self.regularisation * step))

    def objective(self, squared_norm: float, loss: float) -> float:
        return 0.5 * self.regularisation * squared_norm + loss

    def lower_bound(self, total: float, squared_norm: float, scale: float) -> float:
        """Max over β of βΣa - β²‖Σ a_i y_i Φ(x_i)‖²/2λ: the dual, for 0 <= a_i <= ω_i/W."""
        best = self.regularisation * total / squared_norm if squared_norm > 0.0 else math.inf
        beta = min(scale, best)
        return beta * total - beta**2 * squared_norm / (2.0 * self.regularisation) if beta < math.inf else 0.0
