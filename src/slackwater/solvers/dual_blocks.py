"""The C-form, solved to any accuracy: blocks of kernel rows, and as many dual steps on a block as pay.

    min over w, b of  ½ ‖w‖² + C Σ ω_i max(0, 1 - y_i (<w, Φ(x_i)> + b))

A step takes the examples that violate optimality most, fetches the rows of those that are new, solves the dual over
the block exactly and brings the responses of all examples up to date. Rows cost, steps on rows held do not: solving
the block well, with half of it taken over from the step before, needs rows for little more examples than end up as
support vectors.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from slackwater.gram.source import RowBlock
from slackwater.problem import Problem
from slackwater.solvers.base import Assessment
from slackwater.solvers.coupling import Coupling, Violations, merge_blocks
from slackwater.solvers.dual_form import DualAscent, DualPoint

# Examples worked on together: few, while each block finds many others that matter more. Where that goes on for long, it
# is because blocks undo one another's work, the less the larger they are: 1330 blocks of 512, or 360 that double twice.
_BLOCK, _DOUBLED_AT, _DOUBLINGS = 512, 32, 2
_BLOCK_BYTES = 2**28
_EVERY_STEP, _EVERY = 20, 5  # assessed after each of the first steps, then less often: it takes as long as a draw
_INNER_STEPS = 40  # for each example of the block; far more than are needed as a rule
_INNER_ACCURACY = 0.1  # of the violation outside: a block solved better is only unsettled by the next


@dataclass
class DualState(DualPoint):
    """A feasible dual point and its responses; mutated in place."""

    recent: NDArray[np.intp]  # the examples of the last block that were new in it
    violation: float  # the largest, when the last block was drawn
    blocks: int  # solved since the problem has been what it is
    lots: NDArray[np.float64]  # tiny and random, drawn in the order of the examples' content: they decide ties


@dataclass(frozen=True)
class DualBlocks(DualAscent):
    """Dual decomposition by blocks; ``problems`` is how many advance together and share memory."""

    coupling: Coupling  # type: ignore[misc]  # a choice here, where other methods have one
    problems: int = 1

    def due(self, step: int) -> bool:
        return 0 < step <= _EVERY_STEP or (step > 0 and step % _EVERY == 0)

    def start(self, problem: Problem, rng: np.random.Generator) -> DualState:
        lots = np.empty(problem.n)
        lots[problem.order] = 1e-9 * rng.random(problem.n)
        none = np.empty(0, dtype=np.intp)
        caps = self.caps(problem)
        return DualState(0, self.C, caps, np.zeros(problem.n), np.zeros(problem.n), none, np.inf, 0, lots)

    def draw(self, problem: Problem, state: DualState) -> NDArray[np.intp]:
        """Half of the last block, and the worst violators outside of it."""
        size = self._block_size(problem, state.blocks)
        kept = state.recent[: size // 2]
        found = self._violations(problem, state)
        state.violation = found.largest
        new = merge_blocks(found.rising + state.lots, found.falling + state.lots, kept, size)
        new = new[np.argsort(state.lots[new])]  # so that who of them is kept does not hang on the order of the rows
        state.recent = new if len(new) else kept
        block: NDArray[np.intp] = np.concatenate([kept, new])
        return block[np.argsort(state.lots[block])]

    def foresee(self, problem: Problem, state: DualState, most: int) -> NDArray[np.intp]:
        return np.empty(0, dtype=np.intp)

    def apply(self, problem: Problem, state: DualState, indices: NDArray[np.intp], rows: RowBlock) -> None:
        labels = problem.labels[indices]
        alpha = state.alpha[indices]
        self.coupling.solver()(
            rows.among(indices),
            labels,
            state.caps[indices],
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
        state.blocks += 1

    def assess(self, problem: Problem, state: DualPoint) -> Assessment:
        return super().assess(problem, state)._replace(violation=self._violations(problem, state).largest)

    def continued(self, state: DualState) -> DualState:
        self.rescale(state)
        state.blocks = 0
        return state

    def _violations(self, problem: Problem, state: DualPoint) -> Violations:
        return self.coupling.violations(problem.labels, state.caps, state.alpha, 1.0 - state.responses)

    def _block_size(self, problem: Problem, blocks: int) -> int:
        """Small at first, then larger, as far as half of the rows that are kept and _BLOCK_BYTES go for all problems.

        A block is never larger than the budget of evaluations has left.
        """
        rows = problem.rows
        first = _BLOCK if self.problems == 1 else _BLOCK // 2  # of several problems, half as many new rows each
        grown = first << min((blocks // _DOUBLED_AT + 1).bit_length() - 1, _DOUBLINGS)
        most = max(first, min(grown, rows.slots // 2 // self.problems))
        size = min(most, max(16, _BLOCK_BYTES // rows.row_bytes // self.problems))
        remaining = rows.ledger.remaining
        if remaining is not None:
            size = min(size, remaining // problem.n // self.problems)
        return max(size, self.coupling.least_rows)
