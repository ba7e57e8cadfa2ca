"""Stochastic subgradient descent on the hinge loss itself, within a ball (Zinkevich 2003; "SGD on L̂" in Table 1).

    min over ‖w‖ <= B of  (1/W) Σ ω_i max(0, 1 - y_i <w, Φ(x_i)>)

Step t adds η_t y_i Φ(x_i), η_t = B/(r√t) with r² = max K(x, x), if example i violates its margin, and projects on the
ball. An iteration costs n kernel evaluations, or none without violation; finding r costs n once where K(x, x) is not 1
by formula.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from slackwater.problem import Problem
from slackwater.solvers.hinge_descent import HingeDescent, Pace


@dataclass(frozen=True)
class NormBallDescent(HingeDescent):
    ball: float  # B

    @property
    def radius(self) -> float:
        return self.ball

    def coefficient_norm(self, weights: NDArray[np.float64], steps: int | None) -> float:
        """Steps B/√t add up to 2B√T, spread over the examples by weight; the second term is their variance."""
        if steps is None:
            return math.inf
        share = float(np.linalg.norm(weights) / weights.sum())
        return self.ball * (2.0 * math.sqrt(steps) * share + math.sqrt(1.0 + math.log(max(steps, 1))))

    def unit(self, problem: Problem) -> float:
        largest = float(problem.rows.diagonal().max())
        return math.sqrt(largest) if largest > 0.0 else 1.0

    def pace(self, step: int, unit: float) -> Pace:
        return Pace(1.0, self.ball / (unit * math.sqrt(step)))

    def objective(self, squared_norm: float, loss: float) -> float:
        return loss

    def lower_bound(self, total: float, squared_norm: float, scale: float) -> float:
        """Σa - B‖Σ a_i y_i Φ(x_i)‖, the dual, for 0 <= a_i <= ω_i/W: linear along a ray."""
        slope = total - self.ball * math.sqrt(squared_norm)
        return scale * slope if slope > 0.0 and scale < math.inf else 0.0
