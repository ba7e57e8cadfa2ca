"""From a sample's solution to the span of some of its points, and from there to models for all examples."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from slackwater.expansion import Expansion
from slackwater.gram.features import Features
from slackwater.gram.source import IndexArray
from slackwater.kernels.points import Floats
from slackwater.solvers.base import Assessment
from slackwater.stopping import StopReason
from slackwater.training.growth import Growth
from slackwater.training.run import Ending, ending
from slackwater.training.span import (
    Basis,
    SpanModel,
    SpanProblem,
    independent_basis,
    loss_of_half,
    make_orthonormal,
    minimise,
)

_FEWEST_BOUNDED = 0.1  # of the sample are bounded support vectors where labels are noisy
_POOL = 512
_MOST_LOST = 0.06  # of the sample's optimum, for the span to do
_WIDTHS = (4.0, 1.0)  # over which the hinge is rounded, one after the other; narrower ones gain nothing in test error
_MOST_LOST_BY_HALF = 0.025  # of the cost, if the span had half its points: more, and it would gain by further ones
_JUDGES = 8192
_ACCURACY = 3e-4


def endings_in_span(growth: Growth, features: Features, rng: np.random.Generator) -> list[Ending] | None:
    """Models in the span of a few points for all examples; None where the sample's optimum is out of its reach."""
    if growth.bounded_share() < _FEWEST_BOUNDED:
        return None
    sample = features.part(growth.active)
    candidates = _candidates(growth, rng)
    columns = sample.columns(candidates)
    basis = independent_basis(columns[candidates].astype(np.float64))
    problems = _problems(growth, growth.active, np.ascontiguousarray(columns[:, basis.members]), basis)
    models = [_solved(problem, _WIDTHS) for problem in problems]
    costs = [problem.cost(model) for problem, model in zip(problems, models, strict=True)]
    optima = [ending(growth.course.solver, task).assessment.bound for task in growth.tasks]
    if sum(costs) > (1.0 + _MOST_LOST) * sum(optima):
        return None
    points = growth.active[candidates[basis.members]]
    problems = _problems(growth, np.arange(features.n), features.columns(points), basis)
    models = [_solved(problem, _WIDTHS[-1:], start) for problem, start in zip(problems, models, strict=True)]
    if not _suffices(problems, models):  # more examples have more to tell than the sample had
        return None
    endings = []
    for number, (problem, model) in enumerate(zip(problems, models, strict=True)):
        assessment = _assessment(growth, number, problem, model, optima[number] / costs[number])
        expansion = _expansion(model, points, basis)
        endings.append(Ending(expansion, assessment, StopReason.TOLERANCE, growth.steps[number]))
    return endings


def _suffices(problems: Sequence[SpanProblem], models: Sequence[SpanModel]) -> bool:
    """Whether the points are so many that half of them would hardly do worse, judged by some of the examples."""
    thinned = [problem.every(max(1, len(problem.labels) // _JUDGES)) for problem in problems]
    lost = sum(loss_of_half(problem, model, _WIDTHS[-1]) for problem, model in zip(thinned, models, strict=True))
    costs = sum(problem.cost(model) for problem, model in zip(thinned, models, strict=True))
    return lost <= _MOST_LOST_BY_HALF * costs


def _candidates(growth: Growth, rng: np.random.Generator) -> IndexArray:
    """Points for the span, by their places in the sample: half of them support vectors, half of them any."""
    alpha = growth.alpha[:, growth.active]
    support = rng.permutation(np.flatnonzero((alpha > 0.0).any(axis=0)))[: _POOL // 2]
    others = np.setdiff1d(np.arange(len(growth.active)), support)
    return np.concatenate([support, rng.permutation(others)[: _POOL - len(support)]])


def _problems(growth: Growth, examples: IndexArray, columns: Floats, basis: Basis) -> list[SpanProblem]:
    """All problems in coordinates of the span, from kernel values with its points (which are overwritten)."""
    features = growth.whole.features
    if features is None:
        raise ValueError("only examples given by features have columns")
    make_orthonormal(columns, basis, features.workers)
    solver = growth.course.solver
    return [
        SpanProblem(
            columns,
            problem.labels[examples],
            solver.caps(problem)[examples],
            solver.coupling.free_bias,
            features.workers,
        )
        for problem in growth.problems
    ]


def _solved(problem: SpanProblem, widths: tuple[float, ...], start: SpanModel | None = None) -> SpanModel:
    model = SpanModel(np.zeros(problem.features.shape[1]), 0.0) if start is None else start
    for width in widths:
        model = minimise(problem, model, width, _ACCURACY)
    return model


def _expansion(model: SpanModel, points: IndexArray, basis: Basis) -> Expansion:
    order = np.argsort(points)
    return Expansion(points[order], basis.coefficients(model.weights)[order], model.bias)


def _assessment(growth: Growth, number: int, problem: SpanProblem, model: SpanModel, share: float) -> Assessment:
    """What the model costs, and what the optimum would, if it relates to the span's as on the sample."""
    cost = problem.cost(model)
    norm = float(np.linalg.norm(model.weights))
    loss = cost - 0.5 * norm**2
    C, total = growth.course.solver.C, growth.problems[number].total_weight
    return Assessment(
        objective=cost,
        bound=cost * min(share, 1.0),
        gap=max(0.0, 1.0 - share),
        margin=1.0 / norm if norm > 0.0 else math.inf,
        slack_nu=loss / (C * total * norm) if norm > 0.0 else math.nan,
        n_support=len(model.weights),
        holdout_error=None,
    )
