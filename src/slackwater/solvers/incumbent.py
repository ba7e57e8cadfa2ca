"""The best model of a dual method so far.

The dual objective rises with every block; the primal objective and the error of the model do not fall with every block.
So when a budget runs out, the model of an earlier block may be the better one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from slackwater.problem import Problem
from slackwater.solvers.base import Assessment
from slackwater.solvers.dual_form import DualPoint

# Fewer examples that no block has held yet do not tell two models apart: 256 know an error of 0.2 to 0.025.
MIN_COMPARISON_EXAMPLES = 256
TRUSTED_GAP = 0.3  # relative; below it the objective tells which of two models is better, above it often does not


@dataclass
class Incumbent:
    """A dual point and its model, ``scale * <w, Φ(x)> + bias``; empty arrays while there is none."""

    alpha: NDArray[np.float64]
    responses: NDArray[np.float64]
    scale: float
    bias: float
    objective: float
    judged: bool  # whether it was the best on unseen examples, when it became the incumbent
    by_objective: bool  # whether objectives may decide: not on a sample, whose optimum can be worse for all examples

    @classmethod
    def none(cls, by_objective: bool = True) -> Incumbent:
        return cls(np.empty(0), np.empty(0), 0.0, 0.0, np.inf, False, by_objective)

    def succeeded_by(self, state: DualPoint, assessment: Assessment, judged: bool) -> Incumbent:
        model = assessment.scale, assessment.bias, assessment.objective
        return Incumbent(state.alpha.copy(), state.responses.copy(), *model, judged, self.by_objective)

    def exists(self) -> bool:
        return len(self.alpha) > 0

    def point(self, state: DualPoint) -> DualPoint:
        return DualPoint(state.step, state.C, state.upper, self.alpha, self.responses)

    def yields_to(self, problem: Problem, state: DualPoint, assessment: Assessment, unseen: NDArray[np.bool_]) -> bool:
        """Whether the current model is to be preferred.

        Both are judged by their error on the ``unseen`` examples, which no block has held: the current model must be
        better by a standard error of the difference. Once there are too few of these, the primal objective decides, as
        soon as the gap of the current point is small enough for it to tell; at once, if the incumbent was never judged.
        """
        if not self.exists() or self.scale == 0.0 < assessment.scale:  # w = 0 is a model of no use
            return True
        comparison_examples = np.flatnonzero(unseen & (state.alpha == 0.0) & (self.alpha == 0.0) & (state.upper > 0.0))
        if len(comparison_examples) < MIN_COMPARISON_EXAMPLES:
            trusted = not self.judged or (self.by_objective and assessment.gap <= TRUSTED_GAP)
            return trusted and assessment.objective <= self.objective
        offsets, costs = problem.labels[comparison_examples], state.upper[comparison_examples]
        now = assessment.scale * state.responses[comparison_examples] + offsets * assessment.bias <= 0.0
        then = self.scale * self.responses[comparison_examples] + offsets * self.bias <= 0.0
        gained = float(costs @ then - costs @ now)
        chance = float(np.linalg.norm(costs[now != then]))
        return gained > chance or (gained == 0.0 and assessment.objective <= self.objective)
