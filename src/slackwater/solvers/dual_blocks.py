"""The C-form, solved to any accuracy: blocks of kernel rows, and as many dual steps on a block as pay.

    min over w, b of  ½ ‖w‖² + C Σ ω_i max(0, 1 - y_i (<w, Φ(x_i)> + b))

A step takes a block of examples that violate optimality and others that are free to move, solves the dual over this
block, fetches the rows of those that moved and brings the responses of all examples up to date. Rows cost, steps within
a block do not: solving it well needs rows for little more examples than end up as support vectors.

First the violators come in random order, each example once. The point is then about the solution of a random sample
that grows, and its model a usable one after every block. The worst violators would be outliers, and a model of these is
worse than none. When all have had their turn, the worst violators come first, with half of those of the step before.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from slackwater.deadline import NEVER, Deadline
from slackwater.gram.source import RowBlock
from slackwater.points import Floats
from slackwater.problem import Problem
from slackwater.solvers.base import Assessment, Outlook
from slackwater.solvers.coupling import Coupling, Violations, merge_blocks, solve_in_slices
from slackwater.solvers.dual_form import DualAscent, DualPoint
from slackwater.solvers.incumbent import Incumbent

# Examples worked on together: few, while each block finds many others that matter more. Where that goes on for long, it
# is because blocks undo one another's work, the less the larger they are: 1330 blocks of 512, or 360 that double twice.
BLOCK, _DOUBLED_AT, _DOUBLINGS = 512, 32, 2
_BLOCK_BYTES = 2**28
_BEYOND_CACHE_BYTES = 2**26  # for the rows of a block that is larger than the cache: they come on top of it
FEWEST_IN_TURN = 16  # examples of a block, for it to be a sample,
RARER = 8  # of which one in so many, at least, is of the rarer class
EVERY_STEP, EVERY = 20, 3  # assessed after each of the first steps, then less often: it takes as long as a draw
MOST_FREE = 8192  # examples between the bounds, of which some are drawn: of more, they would make up for little
_INNER_STEPS = 40  # for each example of the block; far more than are needed as a rule
_INNER_ACCURACY = 0.1  # of the violation outside: a block solved better is only unsettled by the next
_SINGLE = 1e-6  # of a share in a response, or of a response: what single precision may be off by in a block


@dataclass
class DualState(DualPoint):
    """A feasible dual point and its responses; mutated in place."""

    recent: NDArray[np.intp]  # the examples of the last block that were new in it, if any were
    violation: float  # the largest, when the last block was drawn
    blocks: int  # solved since the problem has been what it is
    lots: NDArray[np.float64]  # tiny and random, drawn in the order of the examples' content: they decide ties
    target: NDArray[np.float64]  # what the coefficients of the examples drawn are to be after the step
    turn: float  # examples whose lots are not larger have had their turn; infinite once all have
    best: Incumbent


def solve_block(
    coupling: Coupling,
    gram: Floats,
    labels: NDArray[np.int8],
    upper: NDArray[np.float64],
    alpha: NDArray[np.float64],
    shortfall: NDArray[np.float64],
    violation: float,
    deadline: Deadline = NEVER,
) -> None:
    """Solve the dual over a block in place, a tenth as far from optimality as the worst example anywhere.

    In double precision, if single is too coarse for that.
    """
    tolerance = _INNER_ACCURACY * violation
    largest = float(upper.max(initial=0.0)) * float(np.abs(gram.diagonal()).max(initial=0.0))
    if _SINGLE * max(largest, float(np.abs(shortfall).max(initial=0.0))) > tolerance:
        gram = gram.astype(np.float64, copy=False)
    most = _INNER_STEPS * len(alpha)
    solve_in_slices(coupling, gram, labels, upper, alpha, shortfall, tolerance, most, deadline)


def block_size(blocks: int) -> int:
    """Examples of a block: few at first, then more."""
    return BLOCK << min((blocks // _DOUBLED_AT + 1).bit_length() - 1, _DOUBLINGS)


@dataclass(frozen=True)
class DualBlocks(DualAscent):
    """Dual decomposition by blocks; ``problems`` is how many advance together and share memory."""

    coupling: Coupling  # type: ignore[misc]  # a choice here, where other methods have one
    problems: int = 1
    deadline: Deadline = field(default=NEVER, repr=False, compare=False)
    redrawable: ClassVar[bool] = True

    def due(self, step: int) -> bool:
        return 0 < step <= EVERY_STEP or (step > 0 and step % EVERY == 0)

    def start(self, problem: Problem, rng: np.random.Generator) -> DualState:
        lots = np.empty(problem.n)
        lots[problem.order] = 1e-9 * rng.random(problem.n)
        none = np.empty(0, dtype=np.intp)
        zeros, upper, best = np.zeros(problem.n), self.upper_bounds(problem), Incumbent.none()
        return DualState(0, self.C, upper, zeros, zeros.copy(), none, np.inf, 0, lots, np.empty(0), -1.0, best)

    def draw(self, problem: Problem, state: DualState) -> NDArray[np.intp]:
        """Solve the dual over a block; those whose coefficients move are who the step needs rows of."""
        if not state.best.exists() and state.alpha.any():  # the point of a smaller problem, or of another C
            state.best = state.best.succeeded_by(state, self.assess(problem, state), judged=False)
        block = self._block(problem, state)
        gram = problem.rows.square(block)
        alpha = self._solved(problem, state, block, gram)
        if gram.dtype != np.float64 and np.array_equal(alpha, state.alpha[block]):  # what is left is below its rounding
            alpha = self._solved(problem, state, block, gram.astype(np.float64))
        moved = np.flatnonzero(alpha != state.alpha[block])
        state.target = alpha[moved]
        return block[moved]

    def _solved(self, problem: Problem, state: DualState, block: NDArray[np.intp], gram: Floats) -> NDArray[np.float64]:
        """The coefficients of a block's solution."""
        alpha, shortfall = state.alpha[block], 1.0 - state.responses[block]
        labels, upper = problem.labels[block], state.upper[block]
        solve_block(self.coupling, gram, labels, upper, alpha, shortfall, state.violation, self.deadline)
        self.deadline.check()
        return alpha

    def _block(self, problem: Problem, state: DualState) -> NDArray[np.intp]:
        """Violators, and examples between the bounds."""
        size = self._block_size(problem, state.blocks)
        found = self._violations(problem, state)
        state.violation = found.largest
        in_turn = self._in_turn(problem, state, size)
        block = self._of_worst(problem, state, size, found) if in_turn is None else in_turn
        return block[np.argsort(state.lots[block])]

    def _in_turn(self, problem: Problem, state: DualState, size: int) -> NDArray[np.intp] | None:
        """The next violators in random order, and others between the bounds; None once all have had their turn."""
        if state.turn == np.inf or size < FEWEST_IN_TURN:
            return None
        free = self._free(problem, state, state.recent[:0], size // 2)
        shortfall = 1.0 - state.responses
        shortfall -= problem.labels * self.coupling.centre(problem.labels, state.upper, state.alpha, shortfall)
        violating = np.where(shortfall > 0.0, state.alpha < state.upper, state.alpha > 0.0) & (state.lots > state.turn)
        violating[free] = False
        waiting = np.flatnonzero(violating)
        if len(waiting) < size:
            state.turn = np.inf
            return None
        waiting = waiting[np.argpartition(state.lots[waiting], size - 1)]
        new, others = waiting[:size], waiting[size:]
        state.turn = float(state.lots[new].max())
        new = self._with_both_classes(problem, state, new[np.argsort(state.lots[new])], others)
        state.recent = new
        return np.concatenate([free, new])

    def _with_both_classes(
        self, problem: Problem, state: DualState, new: NDArray[np.intp], others: NDArray[np.intp]
    ) -> NDArray[np.intp]:
        """The last of the new ones make room for others of a class that is rare among them."""
        labels = problem.labels[new]
        rarer = 1 if 2 * np.count_nonzero(labels > 0) < len(new) else -1
        missing = len(new) // RARER - np.count_nonzero(labels == rarer)
        if missing <= 0:
            return new
        more = others[problem.labels[others] == rarer]
        more = more[np.argsort(state.lots[more])[:missing]]
        out = np.flatnonzero(labels != rarer)[len(new) - np.count_nonzero(labels == rarer) - len(more) :]
        return np.concatenate([np.delete(new, out), more])

    def _of_worst(self, problem: Problem, state: DualState, size: int, found: Violations) -> NDArray[np.intp]:
        """Half of the last block, others between the bounds, and the worst violators outside of these."""
        kept = state.recent[: size // 2 if size >= 2 * self.coupling.least_rows else 0]
        free = self._free(problem, state, kept, size // 2)
        kept = np.concatenate([kept, free])
        new = merge_blocks(found.rising + state.lots, found.falling + state.lots, kept, size + len(free))
        new = new[np.argsort(state.lots[new])]  # so that who of them is kept does not hang on the order of the rows
        state.recent = new if len(new) else kept
        return np.concatenate([kept, new])

    def _free(self, problem: Problem, state: DualState, kept: NDArray[np.intp], most: int) -> NDArray[np.intp]:
        """Others between the bounds, drawn at random if there are more, as long as there is room for all their rows.

        They violate nothing, but what the violators change everywhere they can make up for: without them a
        block comes to a compromise among its violators that others have to undo.
        """
        if problem.rows.ledger.limit is not None:  # which counts every row
            return kept[:0]
        between = (state.alpha > 0.0) & (state.alpha < state.upper)
        between[kept] = False
        free = np.flatnonzero(between)
        if len(free) > min(MOST_FREE, 3 * problem.rows.slots // 4 // self.problems):
            return free[:0]
        drawn = (state.lots[free] * 1e9 + state.step * 0.618) % 1.0
        return free[np.argsort(drawn)[:most]]

    def outlook(self, problem: Problem, state: DualState) -> Outlook:
        return Outlook(self.least_evaluations(problem.n))

    def least_evaluations(self, n: int) -> int:
        """What the smallest block of n examples costs: its values with itself, then its rows."""
        return self.rows_a_step * (n + self.rows_a_step)

    def foresee(self, problem: Problem, state: DualState, most: int) -> NDArray[np.intp]:
        return np.empty(0, dtype=np.intp)

    def at_bound(self, problem: Problem, state: DualState, indices: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Those that the step leaves at a bound: two thirds of them, and more, never leave it again."""
        return np.asarray((state.target <= 0.0) | (state.target >= state.upper[indices]))

    def apply(self, problem: Problem, state: DualState, indices: NDArray[np.intp], rows: RowBlock) -> None:
        """Move the coefficients as the block's solution has them, and all responses with them."""
        change = (state.target - state.alpha[indices]) * problem.labels[indices]
        rows.add_to(state.responses, problem.labels, change)
        state.alpha[indices] = state.target
        state.target = state.target[:0]
        state.step += 1
        state.blocks += 1

    def assess(self, problem: Problem, state: DualPoint) -> Assessment:
        return super().assess(problem, state)._replace(violation=self._violations(problem, state).largest)

    def keep_best(self, problem: Problem, state: DualState, assessment: Assessment) -> None:
        """Let the current model be the best so far, if it is."""
        if state.best.yields_to(problem, state, assessment, state.lots > state.turn):
            state.best = state.best.succeeded_by(state, assessment, judged=state.turn < np.inf)

    def best(self, problem: Problem, state: DualState, assessment: Assessment) -> DualPoint:
        """The current point, or the one that had the best model."""
        current = state.best.yields_to(problem, state, assessment, state.lots > state.turn)
        return state if current else state.best.point(state)

    def restore_best(self, problem: Problem, state: DualState, assessment: Assessment) -> Assessment:
        """Go back to the point that had the best model; returns its assessment, with the bound known by now."""
        point = self.best(problem, state, assessment)
        if point is state:
            return assessment
        state.alpha[:], state.responses[:] = point.alpha, point.responses
        return self.assess(problem, state).with_bound(assessment.bound)

    def forget_best(self, state: DualState, by_objective: bool = True) -> None:
        """Begin with the current point: what the responses are, or what is asked for, has changed."""
        state.best = Incumbent.none(by_objective)

    def epochs(self, n: int, step: int) -> float:
        """Each block has at least so many examples, unless rows are very long."""
        return step * BLOCK / n

    def continued(self, state: DualState) -> DualState:
        self.rescale(state)
        self.forget_best(state)
        state.blocks = 0
        return state

    def _violations(self, problem: Problem, state: DualPoint) -> Violations:
        return self.coupling.violations(problem.labels, state.upper, state.alpha, 1.0 - state.responses)

    def _block_size(self, problem: Problem, blocks: int) -> int:
        """Small at first, then larger, as far as half of the rows that are kept and _BLOCK_BYTES go for all problems.

        Without those that are free to move. A block never costs more than the budget of evaluations has left.
        """
        rows = problem.rows
        most = max(BLOCK, min(block_size(blocks), rows.slots // 2 // self.problems))
        room = min(_BLOCK_BYTES, max(rows.slots * rows.row_bytes, _BEYOND_CACHE_BYTES))
        size = min(most, max(16, room // rows.row_bytes // self.problems))
        remaining = rows.ledger.remaining
        if remaining is not None:  # for the values of the block with itself, then for its rows
            size = min(size, (math.isqrt(problem.n**2 + 4 * remaining // self.problems) - problem.n) // 2)
        return max(size, self.coupling.least_rows)
