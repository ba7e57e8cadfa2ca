r"""A proven relative gap for any model of the C-form, whoever found it and however.

The primal objective of the model is computed from all kernel values. A lower bound on the optimum comes from a feasible
point of the dual: the model's own coefficients, where a multiple of them is one, else the slopes of a smoothed hinge at
the model's margins :math:`m_i`, with the upper bounds :math:`u_i = C \omega_i`,

.. math:: \alpha_i = u_i \cdot \mathrm{clip}\bigl((1 - m_i) / h + \tfrac12,\ 0,\ 1\bigr),

balanced by a shift of the bias where that is free. If the model minimises the objective smoothed over the width h, in
any subspace, then :math:`\sum_i \alpha_i y_i \langle w, \Phi(x_i) \rangle = \|w\|^2`: the width is the one that comes
nearest to this. Some steps of the exact solver then raise the bound.

What the gap is computed from is in double precision: the model's values, and the dual value of the final point. The
steps in between may be in single precision.

Complexity, in kernel evaluations: n times the support vectors of the model; as many again for the responses of the
slopes, where they are needed; at most as many for the steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slackwater.fitting.context import FitContext
from slackwater.fitting.strategies.exact import precise_enough
from slackwater.fitting.training_set import TrainingSet
from slackwater.objectives import hinge_total
from slackwater.points import in_double
from slackwater.problem import Problem
from slackwater.solvers.drive import Task
from slackwater.solvers.dual_blocks import DualBlocks
from slackwater.stopping import GapBelow, MaxEvaluations

_CLOSED = 1e-3  # relative gap of the dual point itself, below which the bound is not worth raising
_WIDTHS = (2.0, 1.4, 1.0, 0.7, 0.5, 0.3, 0.2, 0.1)  # of the smoothed hinge that a model may minimise
_BALANCED = 1e-9  # of Σ α_i: what Σ α_i y_i may be off by, which is rounding

Doubles = NDArray[np.float64]


class Evaluated(NamedTuple):
    """A model at the training examples: its values without the bias, its bias, ‖w‖², its coefficients."""

    values: Doubles
    bias: float
    squared_norm: float
    coefficients: Doubles | None  # of each example, signed; None where support vectors are not among the examples

    def objective(self, problem: Problem, upper: Doubles) -> float:
        return 0.5 * self.squared_norm + hinge_total(problem.labels * (self.values + self.bias), upper)


def proven_gaps(context: FitContext, models: Sequence[Evaluated]) -> list[float]:
    """(P - D) / P of each binary problem: P is the objective of its model, D that of the best dual point found."""
    solver, given = context.solver, context.training_set
    training_set = context.training_set = replace(given, features=precise_enough(context))
    problems = training_set.problems(context.n_classes)
    points = [_own_point(solver, *pair) or _slopes(solver, *pair) for pair in zip(problems, models, strict=True)]
    complete = _with_responses(training_set, problems, points)
    raised = _raised(context, [_best_multiple(*point) for point in complete])
    bounds = _dual_values(given, problems, raised)
    gaps = []
    for problem, model, bound in zip(problems, models, bounds, strict=True):
        objective = model.objective(problem, solver.upper_bounds(problem))
        gaps.append(max(0.0, (objective - bound) / objective) if objective > 0.0 else 0.0)
    return gaps


class _Point(NamedTuple):
    """A feasible point of the dual, and its responses as far as they are known."""

    alpha: Doubles
    responses: Doubles | None


def _own_point(solver: DualBlocks, problem: Problem, model: Evaluated) -> _Point | None:
    """The largest multiple of the model's coefficients that is within the bounds; None where their signs forbid it."""
    if model.coefficients is None:
        return None
    alpha = problem.labels * model.coefficients
    total = float(alpha.sum())
    if (alpha < 0.0).any() or total <= 0.0:
        return None
    if solver.coupling.free_bias and abs(float(model.coefficients.sum())) > _BALANCED * total:
        return None
    used = alpha > 0.0
    multiple = float((solver.upper_bounds(problem)[used] / alpha[used]).min())
    return _Point(multiple * alpha, multiple * problem.labels * model.values)


def _slopes(solver: DualBlocks, problem: Problem, model: Evaluated) -> _Point:
    """Slopes of the smoothed hinge that the model comes nearest to minimising."""
    candidates = [_slopes_of_width(solver, problem, model, width) for width in _WIDTHS]
    products = problem.labels * model.values
    nearest = min(candidates, key=lambda alpha: abs(float(alpha @ products) - model.squared_norm))
    return _Point(nearest, None)


