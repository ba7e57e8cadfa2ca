"""From a sample's solution to the span of some of its points, and from there to models for all examples."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

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
    Doubles,
    SpanModel,
    SpanProblem,
    fades,
    independent_basis,
    loss_of_half,
    make_orthonormal,
    minimise,
    smooth_basis,
)

_FEWEST_BOUNDED = 0.1  # of the sample are bounded support vectors where labels are noisy
_POOL = 512
_SMOOTH_POOL, _MOST_SMOOTH = 2048, 1024  # points to choose from, and to choose, where the kernel is smooth
_MOST_LOST = 0.06  # of the sample's optimum, for the span to do
_MOST_LOST_BY_HALF = 0.025  # of the cost, if the span had half its points: more, and it would gain by further ones
_MOST_FADING = 8.0  # times as much where half of the points leave out far more than all
_TOLD_AT, _MOST_WRONG = 256, 0.03  # examples at which the coefficients are to give the values, and how nearly
_FIRST_WIDTH = 4.0  # before those, with the sample, which has no model to start from
_MANY = 32768  # examples, for an attempt with all of them to be worth another look before
_JUDGES = 8192
_ROUGHLY, _ACCURACY = 1e-2, 3e-4  # of Newton's method, on the way and in the end


class Chosen(NamedTuple):
    """Points whose span may do, and how to go about it."""

    places: IndexArray  # in the sample
    basis: Basis
    widths: tuple[float, ...]  # over which the hinge is rounded, one after the other
    most_lost_by_half: float


class Attempt(NamedTuple):
    """Models in the span, found from some of the examples."""

    problems: list[SpanProblem]
    models: list[SpanModel]

    def costs(self) -> list[float]:
        return [problem.cost(model) for problem, model in zip(self.problems, self.models, strict=True)]

    def lost_by_half(self, width: float) -> float:
        """How much more, as a share, half of the points would cost, judged by some of the examples."""
        thinned = [problem.every(max(1, len(problem.labels) // _JUDGES)) for problem in self.problems]
        lost = sum(loss_of_half(problem, model, width) for problem, model in zip(thinned, self.models, strict=True))
        return lost / max(sum(Attempt(thinned, self.models).costs()), 1e-300)


def endings_in_span(growth: Growth, features: Features, rng: np.random.Generator) -> list[Ending] | None:
    """Models in the span of a few points for all examples; None where the optimum is out of its reach."""
    sample = features.part(growth.active)
    optima = [ending(growth.course.solver, task).assessment.bound for task in growth.tasks]
    for choose in (_if_noisy, _if_smooth):
        chosen = choose(growth, sample, rng)
        if chosen is None or len(chosen.places) * features.n * features.points.dtype.itemsize > features.matrix_bytes:
            continue
        problems = _problems(growth, growth.active, sample.columns(chosen.places), chosen.basis)
        nothing = SpanModel(np.zeros(len(chosen.places)), 0.0)
        try:
            first = _attempt(problems, (_FIRST_WIDTH, *chosen.widths), [nothing] * len(problems))
            if sum(first.costs()) > (1.0 + _MOST_LOST) * sum(optima):
                continue
            shares = [optimum / cost for optimum, cost in zip(optima, first.costs(), strict=True)]
            endings = _endings_for_all(growth, features, chosen, first, shares, rng)
        except np.linalg.LinAlgError:  # single precision cannot tell the points apart where C is that large
            continue
        if endings is not None:
            return endings
    return None


def _if_noisy(growth: Growth, sample: Features, rng: np.random.Generator) -> Chosen | None:
    """Any points. Rounding over less than 1 gains nothing in test error."""
    if growth.bounded_share() < _FEWEST_BOUNDED:
        return None
    candidates = _candidates(growth, rng)
    basis = independent_basis(_gram(sample, candidates))
    return Chosen(candidates[basis.members], basis, (1.0,), _MOST_LOST_BY_HALF)


def _if_smooth(growth: Growth, sample: Features, rng: np.random.Generator) -> Chosen | None:
    """So many points as nearly span everything. Half as many may do far worse: what is left out fades quickly."""
    candidates = rng.permutation(growth.part.order)[:_SMOOTH_POOL]
    if not fades(_gram(sample, candidates[:_POOL])):
        return None
    found = smooth_basis(_gram(sample, candidates), _MOST_SMOOTH)
    if found is None:
        return None
    # A function misses the root of what is left out.
    most_lost = min(math.sqrt(found.fading), _MOST_FADING) * _MOST_LOST_BY_HALF
    return Chosen(candidates[found.basis.members], found.basis, (1.0, 0.1), most_lost)


def _endings_for_all(
    growth: Growth,
    features: Features,
    chosen: Chosen,
    attempt: Attempt,
    shares: Sequence[float],
    rng: np.random.Generator,
) -> list[Ending] | None:
    """From models for the sample to models for all; None where more examples have more to tell than the span can."""
    points = growth.active[chosen.places]
    lost = attempt.lost_by_half(chosen.widths[-1])
    stages = [np.arange(features.n)]
    if features.n >= _MANY and lost <= chosen.most_lost_by_half:  # else it is to fall, and only all examples tell
        stages.insert(0, _some(growth, rng))
    for examples in stages:
        if growth.course.over():  # growth goes on from the sample, and ends at once
            return None
        part = features if len(examples) == features.n else features.part(examples)
        problems = _problems(growth, examples, part.columns_with(features.points.take(points)), chosen.basis)
        attempt = _attempt(problems, chosen.widths, attempt.models)
        before, lost = lost, attempt.lost_by_half(chosen.widths[-1])
        expected = lost if len(examples) == features.n else lost**2 / max(before, 1e-300)
        if expected > chosen.most_lost_by_half:
            return None
    endings = []
    for number, (problem, model) in enumerate(zip(attempt.problems, attempt.models, strict=True)):
        assessment = _assessment(growth, number, problem, model, shares[number])
        expansion = _expansion(model, points, chosen.basis)
        if not _is_told_by(expansion, features, problem.values(model)):
            return None
        endings.append(Ending(expansion, assessment, StopReason.TOLERANCE, growth.steps[number]))
    return endings


def _some(growth: Growth, rng: np.random.Generator) -> IndexArray:
    """The sample, with its rare classes, and others: in number half way, by their ratio, from the sample to all."""
    n = growth.whole.n
    return np.union1d(growth.active, rng.permutation(growth.whole.order)[: round(math.sqrt(n * len(growth.active)))])


def _is_told_by(expansion: Expansion, features: Features, values: Doubles) -> bool:
    """Whether coefficients of the points, which may be large and cancel, give the values at some of the examples."""
    some = np.arange(0, features.n, max(1, features.n // _TOLD_AT))
    found = features.values(some, expansion.support, expansion.coefficients[None, :])[:, 0] + expansion.bias
    return bool(np.max(np.abs(found - values[some])) <= _MOST_WRONG)


def _gram(sample: Features, places: IndexArray) -> Doubles:
    return sample.part(places).columns(np.arange(len(places))).astype(np.float64)


def _candidates(growth: Growth, rng: np.random.Generator) -> IndexArray:
    """Points for the span, by their places in the sample: half of them support vectors, half of them any."""
    shuffled = rng.permutation(growth.part.order)
    support = shuffled[(growth.alpha[:, growth.active[shuffled]] > 0.0).any(axis=0)][: _POOL // 2]
    others = shuffled[~np.isin(shuffled, support)]
    return np.concatenate([support, others[: _POOL - len(support)]])


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


def _attempt(problems: list[SpanProblem], widths: tuple[float, ...], starts: Sequence[SpanModel]) -> Attempt:
    """Solve the problems side by side, the hinge rounded ever less."""

    def solved(number: int) -> SpanModel:
        model = starts[number]
        for width in widths:
            model = minimise(problems[number], model, width, _ACCURACY if width == widths[-1] else _ROUGHLY)
        return model

    return Attempt(problems, problems[0].workers.run(solved, range(len(problems))))


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
