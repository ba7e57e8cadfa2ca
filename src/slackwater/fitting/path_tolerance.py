"""To what gap a path is solved where none is stated: once for all C, by the evidence that a single fit asks for.

The path of a sample is solved to the gaps 0.03, 0.01 and 0.003. The coarsest whose models, for every C, are no worse
than those of the finest on unseen examples is the tolerance of the path of all examples. Few examples are solved
exactly, as ``SVC`` solves them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slackwater.deadline import Deadline
from slackwater.fitting.comparison import compare
from slackwater.fitting.context import FitContext
from slackwater.fitting.sample import sample_size, shuffled_by_class
from slackwater.fitting.shared_path import Goal, PathPoint, SharedPath, WorkingSetFullError
from slackwater.gram.features import Features
from slackwater.gram.source import IndexArray

NAME = "path"


class SamplePath(NamedTuple):
    """The path of a sample, to the finest gap; with it, shortcuts are tested."""

    shuffled: IndexArray  # all examples in random order, those of the sample first
    examples: IndexArray  # of the sample, rising
    points: list[PathPoint]  # by rising C; arrays are aligned with the sample


class Aim(NamedTuple):
    """To what the points of a path are solved, and the sample that has chosen it, if one has."""

    goal: Goal
    sample: SamplePath | None = None


ChoiceOfAim = Callable[[FitContext, Features, Sequence[float], Deadline], Aim]


def aim_of_path(context: FitContext, features: Features, Cs: Sequence[float], deadline: Deadline) -> Aim:
    """The tolerance that is stated; without one, that of an exact fit of few examples, or the one that a sample's path
    chooses.
    """
    training_set, settings = context.training_set, context.settings
    if context.stopping.tol is not None or training_set.n < settings.min_examples:
        return Aim(Goal.of(context))
    rng = np.random.default_rng(context.seed)
    shuffled = shuffled_by_class(training_set, settings.sample.min_per_class, rng)
    size = sample_size(training_set.n, settings.sample)
    sample, unseen = np.sort(shuffled[:size]), shuffled[size : size + settings.tolerance.comparison_examples]
    finest = Goal.of_gap(settings.tolerance.gaps[-1])
    try:
        models = _points_at_gaps(context, features, sample, Cs, deadline)
    except WorkingSetFullError:
        return Aim(finest)
    if len(models) < len(settings.tolerance.gaps) or {len(each) for each in models} != {len(Cs)}:
        return Aim(finest)  # time is up
    gap = _chosen_gap(context, features, sample, unseen, models)
    return Aim(Goal.of_gap(gap), SamplePath(shuffled, sample, models[-1]))


def _points_at_gaps(
    context: FitContext, features: Features, sample: IndexArray, Cs: Sequence[float], deadline: Deadline
) -> list[list[PathPoint]]:
    """The sample's path at each gap, as far as there is time."""
    training_set, gaps = context.training_set, context.settings.tolerance.gaps
    path = SharedPath(
        features.part(sample),
        training_set.problems(2)[0].labels[sample],
        [training_set.weights[sample]],
        Cs,
        training_set.ranked(sample),
        context.solver.coupling,
        Goal.of_gap(gaps[0]),
        context.settings.path,
        context.seed,
        deadline=deadline,
    )
    models = path.solve()
    for gap in gaps[1:]:
        if deadline.passed():
            break
        models += path.refined(Goal.of_gap(gap))
    path.release()
    return models


def _chosen_gap(
    context: FitContext, features: Features, sample: IndexArray, unseen: IndexArray, models: list[list[PathPoint]]
) -> float:
    """The coarsest gap whose models are, for every C, no worse than those of the finest one on unseen examples."""
    settings = context.settings.tolerance
    if len(unseen) == 0:
        return settings.gaps[-1]
    wrong = _wrong(context, features, sample, unseen, models)
    weights = context.training_set.weights[unseen]
    for gap, candidate in zip(settings.gaps[:-1], wrong[:-1], strict=True):
        worst = max(
            compare(own, finest, weights).required_margin for own, finest in zip(candidate, wrong[-1], strict=True)
        )
        measured = f"error of gap {gap:g} above that of {settings.gaps[-1]:g}, any C, 95 % limit"
        if context.decide(NAME, measured, worst, "<=", settings.max_deficit):
            return gap
    return settings.gaps[-1]


def _wrong(
    context: FitContext, features: Features, sample: IndexArray, unseen: IndexArray, models: list[list[PathPoint]]
) -> NDArray[np.bool_]:
    """Which unseen examples are in the wrong class: (gaps, values of C, examples). One pass serves all models."""
    labels = context.training_set.problems(2)[0].labels
    every = [point for points in models for point in points]
    support = np.flatnonzero(np.any([point.alpha > 0.0 for point in every], axis=0))
    signed = np.array([point.alpha[support] * labels[sample[support]] for point in every])
    values = features.values(unseen, sample[support], signed).T
    biases = np.array([[point.assessment.bias] for point in every])
    wrong = (values + biases > 0.0) != (labels[unseen] > 0)
    return np.asarray(wrong.reshape(len(models), -1, len(unseen)))