def _slopes_of_width(solver: DualBlocks, problem: Problem, model: Evaluated, width: float) -> Doubles:
    """Slopes at the model's margins; with a free bias, at one that balances them."""
    labels, upper = problem.labels, solver.upper_bounds(problem)

    def at(bias: float) -> Doubles:
        slopes: Doubles = upper * np.clip(0.5 + (1.0 - labels * (model.values + bias)) / width, 0.0, 1.0)
        return slopes

    if not solver.coupling.free_bias:
        return at(0.0)
    reach = 1.0 + width + float(np.abs(model.values).max(initial=0.0))  # beyond it, one class has slope 0
    low, high = -reach, reach
    for _ in range(60):  # Σ α_i y_i falls as the bias grows
        middle = 0.5 * (low + high)
        low, high = (middle, high) if float(labels @ at(middle)) > 0.0 else (low, middle)
    return _balanced(at(0.5 * (low + high)), labels)


def _balanced(alpha: Doubles, labels: NDArray[np.int8]) -> Doubles:
    """The class that weighs more is scaled down: what bisection leaves is rounding."""
    positive, negative = float(alpha[labels > 0].sum()), float(alpha[labels < 0].sum())
    least = min(positive, negative)
    factors = least / max(positive, 1e-300), least / max(negative, 1e-300)
    return np.where(labels > 0, factors[0] * alpha, factors[1] * alpha)


def _with_responses(
    training_set: TrainingSet, problems: Sequence[Problem], points: Sequence[_Point]
) -> list[tuple[Doubles, Doubles]]:
    """Compute the responses that are not known, of all problems together."""
    missing = [number for number, point in enumerate(points) if point.responses is None]
    found: dict[int, Doubles] = {}
    if missing:
        signed = np.stack([points[number].alpha * problems[number].labels for number in missing])
        support = np.flatnonzero(signed.any(axis=0))
        values = _combinations(training_set, support, signed[:, support], np.arange(training_set.n))
        found = {number: problems[number].labels * own for number, own in zip(missing, values, strict=True)}
    return [
        (point.alpha, found[number] if point.responses is None else point.responses)
        for number, point in enumerate(points)
    ]


def _combinations(
    training_set: TrainingSet, support: NDArray[np.intp], coefficients: Doubles, at: NDArray[np.intp]
) -> Doubles:
    """Σ_s coefficients[:, s] K(x_s, ·) at some examples: (functions, examples)."""
    if training_set.features is not None:
        return training_set.features.values(at, support, coefficients).T
    return np.asarray(coefficients @ training_set.rows.rows(support, at))


def _best_multiple(alpha: Doubles, responses: Doubles) -> tuple[Doubles, Doubles]:
    """The multiple t <= 1 of a feasible point with the largest dual value t Σ α_i - ½ t² ‖w‖²."""
    squared = float(alpha @ responses)
    best = min(1.0, float(alpha.sum()) / squared) if squared > 0.0 else 1.0
    return best * alpha, best * responses


def _raised(context: FitContext, points: Sequence[tuple[Doubles, Doubles]]) -> list[Doubles]:
    """The points after some steps of the exact solver, as many as cost what the points' own responses do."""
    training_set, solver = _on_fast_rows(context.training_set), context.solver
    most = max(int(np.count_nonzero(alpha)) for alpha, _ in points)
    budget = training_set.ledger.train + training_set.n * most
    tasks = []
    for number, problem in enumerate(training_set.problems(context.n_classes)):
        state = solver.start(problem, np.random.default_rng(context.seed))
        state.alpha[:], state.responses[:] = points[number]
        state.turn = np.inf  # worst violators first
        tasks.append(Task(number, problem, state, [GapBelow(_CLOSED), MaxEvaluations(budget)]))
    context.run_loop(tasks, training_set, None if training_set.features is None else training_set.features.workers)
    return [task.state.alpha for task in tasks]


def _dual_values(training_set: TrainingSet, problems: Sequence[Problem], alphas: Sequence[Doubles]) -> list[float]:
    """The largest dual value of a multiple of each point, in double precision: a proof needs that."""
    features = training_set.features
    if features is not None:
        training_set = replace(training_set, features=replace(features, points=in_double(features.points)))
    values = []
    for problem, alpha in zip(problems, alphas, strict=True):
        support = np.flatnonzero(alpha)
        signed = (alpha * problem.labels)[support]
        squared = float(signed @ _combinations(training_set, support, signed[None, :], support)[0])
        total = float(alpha.sum())
        best = min(1.0, total / squared) if squared > 0.0 else 1.0
        values.append(best * total - 0.5 * best**2 * squared)
    return values


def _on_fast_rows(training_set: TrainingSet) -> TrainingSet:
    if training_set.features is None:
        return training_set
    return replace(training_set, rows=training_set.features.rows())
