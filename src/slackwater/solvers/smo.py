"""Sequential minimal optimisation (Platt 1998) with second-order working sets (Fan, Chen, Lin 2005) and shrinking.

The dual of the C-form (arXiv:1204.0566, eq. 4.1) over the fewest coefficients that can move: with a free bias two, for
Σ α_i y_i = 0 must hold, without one a single one (Steinwart, Hush, Scovel 2011). Of a pair, the first is the example
that violates optimality most; the second is the one with which the dual gains most, for which the first one's kernel
row is needed. A single coefficient is the one that gains most.

**An iteration costs** n kernel evaluations for each example of the working set whose row is not in the cache; the
diagonal costs n once where K(x, x) is not 1 by formula. Rows that a cache computes ahead of time are charged as well.

Shrinking leaves examples at a bound, and firmly so, out of the search. Unlike LIBSVM's, whose rows are shortened as
well, rows here are whole and all responses stay up to date: nothing has to be reconstructed before an example shrunk
too early comes back, and a model is certified at any moment.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from slackwater.gram.source import RowBlock
from slackwater.points import Floats
from slackwater.problem import Problem
from slackwater.solvers.base import Assessment, Outlook
from slackwater.solvers.coupling import Balanced, Coupling, Free
from slackwater.solvers.dual_form import DualAscent, DualPoint

_SHRINK_EVERY = 1000  # steps, or as many as there are examples if those are fewer, as LIBSVM does
# Fetched with a row that is missing: a row in a block of eight takes a quarter of the time, and of those foreseen all
# but one in six are used.
_ROWS_AHEAD = 8
_NONE = np.empty(0, dtype=np.intp)


@dataclass
class SMOState(DualPoint):
    active: NDArray[np.intp]  # the examples that are searched
    rank: NDArray[np.intp]  # of each example in the order of their content, which decides ties
    violation: float  # of the optimality conditions, when the last step was chosen
    middle: float  # the bias that halves it between the two sides; 0 without bias
    foreseen: NDArray[np.bool_]  # whose rows were asked for ahead of time; not to be asked for again
    first: int  # of the pair that was chosen, and its row: for the time between draw and apply
    first_row: Floats


@dataclass(frozen=True)
class SMO(DualAscent, ABC):
    """The common part; a subclass chooses one coefficient or two, and moves them.

    ``tol`` is the violation that ends training: before it is believed, all examples are looked at.
    """

    tol: float = field(default=1e-3, repr=False)  # not a part of the problem that a stored state belongs to
    peeks: ClassVar[int]  # rows looked at to choose
    inside: ClassVar[float]  # how far inside the conditions counts as firmly, in units of the violation

    def start(self, problem: Problem, rng: np.random.Generator) -> SMOState:
        n, upper = problem.n, self.upper_bounds(problem)
        problem.rows.diagonal()  # paid here, so that a run that is resumed does not pay twice
        return SMOState(
            step=0,
            C=self.C,
            upper=upper,
            alpha=np.zeros(n),
            responses=np.zeros(n),
            active=np.flatnonzero(upper),
            rank=np.argsort(problem.order),
            violation=math.inf,
            middle=0.0,
            foreseen=np.zeros(n, dtype=bool),
            first=-1,
            first_row=np.empty(0, dtype=problem.rows.dtype),
        )

    def outlook(self, problem: Problem, state: SMOState) -> Outlook:
        shrunk = len(state.active) < len(problem.all_examples.members)  # then the choice may have to be made twice
        return Outlook((self.rows_a_step + self.peeks * shrunk) * problem.n, state.violation)

    def draw(self, problem: Problem, state: SMOState) -> NDArray[np.intp]:
        if state.step > 0 and state.step % min(_SHRINK_EVERY, problem.n) == 0:
            state.active = np.flatnonzero(~self._firmly_bound(problem, state))
        indices, state.violation = self._choose(problem, state)
        if state.violation <= self.tol and len(state.active) < len(problem.all_examples.members):
            state.active = np.flatnonzero(state.upper)
            indices, state.violation = self._choose(problem, state)
        return indices

    def foresee(self, problem: Problem, state: SMOState, most: int) -> NDArray[np.intp]:
        """The worst violators of those never chosen so far, whose rows are therefore not held: most will be, soon."""
        from slackwater.solvers import _smo_loops

        found: NDArray[np.intp] = _smo_loops.worst_at_zero(
            state.active, problem.labels, state.foreseen, state.alpha, state.responses, state.middle, _ROWS_AHEAD
        )
        state.foreseen[found] = True
        return found

    @abstractmethod
    def apply(self, problem: Problem, state: SMOState, indices: NDArray[np.intp], rows: RowBlock) -> None: ...

    def assess(self, problem: Problem, state: SMOState) -> Assessment:  # type: ignore[override]
        return super().assess(problem, state)._replace(violation=state.violation)

    def continued(self, state: SMOState) -> SMOState:
        self.rescale(state)
        return replace(state, active=_NONE, violation=math.inf)  # the next draw looks at all examples

    @abstractmethod
    def _choose(self, problem: Problem, state: SMOState) -> tuple[NDArray[np.intp], float]:
        """The examples whose rows the step needs, and the violation among the active examples."""

    def _firmly_bound(self, problem: Problem, state: SMOState) -> NDArray[np.bool_]:
        """Which examples are at a bound and lie further inside the optimality conditions than any lies outside."""
        found = self.coupling.violations(problem.labels, state.upper, state.alpha, 1.0 - state.responses)
        inside = -self.inside * found.largest
        at_cap, at_zero = np.isneginf(found.rising), np.isneginf(found.falling)
        return (at_cap & (found.falling < inside)) | (at_zero & (found.rising < inside))


@dataclass(frozen=True)
class SMOPairs(SMO):
    """With a free, unregularised bias: two coefficients, of which one rises and one falls in y_i α_i."""

    coupling: ClassVar[Coupling] = Balanced()
    peeks: ClassVar[int] = 1
    inside: ClassVar[float] = 0.5  # violations of the two are counted from their middle

    def apply(self, problem: Problem, state: SMOState, indices: NDArray[np.intp], rows: RowBlock) -> None:
        from slackwater.gram import _loops
        from slackwater.solvers import _smo_loops

        if len(indices):
            point = (problem.labels, state.upper, state.alpha, state.responses)
            pair = (state.first, indices[0], state.first_row)
            move = _smo_loops.move_pair(*point, problem.rows.diagonal(), *pair)
            _loops.add_row(state.responses, problem.labels, state.first_row, move)
            rows.add_to(state.responses, problem.labels, np.array([-move]))
            state.first, state.first_row = -1, state.first_row[:0]
        state.step += 1

    def _choose(self, problem: Problem, state: SMOState) -> tuple[NDArray[np.intp], float]:
        from slackwater.solvers import _smo_loops

        point = (problem.labels, state.upper, state.alpha, state.responses)
        first, top = _smo_loops.first_of_pair(state.active, state.rank, *point)
        if first < 0:
            return _NONE, 0.0
        row = problem.rows.rows([first], ahead=lambda: self.foresee(problem, state, _ROWS_AHEAD))[0]
        second, bottom = _smo_loops.second_of_pair(
            state.active, state.rank, *point, problem.rows.diagonal(), first, top, row
        )
        state.middle = 0.5 * (top + bottom) if second >= 0 else state.middle
        state.first, state.first_row = first, row.copy()  # the source may write over it when asked for the second
        return np.array([second] if second >= 0 else [], dtype=np.intp), max(top - bottom, 0.0)


@dataclass(frozen=True)
class SMOSingles(SMO):
    """Without bias: the one coefficient with which the dual gains most."""

    coupling: ClassVar[Coupling] = Free()
    peeks: ClassVar[int] = 0
    inside: ClassVar[float] = 1.0

    def apply(self, problem: Problem, state: SMOState, indices: NDArray[np.intp], rows: RowBlock) -> None:
        from slackwater.solvers import _smo_loops

        if len(indices):
            move = _smo_loops.move_single(
                state.upper, state.alpha, state.responses, problem.rows.diagonal(), indices[0]
            )
            rows.add_to(state.responses, problem.labels, move * problem.labels[indices].astype(np.float64))
        state.step += 1

    def _choose(self, problem: Problem, state: SMOState) -> tuple[NDArray[np.intp], float]:
        from slackwater.solvers import _smo_loops

        chosen, violation = _smo_loops.best_single(
            state.active, state.rank, state.upper, state.alpha, state.responses, problem.rows.diagonal()
        )
        return np.array([chosen] if chosen >= 0 else [], dtype=np.intp), violation
