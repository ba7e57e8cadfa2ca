"""Subspace: the best function in the span of some landmarks, for the losses of all examples (Nyström).

Where labels are noisy, or where the kernel is so smooth that some hundred landmarks span nearly everything, the optimum
is close to such a subspace though it has very many support vectors. Whether it is close enough is tested: trained on a
part of the data, the subspace must not have a larger error than the exact solution of that part on other examples.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from slackwater.expansion import Expansion
from slackwater.fitting.comparison import compare
from slackwater.fitting.context import FitContext
from slackwater.fitting.decisions import Decision
from slackwater.fitting.dual_solution import DualSolution
from slackwater.fitting.result import BinaryResult, result_of
from slackwater.fitting.sample import Sample, Start
from slackwater.fitting.subspace.basis import Basis, early_decay, independent_basis, make_orthonormal, smooth_basis
from slackwater.fitting.subspace.fit import Shortage, SubspaceFit, fitted, projected
from slackwater.fitting.subspace.problem import Doubles, SubspaceModel, SubspaceProblem
from slackwater.fitting.warm_start import Span
from slackwater.gram.features import Features, room_for_matrix
from slackwater.gram.source import IndexArray
from slackwater.memory import untouched
from slackwater.objectives import hinge_total
from slackwater.points import Floats
from slackwater.solvers.base import Assessment
from slackwater.stopping import Progress, StopReason
from slackwater.tracing import snapshot

NAME = "subspace"


class Landmarks(NamedTuple):
    """A basis of the subspace, and how to go about it."""

    places: IndexArray  # in the sample
    basis: Basis
    widths: tuple[float, ...]  # over which the hinge is smoothed, one after the other
    max_half_loss: float
    smooth: bool  # whether they span nearly everything


def attempt(start: Start) -> list[BinaryResult] | None:
    """Models in the subspace of some landmarks for all examples; None where the optimum is not near enough to one."""
    found = accepted(start)
    return None if found is None else found[1]


def accepted(start: Start) -> tuple[Landmarks, list[BinaryResult]] | None:
    """The landmarks, and the models in their subspace; None where the optimum is not near enough to one."""
    context, sample = start.context, start.sample
    if not sample.reached:
        return None
    settings, solution = context.settings.subspace, sample.solution
    n = solution.whole.n
    if not context.decide(NAME, "examples", n, ">=", settings.min_examples):
        return None
    expected = sample.active.support_fraction() * n / len(solution.problems)
    if not context.decide(NAME, "support vectors expected, a problem", expected, ">=", settings.min_support_vectors):
        return None
    optima = [result_of(context.solver, task).assessment.bound for task in sample.active.tasks]
    for choose in (_noisy_landmarks, _smooth_landmarks):
        landmarks = choose(context, sample)
        if landmarks is None:
            continue
        try:
            results = Trial(context, sample, landmarks).run(optima)
        except np.linalg.LinAlgError:  # single precision cannot tell the landmarks apart where C is that large
            context.note(Decision(NAME, "Cholesky decomposition", math.nan, "", "declined", context.clock.seconds()))
            continue
        if results is not None:
            return landmarks, results
        if sample.seen > sample.size:  # the sample has grown: its landmarks are gone
            return None
    return None


def _noisy_landmarks(context: FitContext, sample: Sample) -> Landmarks | None:
    """Any examples, where labels are noisy: many dual variables are at their upper bound."""
    settings, solution, active = context.settings.subspace, sample.solution, sample.active
    bounded = float(solution.bounded(active.examples).mean())
    if not context.decide(NAME, "bounded support vectors of the sample, share", bounded, ">=", settings.min_bounded):
        return None
    candidates = _candidates(context, sample)
    basis = independent_basis(gram_of(sample, candidates))
    landmarks = candidates[basis.members]
    if not _has_room(context, sample, len(landmarks)):
        return None
    return Landmarks(landmarks, basis, (settings.hinge_width,), settings.max_half_loss, smooth=False)


def _smooth_landmarks(context: FitContext, sample: Sample) -> Landmarks | None:
    """So many as nearly span everything. Half as many may do far worse: the residual decays quickly.

    Where hardly any example is a misfit, there are few support vectors, and screening finds them sooner.
    """
    settings, solution, active = context.settings.subspace, sample.solution, sample.active
    misfits = float(solution.bounded(active.examples).any(axis=0).mean())
    if not context.decide(
        NAME, "bounded support vectors of any class, share", misfits, ">=", settings.min_bounded_any_class
    ):
        return None
    candidates = context.rng.permutation(active.part.order)[: settings.smooth_candidates]
    early = early_decay(gram_of(sample, candidates[: settings.landmarks]))
    measured = "decay of the residual, first candidates"
    if not context.decide(NAME, measured, early, ">=", settings.min_early_decay):
        return None
    found = smooth_basis(gram_of(sample, candidates), settings.max_smooth_landmarks, settings.max_residual)
    if not context.decide(NAME, "landmarks needed", found.needed, "<=", settings.max_smooth_landmarks):
        return None
    if not context.decide(NAME, "decay of the residual", found.decay, ">=", settings.min_decay):
        return None
    landmarks = candidates[found.basis.members]
    if not _has_room(context, sample, len(landmarks)):
        return None
    # A function misses the root of the residual.
    max_half_loss = min(math.sqrt(found.decay), settings.max_half_loss_factor) * settings.max_half_loss
    return Landmarks(landmarks, found.basis, settings.hinge_widths_spanning, max_half_loss, smooth=True)


def _has_room(context: FitContext, sample: Sample, landmarks: int) -> bool:
    features = sample.solution.features
    needed = landmarks * features.n * features.points.dtype.itemsize
    return context.has_room(NAME, "coordinates", needed, room_for_matrix(features, len(sample.solution.problems)))


@dataclass
class Trial:
    """Landmarks tried on the sample, on a part, then on all examples, as long as nothing speaks against them."""

    context: FitContext
    sample: Sample
    landmarks: Landmarks

    @property
    def solution(self) -> DualSolution:
        return self.sample.solution

    def run(self, optima: Sequence[float]) -> list[BinaryResult] | None:
        """From the sample's optima to models for all examples; None where something speaks against the subspace."""
        settings = self.context.settings.subspace
        self.context.stage(f"subspace of {len(self.landmarks.places):,} landmarks, {self._features.n:,} examples")
        most = (1.0 + settings.max_excess) * sum(optima)
        examples = self.sample.active.examples
        columns = self._features.part(examples).columns(self.landmarks.places)
        make_orthonormal(columns, self.landmarks.basis, self._features.workers)
        first, costs = self._first_fit(self._problems(examples, columns), most)
        excess = sum(costs) / max(sum(optima), 1e-300) - 1.0
        if not self.context.decide(NAME, "objective above the sample's optimum", excess, "<=", settings.max_excess):
            return None
        gaps = [_gap(optimum, cost) for optimum, cost in zip(optima, costs, strict=True)]
        return self._for_all(first, gaps)

    def _first_fit(self, problems: list[SubspaceProblem], most: float) -> tuple[SubspaceFit, list[float]]:
        """The sample's solutions projected on the subspace; if these cost too much, the best ones; and their costs.

        Landmarks that span nearly everything are not charged for smoothing, which costs more on a sample than on all.
        """
        examples = self.sample.active.examples
        models = [projected(self.solution, examples, number, problem) for number, problem in enumerate(problems)]
        fit = SubspaceFit(problems, models)
        costs = fit.objectives()
        if sum(costs) > most:
            fit = self._fitted(problems, fit.models)
            smooth, width = self.landmarks.smooth, self.landmarks.widths[-1]
            costs = fit.objectives_without_smoothing(width) if smooth else fit.objectives()
        return fit, costs

    def _for_all(self, fit: SubspaceFit, gaps: Sequence[float]) -> list[BinaryResult] | None:
        """From models for the sample by those for a part, which are tested, to models for all."""
        sample, settings, n = self.sample, self.context.settings.subspace, self._features.n
        shuffled = sample.shuffled
        points = sample.active.examples[self.landmarks.places]
        landmarks = self._features.part(points)
        columns = untouched((n, len(points)), self._features.points.dtype)

        def fill(first: int, last: int) -> None:
            self._features.part(shuffled[first:last]).fill_columns(landmarks, columns[first:last])
            make_orthonormal(columns[first:last], self.landmarks.basis, self._features.workers)

        part = round(math.sqrt(n * len(sample.active.examples)))
        unseen = min(n, part + settings.comparison_examples)
        before = self._shortage(fit, sample.active.examples)
        fill(0, unseen)
        fit = self._fitted(self._problems(shuffled[:part], columns[:part]), fit.models)
        if self.context.cut_short():  # the next strategy goes on from the sample, and ends at once
            return None
        lost = self._shortage(fit, shuffled[:part])
        if not self._suffices(lost, lost.by_half**2 / max(before.by_half, 1e-300)):
            return None
        if not self._as_good_as_exact(fit, part, columns[part:unseen]):
            return None
        gaps = self._extrapolated(gaps, fit)
        fill(unseen, n)
        return self.finished(columns, fit.models, points, gaps)

    def finished(
        self, columns: Floats, starts: Sequence[SubspaceModel], points: IndexArray, gaps: Sequence[float]
    ) -> list[BinaryResult] | None:
        """Models for all examples, whose coordinates are given in the order of the sample; None if they fall short."""
        fit = self._fitted(self._problems(self.sample.shuffled, columns), starts)
        cut_short = self.context.cut_short()
        if not cut_short:
            lost = self._shortage(fit, self.sample.shuffled)
            if not self._suffices(lost, lost.by_half):
                return None
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

    def _as_good_as_exact(self, fit: SubspaceFit, part: int, coordinates: Floats) -> bool:
        """Compare with the exact solution of the same part, on examples of neither."""
        sample, solution, settings = self.sample, self.solution, self.context.settings.subspace
        if not sample.solve_first(part):
            return False
        tested = sample.shuffled[part : part + len(coordinates)]
        if len(tested) == 0:  # a forced subspace of few examples
            return True
        values = np.stack([coordinates @ model.weights + model.bias for model in fit.models])
        wrong, wrong_if_exact = solution.wrong(tested, values), solution.wrong(tested, solution.values(tested))
        found = compare(wrong, wrong_if_exact, solution.whole.weights[tested])
        measured = "error above that of the exact solution of a part, 95 % limit"
        return self.context.decide(NAME, measured, found.required_margin, "<=", settings.max_deficit)

    def _extrapolated(self, gaps: Sequence[float], fit: SubspaceFit) -> list[float]:
        """The gaps to expect with all examples, from those with the sample and with the part that was tested.

        They grow, if at all, by as much from the part to all as from the sample to the part, both ratios being the
        same; as much again, or half of what they are, is what this may be wrong by.
        """
        settings, extrapolated = self.context.settings.subspace, []
        for before, cost, task in zip(gaps, fit.objectives(), self.sample.active.tasks, strict=True):
            if task.assessment is None:
                raise RuntimeError("the part is to be solved before the gap is extrapolated")
            now = _gap(task.assessment.bound, cost)
            extrapolated.append(min(1.0, now + max(settings.gap_growth * (now - before), settings.gap_allowance * now)))
        return extrapolated

    def _results(
        self, fit: SubspaceFit, points: IndexArray, gaps: Sequence[float], cut_short: StopReason | None
    ) -> list[BinaryResult] | None:
        """The models for all examples; None if the coefficients of the landmarks lose what the coordinates gain."""
        values = [problem.values(model) for problem, model in zip(fit.problems, fit.models, strict=True)]
        expansions = [_expansion(model, points, self.landmarks.basis) for model in fit.models]
        lost = self._lost_by_coefficients(expansions, [each[np.argsort(self.sample.shuffled)] for each in values])
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
            reason, steps = cut_short or StopReason.CONVERGED, self.solution.steps[number] + 1  # Newton's method
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
        solution, whole = self.solution, self.solution.whole
        step = max(1, whole.n // self.context.settings.subspace.coefficient_check_examples)
        some = np.sort(whole.order[::step])
        coefficients = np.stack([each.coefficients for each in expansions])
        found = self._features.values(some, expansions[0].support, coefficients).T
        lost = []
        for number, problem in enumerate(solution.problems):
            labels, upper = problem.labels[some], solution.solver.upper_bounds(problem)[some]
            own = hinge_total(labels * (found[number] + expansions[number].bias), upper)
            lost.append((own - hinge_total(labels * values[number][some], upper)) * whole.n / len(some))
        return lost

    def _assessment(self, number: int, model: SubspaceModel, cost: float, bound: float) -> Assessment:
        """``bound`` is what the optimum would cost at least, if it relates to the subspace's as on the part."""
        norm = float(np.linalg.norm(model.weights))
        loss = cost - 0.5 * norm**2
        C, total = self.context.solver.C, self.solution.problems[number].total_weight
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
        return self.solution.features

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
            for problem in self.solution.problems
        ]

    def _fitted(self, problems: list[SubspaceProblem], starts: Sequence[SubspaceModel]) -> SubspaceFit:
        settings = self.context.settings.subspace
        accuracies = settings.coarse_newton_accuracy, settings.newton_accuracy
        return fitted(problems, starts, self.landmarks.widths, accuracies)

    def _shortage(self, fit: SubspaceFit, examples: IndexArray) -> Shortage:
        order = self.solution.whole.ranked(examples)
        count = self.context.settings.subspace.half_loss_examples
        return fit.shortage(self.landmarks.widths[-1], order[:: max(1, len(order) // count)])


def _gap(bound: float, cost: float) -> float:
    """How far, relative to it, what a model costs is above a bound; a model that costs nothing is the optimum."""
    return max(0.0, 1.0 - bound / cost) if cost > 0.0 else 0.0


def gram_of(sample: Sample, places: IndexArray) -> Doubles:
    features = sample.solution.features.part(sample.active.examples[places])
    return features.columns(np.arange(len(places))).astype(np.float64)


def _candidates(context: FitContext, sample: Sample) -> IndexArray:
    """Candidates for landmarks, by their places in the sample: half of them support vectors, half of them any."""
    active, count = sample.active, context.settings.subspace.landmarks
    shuffled = context.rng.permutation(active.part.order)
    supporting = (sample.solution.alpha[:, active.examples[shuffled]] > 0.0).any(axis=0)
    support = shuffled[supporting][: count // 2]
    others = shuffled[~np.isin(shuffled, support)]
    return np.concatenate([support, others[: count - len(support)]])


def _expansion(model: SubspaceModel, points: IndexArray, basis: Basis) -> Expansion:
    order = np.argsort(points)
    return Expansion(points[order], basis.coefficients(model.weights)[order], model.bias)
