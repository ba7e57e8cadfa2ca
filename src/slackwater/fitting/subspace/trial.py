"""Landmarks tried on the sample, on a part, then on all examples, as long as nothing speaks against them.

The exact solution they are measured against comes from a ``Reference``: a single fit has one, a path one for each C.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from slackwater.expansion import Expansion
from slackwater.fitting.comparison import compare
from slackwater.fitting.context import FitContext
from slackwater.fitting.result import BinaryResult
from slackwater.fitting.subspace.basis import Basis, make_orthonormal
from slackwater.fitting.subspace.fit import Shortage, SubspaceFit, fitted
from slackwater.fitting.subspace.landmarks import NAME, Landmarks
from slackwater.fitting.subspace.problem import Doubles, SubspaceModel, SubspaceProblem
from slackwater.fitting.training_set import TrainingSet
from slackwater.fitting.warm_start import Span
from slackwater.gram.features import Features
from slackwater.gram.source import IndexArray
from slackwater.memory import untouched
from slackwater.objectives import hinge_total
from slackwater.points import Floats
from slackwater.problem import Problem
from slackwater.solvers.base import Assessment
from slackwater.stopping import Progress, StopReason
from slackwater.tracing import snapshot


class Reference(Protocol):
    """The exact solution of a sample, and of a part that begins with it."""

    @property
    def whole(self) -> TrainingSet:
        """All examples, with their points."""

    @property
    def features(self) -> Features:
        """Their points."""

    @property
    def problems(self) -> Sequence[Problem]: ...

    @property
    def shuffled(self) -> IndexArray:
        """All examples in random order, those of the sample first."""

    @property
    def examples(self) -> IndexArray:
        """Those of the sample; landmarks are places among them."""

    @property
    def steps(self) -> Sequence[int]:
        """That each problem has taken."""

    def projected(self, number: int, problem: SubspaceProblem) -> SubspaceModel:
        """A problem's solution for the sample, projected on the subspace."""

    def solve_first(self, count: int) -> bool:
        """Solve for the first examples; False if a limit ended it."""

    def bounds(self) -> list[float]:
        """What the optima for the examples that were solved for last cost at least."""

    def wrong(self, tested: IndexArray, values: Doubles) -> NDArray[np.bool_]:
        """Which examples decision values (problems, examples) put in a wrong class."""

    def wrong_if_exact(self, tested: IndexArray) -> NDArray[np.bool_]:
        """The same of the exact solution."""


class Tried(NamedTuple):
    """What became of the landmarks on the sample."""

    fit: SubspaceFit
    gaps: list[float]
    by_half: float  # how much more half of the landmarks cost, as a share


