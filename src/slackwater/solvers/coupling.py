"""What a free bias changes in the dual: which coefficients may move, and how they are moved together.

Without a bias each coefficient is free in [0, C ω_i]. With one, Σ α_i y_i = 0 couples them: one moves up as another
moves down. ``shortfall`` is 1 - y_i <w, Φ(x_i)>; a coefficient that may grow wants to while its shortfall, less what
the bias makes up for, is positive.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from slackwater.deadline import Deadline
from slackwater.problem import Problem

Floats = NDArray[np.float64]

_SORTED = 2**17  # examples up to which sorting them costs less than a user's waiting for the search to be compiled


_VALUES_A_SLICE = 2**25  # of a kernel matrix, that steps pass over between two looks at the clock: some 30 ms


class Violations(NamedTuple):
    """How much each example wants to move: up where ``rising`` is positive, down where ``falling`` is."""

    rising: Floats
    falling: Floats
    largest: float  # by how much the optimality conditions are violated


class Scaling(NamedTuple):
    """The function scale · <w, Φ(x)> + bias that costs least among all multiples of a w, whatever the bias."""

    scale: float
    bias: float


class Coupling(Protocol):
    least_rows: ClassVar[int]
    free_bias: ClassVar[bool]

    def violations(self, labels: NDArray[np.int8], upper: Floats, alpha: Floats, shortfall: Floats) -> Violations: ...

    def pulls(self, labels: NDArray[np.int8], upper: Floats, alpha: Floats, shortfall: Floats) -> tuple[Floats, Floats]:
        """As ``rising`` and ``falling`` of the violations, but not yet against one of the middle: of some examples."""

    def violation_of(self, rising: float, falling: float) -> tuple[float, float]:
        """From the largest pulls of all examples: the largest violation, and the middle."""

    def centre(self, labels: NDArray[np.int8], upper: Floats, alpha: Floats, shortfall: Floats) -> float:
        """The bias of the dual point, as most of its free coefficients have it."""

    def solver(self) -> Callable[..., int]: ...

    def best_scale(self, problem: Problem, responses: Floats, norm: float, C: float) -> Scaling: ...

    def bias(self, labels: NDArray[np.int8], upper: Floats, alpha: Floats, shortfall: Floats) -> float:
        """The bias by the optimality conditions."""

    def middle(self, labels: NDArray[np.int8], upper: Floats, alpha: Floats, shortfall: Floats) -> float:
        """The bias in the middle of the interval that the bounds allow."""


@dataclass(frozen=True)
class Free:
    """No bias."""

    least_rows: ClassVar[int] = 1
    free_bias: ClassVar[bool] = False

    def violations(self, labels: NDArray[np.int8], upper: Floats, alpha: Floats, shortfall: Floats) -> Violations:
        rising = np.where(alpha < upper, shortfall, -np.inf)
        falling = np.where(alpha > 0.0, -shortfall, -np.inf)
        return Violations(rising, falling, float(max(rising.max(), falling.max(), 0.0)))

    def pulls(self, labels: NDArray[np.int8], upper: Floats, alpha: Floats, shortfall: Floats) -> tuple[Floats, Floats]:
        return np.where(alpha < upper, shortfall, -np.inf), np.where(alpha > 0.0, -shortfall, -np.inf)

    def violation_of(self, rising: float, falling: float) -> tuple[float, float]:
        return max(rising, falling, 0.0), 0.0

    def centre(self, labels: NDArray[np.int8], upper: Floats, alpha: Floats, shortfall: Floats) -> float:
        return 0.0

    def solver(self) -> Callable[..., int]:
        from slackwater.solvers import _dual_loops

        return _dual_loops.solve_singles

    def best_scale(self, problem: Problem, responses: Floats, norm: float, C: float) -> Scaling:
        """The reciprocal of the C-level."""
        if norm == 0.0:
            return Scaling(0.0, 0.0)
        from slackwater.water import _loops

        unit = responses / norm
        if problem.n <= _SORTED:
            order = np.argsort(unit)
            level = _loops.c_level_of_sorted(unit[order], _some(problem.weights, order), C)
        else:
            level = _loops.find_c_level(unit, problem.weights, C, np.nan, np.nan)
        return Scaling(1.0 / (norm * level), 0.0)

    def bias(self, labels: NDArray[np.int8], upper: Floats, alpha: Floats, shortfall: Floats) -> float:
        return 0.0

    def middle(self, labels: NDArray[np.int8], upper: Floats, alpha: Floats, shortfall: Floats) -> float:
        return 0.0


@dataclass(frozen=True)
class Balanced:
    """A free, unregularised bias."""

    least_rows: ClassVar[int] = 2
    free_bias: ClassVar[bool] = True

    def violations(self, labels: NDArray[np.int8], upper: Floats, alpha: Floats, shortfall: Floats) -> Violations:
        from slackwater.solvers import _dual_loops

        rising, falling = np.empty(len(alpha)), np.empty(len(alpha))
        largest = _dual_loops.balanced_violations(labels, upper, alpha, shortfall, rising, falling)
        return Violations(rising, falling, max(largest, 0.0))

    def pulls(self, labels: NDArray[np.int8], upper: Floats, alpha: Floats, shortfall: Floats) -> tuple[Floats, Floats]:
        biases, can_grow, can_shrink = labels * shortfall, alpha < upper, alpha > 0.0
        rising = np.where(np.where(labels > 0, can_grow, can_shrink), biases, -np.inf)
        return rising, np.where(np.where(labels > 0, can_shrink, can_grow), -biases, -np.inf)

    def violation_of(self, rising: float, falling: float) -> tuple[float, float]:
        if math.isinf(rising) or math.isinf(falling):  # nothing may move one way
            return 0.0, 0.0
        return max(rising + falling, 0.0), 0.5 * (rising - falling)

    def centre(self, labels: NDArray[np.int8], upper: Floats, alpha: Floats, shortfall: Floats) -> float:
        """The median of the biases that bring free examples on their margins; the extremes are those of outliers."""
        support = np.flatnonzero(alpha > 0.0)
        free = support[alpha[support] < upper[support]]
        chosen = free if len(free) else support
        return float(np.median(labels[chosen] * shortfall[chosen])) if len(chosen) else 0.0

    def solver(self) -> Callable[..., int]:
        from slackwater.solvers import _dual_loops

        return _dual_loops.solve_pairs

    def best_scale(self, problem: Problem, responses: Floats, norm: float, C: float) -> Scaling:
        """The reciprocal of the C-level of two basins; where nothing is gained by w, the larger class everywhere."""
        from slackwater.water import _loops, _scan_loops

        positive = negative = math.inf
        if norm > 0.0:
            unit = responses / norm
            if problem.n <= _SORTED:
                order = np.argsort(unit)
                weights = _some(problem.weights, order)
                positive, negative = _loops.c_level_and_bias_of_sorted(unit[order], problem.labels[order], weights, C)
            else:
                positive, negative = _loops.find_c_level_and_bias(
                    unit, problem.labels, problem.weights, C, np.nan, np.nan, np.nan
                )
        if math.isinf(positive):
            return Scaling(0.0, float(np.sign(_scan_loops.excess(problem.labels, problem.weights))))
        level = 0.5 * (positive + negative)
        return Scaling(1.0 / (norm * level), 0.5 * (negative - positive) / level)

    def bias(self, labels: NDArray[np.int8], upper: Floats, alpha: Floats, shortfall: Floats) -> float:
        """The mean of y_i shortfall_i over free examples; without any, the middle of those that the bounds allow."""
        biases = labels * shortfall
        can_grow, can_shrink = alpha < upper, alpha > 0.0
        free = can_grow & can_shrink
        return float(biases[free].mean()) if free.any() else self.middle(labels, upper, alpha, shortfall)

    def middle(self, labels: NDArray[np.int8], upper: Floats, alpha: Floats, shortfall: Floats) -> float:
        """Between the largest bias that a dual variable that may rise asks for, and the least that one may fall to."""
        biases, can_grow, can_shrink = labels * shortfall, alpha < upper, alpha > 0.0
        top = float(biases[np.where(labels > 0, can_grow, can_shrink)].max(initial=-np.inf))
        bottom = float(biases[np.where(labels > 0, can_shrink, can_grow)].min(initial=np.inf))
        if math.isinf(top) or math.isinf(bottom):  # nothing may move one way: any bias beyond the others' will do
            return top if math.isinf(bottom) else bottom
        return 0.5 * (top + bottom)


def solve_in_slices(
    coupling: Coupling,
    gram: NDArray[np.floating],
    labels: NDArray[np.int8],
    upper: Floats,
    alpha: Floats,
    shortfall: Floats,
    tolerance: float,
    most: int,
    deadline: Deadline,
) -> int:
    """Steps of the coupling's solver, in slices between which the clock is looked at; returns how many were made.

    The steps are those of one slice as long as all: a slice begins where the last one has left ``alpha`` and
    ``shortfall``. These are a feasible point, and its shortfall, wherever the deadline ends it.
    """
    solve, made = coupling.solver(), 0
    while True:
        slice_ = min(most - made, max(1, _VALUES_A_SLICE // max(len(alpha), 1)))
        steps = int(solve(gram, labels, upper, alpha, shortfall, tolerance, slice_))
        made += steps
        if steps < slice_ or made >= most or deadline.passed():
            return made


def _some(weights: Floats | None, order: NDArray[np.intp]) -> Floats | None:
    return None if weights is None else weights[order]


def merge_blocks(rising: Floats, falling: Floats, kept: NDArray[np.intp], size: int) -> NDArray[np.intp]:
    """The worst violators beside those kept, to fill a block: half rising and half falling. Overwrites its input."""
    wanted = max(size - len(kept), 0)
    rising[kept] = falling[kept] = -np.inf
    up = _worst(rising, (wanted + 1) // 2)
    falling[up] = -np.inf
    down = _worst(falling, wanted - len(up))
    rising[up] = -np.inf
    rising[down] = -np.inf
    more = _worst(rising, wanted - len(up) - len(down))
    return np.concatenate([up, down, more])


def _worst(values: Floats, count: int) -> NDArray[np.intp]:
    """Positions of the largest positive values, at most ``count``."""
    positive = np.flatnonzero(values > 0.0)  # few of them, as a rule
    least = len(positive) - max(count, 0)
    if least <= 0:
        return positive
    return np.sort(positive[np.argpartition(values[positive], least - 1)[least:]])
