"""Low rank: the exact dual of a kernel whose features are few, by an interior-point method on the features themselves.

The linear kernel of d features has a matrix of rank d, whatever the number n of examples: X is its factor. An
iteration takes O(n d²), no kernel value is computed, and the number of iterations hardly grows with the condition of
the data, as that of steps on pairs does where features are of very different scales. The gap is a proof.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from slackwater.expansion import Expansion
from slackwater.fitting.chunking import assessed
from slackwater.fitting.context import FitContext
from slackwater.fitting.result import BinaryResult
from slackwater.linear_functions import values_by_weights, weighted_sums
from slackwater.objectives import hinge_total
from slackwater.points import Vectors
from slackwater.points.centred import CentredPoints
from slackwater.problem import Problem
from slackwater.solvers.base import Assessment
from slackwater.solvers.crossover import Factor, moves_of_free
from slackwater.solvers.dual_form import DualPoint
from slackwater.solvers.interior_point import balancing
from slackwater.stopping import Progress, StopReason, first_reason
from slackwater.tracing import snapshot

NAME = "low_rank"
_ROUNDING = 4.0 * float(np.finfo(np.float64).eps)  # of an inner product, relative to that of the longest row
_BALANCINGS = 2  # the second one of what rounding leaves of the first

Doubles = NDArray[np.float64]


def suits(context: FitContext) -> bool:
    """Whether the features are few and the examples many; a user may force it on few examples."""
    points, settings = vectors_of(context), context.settings.low_rank
    if points is None or context.strategy not in ("auto", NAME) or context.hindrance() is not None:
        return False
    return context.decide(NAME, "examples", len(points), ">=", settings.min_examples) and context.decide(
        NAME, "features", points.n_features, "<=", settings.max_features
    )


def vectors_of(context: FitContext) -> Vectors | None:
    """The examples, if the kernel is the inner product of their features."""
    features = context.training_set.features
    if features is None or not features.kernel.is_inner_product or not isinstance(features.points, Vectors):
        return None
    return features.points


def attempt(context: FitContext) -> list[BinaryResult] | None:
    """Models to the tolerance stated, or to the default one; None where rounding prevents it."""
    training_set, points = context.training_set, vectors_of(context)
    if points is None or training_set.features is None:
        raise ValueError("the kernel must be the inner product of features")
    with training_set.features.workers as workers:
        rows = CentredPoints(points, workers, centred=context.solver.coupling.free_bias)
        problems = training_set.problems(context.n_classes)
        results: list[BinaryResult] = []
        for number, problem in enumerate(problems):
            done, to_come = [each.expansion for each in results], len(problems) - number - 1
            results.append(_LowRankDual(context, rows, problem, number, done, to_come).solve())
    stalled = max((each.assessment.gap for each in results if each.reason is StopReason.STALLED), default=0.0)
    return results if context.decide(NAME, "relative gap", stalled, "<=", context.settings.low_rank.max_gap) else None


@dataclass
class _LowRankDual:
    """One binary problem, and how many iterations were made."""

    context: FitContext
    rows: CentredPoints
    problem: Problem
    number: int
    done: list[Expansion]  # models of the problems before it
    to_come: int  # problems after it
    iterations: int = 0
    upper: Doubles = field(init=False)

    def __post_init__(self) -> None:
        self.upper = self.context.solver.upper_bounds(self.problem)

    def solve(self) -> BinaryResult:
        context = self.context
        noise = _ROUNDING * float(self.rows.squared_norms.max(initial=0.0))
        factor = Factor(self.rows, noise, context.solver.coupling.free_bias)
        alpha = factor.optimum(self.problem.labels, self.upper, self._ends)
        if alpha is None:  # all examples are the same to the kernel, and w is zero
            signs = self.problem.labels if self.rows.centred else None
            alpha = self.upper * balancing(self.upper, signs)
        with context.deadline.shielded():
            return self._judged(alpha)

    def _ends(self) -> bool:
        """Asked before each iteration: tells who watches, and whether a limit ends the method."""
        if self._limit() is not None:
            return True
        self.iterations += 1
        self.context.stage(f"low_rank, {self.problem.n:,} examples, iteration {self.iterations}")
        return False

    def _limit(self) -> StopReason | None:
        context = self.context
        progress = Progress(self.iterations, context.training_set.ledger.train, context.clock.seconds())
        return context.cut_short() or first_reason(context.stopping.make_limits(), progress)

    def _judged(self, alpha: Doubles) -> BinaryResult:
        """The dual point itself where it is optimal, else its best multiple with the best bias."""
        solver, problem, labels = self.context.solver, self.problem, self.problem.labels
        weights = self.rows.transposed_times(alpha * labels)
        responses = labels * self.rows.times(weights)
        found = assessed(solver.coupling, labels, self.upper, alpha, responses)
        if self._reason(found) is not StopReason.TOLERANCE:
            scaled = solver.assess(problem, DualPoint(self.iterations, solver.C, self.upper, alpha, responses))
            found = min(found, scaled, key=lambda each: each.objective)
        coefficients = found.scale * alpha * labels
        if self.rows.centred:
            coefficients = exactly_balanced(self.rows, coefficients, self.upper)
        # Responses are those of x - m, and f(x) = <w, x - m> + b.
        bias = found.bias - found.scale * float(weights @ self.rows.origin)
        expansion = Expansion.from_dense(coefficients, bias)
        found = self._as_rounded(expansion, found)
        return self._shown(expansion, found, self._reason(found))

    def _as_rounded(self, expansion: Expansion, found: Assessment) -> Assessment:
        """With the primal objective of the very function that predictions compute."""
        points = self.rows.points
        (weights,) = weighted_sums(points.take(expansion.support), expansion.coefficients[None])
        values = values_by_weights(points, weights[None], self.rows.workers)[:, 0] + expansion.bias
        objective = 0.5 * float(weights @ weights) + hinge_total(self.problem.labels * values, self.upper)
        return found._replace(objective=objective).with_bound(found.bound)

    def _reason(self, found: Assessment) -> StopReason:
        tolerances, stated = self.context.settings.tolerance, self.context.stopping.tol
        goals = self.context.stopping.make_goals(tolerances.exact_gap if stated is None else stated)
        return first_reason(goals, self._progress(found)) or self._limit() or StopReason.STALLED

    def _progress(self, found: Assessment) -> Progress:
        return Progress(
            self.iterations,
            self.context.training_set.ledger.train,
            self.context.clock.seconds(),
            gap=found.gap,
            objective=found.objective,
            bound=found.bound,
            violation=found.violation,
        )

    def _shown(self, expansion: Expansion, found: Assessment, reason: StopReason) -> BinaryResult:
        """The result, which everybody who watches is shown."""
        context = self.context
        if context.holdout is not None:
            found = found._replace(holdout_error=context.holdout.error_of(self.number, expansion))
        progress = self._progress(found)
        row = snapshot(self.number, self.iterations, progress, found)
        context.recorder.assessed(row)
        context.show(row, progress)
        # Of the problems to come, a function that claims no example.
        nobody = [Expansion.from_dense(np.zeros(0), -1.0)] * self.to_come
        context.show_models(self.iterations, lambda: [*self.done, expansion, *nobody])
        return BinaryResult(expansion, found, reason, self.iterations)


def exactly_balanced(rows: CentredPoints, coefficients: Doubles, upper: Doubles) -> Doubles:
    """The same w, by coefficients whose sum is zero to the last digit.

    f(x) = <w, x - m> + (Σ_i a_i) <m, x> + b: where m is far from the origin, what rounding leaves of the sum shows.
    """
    coefficients, ones, same = coefficients.copy(), np.ones(len(coefficients)), np.zeros(rows.rank)
    for _ in range(_BALANCINGS):
        excess = math.fsum(coefficients)
        coefficients += moves_of_free(rows, ones, np.abs(coefficients), upper, same, -excess)
    freest = int(np.argmax(np.minimum(np.abs(coefficients), upper - np.abs(coefficients))))
    coefficients[freest] -= math.fsum(coefficients)
    return coefficients
