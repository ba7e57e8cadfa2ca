"""The dual for several values of C, and several parts of the examples, on one set of kernel values.

The values of C are solved in rising order, each from the solution before it: a point that is feasible for one C is
feasible for any larger one. Examples that a part leaves out have weight zero. They stay in the kernel matrix with all
others, so that their responses, the decision values of a cross-validation, come with the solution.

Where the matrix of all examples does not fit, it is that of a working set. One pass over the other examples tests them
with the solutions of all values of C and all parts at once; those that violate any of them join.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slackwater.deadline import NEVER, Deadline
from slackwater.fitting.chunking import assessed
from slackwater.fitting.context import FitContext
from slackwater.fitting.kept_part import KeptPart
from slackwater.fitting.settings import PathSettings
from slackwater.fitting.warm_start import best_factor
from slackwater.fitting.working_set import WorkingSet
from slackwater.fitting.working_set_dual import WorkingSetDual
from slackwater.gram.features import Features
from slackwater.memory import SpareMemory
from slackwater.solvers.base import Assessment
from slackwater.solvers.coupling import Coupling
from slackwater.stopping import GapBelow, NearOptimal, Progress, StoppingRule, StopReason, ViolationBelow
from slackwater.workers import Workers

Floats = NDArray[np.float64]

_PATIENCE = (
    100  # steps an example before an interior-point method is thought of: its matrix is factorised anew each time
)
_LEAST_REFINEMENT, _MOST_REFINEMENT = 0.7, 0.25  # of a violation that does not lead to the gap: the next one to reach
_AIM = 0.8  # of the gap that is asked for: it falls about as the violation does


class PathPoint(NamedTuple):
    """The solution for one value of C; arrays are aligned with the examples."""

    C: float
    alpha: Floats
    responses: Floats  # c_i = y_i <w, Φ(x_i)>, also of examples that were left out
    assessment: Assessment
    reason: StopReason
    seconds: float


class WorkingSetFullError(Exception):
    """More examples belong to the working set than the memory for its matrix allows."""


@dataclass(frozen=True)
class Goal:
    """When a point is solved: by a rule, beginning with a violation of the optimality conditions."""

    rule: StoppingRule
    violation: float
    gap: float = math.inf  # that the rule asks for, where it does

    @classmethod
    def of(cls, context: FitContext) -> Goal:
        """As ``SVC`` has it for a problem whose kernel matrix is in memory."""
        stated, default = context.stopping.tol, context.settings.tolerance
        if stated is not None:
            return cls.of_gap(stated)
        allowed = default.exact_violation
        return cls(NearOptimal(allowed, default.matrix_gap, default.finest * allowed), allowed, default.matrix_gap)

    @classmethod
    def of_gap(cls, tol: float) -> Goal:
        """A relative gap, and single violations that go with it."""
        return cls(GapBelow(tol), 10.0 * tol, tol)

    def coarser(self, violation: float) -> Goal:
        """This violation alone, if it is the larger one."""
        return Goal(ViolationBelow(violation), violation) if violation > self.violation else self

    def refined(self, violation: float, assessment: Assessment) -> float:
        """The next violation to solve to, where this one has not led to the gap."""
        ratio = _AIM * self.gap / assessment.gap if assessment.gap > 0.0 else 1.0
        return violation * min(max(ratio, _MOST_REFINEMENT), _LEAST_REFINEMENT)

    def reached(self, assessment: Assessment) -> bool:
        """Whether a solution satisfies the rule."""
        progress = Progress(1, 0, 0.0, gap=assessment.gap, violation=assessment.violation)
        return self.rule(progress) is not None


def solve_point(
    kept: KeptPart,
    coupling: Coupling,
    labels: NDArray[np.int8],
    upper: Floats,
    start: tuple[Floats, Floats],
    goal: Goal,
    deadline: Deadline,
) -> tuple[Floats, Floats, bool]:
    """Dual variables and responses on a working set, and whether the goal was reached.

    ``kept`` is the part of its matrix that the last point has left, for points that follow one another.
    """
    alpha, responses = (values.copy() for values in start)
    dual = WorkingSetDual(kept.working, coupling, labels, upper, alpha, responses, deadline, 0.0, _PATIENCE, kept)
    allowed = goal.violation
    while True:
        settled = dual.solve(allowed)
        assessment = assessed(coupling, labels, upper, dual.alpha, dual.responses)
        reached = goal.reached(assessment)
        if reached or not settled or deadline.passed():
            return dual.alpha, dual.responses, reached
        allowed = goal.refined(allowed, assessment)


def own_view(working: WorkingSet, places: NDArray[np.intp] | None = None) -> WorkingSet:
    """The working set, or a copy of a part of it, for a thread of its own."""
    chosen = np.arange(len(working)) if places is None else places
    view = WorkingSet(replace(working.features, workers=Workers()), len(chosen), SpareMemory())
    view.indices = working.indices[chosen]
    view.values = working.values if places is None else working.part(places)
    return view


def best_multiple(point: PathPoint, C: float) -> tuple[Floats, Floats]:
    """The multiple of a dual point that is largest in the dual objective, within the bounds of a larger C."""
    scale = best_factor(float(point.alpha.sum()), float(point.alpha @ point.responses), C / point.C)
    return scale * point.alpha, scale * point.responses


def random_sample(order: NDArray[np.intp], labels: NDArray[np.int8], size: int, seed: int) -> NDArray[np.intp]:
    """Some of the examples, of which an eighth at least is of the rarer class, as far as there are as many."""
    shuffled = np.random.default_rng(seed).permutation(order)
    rarer, others = sorted((shuffled[labels[shuffled] == label] for label in (1, -1)), key=len)
    count = min(len(rarer), max(size // 8, size * len(rarer) // len(order), 1))
    return np.concatenate([rarer[:count], others[: size - count]])


@dataclass
class SharedPath:
    """One binary problem for several values of C, on several parts of the examples."""

    features: Features
    labels: NDArray[np.int8]
    parts: Sequence[Floats]  # weights of the examples in each part; 0 leaves one out
    Cs: Sequence[float]  # rising
    order: NDArray[np.intp]  # of the examples, by content
    coupling: Coupling
    goal: Goal
    settings: PathSettings
    seed: int
    memory: SpareMemory = field(default_factory=SpareMemory)
    deadline: Deadline = NEVER

    def __post_init__(self) -> None:
        itemsize = self.features.points.dtype.itemsize
        self.capacity = min(self.n, int((self.features.matrix_bytes / itemsize) ** 0.5))
        self.working = WorkingSet(self.features, self.capacity, self.memory)
        self.outside = np.ones(self.n, dtype=bool)
        self.current = np.ones(self.n, dtype=bool)  # whether responses are those of the last solutions
        self.shortfall = np.full(self.n, np.inf)  # the largest of 1 - y_i f(x_i) for any C, when tested last
        self.points: list[list[PathPoint]] = [[] for _ in self.parts]

    @property
    def n(self) -> int:
        return len(self.labels)

    @property
    def _sample_size(self) -> int:
        return min(self.settings.sample, self.capacity)

    def solve(self) -> list[list[PathPoint]]:
        """The points of each part. Where time is up there are fewer; the last one may be unfinished then."""
        whole = self.n <= min(self.capacity, self.settings.max_at_once)
        self._admit(self.order if whole else random_sample(self.order, self.labels, self._sample_size, self.seed))
        if not whole:
            self._grow()
        return self._finish()

    def refined(self, goal: Goal) -> list[list[PathPoint]]:
        """Go on from the points that were found to a further goal."""
        self.goal = goal
        return self._finish()

    def _grow(self) -> None:
        """Let violators of a coarse goal join, who are looked for at random, until few of them are left."""
        goal = self.goal.coarser(self.settings.coarse)
        while True:
            self._follow_parts(goal)
            if self.deadline.passed():
                return
            violators = self._violators(self._drawn(), goal)
            if len(violators) <= self.settings.few_violators * len(self.working):
                break
            self._admit(self._newcomers(violators, int(self.settings.growth * len(self.working))))
        self._test(self.outside & np.isinf(self.shortfall))
        self._forget_idle()
        self._admit(self._newcomers(violators))

    def _finish(self) -> list[list[PathPoint]]:
        """Solve to the goal; nobody else may violate it, nor may losses of others keep a gap from being closed."""
        while True:
            self._follow_parts(self.goal)
            if self.deadline.passed():
                self._test(self.outside)
                break
            violators = self._violators(self.outside & (self.shortfall > -self.settings.near), self.goal)
            if self._closed():  # as far as is known: those further off are tested last
                violators = self._violators(self.outside, self.goal)
                if self._closed():
                    break
            elif len(violators) == 0:
                violators = self._violators(self.outside, self.goal)
            if len(violators) == 0:  # many small losses keep a gap open
                violators = np.flatnonzero(self.outside & (self.shortfall > 0.0))
            if len(violators) == 0:
                break
            self._admit(self._newcomers(violators))
        both = zip(self.parts, self.points, strict=True)
        return [[self._assessed(weights, each) for each in points] for weights, points in both]

    def _follow_parts(self, goal: Goal) -> None:
        self.features.workers.run(partial(self._follow, goal), range(len(self.parts)))
        self.current[self.outside] = False

    def _closed(self) -> bool:
        """Whether points that reach their goal on the working set do so on all examples, whose responses are known."""
        reached = StopReason.TOLERANCE
        return all(
            self.goal.reached(self._assessed(weights, point).assessment)
            for weights, points in zip(self.parts, self.points, strict=True)
            for point in points
            if point.reason is reached
        )

    def release(self) -> None:
        """Let others use the memory of the matrix."""
        self.working.release()

    def _admit(self, newcomers: NDArray[np.intp]) -> None:
        if len(self.working) + len(newcomers) > self.capacity:
            raise WorkingSetFullError
        self._update(newcomers[~self.current[newcomers]])
        self.working.admit(newcomers)
        self.outside[newcomers] = False

    def _newcomers(self, violators: NDArray[np.intp], most: int | None = None) -> NDArray[np.intp]:
        """As many violators at random as may join; everybody, if nearly all would.

        In the end, with no limit, also those who are near: each round costs more than they do.
        """
        m, n = len(self.working), self.n
        if m + len(violators) > self.settings.share_at_once * n and n <= self.capacity:
            return np.flatnonzero(self.outside)
        if most is not None:
            return violators[:most]
        return np.flatnonzero(self.outside & (self.shortfall > -self.settings.reserve))

    def _forget_idle(self) -> None:
        """Let examples go that no solution needs."""
        members = self.working.indices
        self._note_shortfall(members)
        support = np.any([point.alpha[members] > 0.0 for points in self.points for point in points], axis=0)
        needed = support | (self.shortfall[members] > -self.settings.reserve)
        self.outside[members[~needed]] = True
        self.working.keep(np.flatnonzero(needed))

    def _follow(self, goal: Goal, number: int) -> None:
        """Solve one part for all values of C on the working set: from its own last solution, or that for the C before.

        The larger dual objective decides between the two.
        """
        view = self.working if len(self.parts) == 1 else own_view(self.working)
        weights, earlier = self.parts[number], self.points[number]
        members, found = view.indices, list[PathPoint]()
        labels, kept = self.labels[members], KeptPart(view)
        for place, C in enumerate(self.Cs):
            if found and self.deadline.passed():
                break
            begun = time.perf_counter()
            start = self._start(C, found, earlier[place] if place < len(earlier) else None)
            inside = start[0][members], start[1][members]
            alpha, responses, reached = solve_point(
                kept, self.coupling, labels, C * weights[members], inside, goal, self.deadline
            )
            point_alpha, point_responses = np.zeros(self.n), start[1].copy()
            point_alpha[members], point_responses[members] = alpha, responses
            assessment = assessed(self.coupling, self.labels, C * weights, point_alpha, point_responses)
            reason = self._reason(reached)
            seconds = time.perf_counter() - begun + (earlier[place].seconds if place < len(earlier) else 0.0)
            found.append(PathPoint(C, point_alpha, point_responses, assessment, reason, seconds))
        self.points[number] = found

    def _start(self, C: float, found: list[PathPoint], own: PathPoint | None) -> tuple[Floats, Floats]:
        """The last solution for this C, or the best multiple of that for the C before: the larger dual objective."""
        candidates = [] if own is None else [(own.alpha, own.responses)]
        if found:
            candidates.append(best_multiple(found[-1], C))
        if not candidates:
            return np.zeros(self.n), np.zeros(self.n)
        return max(candidates, key=lambda point: point[0].sum() - 0.5 * (point[0] @ point[1]))

    def _reason(self, reached: bool) -> StopReason:
        if reached:
            return StopReason.TOLERANCE
        return StopReason.SECONDS if self.deadline.passed() else StopReason.STALLED

    def _drawn(self) -> NDArray[np.bool_]:
        """Examples outside of the working set: so many at random that enough violators are found among them."""
        chosen = np.zeros(self.n, dtype=bool)
        size = int(self.settings.tested * len(self.working))
        chosen[np.random.default_rng([self.seed, len(self.working)]).permutation(self.order)[:size]] = True
        return self.outside & chosen

    def _violators(self, tested: NDArray[np.bool_], goal: Goal) -> NDArray[np.intp]:
        """Of these examples those whose dual variables want to grow for some C, in some part; in random order."""
        examples = self._test(tested)
        found = examples[self.shortfall[examples] > 0.5 * goal.violation]
        return np.random.default_rng(self.seed).permutation(found)

    def _test(self, tested: NDArray[np.bool_]) -> NDArray[np.intp]:
        """Bring responses and shortfalls of these examples up to date."""
        examples = self.order[tested[self.order]]
        self._update(examples)
        self._note_shortfall(examples)
        return examples

    def _note_shortfall(self, examples: NDArray[np.intp]) -> None:
        worst, members = np.full(len(examples), -np.inf), self.working.indices
        for weights, points in zip(self.parts, self.points, strict=True):
            of_part = weights[examples] > 0.0
            for point in points:
                upper, short = point.C * weights[members], 1.0 - point.responses
                middle = self.coupling.middle(self.labels[members], upper, point.alpha[members], short[members])
                found = short[examples] - self.labels[examples] * middle
                worst = np.maximum(worst, np.where(of_part, found, -np.inf))
        self.shortfall[examples] = worst

    def _update(self, examples: NDArray[np.intp]) -> None:
        """Responses of some examples outside of the working set, with all solutions at once."""
        if len(examples) == 0:
            return
        self.current[examples] = True
        every = [point for points in self.points for point in points]
        support = np.flatnonzero(np.any([point.alpha > 0.0 for point in every], axis=0))
        signed = np.array([point.alpha[support] * self.labels[support] for point in every])
        values = self.features.values(examples, support, signed)
        for number, point in enumerate(every):
            point.responses[examples] = self.labels[examples] * values[:, number]

    def _assessed(self, weights: Floats, point: PathPoint) -> PathPoint:
        assessment = assessed(self.coupling, self.labels, point.C * weights, point.alpha, point.responses)
        # Time may be up when a point is solved on the working set, and others have not joined that belong to it.
        open_ = self.deadline.passed() and not self.goal.reached(assessment)
        return point._replace(assessment=assessment, reason=StopReason.SECONDS if open_ else point.reason)
