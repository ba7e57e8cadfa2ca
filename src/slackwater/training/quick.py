"""The quick way to a model that is as good as the optimum, by whichever of three ways suits the data.

- A **narrow kernel** has a nearly sparse matrix, which is computed once, without its zeros, and worked on as a whole.
- Else a sample is solved exactly. If the **span** of some hundred of its points holds a solution that costs hardly
  more than the sample's optimum, because the function is simple and the labels are noisy or because the kernel is so
  smooth that they span nearly everything, the best function of that span is found for all examples.
- Else the classes are told apart by details, which take many support vectors to describe: the sample's solution
  **grows** with the examples.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from slackwater.gram.compressed import JUDGES, SAMPLE, axes_of
from slackwater.gram.features import Features
from slackwater.gram.source import IndexArray
from slackwater.solvers.dual_blocks import DualBlocks
from slackwater.stopping import StopReason
from slackwater.training.audit import Audit
from slackwater.training.course import HIDDEN, Course
from slackwater.training.growth import Growth
from slackwater.training.narrowing import narrow_training
from slackwater.training.run import Ending, Outcome, Plan
from slackwater.training.spanning import endings_in_span
from slackwater.training.training_set import TrainingSet

FEWEST_EXAMPLES = 8192  # with fewer, the exact solution takes no time worth saving
_SAMPLE_SHARE, _SMALLEST_SAMPLE, _LARGEST_SAMPLE = 16, 2048, 16384
_FEWEST_OF_A_CLASS = 32
_UNSEEN = 8192  # examples by which tolerances are compared
# With fewer examples, what setting aside saves is less than what it takes to find out whom.
_FEWEST_TO_GROW, _FEWEST_IF_SOON = 16384, 32768
_MOST = 0.6  # of the examples, as support vectors: hardly anyone is set aside
_GROWTH = 4
# Of all examples: set aside, and on the wrong side. As many more of unseen ones are likely to be there, too, even if
# their losses are a small part of a noisy problem's objective.
_MOST_MISJUDGED = 5e-4
_MANY = 0.25  # of those set aside, by which the active examples grow, less those that leave


def train_quickly(solver: DualBlocks, training_set: TrainingSet, n_classes: int, seed: int, plan: Plan) -> Outcome:
    """Train one model for each binary problem of a set of examples with features."""
    if training_set.features is None:
        raise ValueError("examples must be given by features, not by kernel values")
    with Course.of(solver, seed, plan) as course:
        return Outcome(
            _endings(course, training_set, training_set.features.to_single_precision(), n_classes), course.recorder
        )


def _endings(course: Course, training_set: TrainingSet, features: Features, n_classes: int) -> list[Ending]:
    rng = course.rng()
    narrow = narrow_training(course, training_set, features, n_classes, rng)
    if narrow is not None:
        return narrow.approximate(rng)
    features = features.on_grid()
    whole = training_set.arranged(np.arange(training_set.n), training_set.rows, features)
    shuffled = _shuffled_by_class(whole, rng)
    growth = Growth(course, whole, n_classes, np.sort(shuffled[: _sample_size(whole.n)]))
    if not growth.choose_tolerance(shuffled[growth.known : growth.known + _UNSEEN]):
        return Audit.of(growth, rng).endings()
    endings = endings_in_span(growth, features, shuffled, rng) if training_set.certified else None
    if endings is not None:
        return endings
    axes = axes_of(features, shuffled[-SAMPLE:], shuffled[-SAMPLE - JUDGES : -SAMPLE])
    growth.economise(axes)
    if whole.n < _fewest_to_grow(growth):
        return _looked_at(growth, rng, _with_all(growth)).endings
    growth.sketch_along(axes)
    return _grown(growth, shuffled, rng)


def _fewest_to_grow(growth: Growth) -> int:
    """More where hardly anyone would be set aside, or where values are soon computed."""
    fewest = 2 * _FEWEST_TO_GROW if growth.support_share() >= _MOST else _FEWEST_TO_GROW
    return max(fewest, _FEWEST_IF_SOON) if growth.rows.cheap_to_recompute else fewest


def _grown(growth: Growth, shuffled: IndexArray, rng: np.random.Generator) -> list[Ending]:
    """Let in the other examples, so that four times as many are known; in the end, look at the models as they are."""
    reached = True
    while growth.known < len(shuffled) and reached:
        if not growth.margins_tell(growth.known):
            reached = _with_all(growth)
            break
        reached = growth.grow_to(shuffled, min(_GROWTH * growth.known, len(shuffled)))
    found = _looked_at(growth, rng, reached)
    for look_again in (_by_sketch, _at_all, _with_all):
        if found.good or any(each.reason is not StopReason.TOLERANCE for each in found.endings):
            break
        found = _looked_at(growth, rng, look_again(growth))
    return found.endings


class _Found(NamedTuple):
    """Models, and whether they will do."""

    endings: list[Ending]
    good: bool


def _looked_at(growth: Growth, rng: np.random.Generator, reached: bool) -> _Found:
    """The models as the kernel itself has them; solved again without rounding, if that is what they suffer from."""
    audit = Audit.of(growth, rng)
    if reached and audit.lost_by_rounding() > 0.5 * growth.tol:
        growth.sharpen()
        growth.solve(growth.tol)
        audit = Audit.of(growth, rng)
    endings = audit.endings()
    gap = np.mean([1.0 - each.assessment.bound / max(each.assessment.objective, 1e-300) for each in endings])
    return _Found(endings, bool(gap <= (1.0 + HIDDEN) * growth.tol and audit.misjudged() <= _MOST_MISJUDGED))


def _by_sketch(growth: Growth) -> bool:
    """Judge those set aside once more, as before. Where many of them matter, none should have been set aside."""
    aside, before = len(growth.aside), len(growth.active)
    growth.let_in(growth.aside, growth.sketch or growth.features, growth.beyond_in_the_end())
    if len(growth.active) - before > _MANY * aside:
        growth.let_in(growth.aside, None, math.inf)
    return growth.solve(growth.tol)


def _at_all(growth: Growth) -> bool:
    """Judge every one of those set aside by the kernel itself."""
    growth.let_in(growth.aside, growth.features, growth.beyond_in_the_end())
    return growth.solve(growth.tol)


def _with_all(growth: Growth) -> bool:
    """Set none aside any more: the exact way, from where growth has come to."""
    growth.let_in(growth.aside, None, math.inf)
    return growth.solve(growth.tol)


def _sample_size(n: int) -> int:
    return min(max(n // _SAMPLE_SHARE, _SMALLEST_SAMPLE), _LARGEST_SAMPLE)


def _shuffled_by_class(training_set: TrainingSet, rng: np.random.Generator) -> IndexArray:
    """All examples in random order, some of each class in front; it depends on their content, not on their order."""
    shuffled = rng.permutation(training_set.order)
    codes = training_set.codes[shuffled]
    rank = np.empty(len(codes), dtype=np.intp)
    for code in np.unique(codes):
        members = np.flatnonzero(codes == code)
        rank[members] = np.arange(len(members))
    return np.concatenate([shuffled[rank < _FEWEST_OF_A_CLASS], shuffled[rank >= _FEWEST_OF_A_CLASS]])
