"""Chunking: the dual solved on a working set whose kernel matrix is in memory, until no other example violates it.

Boser, Guyon and Vapnik (1992). A sample is solved, all examples are tested with its solution, violators join the
working set, and so on. Few rounds are needed, each on a matrix as large as there are support vectors and violators. Of
up to a thousand examples, or where most become support vectors, all are in the working set at once.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from slackwater.deadline import NEVER, CutShort, Deadline
from slackwater.expansion import Expansion
from slackwater.fitting.chunking_rounds import Rounds
from slackwater.fitting.context import FitContext
from slackwater.fitting.result import BinaryResult, FitResult
from slackwater.fitting.settings import ChunkingSettings
from slackwater.fitting.working_set import WorkingSet, capacity_of
from slackwater.fitting.working_set_dual import NEAR, WorkingSetDual
from slackwater.gram.features import Features
from slackwater.memory import SpareMemory
from slackwater.objectives import hinge_total
from slackwater.problem import Problem
from slackwater.solvers.base import Assessment
from slackwater.solvers.coupling import Coupling
from slackwater.solvers.dual_form import DualPoint
from slackwater.stopping import GapBelow, NearOptimal, StoppingRule, StopReason

_BOUNDED = 1  # the number of the test that stands for an earlier fit


@dataclass
class Chunking:
    """One binary problem and how far it has come; every array is aligned with the examples of ``features``."""

    features: Features
    labels: NDArray[np.int8]
    upper: NDArray[np.float64]  # of the dual variables: C times the weights
    order: NDArray[np.intp]  # of the examples, by content
    coupling: Coupling
    settings: ChunkingSettings
    seed: int
    memory: SpareMemory
    deadline: Deadline = NEVER
    shared: WorkingSet | None = None  # that of an earlier problem of the same examples

    def __post_init__(self) -> None:
        n = len(self.labels)
        self.alpha, self.responses = np.zeros(n), np.zeros(n)  # c_i = y_i <w, Φ(x_i)>
        self.tests = [np.zeros(n)]  # the dual variables when examples outside were tested, one test after the other
        self.last_test = np.zeros(n, dtype=np.intp)  # the one to which the response of an example outside belongs
        self.drifts = [0.0]  # how far w has moved since each test, at most
        room = capacity_of(self.features.cache_bytes, self.features.points.dtype)
        capacity = min(n, self.settings.max_working_set, room)
        self.working = self.shared or WorkingSet(self.features, capacity, self.memory)
        self.outside = np.ones(n, dtype=bool)
        self.outside[self.working.indices] = False
        self.warm = False  # whether it began at an earlier model
        self.first_tests = 1  # before any was made: the responses of the first of them are zero, or a bound

    @property
    def n(self) -> int:
        return len(self.labels)

    def begin_at(self, alpha: NDArray[np.float64], lower: NDArray[np.float64] | None, moved: float) -> None:
        """Begin at a feasible dual point instead of zero: with its support vectors in the working set.

        ``lower`` is what responses were at least in an earlier fit, -inf where that is not known; dual variables have
        moved by Σ |Δα_i| since.
        """
        self.warm, self.alpha = True, alpha.copy()
        if lower is not None:
            self.tests.append(np.zeros(self.n))
            self.drifts.append(moved * float(self.reach.max()))
            known = np.isfinite(lower)
            self.responses[known], self.last_test[known] = lower[known], _BOUNDED
            self.first_tests = _BOUNDED + 1
        support = np.flatnonzero(alpha)
        self.admit(self._by_content(support[self.outside[support]]))
        members = self.working.indices
        self.responses[members] = self.working.responses(alpha[members], self.labels[members])
        self.drifts[0] = math.sqrt(max(float(alpha[members] @ self.responses[members]), 0.0))

    def lower_responses(self) -> NDArray[np.float64]:
        """What the responses of all examples are at least."""
        drift = np.array(self.drifts)[self.last_test] * self.reach
        return self.responses - np.where(self.outside, drift, 0.0)

    @cached_property
    def reach(self) -> NDArray[np.float64]:
        """K(x, x)^½ of each example: how far its response can move with w."""
        return np.sqrt(np.maximum(self.features.kernel.diagonal(self.features.points), 0.0))

    @cached_property
    def ranks(self) -> NDArray[np.float64]:
        """Random numbers in the order of content: who joins first."""
        ranks = np.empty(self.n)
        ranks[self.order] = np.random.default_rng(self.seed).random(self.n)
        return ranks

    def first_members(self) -> NDArray[np.intp]:
        """All examples if they are few; else a random sample, of which an eighth at least is of the rarer class."""
        size = self.settings.sample
        if self.warm:  # they are there
            return self.order[:0]
        if self.n <= self.settings.max_at_once:
            return self.order
        shuffled = self.order[np.argsort(self.ranks[self.order])]
        rarer, others = sorted((shuffled[self.labels[shuffled] == label] for label in (1, -1)), key=len)
        count = min(len(rarer), max(size // 8, size * len(rarer) // self.n))
        return self._by_content(np.concatenate([rarer[:count], others[: size - count]]))

    def admit(self, newcomers: NDArray[np.intp]) -> None:
        self.working.admit(newcomers)
        self.outside[newcomers] = False

    def solve(self, tolerance: float) -> bool:
        """Solve the working set; whether it was solved to the tolerance."""
        members = self.working.indices
        dual = WorkingSetDual(
            self.working,
            self.coupling,
            self.labels[members],
            self.upper[members],
            self.alpha[members],
            self.responses[members],
            self.deadline,
        )
        ended = dual.solve(tolerance)
        self._count_drift(float((dual.alpha - self.alpha[members]) @ (dual.responses - self.responses[members])))
        self.alpha[members], self.responses[members] = dual.alpha, dual.responses
        return ended

    def _count_drift(self, squared: float) -> None:
        """w has moved by ‖Δw‖, of which the square is given: Σ Δα_i Δc_i."""
        moved = math.sqrt(max(squared, 0.0))
        self.drifts = [drift + moved for drift in self.drifts]

    def test_others(self, tolerance: float) -> None:
        """Bring the responses of examples outside of the working set up to date, but for those that cannot violate.

        |<Δw, Φ(x)>| <= ‖Δw‖ K(x, x)^½: an example that was far beyond its margin, compared with how far w has moved
        since, still is. Its dual variable is zero and so is its loss, and the gap does not depend on it.
        """
        others = np.flatnonzero(self.outside)
        drift = np.array(self.drifts)[self.last_test[others]] * self.reach[others]
        bound = 1.0 - self.responses[others] + drift - self.labels[others] * self.middle()
        self._update(others[bound > -tolerance])

    def _update(self, examples: NDArray[np.intp]) -> None:
        """Compute the responses of some examples outside of the working set."""
        for number, earlier in enumerate(self.tests):
            # Sums in an order that does not depend on that of the rows: rounding would make a model of its own.
            stale = self._by_content(examples[self.last_test[examples] == number])
            moved = self._by_content(np.flatnonzero(self.alpha != earlier))
            if number < self.first_tests:
                self.responses[stale] = 0.0
            if len(stale) and len(moved):
                change = (self.alpha[moved] - earlier[moved]) * self.labels[moved]
                self.responses[stale] += self.labels[stale] * self.features.values(stale, moved, change[None])[:, 0]
        self.last_test[examples] = len(self.tests)
        self.tests.append(self.alpha.copy())
        self.drifts.append(0.0)

    def all_responses(self) -> NDArray[np.float64]:
        """Those of all examples, also of those that cannot violate anything."""
        others = np.flatnonzero(self.outside)
        self._update(others[self.last_test[others] < len(self.tests) - 1])
        return self.responses

    def violators(self, tolerance: float) -> NDArray[np.intp]:
        """Examples outside of the working set whose dual variables want to grow, of those tested last."""
        others = np.flatnonzero(self.outside & (self.last_test == len(self.tests) - 1))
        if len(others) == 0:
            return others
        shortfall = 1.0 - self.responses[others] - self.labels[others] * self.middle()
        return others[shortfall > 0.5 * tolerance]

    def middle(self) -> float:
        """The bias in the middle of what the working set allows."""
        members = self.working.indices
        labels, alpha = self.labels[members], self.alpha[members]
        return self.coupling.middle(labels, self.upper[members], alpha, 1.0 - self.responses[members])

    def newcomers(self, violators: NDArray[np.intp]) -> NDArray[np.intp] | None:
        """Those who join next: all, if most examples will, else at random as many as the rounds allow; None: too many.

        An example that was met at random and is far from where it would be violated is not needed any more.
        """
        m, settings, capacity = len(self.working), self.settings, self.working.capacity
        if self.expected_working_set(violators) > capacity:
            return None
        expected = np.count_nonzero(self.alpha) + len(violators)
        if expected > settings.share_at_once * self.n and self.n <= capacity:
            self.all_responses()
            return self._by_content(np.flatnonzero(self.outside))
        most = max(int(settings.growth * m), settings.sample)
        if len(violators) > most:
            violators = violators[np.argsort(self.ranks[violators])[:most]]
        if m + len(violators) > capacity:
            self._forget_idle()
        room = capacity - len(self.working)
        return None if room < min(len(violators), 1) else self._by_content(violators[:room])

    def expected_working_set(self, violators: NDArray[np.intp]) -> int:
        """The examples that it will have at least: by the share at an upper bound, or if all violators join.

        The free ones of a sample are many because it is small; those at a bound are there because labels are noisy.
        """
        members = self.working.indices
        bounded = int(np.count_nonzero(self.alpha[members] >= self.upper[members]) * self.n / len(members))
        if self.warm:  # they are no sample
            bounded = int(np.count_nonzero(self.alpha))
        late = self.warm or len(members) > self.n // 4
        return max(bounded, int(np.count_nonzero(self.alpha)) + len(violators)) if late else bounded

    def _forget_idle(self) -> None:
        members = self.working.indices
        shortfall = 1.0 - self.responses[members] - self.labels[members] * self.middle()
        needed = (self.alpha[members] > 0.0) | (shortfall > -NEAR)
        self.outside[members[~needed]] = True
        self.last_test[members[~needed]] = len(self.tests) - 1
        self.working.keep(np.flatnonzero(needed))

    def _by_content(self, examples: NDArray[np.intp]) -> NDArray[np.intp]:
        """In an order that does not depend on that of the rows."""
        return examples[np.argsort(self.ranks[examples])]

    def assess(self) -> Assessment:
        """The dual point itself, with the bias of the optimality conditions, as LIBSVM has it."""
        return assessed(self.coupling, self.labels, self.upper, self.alpha, self.responses)

    def assess_working_set(self) -> Assessment:
        """The same, as far as it is known without a test of the others: the losses of the working set stand for all."""
        members = self.working.indices
        labels, upper, alpha = self.labels[members], self.upper[members], self.alpha[members]
        found = assessed(self.coupling, labels, upper, alpha, self.responses[members])
        half_norm = 0.5 / found.margin**2
        losses = (found.objective - half_norm) * float(self.upper.sum()) / float(upper.sum())
        return found._replace(objective=half_norm + losses).with_bound(0.0)


def assessed(
    coupling: Coupling,
    labels: NDArray[np.int8],
    upper: NDArray[np.float64],
    alpha: NDArray[np.float64],
    responses: NDArray[np.float64],
) -> Assessment:
    """A dual point itself, with the bias of the optimality conditions; examples of upper bound 0 do not count."""
    shortfall = 1.0 - responses
    bias = coupling.bias(labels, upper, alpha, shortfall)
    squared_norm = max(float(alpha @ responses), 0.0)
    loss = hinge_total(responses + labels * bias, upper)
    primal, dual = 0.5 * squared_norm + loss, float(alpha.sum()) - 0.5 * squared_norm
    norm = math.sqrt(squared_norm)
    return Assessment(
        objective=primal,
        bound=dual,
        gap=max(0.0, (primal - dual) / primal) if primal > 0.0 else 0.0,
        margin=1.0 / norm if norm > 0.0 else math.inf,
        slack_nu=loss / (float(upper.sum()) * norm) if norm > 0.0 else math.nan,
        n_support=int(np.count_nonzero(alpha)),
        holdout_error=None,
        violation=coupling.violations(labels, upper, alpha, shortfall).largest,
        bias=bias,
    )


def fit(context: FitContext, features: Features) -> FitResult | None:
    """Solve the problem of two classes, or one for each class; None if more examples were in memory than may be.

    All problems share one working set: its kernel values are computed once.
    """
    context.stage(f"exact, {context.training_set.n:,} examples, kernel matrix in memory")
    problems = context.training_set.problems(context.n_classes)
    results: list[BinaryResult] = []
    working: WorkingSet | None = None
    for number, problem in enumerate(problems):
        spent = context.clock.seconds()
        share = max(context.deadline.limit - spent, 0.0) / (len(problems) - number)
        chunking = _chunking(context, features, problem, context.deadline.within(spent + share), working)
        if context.warm is not None and context.warm.alpha[number].any():
            chunking.begin_at(*context.warm.of_problem(number))
        working = chunking.working
        others = [each.expansion for each in results], len(problems) - number - 1
        result = _solved(context, chunking, problem, number, others)
        if result is None:
            break
        results.append(result)
    if working is not None:
        working.release()
    return FitResult(results, context.recorder) if len(results) == len(problems) else None


def _chunking(
    context: FitContext, features: Features, problem: Problem, deadline: Deadline, shared: WorkingSet | None
) -> Chunking:
    solver = context.solver
    features = replace(features, workers=features.workers.until(deadline))
    return Chunking(
        features,
        problem.labels,
        solver.upper_bounds(problem),
        context.training_set.order,
        solver.coupling,
        context.settings.chunking,
        context.seed,
        context.spare_memory,
        deadline,
        shared,
    )


def _solved(
    context: FitContext,
    chunking: Chunking,
    problem: Problem,
    number: int,
    others: tuple[list[Expansion], int],
) -> BinaryResult | None:
    """One binary problem; None where its working set becomes too large. ``others``: models done, problems to come."""
    solver, stated, default = context.solver, context.stopping.tol, context.settings.tolerance
    allowed = default.exact_violation
    goal: StoppingRule = NearOptimal(allowed, default.matrix_gap, default.finest * allowed)
    if stated is not None:
        goal, allowed = GapBelow(stated), 10.0 * stated
    steps = 0 if context.warm is None else int(context.warm.steps[number])
    rules = [goal, *context.stopping.make_limits()]
    rounds = Rounds(context, chunking, rules, number, *others, made=steps, made_before=steps)
    try:
        ended = rounds.run(allowed)
    except CutShort as cut:
        if not chunking.alpha.any():
            raise
        ended = rounds.left_at(cut)
    if ended is None:
        return None
    for row in rounds.rows:
        context.recorder.assessed(row)
    assessment, reason = ended
    expansion = Expansion.from_dense(chunking.alpha * problem.labels, assessment.bias)
    lower = chunking.lower_responses() if assessment.violation <= allowed else None
    if reason is StopReason.STALLED:
        point = DualPoint(rounds.made, solver.C, chunking.upper, chunking.alpha, chunking.all_responses())
        scaled = solver.assess(problem, point)
        if scaled.objective < assessment.objective:  # at the worst, the larger class everywhere
            expansion, assessment, lower = solver.expansion(problem, point), scaled, None
    return BinaryResult(expansion, assessment, reason, rounds.made, rounds.certified, lower)
