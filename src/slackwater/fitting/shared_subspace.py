"""The subspace for several values of C: one sample, one set of landmarks and coordinates, and tests for each C.

A single fit takes a subspace only where three tests find it no worse than the exact solution (``subspace/trial.py``).
Here every C has to pass the same tests by itself. What is shared is what costs most: kernel values with the landmarks,
orthonormal coordinates, and the exact path of the part on which errors are compared. Landmarks are chosen at the
largest C that a subspace may suit, where the function has most detail. C falls from there, and Newton's method starts
from the model for the C above.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slackwater.deadline import Deadline
from slackwater.fitting.context import FitContext
from slackwater.fitting.decisions import Decision, Decisions
from slackwater.fitting.path_tolerance import SamplePath
from slackwater.fitting.result import BinaryResult
from slackwater.fitting.shared_path import Goal, PathPoint, SharedPath, WorkingSetFullError
from slackwater.fitting.subspace.fit import SubspaceFit
from slackwater.fitting.subspace.landmarks import FAMILIES, NAME, Family, Landmarks, SampleDual
from slackwater.fitting.subspace.problem import Doubles, SubspaceModel, SubspaceProblem
from slackwater.fitting.subspace.trial import Trial, Tried
from slackwater.fitting.training_set import TrainingSet
from slackwater.gram.features import Features
from slackwater.gram.source import IndexArray
from slackwater.memory import untouched
from slackwater.problem import Problem

_VALUES_TOGETHER = 2**22  # decision values of all models that are in memory at a time


class SubspacePoint(NamedTuple):
    """The model for one C in the subspace."""

    C: float
    result: BinaryResult
    right: float  # weighted share of the examples that it classifies right


@dataclass
class SolvedForC:
    """What a subspace is measured against for one C: the exact solution of the sample, and that of a part."""

    whole: TrainingSet
    features: Features
    problem: Problem
    sample: SamplePath
    point: PathPoint  # of the sample
    part: PathPoint | None = None  # once it is solved
    part_wrong: NDArray[np.bool_] | None = None  # on the examples that follow the part

    @property
    def problems(self) -> Sequence[Problem]:
        return [self.problem]

    @property
    def shuffled(self) -> IndexArray:
        return self.sample.shuffled

    @property
    def examples(self) -> IndexArray:
        return self.sample.examples

    @property
    def steps(self) -> Sequence[int]:
        return [0]

    def projected(self, number: int, problem: SubspaceProblem) -> SubspaceModel:
        return SubspaceModel(problem.rmatvec(self.point.alpha * problem.labels), self.point.assessment.bias)

    def solve_first(self, count: int) -> bool:
        """The part is solved for all values of C together."""
        return self.part is not None

    def bounds(self) -> list[float]:
        return [(self.part or self.point).assessment.bound]

    def wrong(self, tested: IndexArray, values: Doubles) -> NDArray[np.bool_]:
        return np.asarray((values[0] > 0.0) != (self.problem.labels[tested] > 0))

    def wrong_if_exact(self, tested: IndexArray) -> NDArray[np.bool_]:
        if self.part_wrong is None:
            raise RuntimeError("the part is to be solved before errors are compared")
        return self.part_wrong

    def dual(self, upper: Doubles) -> SampleDual:
        """The sample's solution, for landmarks to be chosen among it."""
        order, bounded = self.whole.ranked(self.examples), self.point.alpha >= upper
        return SampleDual(self.features, self.examples, order, self.point.alpha[None], bounded[None])


