"""The sample that a default fit solves first: it chooses the tolerance, and strategies start from its solution."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from slackwater.deadline import CutShort
from slackwater.fitting.active_set import ActiveSet
from slackwater.fitting.comparison import compare
from slackwater.fitting.compression import choose_compression
from slackwater.fitting.context import FitContext
from slackwater.fitting.dual_solution import DualSolution
from slackwater.fitting.settings import SampleSettings
from slackwater.fitting.training_set import TrainingSet
from slackwater.fitting.warm_start import Choice, Setting
from slackwater.gram.compressed import CHECK_POINTS, SAMPLE, axes_of
from slackwater.gram.features import Features
from slackwater.gram.source import IndexArray
from slackwater.points.projected import Axes
from slackwater.stopping import StopReason

NAME = "sample"  # also what strategy_ says where a budget ended the fit before any strategy was done


@dataclass
class Sample:
    """All examples in random order, of which the first ``seen`` were admitted to the active set or screened."""

    context: FitContext
    shuffled: IndexArray
    active: ActiveSet
    size: int  # of the sample itself
    seen: int
    tol: float  # the relative gap to solve the dual to
    reached: bool  # False if a limit ended the sample's solution
    compressed: bool = False

    @property
    def solution(self) -> DualSolution:
        return self.active.solution

    @cached_property
    def axes(self) -> Axes | None:
        """Principal axes, where fewer coordinates may be of use."""
        check_points, sample = self.shuffled[:CHECK_POINTS], self.shuffled[CHECK_POINTS:]
        if len(sample) >= SAMPLE + CHECK_POINTS:  # the last ones: of no class more than there are of it
            check_points, sample = sample[-SAMPLE - CHECK_POINTS : -SAMPLE], sample[-SAMPLE:]
        return axes_of(self.solution.features, sample, check_points) if len(sample) else None

    def compress(self) -> None:
        """From now on rows with such errors as the models tolerate."""
        if not self.compressed:
            self.active.compression = choose_compression(self.active, self.axes, self.tol)
            self.compressed = True

    def solve_first(self, count: int) -> bool:
        """Solve for the first ``count`` examples, none of which is screened; False if a limit ended it."""
        newcomers = np.sort(self.shuffled[self.seen : count])
        self.seen = count
        self.context.stage(f"solving for {count:,} of {len(self.shuffled):,} examples")
        self.active.admit(newcomers, np.inf)
        return self.active.solve(self.tol, worst_first=False)


@dataclass
class Start:
    """What strategies start from, each made when it is first asked for."""

    context: FitContext

    @cached_property
    def features(self) -> Features:
        """All points, with kernel values in single precision."""
        features = self.context.training_set.features
        if features is None:
            raise ValueError("examples must be given by features, not by kernel values")
        return features.to_single_precision()

    @cached_property
    def sample(self) -> Sample:
        """The sample's solution; strategies that are declined may leave it grown."""
        training_set, deadline = self.context.training_set, self.context.deadline
        everyone, features = np.arange(training_set.n), self.features
        deadline.check()
        features = features.on_grid()
        deadline.check()
        whole = training_set.arranged(everyone, training_set.rows, features)
        if self.context.choice is not None:
            return continued_sample(self.context, whole, self.context.choice)
        return solve_sample(self.context, whole)

    @property
    def ended(self) -> StopReason | None:
        """The budget, or Ctrl-C, that ended the fit, if one did."""
        if "sample" not in self.__dict__:
            return self.context.cut_short()
        reasons = [task.reason for task in self.sample.active.tasks if task.reason is not None]
        unfinished = [reason for reason in reasons if not reason.reached and reason is not StopReason.HOLDOUT]
        return unfinished[0] if unfinished else self.context.cut_short()


def solve_sample(context: FitContext, whole: TrainingSet) -> Sample:
    """Solve a sample to the finest tolerance, and choose the coarsest one whose models are as good."""
    settings = context.settings
    shuffled = shuffled_by_class(whole, settings.sample.min_per_class, context.rng)
    size = sample_size(whole.n, settings.sample)
    context.deadline.check()
    solution = DualSolution(context.solver, whole, context.n_classes)
    active = ActiveSet(context, solution, np.sort(shuffled[:size]))
    context.stage(f"solving a sample of {size:,} of {whole.n:,} examples")
    gaps = settings.tolerance.gaps
    sample = Sample(context, shuffled, active, size, size, gaps[0], reached=True)
    unseen = shuffled[size : size + settings.tolerance.comparison_examples]
    models = _models_at_gaps(active, gaps)
    sample.reached = len(models) == len(gaps)
    if sample.reached and len(unseen):
        with suppress(CutShort):
            sample.tol = _chosen_gap(context, active, models, unseen)
            context.choice = Choice("", sample.tol, Setting.of(whole, context.solver.C))
    return sample


