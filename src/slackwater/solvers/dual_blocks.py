"""The C-form, solved to any accuracy: blocks of kernel rows, and as many dual steps on a block as pay.

    min over w, b of  ½ ‖w‖² + C Σ ω_i max(0, 1 - y_i (<w, Φ(x_i)> + b))

A step takes the examples that violate optimality most, fetches the rows of those that are new, solves the dual over
the block exactly and brings the responses of all examples up to date. Rows cost, steps on rows held do not: solving
the block well, with half of it taken over from the step before, needs rows for little more examples than end up as
support vectors.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from slackwater.expansion import Expansion
from slackwater.gram.source import RowBlock
from slackwater.objectives import hinge_total, weighted_error
from slackwater.problem import Problem
from slackwater.solvers.base import Assessment
from slackwater.solvers.coupling import Coupling, Scaling, Violations, merge_blocks

_BLOCK = 512  # examples worked on together: their kernel matrix stays in the second-level cache
_BLOCK_BYTES = 2**27
_EVERY_STEP, _EVERY = 20, 5  # assessed after each of the first steps, then less often: it takes as long as a draw
_INNER_STEPS = 40  # for each example of the block; far more than are needed as a rule
_INNER_ACCURACY = 0.1  # of the violation outside: a block solved better is only unsettled by the next


@dataclass
class DualState:
    """A feasible dual point and its responses; mutated in place."""

    step: int
    C: float
    alpha: NDArray[np.float64]
    responses: NDArray[np.float64]  # c_i = y_i <w, Φ(x_i)>
    recent: NDArray[np.intp]  # the examples of the last block that were new in it
    violation: float  # the largest, when the last block was drawn
    lots: NDArray[np.float64]  # tiny and random, drawn in the order of the examples' content: they decide ties


@dataclass(frozen=True)
class DualBlocks:
    """Dual decomposition by blocks; ``problems`` is how many advance together and share memory."""

    C: float
    coupling: Coupling
    problems: int = 1

    @property
    def rows_a_step(self) -> int:
        return self.coupling.least_rows

    def due(self, step: int) -> bool:
        return 0 < step <= _EVERY_STEP or (step > 0 and step % _EVERY == 0)

    def start(self, problem: Problem, rng: np.random.Generator) -> DualState:
        lots = np.empty(problem.n)
        lots[problem.order] = 1e-9 * rng.random(problem.n)
        return DualState(0, self.C, np.zeros(problem.n), np.zeros(problem.n), np.empty(0, dtype=np.intp), np.inf, lots)

    def draw(self, problem: Problem, state: DualState) -> NDArray[np.intp]:
        """Half of the last block, and the worst violators outside of it."""
        size = self._block_size(problem)
        kept = state.recent[: size // 2]
        found = self._violations(problem, state)
        state.violation = found.largest
        new = merge_blocks(found.rising + state.lots, found.falling + state.lots, kept, size)
        state.recent = new if len(new) else kept
        block: NDArray[np.intp] = np.concatenate([kept, new])
        return block[np.argsort(state.lots[block])]

    def foresee(self, problem: Problem, state: DualState, most: int) -> NDArray[np.intp]:
        return np.empty(0, dtype=np.intp)

    def apply(self, problem: Problem, state: DualState, indices: NDArray[np.intp], rows: RowBlock) -> None:
        labels = problem.labels[indices]
        alpha = state.alpha[indices]
        self.coupling.solver()(
            rows.at(indices),
            labels,
            self.caps(problem)[indices],
            alpha,
            1.0 - state.responses[indices],
            _INNER_ACCURACY * state.violation,
            _INNER_STEPS * len(indices),
        )
        change = (alpha - state.alpha[indices]) * labels
        moved = np.flatnonzero(change)
        rows.part(moved).add_to(state.responses, problem.labels, change[moved])
        state.alpha[indices] = alpha
        state.step += 1

    def assess(self, problem: Problem, state: DualState) -> Assessment:
        squared_norm = max(float(state.alpha @ state.responses), 0.0)
        scale, bias = self.scaling(problem, state)
        responses = scale * state.responses
        norm = scale * math.sqrt(squared_norm)
        loss = hinge_total(responses + problem.labels * bias, self.caps(problem))
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
            violation=self._violations(problem, state).largest,
        )

    def remember(self, state: DualState, assessment: Assessment) -> None:
        """Nothing: the bound of a dual point grows with every step."""

    def expansion(self, problem: Problem, state: DualState) -> Expansion:
        scale, bias = self.scaling(problem, state)
        return Expansion.from_dense(scale * state.alpha * problem.labels, bias)

    def scaling(self, problem: Problem, state: DualState) -> Scaling:
        """The multiple of the dual point, and the bias, that cost least: the model."""
        norm = math.sqrt(max(float(state.alpha @ state.responses), 0.0))
        return self.coupling.best_scale(problem, state.responses, norm, self.C)

    def continued(self, state: DualState) -> DualState:
        """Scaled to another C the point is feasible, balanced, and near the new optimum."""
        factor = self.C / state.C
        state.alpha *= factor
        state.responses *= factor
        state.C = self.C
        return state

    def caps(self, problem: Problem) -> NDArray[np.float64]:
        """The largest value of each coefficient."""
        return np.full(problem.n, self.C) if problem.weights is None else self.C * problem.weights

    def _violations(self, problem: Problem, state: DualState) -> Violations:
        return self.coupling.violations(problem.labels, self.caps(problem), state.alpha, 1.0 - state.responses)

    def _block_size(self, problem: Problem) -> int:
        """Of a block's rows: not more memory than _BLOCK_BYTES, nor than the budget of evaluations has left."""
        most = _BLOCK if self.problems == 1 else _BLOCK // 2  # of several problems, half as many new rows each
        size = min(most, max(16, _BLOCK_BYTES // problem.rows.row_bytes // min(self.problems, 4)))
        remaining = problem.rows.ledger.remaining
        if remaining is not None:
            size = min(size, remaining // problem.n // self.problems)
        return max(size, self.coupling.least_rows)
