"""Dual blocks for a kernel that is not positive semi-definite, as LIBSVM trains with it.

The dual of the C-form is then not concave. Its value still rises with every step, to a point that satisfies the
optimality (KKT) conditions and need not be the best one. No duality gap is defined: the model is the dual point
itself, and training ends by the violation of the conditions. Which point is reached depends on the order of steps; on
a few thousand examples it is LIBSVM's, as scikit-learn calls it: the same pairs, and of equal ones the last row's.

References
----------
H.-T. Lin, C.-J. Lin: A Study on Sigmoid Kernels for SVM and the Training of non-PSD Kernels by SMO-type Methods. 2003.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from slackwater.objectives import hinge_total, weighted_error
from slackwater.points import Floats
from slackwater.problem import Problem
from slackwater.solvers.base import Assessment, Outlook
from slackwater.solvers.coupling import Scaling
from slackwater.solvers.dual_blocks import DualBlocks, DualState
from slackwater.solvers.dual_form import DualPoint

_FEW = 2048  # examples whose kernel values with one another take 32 MB


@dataclass(frozen=True)
class StationaryBlocks(DualBlocks):
    """Dual decomposition by blocks, to a stationary point."""

    def _block(self, problem: Problem, state: DualState) -> NDArray[np.intp]:
        """All examples where they are few, the last row first: the first of equal pairs is taken then."""
        if problem.n > _FEW or problem.rows.ledger.limit is not None:
            return super()._block(problem, state)
        state.violation = self._violations(problem, state).largest
        return np.arange(problem.n)[::-1]

    def _solved(self, problem: Problem, state: DualState, block: NDArray[np.intp], gram: Floats) -> NDArray[np.float64]:
        """With labels signed as by scikit-learn: +1, from which steps start, is the first class or the rest."""
        return super()._solved(replace(problem, labels=-problem.labels), state, block, gram)

    def outlook(self, problem: Problem, state: DualState) -> Outlook:
        """Only an assessment knows the violation after the step."""
        return super().outlook(problem, state)._replace(violation=math.inf)

    def scaling(self, problem: Problem, state: DualPoint) -> Scaling:
        """The dual point as it is: no multiple of w is best where ‖w‖² = α'Qα may be negative."""
        return Scaling(1.0, self.coupling.bias(problem.labels, state.upper, state.alpha, 1.0 - state.responses))

    def assess(self, problem: Problem, state: DualPoint) -> Assessment:
        """The dual value; no bound, no gap; margin and slack where α'Qα is positive."""
        squared_norm = float(state.alpha @ state.responses)
        norm = math.sqrt(squared_norm) if squared_norm > 0.0 else math.nan
        bias = self.scaling(problem, state).bias
        loss = hinge_total(state.responses + problem.labels * bias, state.upper)
        holdout = problem.holdout
        return Assessment(
            objective=float(state.alpha.sum()) - 0.5 * squared_norm,
            bound=math.nan,
            gap=math.nan,
            margin=1.0 / norm,
            slack_nu=loss / (self.C * problem.total_weight * norm),
            n_support=int((state.alpha != 0.0).sum()),
            holdout_error=None if holdout is None else weighted_error(state.responses, problem.labels, bias, holdout),
            violation=self._violations(problem, state).largest,
        )