def stays_in_force(context: FitContext) -> bool:
    """Whether a warm start may rely on what an earlier fit has measured: for about as many examples, C and kernel."""
    choice = None if context.warm is None else context.warm.choice
    if choice is None or choice.strategy == NAME or context.stopping.tol is not None:
        return False
    if context.strategy not in ("auto", choice.strategy):
        return False
    now, settings = Setting.of(context.training_set, context.solver.C), context.settings.sample
    since = f"since gap {choice.tol:g} was chosen, factor"
    if not context.decide(NAME, f"change of rows {since}", choice.setting.growth(now), "<=", settings.max_growth):
        return False
    changed = choice.setting.change(now)
    return context.decide(NAME, f"change of C or kernel {since}", changed, "<=", settings.max_change)


def continued_sample(context: FitContext, whole: TrainingSet, choice: Choice) -> Sample:
    """An earlier model in place of a sample's: its support vectors are active, and all that it was fitted to is seen.

    Where hardly anything else was, the others are newcomers as after any sample.
    """
    warm = context.warm
    if warm is None:
        raise RuntimeError("only a warm start has a solution to continue")
    shuffled, support = context.rng.permutation(whole.order), np.zeros(whole.n, dtype=bool)
    support[warm.support] = True
    rank = np.where(support, 0, np.where(warm.known, 1, 2))[shuffled]
    shuffled = shuffled[np.argsort(rank, kind="stable")]
    solution = DualSolution(context.solver, whole, context.n_classes)
    active = ActiveSet(context, solution, np.sort(warm.support))
    solution.alpha[:], solution.steps = warm.alpha, warm.steps.tolist()
    solution.responses[:, active.examples] = solution.responses_at(active.examples, solution.features)
    context.stage(f"going on from {len(warm.support):,} support vectors, {whole.n:,} examples")
    sample = Sample(context, shuffled, active, len(warm.support), int(np.count_nonzero(rank < 2)), choice.tol, True)
    sample.reached = active.solve(choice.tol)
    return sample


@dataclass(frozen=True)
class _Models:
    """Coefficients and scalings of all problems at some moment."""

    signed: NDArray[np.float64]
    scalings: NDArray[np.float64]


def _models_at_gaps(active: ActiveSet, gaps: tuple[float, ...]) -> list[_Models]:
    """The models at each gap, as far as no limit ends the solution."""
    models = []
    for gap in gaps:
        if not active.solve(gap):
            break
        models.append(_Models(active.solution.signed(active.examples), np.array(active.solution.scalings)))
    return models


def _chosen_gap(context: FitContext, active: ActiveSet, models: list[_Models], unseen: IndexArray) -> float:
    """The coarsest gap whose models are no worse than those of the finest one on unseen examples."""
    solution, settings = active.solution, context.settings.tolerance
    coefficients = np.concatenate([each.signed for each in models])
    used = np.flatnonzero(coefficients.any(axis=0))
    values = solution.features.values(unseen, active.examples[used], coefficients[:, used])
    wrong = [
        solution.wrong(unseen, each.scalings[:, :1] * own + each.scalings[:, 1:])
        for own, each in zip(np.split(values.T, len(models)), models, strict=True)
    ]
    for gap, each in zip(settings.gaps[:-1], wrong[:-1], strict=True):
        found = compare(each, wrong[-1], solution.whole.weights[unseen])
        measured = f"error of gap {gap:g} above that of {settings.gaps[-1]:g}, 95 % limit"
        if context.decide(NAME, measured, found.required_margin, "<=", settings.max_deficit):
            return gap
    return settings.gaps[-1]


def sample_size(n: int, settings: SampleSettings) -> int:
    """How many examples of n the sample has."""
    size = min(max(int(n * settings.fraction), settings.min_examples), settings.max_examples)
    return min(size, (n + 1) // 2)


def shuffled_by_class(training_set: TrainingSet, least: int, rng: np.random.Generator) -> IndexArray:
    """All examples in random order, some of each class in front; it depends on their content, not on their order."""
    shuffled = rng.permutation(training_set.order)
    codes = training_set.codes[shuffled]
    rank = np.empty(len(codes), dtype=np.intp)
    for code in np.unique(codes):
        members = np.flatnonzero(codes == code)
        rank[members] = np.arange(len(members))
    return np.concatenate([shuffled[rank < least], shuffled[rank >= least]])
