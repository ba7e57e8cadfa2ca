"""The dual on a working set whose kernel matrix is in memory: by steps on pairs, or else by an interior-point method.

Steps on pairs (or on single dual variables) are by far the quickest as a rule. Their number grows with the condition of
the matrix, and where features are raw, linear and polynomial kernels have conditions of 1e8 and more. Then an
interior-point method, whose iterations do not, finds a point from which few steps are left.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from slackwater.deadline import Deadline
from slackwater.fitting.kept_part import KeptPart
from slackwater.fitting.working_set import WorkingSet
from slackwater.objectives import hinge_total
from slackwater.solvers.coupling import Coupling, Violations, solve_in_slices
from slackwater.solvers.crossover import MAX_FACTORISED, Factor, factorised

Floats = NDArray[np.float64]

NEAR = 0.1  # margins within which of where they would be violated conditions may soon be
_STEPS_PER_EXAMPLE = 20  # of the solver of the working set, before responses are computed anew
_MIN_TO_SHRINK = 1536  # examples of a working set: a smaller matrix stays in cache, and a part of it gains nothing
_PROGRESS = 0.1  # of the violation, that is left by one solution of a part: then others have become part of it
_SHRUNK_SHARE = 0.7  # of the working set: a larger part is not worth its copy
_MAX_REFRESHES = 100  # solutions of one working set, each from responses computed anew
_PATIENCE = 20  # steps an example, before an interior-point method is thought of (Gaussian kernels take 1 to 10),
_MAX_PATIENCE = 1000  # and after which it is tried, whatever it takes
_COLUMNS_TOGETHER = 2048  # of the matrix, that a thread adds up: sums are those of one thread, bit for bit
_FACTORS = 3  # matrices in double precision that there are when one has been factorised
_OBJECTIVE_ROUNDING = 1e-13  # of Σ α_i: a rise of the dual objective that is none
_MAX_VAIN = 4  # refreshes without such a rise: their steps may still make the violation smaller
_INNER_SHARE = 0.9  # of the violation allowed, that is left to the working set


@dataclass
class WorkingSetDual:
    """Dual variables and responses of the examples in the working set; replaced as it is solved."""

    working: WorkingSet
    coupling: Coupling
    labels: NDArray[np.int8]
    upper: Floats
    alpha: Floats
    responses: Floats  # c_i = y_i <w, Φ(x_i)>
    deadline: Deadline
    near_share: float = 0.5  # of the violation, within which of a violation conditions are nearly violated
    patience: int | None = None  # steps an example before an interior-point method is thought of; None: the default
    kept: KeptPart | None = None  # of the matrix, for solutions that follow one another; None: parts are copied

    def solve(self, tolerance: float) -> bool:
        """Until nothing violates more, responses computed anew each time; False if rounding or the clock ends it.

        A part is solved at a time: the free dual variables, and those whose conditions are nearly violated.
        """
        patience, kept = (
            _Patience(
                len(self.working), _PATIENCE if self.patience is None else self.patience, self._most_factorised()
            ),
            None,
        )
        for _ in range(_MAX_REFRESHES):
            found = self.coupling.violations(self.labels, self.upper, self.alpha, 1.0 - self.responses)
            if found.largest <= tolerance:
                return True
            if patience.at_end(self.alpha, self.responses):
                break
            steps = self._solve_part(self._shrunk(found), self._aim(found, tolerance))
            if steps == 0 or self.deadline.passed():
                break
            if patience.exhausted_by(steps, self._factorised):
                self._jump(patience.factor)
                kept = self.alpha.copy(), self.responses.copy()
        if kept is not None:  # steps that rounding leads astray can make the primal objective worse than it was
            both = (self.alpha, self.responses), kept
            self.alpha, self.responses = min(both, key=lambda point: self._primal_objective(*point))
        return False

    def _aim(self, found: Violations, tolerance: float) -> float:
        """The violation to solve the next part to."""
        large = len(self.working) >= _MIN_TO_SHRINK
        return max(_INNER_SHARE * tolerance, _PROGRESS * found.largest if large else 0.0)

    def _shrunk(self, found: Violations) -> NDArray[np.intp]:
        """The places of examples that are free, or whose conditions are violated or nearly so."""
        m = len(self.alpha)
        if m < _MIN_TO_SHRINK:
            return np.arange(m)
        free = (self.alpha > 0.0) & (self.alpha < self.upper)
        near = np.maximum(found.rising, found.falling) > -max(NEAR, self.near_share * found.largest)
        chosen = np.flatnonzero(free | near)
        return chosen if len(chosen) < _SHRUNK_SHARE * m else np.arange(m)

    def _solve_part(self, chosen: NDArray[np.intp], tolerance: float) -> int:
        """Move the dual variables at some places to their optimum, the others held; the steps made, 0 if none moved."""
        chosen, gram = self._part_of_matrix(chosen)
        labels, upper = self.labels[chosen], self.upper[chosen]
        part, shortfall = self.alpha[chosen], 1.0 - self.responses[chosen]
        most = _STEPS_PER_EXAMPLE * len(chosen)
        steps = solve_in_slices(self.coupling, gram, labels, upper, part, shortfall, tolerance, most, self.deadline)
        if gram.dtype != np.float64 and np.array_equal(part, self.alpha[chosen]):  # what is left is below its rounding
            del gram  # before there is a larger one
            gram, shortfall = self._in_double_precision(chosen), 1.0 - self.responses[chosen]
            steps = solve_in_slices(self.coupling, gram, labels, upper, part, shortfall, tolerance, most, self.deadline)
        change = part - self.alpha[chosen]
        moved = np.flatnonzero(change)
        self._add_to(self.responses, chosen[moved], change[moved])
        self.alpha[chosen] = part
        return steps if len(moved) else 0

    def _part_of_matrix(self, chosen: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.floating]]:
        """Kernel values of the examples at some places, or at these and a few others, and the places."""
        if len(chosen) == len(self.working):
            return chosen, self.working.values
        return (chosen, self.working.part(chosen)) if self.kept is None else self.kept.holding(chosen)

    def _in_double_precision(self, chosen: NDArray[np.intp]) -> NDArray[np.floating]:
        if self.kept is None or self.kept.places is not chosen:
            return self.working.part(chosen, np.float64)
        return self.kept.values[: len(chosen), : len(chosen)].astype(np.float64)

    def _add_to(self, responses: Floats, places: NDArray[np.intp], amounts: Floats) -> None:
        """Bring responses up to date with changes of some dual variables."""
        from slackwater.gram import _loops

        signed, labels, values, m = amounts * self.labels[places], self.labels, self.working.values, len(responses)

        def add(first: int, last: int) -> None:
            _loops.add_combination(responses, labels, values, places, signed, first, last)

        if self.kept is None:
            add(0, m)
            return
        firsts = range(0, m, _COLUMNS_TOGETHER)
        self.working.features.workers.run(lambda first: add(first, min(first + _COLUMNS_TOGETHER, m)), firsts)

    def _most_factorised(self) -> int:
        """The largest working set whose factor there is room for, beside its matrix."""
        room = self.working.features.cache_bytes
        return min(MAX_FACTORISED, int(math.sqrt(room / (_FACTORS * 8 + self.working.values.itemsize))))

    def _factorised(self) -> Factor:
        m = len(self.working)
        with self.working.features.workers:  # one thread: two pools on the same cores cost more than they save
            return factorised(self.working.values[:m, :m], self.coupling.free_bias)

    def _jump(self, factor: Factor) -> None:
        """Go to the point of an interior-point method, if the dual objective is larger there."""
        with self.working.features.workers:
            found = factor.optimum(self.labels, self.upper, self.deadline.passed)
        if found is None:
            return
        there, support = np.zeros(len(found)), np.flatnonzero(found)
        self._add_to(there, support, found[support])
        if _dual_objective(found, there) > _dual_objective(self.alpha, self.responses):
            self.alpha, self.responses = found, there

    def _primal_objective(self, alpha: Floats, responses: Floats) -> float:
        """That of the working set, with the bias of the optimality conditions."""
        bias = self.coupling.bias(self.labels, self.upper, alpha, 1.0 - responses)
        return 0.5 * float(alpha @ responses) + hinge_total(responses + self.labels * bias, self.upper)


class _Patience:
    """How long steps on pairs go on with one working set of m examples, and what they have gained.

    They are given about the time that an interior-point method would take: with a matrix of rank r, r² steps. A step
    is a pass over two rows of m values; that method makes some thirty products of an m × r matrix with itself.
    """

    def __init__(self, m: int, steps_per_example: int, most: int = MAX_FACTORISED) -> None:
        self._m, self._most, self._steps, self._objective = m, most, 0, -math.inf
        self._least = steps_per_example * m
        self._factor: Factor | None = None
        self._exhausted, self._vain = False, 0

    @property
    def factor(self) -> Factor:
        if self._factor is None:
            raise RuntimeError("nothing was factorised")
        return self._factor

    def exhausted_by(self, steps: int, factorise: Callable[[], Factor]) -> bool:
        """Whether, with these further steps, it is time for an interior-point method; once."""
        self._steps += steps
        if self._exhausted or self._steps < self._least or self._m > self._most:
            return False
        self._factor = self._factor or factorise()
        self._exhausted = self._steps >= min(self._factor.rank**2, _MAX_PATIENCE * self._m)
        return self._exhausted

    def at_end(self, alpha: Floats, responses: Floats) -> bool:
        """Whether, after that method, the dual objective has risen by no more than its rounding several times in a row.

        Values of the kernel are off by ``noise``, independently of one another: ½ ‖w‖² by ``noise`` times ‖α‖².
        """
        last, self._objective = self._objective, _dual_objective(alpha, responses)
        if not self._exhausted:
            return False
        rounding = self.factor.noise * float(alpha @ alpha) + _OBJECTIVE_ROUNDING * float(alpha.sum())
        self._vain = self._vain + 1 if self._objective <= last + rounding else 0
        return self._vain >= _MAX_VAIN


def _dual_objective(alpha: Floats, responses: Floats) -> float:
    return float(alpha.sum() - 0.5 * (alpha @ responses))