@dataclass
class SharedSubspace:
    """All values of C of a path for which a subspace may serve."""

    context: FitContext
    sample: SamplePath
    goal: Goal  # to which the part is solved
    deadline: Deadline
    contexts: dict[float, FitContext] = field(init=False)  # with the decisions of each C

    def __post_init__(self) -> None:
        features = self.context.training_set.features
        if features is None:
            raise ValueError("examples must be given by features, not by kernel values")
        self.given, self.features = features, features.to_single_precision().on_grid()
        whole = replace(self.context.training_set, features=self.features)
        self.problem, self.weights = whole.problems(2)[0], whole.weights
        self.contexts, self.references = {}, {}
        for point in self.sample.points:
            solver = replace(self.context.solver, C=point.C)
            own = Decisions(self.context.decisions)
            self.contexts[point.C] = replace(self.context, solver=solver, decisions=own, deadline=self.deadline)
            self.references[point.C] = SolvedForC(whole, self.features, self.problem, self.sample, point)

    def solve(self) -> list[SubspacePoint]:
        """The points that pass all tests, by rising C."""
        found: list[SubspacePoint] = []
        possible = [C for C in sorted(self.contexts, reverse=True) if self._may_serve(C)]
        for family in FAMILIES:
            possible = [C for C in possible if self.references[C].part is None]  # else a family was judged by it
            landmarks, suited = self._landmarks(family, possible)
            if landmarks is not None and not self.deadline.passed():
                found += self._points(self._tried(landmarks, suited))
        return sorted(found, key=lambda point: point.C)

    def _may_serve(self, C: float) -> bool:
        context, settings, n = self.contexts[C], self.context.settings.subspace, self.references[C].whole.n
        if not context.decide(NAME, "examples", n, ">=", settings.min_examples):
            return False
        expected = float((self.references[C].point.alpha > 0.0).mean()) * n
        measured = "support vectors expected, a problem"
        return context.decide(NAME, measured, expected, ">=", settings.min_support_vectors)

    def _landmarks(self, family: Family, Cs: Sequence[float]) -> tuple[Landmarks | None, list[float]]:
        """Those chosen at the largest C that the family suits, and all values of C that it does."""
        duals = {C: self.references[C].dual(C * self.weights[self.sample.examples]) for C in Cs}
        suited = [C for C in Cs if family.suits(self.contexts[C], duals[C])]
        if not suited:
            return None, []
        largest = replace(self.contexts[suited[0]], decisions=Decisions())
        landmarks = family.choose(largest, duals[suited[0]])
        for decision in largest.decisions:
            for C in suited:
                self.contexts[C].note(decision)
        return landmarks, suited

    def _tried(self, landmarks: Landmarks, Cs: Sequence[float]) -> dict[float, BinaryResult]:
        """Models for all examples in the span of the landmarks, for each of the falling C that passes the tests."""
        trials = {C: Trial(self.contexts[C], self.references[C], landmarks) for C in Cs}
        if not trials:
            return {}
        any_trial = trials[Cs[0]]
        tried = self._on_sample(trials, any_trial.coordinates(self.sample.examples))
        if not tried:
            return {}
        n, (part, unseen) = self.features.n, any_trial.parts()
        columns = untouched((n, len(any_trial.points)), self.features.points.dtype)
        any_trial.fill(columns, 0, unseen)
        fits = self._on_part(trials, tried, columns[:part])
        self._solve_part(sorted(fits), part, unseen)
        good = {C: fit for C, fit in fits.items() if self._is_as_good(trials[C], fit, columns[part:unseen])}
        if not good:
            return {}
        gaps = {C: trials[C].extrapolated(tried[C].gaps, fit) for C, fit in good.items()}
        any_trial.fill(columns, unseen, n)
        found: dict[float, BinaryResult] = {}
        for C, model in self._on_all(trials, good, columns).items():
            results = trials[C].results(model, any_trial.points, gaps[C])
            if results is not None:
                found[C] = results[0]
        return found

    def _on_sample(self, trials: dict[float, Trial], columns: NDArray[np.floating]) -> dict[float, Tried]:
        found: dict[float, Tried] = {}
        for C, trial in trials.items():
            try:
                tried = trial.on_sample(columns, [self.references[C].point.assessment.bound])
            except np.linalg.LinAlgError:
                self._decline_for_rounding(C)
                continue
            if tried is not None:
                found[C] = tried
        return found

    def _on_part(
        self, trials: dict[float, Trial], tried: dict[float, Tried], columns: NDArray[np.floating]
    ) -> dict[float, SubspaceFit]:
        """Models of the part for those C for which further landmarks would gain little."""
        found: dict[float, SubspaceFit] = {}
        above: list[SubspaceModel] = []
        for C, each in tried.items():
            if self.deadline.passed():
                break
            try:
                fit = trials[C].on_part(each, columns, [trials[C].cheapest(columns, [*each.fit.models, *above])])
            except np.linalg.LinAlgError:
                self._decline_for_rounding(C)
                continue
            if fit is not None:
                found[C], above = fit, fit.models
        return found

    def _solve_part(self, Cs: Sequence[float], part: int, unseen: int) -> None:
        """The exact path of the part, and its errors on the examples that follow: for all values of C at once."""
        if not Cs or self.deadline.passed():
            return
        examples, context = np.sort(self.sample.shuffled[:part]), self.context
        labels, order = self.problem.labels[examples], self.references[Cs[0]].whole.ranked(examples)
        path = SharedPath(
            self.features.part(examples), labels, [self.weights[examples]], Cs, order, context.solver.coupling,
            self.goal, context.settings.path, context.seed, deadline=self.deadline,
        )  # fmt: skip
        try:
            (points,) = path.solve()
        except WorkingSetFullError:
            return
        finally:
            path.release()
        if self.deadline.passed():
            return
        tested = self.sample.shuffled[part:unseen]
        signed = np.stack([point.alpha * labels for point in points])
        support = np.flatnonzero(signed.any(axis=0))
        values = self.features.values(tested, examples[support], signed[:, support]).T
        for point, own in zip(points, values, strict=True):
            reference = self.references[point.C]
            reference.part = point
            reference.part_wrong = reference.wrong(tested, own[None] + point.assessment.bias)

    def _is_as_good(self, trial: Trial, fit: SubspaceFit, coordinates: NDArray[np.floating]) -> bool:
        solved = trial.reference.solve_first(len(fit.problems[0].labels))
        return solved and trial.as_good_as_exact(fit, coordinates)

    def _on_all(
        self, trials: dict[float, Trial], fits: dict[float, SubspaceFit], columns: NDArray[np.floating]
    ) -> dict[float, SubspaceFit]:
        """Models of all examples for those C for which the landmarks suffice."""
        found: dict[float, SubspaceFit] = {}
        above: list[SubspaceModel] = []
        for C, fit in fits.items():
            if self.deadline.passed():
                break
            try:
                model = trials[C].on_all(columns, [trials[C].cheapest(columns, [*fit.models, *above])])
            except np.linalg.LinAlgError:
                self._decline_for_rounding(C)
                continue
            if model is not None:
                found[C], above = model, model.models
        return found

    def _decline_for_rounding(self, C: float) -> None:
        """Single precision cannot tell the landmarks apart where C is that large."""
        seconds = self.deadline.clock.seconds()
        self.contexts[C].note(Decision(NAME, "Cholesky decomposition", math.nan, "", "declined", seconds))

    def _points(self, results: dict[float, BinaryResult]) -> list[SubspacePoint]:
        """Of models with the same landmarks, with their training accuracies, by one pass over all examples."""
        if not results:
            return []
        support = next(iter(results.values())).expansion.support
        coefficients = np.stack([each.expansion.coefficients for each in results.values()])
        biases = np.array([each.expansion.bias for each in results.values()])
        right, step = np.zeros(len(results)), max(1, _VALUES_TOGETHER // len(results))
        for first in range(0, self.features.n, step):
            examples = np.arange(first, min(first + step, self.features.n))
            values = self.given.values(examples, support, coefficients) + biases
            right += self.weights[examples] @ ((values > 0.0) == (self.problem.labels[examples] > 0)[:, None])
        shares = right / float(self.weights.sum())
        return [SubspacePoint(C, each, float(share)) for (C, each), share in zip(results.items(), shares, strict=True)]
