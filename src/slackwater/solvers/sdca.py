"""Stochastic dual coordinate ascent (Hsieh, Chang, Lin, Keerthi, Sundararajan 2008), kernelised; without bias.

A step draws an example and sets its coefficient to the best value, all others fixed:

    α_i <- min(max(α_i + (1 - c_i)/K(x_i, x_i), 0), C ω_i)

**An iteration costs** n kernel evaluations, to bring the responses up to date, or none where the coefficient is already
at its best (arXiv:1204.0566, Section 4.4: the responses are known, so that costs nothing to find out).

While few examples have had their turn and C is large, the model swings with every step: of Adult's test rows 17 to 31 %
are misclassified between steps 500 and 2000. So a fit that ends before its gap is small has the best model that was
assessed on the way (``incumbent.py``), by the errors on examples without a coefficient in either.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from slackwater.gram.source import RowBlock
from slackwater.problem import Problem
from slackwater.solvers.base import Assessment
from slackwater.solvers.coupling import Coupling, Free
from slackwater.solvers.dual_form import DualAscent, DualPoint
from slackwater.solvers.incumbent import MIN_COMPARISON_EXAMPLES, TRUSTED_GAP, Incumbent
from slackwater.solvers.urn import Urn


@dataclass
class SDCAState(DualPoint):
    urn: Urn
    best: Incumbent


@dataclass(frozen=True)
class SDCA(DualAscent):
    coupling: ClassVar[Coupling] = Free()

    def start(self, problem: Problem, rng: np.random.Generator) -> SDCAState:
        zeros, upper = np.zeros(problem.n), self.upper_bounds(problem)
        return SDCAState(0, self.C, upper, zeros, zeros.copy(), Urn.filled_by(rng), Incumbent.none())

    def draw(self, problem: Problem, state: SDCAState) -> NDArray[np.intp]:
        index = state.urn.draw(problem.all_examples, state.responses, math.inf)
        indices = np.array([index], dtype=np.intp)
        return indices[_can_gain(state, indices)]

    def foresee(self, problem: Problem, state: SDCAState, most: int) -> NDArray[np.intp]:
        settled = np.where(_can_gain(state, np.arange(problem.n)), 0.0, math.inf)
        return state.urn.foresee(problem.all_examples, settled, 0.0, most)

    def apply(self, problem: Problem, state: SDCAState, indices: NDArray[np.intp], rows: RowBlock) -> None:
        if len(indices):
            (index,) = indices.tolist()
            own = float(rows.among(indices)[0, 0])
            shortfall = 1.0 - state.responses[index]
            wanted = state.alpha[index] + shortfall / own if own > 0.0 else math.copysign(math.inf, shortfall)
            alpha = min(max(wanted, 0.0), state.upper[index])
            change = (alpha - state.alpha[indices]) * problem.labels[indices]
            state.alpha[index] = alpha
            rows.add_to(state.responses, problem.labels, change)
        state.step += 1

    def keep_best(self, problem: Problem, state: SDCAState, assessment: Assessment) -> None:
        """Let the current model be the best so far, if it is."""
        if self._improved(problem, state, assessment):
            without = np.count_nonzero((state.alpha == 0.0) & (state.upper > 0.0))
            state.best = state.best.succeeded_by(state, assessment, judged=int(without) >= MIN_COMPARISON_EXAMPLES)

    def best(self, problem: Problem, state: SDCAState, assessment: Assessment) -> DualPoint:
        """The current point, or the one that had the best model."""
        return state if self._improved(problem, state, assessment) else state.best.point(state)

    def continued(self, state: SDCAState) -> SDCAState:
        self.rescale(state)
        state.best = Incumbent.none()
        return state

    def _improved(self, problem: Problem, state: SDCAState, assessment: Assessment) -> bool:
        """By errors on examples without a coefficient; by the objective where there are few, or the gap is small.

        Those that were drawn and needed no coefficient are among them. They speak for the later model, as does the
        dual objective.
        """
        unseen = np.full(problem.n, assessment.gap > TRUSTED_GAP)
        return state.best.yields_to(problem, state, assessment, unseen)


def _can_gain(state: SDCAState, indices: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Whether a coefficient is not at its best: below its bound where the margin is violated, or above 0 beyond it."""
    responses, alpha = state.responses[indices], state.alpha[indices]
    return ((responses < 1.0) & (alpha < state.upper[indices])) | ((responses > 1.0) & (alpha > 0.0))
