"""From a sample's solution to the span of some of its points, and from there to models for all examples."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from slackwater.expansion import Expansion
from slackwater.gram.features import Features
from slackwater.gram.source import IndexArray
from slackwater.memory import untouched
from slackwater.objectives import hinge_total
from slackwater.points import Floats
from slackwater.solvers.base import Assessment
from slackwater.stopping import StopReason
from slackwater.training import trial
from slackwater.training.growth import Growth
from slackwater.training.newton import losses_of_parts, minimise
from slackwater.training.run import Ending, ending
from slackwater.training.span import (
    Basis,
    Doubles,
    SpanModel,
    SpanProblem,
    fades,
    independent_basis,
    make_orthonormal,
    smooth_basis,
    thinned,
)
from slackwater.training.trial import compare

_FEWEST_BOUNDED = 0.1  # of the sample are bounded support vectors where labels are noisy
_FEWEST_MISFITS = 0.01  # of the sample, bounded support vectors, for a smooth span to pay: spirals 0.003, rings 0.02
_POOL = 512
_SMOOTH_POOL, _MOST_SMOOTH = 2048, 1024  # points to choose from, and to choose, where the kernel is smooth
_MOST_LOST = 0.08  # of the sample's optimum, for the span to do: with rounding, which costs less with all examples
_MOST_LOST_BY_HALF = 0.025  # of the cost, if the span had half its points: more, and it would gain by further ones
_MOST_FADING = 8.0  # times as much where half of the points leave out far more than all,
_MOST_LEFT = 0.005  # or even more, if by what a quarter gains this is all that further points would
_TOLD_AT, _MOST_WRONG = 2048, 0.005  # examples at which the coefficients' own values are looked at; of the cost
_UNSEEN = 16384  # examples by which the models for a part are tested
_FEWEST_EXAMPLES = 16384  # with fewer, the exact solution takes little time, and too few examples are left for the test
_FEWEST_SUPPORT_VECTORS = 2048  # of the exact solution, a problem: with fewer it takes no longer than a span
_JUDGES = 8192
_ROUGHLY, _ACCURACY = 1e-2, 1e-3  # of Newton's method, on the way and in the end


class Shortage(NamedTuple):
    """How much more the span of some of the points would cost, as a share."""

    by_half: float
    by_three_quarters: float

    @property
    def left(self) -> float:
        """How much less further points would cost, if each quarter of them gains as much less than the one before."""
        ratio = self.by_three_quarters / max(self.by_half, 1e-300)
        return math.inf if ratio >= 0.5 else self.by_three_quarters * ratio / (1.0 - 2.0 * ratio)


class Chosen(NamedTuple):
    """Points whose span may do, and how to go about it."""

    places: IndexArray  # in the sample
    basis: Basis
    widths: tuple[float, ...]  # over which the hinge is rounded, one after the other
    most_lost_by_half: float
    smooth: bool  # whether they span nearly everything

    def will_do(self, lost: Shortage, expected: float) -> bool:
        """Whether further points would gain little, if half of these lose ``expected`` with all examples."""
        little_left = self.smooth and lost.by_three_quarters <= _MOST_LOST_BY_HALF and lost.left <= _MOST_LEFT
        return expected <= self.most_lost_by_half or little_left


class Attempt(NamedTuple):
    """Models in the span, found from some of the examples."""

    problems: list[SpanProblem]
    models: list[SpanModel]

    def costs(self) -> list[float]:
        return [problem.cost(model) for problem, model in zip(self.problems, self.models, strict=True)]

    def costs_without_rounding(self, width: float) -> list[float]:
        """What the best models would cost at least, if these are best with the hinge rounded."""
        costs = []
        for problem, model in zip(self.problems, self.models, strict=True):
            values = problem.values(model)
            costs.append(problem.cost(model, values) - problem.lost_by_rounding(values, width))
        return costs

    def shortage(self, width: float, order: IndexArray) -> Shortage:
        """How much more some of the points would cost, judged by examples here and there in an order."""
        judged = Attempt(thinned(self.problems, order[:: max(1, len(order) // _JUDGES)]), self.models)
        pairs = zip(judged.problems, judged.models, strict=True)
        lost = np.sum([losses_of_parts(problem, model, width, (0.5, 0.75)) for problem, model in pairs], axis=0)
        return Shortage(*(lost / max(sum(judged.costs()), 1e-300)))


def endings_in_span(
    growth: Growth, features: Features, shuffled: IndexArray, rng: np.random.Generator
) -> list[Ending] | None:
    """Models in the span of a few points for all examples; None where the optimum is out of its reach.

    ``shuffled`` begins with the sample.
    """
    expected = growth.support_share() * features.n
    if features.n < _FEWEST_EXAMPLES or expected < _FEWEST_SUPPORT_VECTORS * len(growth.problems):
        return None
    sample = features.part(growth.active)
    optima = [ending(growth.course.solver, task).assessment.bound for task in growth.tasks]
    most = (1.0 + _MOST_LOST) * sum(optima)
    for choose in (_if_noisy, _if_smooth):
        chosen = choose(growth, sample, rng)
        if chosen is None or len(chosen.places) * features.n * features.points.dtype.itemsize > features.matrix_bytes:
            continue
        columns = sample.columns(chosen.places)
        make_orthonormal(columns, chosen.basis, sample.workers)
        problems = _problems(growth, growth.active, columns)
        try:
            first, costs = _first_attempt(growth, problems, chosen, most)
            if sum(costs) > most:
                continue
            gaps = [1.0 - min(1.0, optimum / cost) for optimum, cost in zip(optima, costs, strict=True)]
            endings = _endings_for_all(growth, features, chosen, first, gaps, shuffled)
        except np.linalg.LinAlgError:  # single precision cannot tell the points apart where C is that large
            continue
        if endings is not None or growth.known > len(sample.names):
            return endings
    return None


def _if_noisy(growth: Growth, sample: Features, rng: np.random.Generator) -> Chosen | None:
    """Any points. Rounding over less than 1 gains nothing in test error."""
    if growth.bounded().mean() < _FEWEST_BOUNDED:
        return None
    candidates = _candidates(growth, rng)
    basis = independent_basis(_gram(sample, candidates))
    return Chosen(candidates[basis.members], basis, (1.0,), _MOST_LOST_BY_HALF, smooth=False)


def _if_smooth(growth: Growth, sample: Features, rng: np.random.Generator) -> Chosen | None:
    """So many points as nearly span everything. Half as many may do far worse: what is left out fades quickly.

    Where hardly any example is a misfit, there are few support vectors, and growth finds them sooner.
    """
    if growth.bounded().any(axis=0).mean() < _FEWEST_MISFITS:
        return None
    candidates = rng.permutation(growth.part.order)[:_SMOOTH_POOL]
    if not fades(_gram(sample, candidates[:_POOL])):
        return None
    found = smooth_basis(_gram(sample, candidates), _MOST_SMOOTH)
    if found is None:
        return None
    # A function misses the root of what is left out.
    most_lost = min(math.sqrt(found.fading), _MOST_FADING) * _MOST_LOST_BY_HALF
    return Chosen(candidates[found.basis.members], found.basis, (0.7, 0.3), most_lost, smooth=True)


def _endings_for_all(
    growth: Growth,
    features: Features,
    chosen: Chosen,
    attempt: Attempt,
    gaps: Sequence[float],
    shuffled: IndexArray,
) -> list[Ending] | None:
    """From models for the sample to models for all; None where more examples have more to tell than the span can.

    On the way, with a part of the examples, the models are tested against the exact ones by examples of neither.
    """
    points, width = growth.active[chosen.places], chosen.widths[-1]
    spanning = features.part(points)
    columns = untouched((features.n, len(points)), features.points.dtype)

    def fill(first: int, last: int) -> None:
        features.part(shuffled[first:last]).fill_columns(spanning, columns[first:last])
        make_orthonormal(columns[first:last], chosen.basis, features.workers)

    def attempted(upto: int) -> Attempt:
        problems = _problems(growth, shuffled[:upto], columns[:upto])
        return _attempt(growth, problems, chosen.widths, attempt.models)

    part = round(math.sqrt(features.n * len(growth.active)))
    unseen = min(features.n, part + _UNSEEN)
    lost = attempt.shortage(width, growth.whole.ranked(growth.active))
    fill(0, unseen)
    attempt = attempted(part)
    if growth.course.cut_short():  # growth goes on from the sample, and ends at once
        return None
    before, lost = lost, attempt.shortage(width, growth.whole.ranked(shuffled[:part]))
    if not chosen.will_do(lost, lost.by_half**2 / max(before.by_half, 1e-300)):
        return None
    if not growth.solve_exactly(shuffled, part):
        return None
    values = np.stack([columns[part:unseen] @ model.weights + model.bias for model in attempt.models])
    tested = shuffled[part:unseen]
    wrong, wrong_if_exact = growth.wrong(tested, values), growth.wrong(tested, growth.values(tested))
    if not compare(wrong, wrong_if_exact, growth.whole.weights[tested]).within(trial.SUBSPACE_MARGIN):
        return None
    gaps = _extrapolated(gaps, attempt, growth)
    fill(unseen, features.n)
    attempt = attempted(features.n)
    cut_short = growth.course.cut_short()
    if not cut_short:
        lost = attempt.shortage(width, growth.whole.ranked(shuffled))
        if not chosen.will_do(lost, lost.by_half):
            return None
    return _endings(growth, attempt, points, chosen, gaps, shuffled, cut_short)


def _endings(
    growth: Growth,
    attempt: Attempt,
    points: IndexArray,
    chosen: Chosen,
    gaps: Sequence[float],
    examples: IndexArray,
    cut_short: StopReason | None,
) -> list[Ending] | None:
    """The models for all examples; None if the coefficients of their points lose what the coordinates gain."""
    values = [problem.values(model) for problem, model in zip(attempt.problems, attempt.models, strict=True)]
    expansions = [_expansion(model, points, chosen.basis) for model in attempt.models]
    lost_by = _lost_by_coefficients(expansions, growth, [each[np.argsort(examples)] for each in values])
    endings = []
    for number, (problem, model) in enumerate(zip(attempt.problems, attempt.models, strict=True)):
        cost = problem.cost(model, values[number])
        if not lost_by[number] <= _MOST_WRONG * cost:
            return None
        least = 0.0 if cut_short else (1.0 - gaps[number]) * cost
        assessment = _assessment(growth, number, model, cost, least)
        reason = cut_short or StopReason.TOLERANCE
        endings.append(Ending(expansions[number], assessment, reason, growth.steps[number]))
    return endings


def _extrapolated(gaps: Sequence[float], attempt: Attempt, growth: Growth) -> list[float]:
    """The gaps to expect with all examples, from those with the sample and with the part that was tested.

    They grow, if at all, by as much from the part to all as from the sample to the part, both ratios being the same;
    as much again, or half of what they are, is what this may be wrong by.
    """
    extrapolated = []
    for before, cost, task in zip(gaps, attempt.costs(), growth.tasks, strict=True):
        if task.assessment is None:
            raise RuntimeError("the part is to be solved before the gap is extrapolated")
        now = max(0.0, 1.0 - task.assessment.bound / cost)
        extrapolated.append(min(1.0, now + max(2.0 * (now - before), 0.5 * now)))
    return extrapolated


def _lost_by_coefficients(expansions: list[Expansion], growth: Growth, values: list[Doubles]) -> list[float]:
    """By how much losses exceed those of the values, since coefficients of the points may be large and cancel."""
    some = np.sort(growth.whole.order[:: max(1, growth.whole.n // _TOLD_AT)])
    coefficients = np.stack([each.coefficients for each in expansions])
    found = growth.features.values(some, expansions[0].support, coefficients).T
    lost = []
    for number, problem in enumerate(growth.problems):
        labels, caps = problem.labels[some], growth.course.solver.caps(problem)[some]
        own = hinge_total(labels * (found[number] + expansions[number].bias), caps)
        lost.append((own - hinge_total(labels * values[number][some], caps)) * growth.whole.n / len(some))
    return lost


def _gram(sample: Features, places: IndexArray) -> Doubles:
    return sample.part(places).columns(np.arange(len(places))).astype(np.float64)


def _candidates(growth: Growth, rng: np.random.Generator) -> IndexArray:
    """Points for the span, by their places in the sample: half of them support vectors, half of them any."""
    shuffled = rng.permutation(growth.part.order)
    support = shuffled[(growth.alpha[:, growth.active[shuffled]] > 0.0).any(axis=0)][: _POOL // 2]
    others = shuffled[~np.isin(shuffled, support)]
    return np.concatenate([support, others[: _POOL - len(support)]])


def _problems(growth: Growth, examples: IndexArray, coordinates: Floats) -> list[SpanProblem]:
    """All problems, of some examples in coordinates of the span."""
    solver = growth.course.solver
    return [
        SpanProblem(
            coordinates,
            problem.labels[examples],
            solver.caps(problem)[examples],
            solver.coupling.free_bias,
            growth.features.workers,
        )
        for problem in growth.problems
    ]


def _first_attempt(
    growth: Growth, problems: list[SpanProblem], chosen: Chosen, most: float
) -> tuple[Attempt, list[float]]:
    """The sample's solutions, as far as they are in the span; if these cost too much, the best ones; and the costs.

    Points that span nearly everything do not cost what rounding does, which is more on a sample than on all examples.
    """
    attempt = Attempt(problems, [_projected(growth, *pair) for pair in enumerate(problems)])
    costs = attempt.costs()
    if sum(costs) > most:
        attempt = _attempt(growth, problems, chosen.widths, attempt.models)
        costs = attempt.costs_without_rounding(chosen.widths[-1]) if chosen.smooth else attempt.costs()
    return attempt, costs


def _projected(growth: Growth, number: int, problem: SpanProblem) -> SpanModel:
    """A problem's solution for the sample, without what is outside of the span: a sum of its coordinates' vectors."""
    scaling = growth.scalings[number]
    coefficients = scaling.scale * growth.alpha[number, growth.active] * problem.labels
    return SpanModel(problem.pulled(coefficients), scaling.bias)


def _attempt(
    growth: Growth, problems: list[SpanProblem], widths: tuple[float, ...], starts: Sequence[SpanModel]
) -> Attempt:
    """Solve the problems side by side, the hinge rounded ever less, unless the course is cut short."""

    def over() -> bool:
        return growth.course.cut_short() is not None

    def solved(number: int) -> SpanModel:
        model = starts[number]
        for width in widths:
            accuracy = _ACCURACY if width == widths[-1] else _ROUGHLY
            model = minimise(problems[number], model, width, accuracy, over)
        return model

    return Attempt(problems, problems[0].workers.run(solved, range(len(problems))))


def _expansion(model: SpanModel, points: IndexArray, basis: Basis) -> Expansion:
    order = np.argsort(points)
    return Expansion(points[order], basis.coefficients(model.weights)[order], model.bias)


def _assessment(growth: Growth, number: int, model: SpanModel, cost: float, bound: float) -> Assessment:
    """``bound`` is what the optimum would cost at least, if it relates to the span's as on the sample."""
    norm = float(np.linalg.norm(model.weights))
    loss = cost - 0.5 * norm**2
    C, total = growth.course.solver.C, growth.problems[number].total_weight
    return Assessment(
        objective=cost,
        bound=bound,
        gap=max(0.0, 1.0 - bound / cost) if cost > 0.0 else 0.0,
        margin=1.0 / norm if norm > 0.0 else math.inf,
        slack_nu=loss / (C * total * norm) if norm > 0.0 else math.nan,
        n_support=len(model.weights),
        holdout_error=None,
    )