@dataclass
class Trial:
    """Landmarks, and what they are measured against."""

    context: FitContext
    reference: Reference
    landmarks: Landmarks

    def run(self, optima: Sequence[float]) -> list[BinaryResult] | None:
        """From the sample's optima to models for all examples; None where something speaks against the subspace."""
        n = self._features.n
        self.context.stage(f"subspace of {len(self.landmarks.places):,} landmarks, {n:,} examples")
        tried = self.on_sample(self.coordinates(self.reference.examples), optima)
        if tried is None:
            return None
        columns, (part, unseen) = untouched((n, len(self.points)), self._features.points.dtype), self.parts()
        self.fill(columns, 0, unseen)
        fit = self.on_part(tried, columns[:part], tried.fit.models)
        if fit is None or not self.reference.solve_first(part):
            return None
        if not self.as_good_as_exact(fit, columns[part:unseen]):
            return None
        gaps = self.extrapolated(tried.gaps, fit)
        self.fill(columns, unseen, n)
        return self.finished(columns, fit.models, self.points, gaps)

    @property
    def points(self) -> IndexArray:
        """The landmarks' numbers, in the order of the basis."""
        return self.reference.examples[self.landmarks.places]

    def parts(self) -> tuple[int, int]:
        """How many of the shuffled examples are fitted to, and up to which of them it is tested."""
        n = self._features.n
        part = round(math.sqrt(n * len(self.reference.examples)))
        return part, min(n, part + self.context.settings.subspace.comparison_examples)

    def coordinates(self, examples: IndexArray) -> Floats:
        """Orthonormal coordinates of some examples."""
        columns = untouched((len(examples), len(self.points)), self._features.points.dtype)
        self._write(examples, columns)
        return columns

    def fill(self, columns: Floats, first: int, last: int) -> None:
        """Write the coordinates of some of the shuffled examples, a row for each."""
        self._write(self.reference.shuffled[first:last], columns[first:last])

    def _write(self, examples: IndexArray, columns: Floats) -> None:
        self._features.part(examples).fill_columns(self._features.part(self.points), columns)
        make_orthonormal(columns, self.landmarks.basis, self._features.workers)

    def on_sample(self, columns: Floats, optima: Sequence[float]) -> Tried | None:
        """Models of the sample; None if they cost too much more than its optima."""
        settings = self.context.settings.subspace
        most = (1.0 + settings.max_excess) * sum(optima)
        fit, costs = self._first_fit(self._problems(self.reference.examples, columns), most)
        excess = sum(costs) / max(sum(optima), 1e-300) - 1.0
        if not self.context.decide(NAME, "objective above the sample's optimum", excess, "<=", settings.max_excess):
            return None
        gaps = [_gap(optimum, cost) for optimum, cost in zip(optima, costs, strict=True)]
        return Tried(fit, gaps, self._shortage(fit, self.reference.examples).by_half)

    def _first_fit(self, problems: list[SubspaceProblem], most: float) -> tuple[SubspaceFit, list[float]]:
        """The sample's solutions projected on the subspace; if these cost too much, the best ones; and their costs.

        Landmarks that span nearly everything are not charged for smoothing, which costs more on a sample than on all.
        """
        models = [self.reference.projected(number, problem) for number, problem in enumerate(problems)]
        fit = SubspaceFit(problems, models)
        costs = fit.objectives()
        if sum(costs) > most:
            fit = self._fitted(problems, fit.models)
            smooth, width = self.landmarks.smooth, self.landmarks.widths[-1]
            costs = fit.objectives_without_smoothing(width) if smooth else fit.objectives()
        return fit, costs

    def on_part(self, tried: Tried, columns: Floats, starts: Sequence[SubspaceModel]) -> SubspaceFit | None:
        """Models of the part; None if further landmarks would gain too much, or if the fit is to end."""
        examples = self.reference.shuffled[: len(columns)]
        fit = self._fitted(self._problems(examples, columns), starts)
        if self.context.cut_short():  # the next strategy goes on from the sample, and ends at once
            return None
        lost = self._shortage(fit, examples)
        return fit if self._suffices(lost, lost.by_half**2 / max(tried.by_half, 1e-300)) else None

    def finished(
        self, columns: Floats, starts: Sequence[SubspaceModel], points: IndexArray, gaps: Sequence[float]
    ) -> list[BinaryResult] | None:
        """Models for all examples, whose coordinates are given in the order of the sample; None if they fall short."""
        fit = self.on_all(columns, starts)
        return None if fit is None else self.results(fit, points, gaps)

    def on_all(self, columns: Floats, starts: Sequence[SubspaceModel]) -> SubspaceFit | None:
        """Models in coordinates; None if further landmarks would gain too much."""
        fit = self._fitted(self._problems(self.reference.shuffled, columns), starts)
        if self.context.cut_short():
            return fit
        lost = self._shortage(fit, self.reference.shuffled)
        return fit if self._suffices(lost, lost.by_half) else None

    def results(self, fit: SubspaceFit, points: IndexArray, gaps: Sequence[float]) -> list[BinaryResult] | None:
        """Those models as combinations of the landmarks; None if that loses what the coordinates gain."""
        cut_short = self.context.cut_short()
        self._remember(gaps)
        with self.context.deadline.shielded():
            return self._results(fit, points, gaps, cut_short)

    def _remember(self, gaps: Sequence[float]) -> None:
        """What a warm start has to know."""
        choice, landmarks = self.context.choice, self.landmarks
        if choice is not None and choice.span is None:
            span = Span(landmarks.widths, landmarks.max_half_loss, landmarks.smooth, tuple(gaps))
            self.context.choice = choice._replace(span=span)

    def _suffices(self, lost: Shortage, expected: float) -> bool:
        """Whether further landmarks would gain little, if half of these lose ``expected`` with all examples."""
        settings = self.context.settings.subspace
        steep = self.landmarks.smooth and lost.by_three_quarters <= settings.max_half_loss
        if steep and lost.remaining <= settings.max_remaining:
            measured, value, limit = "gain of further landmarks", lost.remaining, settings.max_remaining
        else:
            measured, value, limit = "loss of half of the landmarks", expected, self.landmarks.max_half_loss
        return self.context.decide(NAME, measured, value, "<=", limit)

    def cheapest(self, columns: Floats, candidates: Sequence[SubspaceModel]) -> SubspaceModel:
        """The model with the least objective for the first of the shuffled examples: where Newton's method starts."""
        (problem,) = self._problems(self.reference.shuffled[: len(columns)], columns)
        return min(candidates, key=problem.objective)

    def as_good_as_exact(self, fit: SubspaceFit, coordinates: Floats) -> bool:
        """Compare with the exact solution of the same part, on examples of neither, whose coordinates are given."""
        reference, settings, part = self.reference, self.context.settings.subspace, len(fit.problems[0].labels)
        tested = reference.shuffled[part : part + len(coordinates)]
        if len(tested) == 0:  # a forced subspace of few examples
            return True
        values = np.stack([coordinates @ model.weights + model.bias for model in fit.models])
        weights = reference.whole.weights[tested]
        found = compare(reference.wrong(tested, values), reference.wrong_if_exact(tested), weights)
        measured = "error above that of the exact solution of a part, 95 % limit"
        return self.context.decide(NAME, measured, found.required_margin, "<=", settings.max_deficit)

    def extrapolated(self, gaps: Sequence[float], fit: SubspaceFit) -> list[float]:
        """The gaps to expect with all examples, from those with the sample and with the part that was tested.

        They grow, if at all, by as much from the part to all as from the sample to the part, both ratios being the
        same; as much again, or half of what they are, is what this may be wrong by.
        """
        settings, extrapolated = self.context.settings.subspace, []
        for before, cost, bound in zip(gaps, fit.objectives(), self.reference.bounds(), strict=True):
            now = _gap(bound, cost)
            extrapolated.append(min(1.0, now + max(settings.gap_growth * (now - before), settings.gap_allowance * now)))
        return extrapolated

    def _results(
        self, fit: SubspaceFit, points: IndexArray, gaps: Sequence[float], cut_short: StopReason | None
    ) -> list[BinaryResult] | None:
        """The models for all examples; None if the coefficients of the landmarks lose what the coordinates gain."""
        values = [problem.values(model) for problem, model in zip(fit.problems, fit.models, strict=True)]
        expansions = [expansion_of(model, points, self.landmarks.basis) for model in fit.models]
        lost = self._lost_by_coefficients(expansions, [each[np.argsort(self.reference.shuffled)] for each in values])
        settings, results = self.context.settings.subspace, []
        costs = [
            problem.objective(model, each)
            for problem, model, each in zip(fit.problems, fit.models, values, strict=True)
        ]
        worst = max(each / max(cost, 1e-300) for each, cost in zip(lost, costs, strict=True))
        measured = "loss by cancelling coefficients"
        if not self.context.decide(NAME, measured, worst, "<=", settings.max_coefficient_loss):
            return None
        for number, model in enumerate(fit.models):
            bound = 0.0 if cut_short else (1.0 - gaps[number]) * costs[number]
            assessment = self._assessment(number, model, costs[number], bound)
            reason, steps = cut_short or StopReason.CONVERGED, self.reference.steps[number] + 1  # Newton's method
            results.append(BinaryResult(expansions[number], assessment, reason, steps, certified=False))
        self._show(results)
        return results

    def _show(self, results: Sequence[BinaryResult]) -> None:
        """Enter the models for all examples in the history, and show them to everybody who watches."""
        context = self.context
        for number, each in enumerate(results):
            progress = Progress(each.steps, context.training_set.ledger.train, context.clock.seconds())
            assessment = each.assessment
            if context.holdout is not None:
                assessment = assessment._replace(holdout_error=context.holdout.error_of(number, each.expansion))
            row = snapshot(number, each.steps, progress, assessment)
            context.recorder.assessed(row)
            context.show(row, progress)
        context.show_models(results[0].steps, lambda: [each.expansion for each in results])

    def _lost_by_coefficients(self, expansions: list[Expansion], values: list[Doubles]) -> list[float]:
        """By how much losses exceed those of the values, since coefficients may be large and cancel."""
        whole = self.reference.whole
        step = max(1, whole.n // self.context.settings.subspace.coefficient_check_examples)
        some = np.sort(whole.order[::step])
        coefficients = np.stack([each.coefficients for each in expansions])
        found = self._features.values(some, expansions[0].support, coefficients).T
        lost = []
        for number, problem in enumerate(self.reference.problems):
            labels, upper = problem.labels[some], self.context.solver.upper_bounds(problem)[some]
            own = hinge_total(labels * (found[number] + expansions[number].bias), upper)
            lost.append((own - hinge_total(labels * values[number][some], upper)) * whole.n / len(some))
        return lost

    def _assessment(self, number: int, model: SubspaceModel, cost: float, bound: float) -> Assessment:
        """``bound`` is what the optimum would cost at least, if it relates to the subspace's as on the part."""
        norm = float(np.linalg.norm(model.weights))
        loss = cost - 0.5 * norm**2
        C, total = self.context.solver.C, self.reference.problems[number].total_weight
        return Assessment(
            objective=cost,
            bound=bound,
            gap=_gap(bound, cost),
            margin=1.0 / norm if norm > 0.0 else math.inf,
            slack_nu=loss / (C * total * norm) if norm > 0.0 else math.nan,
            n_support=len(model.weights),
            holdout_error=None,
        )

    @property
    def _features(self) -> Features:
        return self.reference.features

    def _problems(self, examples: IndexArray, coordinates: Floats) -> list[SubspaceProblem]:
        """All problems, of some examples in coordinates of the subspace."""
        solver = self.context.solver
        return [
            SubspaceProblem(
                coordinates,
                problem.labels[examples],
                solver.upper_bounds(problem)[examples],
                solver.coupling.free_bias,
                self._features.workers,
            )
            for problem in self.reference.problems
        ]

    def _fitted(self, problems: list[SubspaceProblem], starts: Sequence[SubspaceModel]) -> SubspaceFit:
        settings = self.context.settings.subspace
        accuracies = settings.coarse_newton_accuracy, settings.newton_accuracy
        return fitted(problems, starts, self.landmarks.widths, accuracies)

    def _shortage(self, fit: SubspaceFit, examples: IndexArray) -> Shortage:
        order = self.reference.whole.ranked(examples)
        count = self.context.settings.subspace.half_loss_examples
        return fit.shortage(self.landmarks.widths[-1], order[:: max(1, len(order) // count)])


def _gap(bound: float, cost: float) -> float:
    """How far, relative to it, what a model costs is above a bound; a model that costs nothing is the optimum."""
    return max(0.0, 1.0 - bound / cost) if cost > 0.0 else 0.0


def expansion_of(model: SubspaceModel, points: IndexArray, basis: Basis) -> Expansion:
    order = np.argsort(points)
    return Expansion(points[order], basis.coefficients(model.weights)[order], model.bias)
