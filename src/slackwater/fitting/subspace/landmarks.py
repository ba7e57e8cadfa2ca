"""Which examples span the subspace: any, where labels are noisy, or so many as nearly span everything."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slackwater.fitting.context import FitContext
from slackwater.fitting.subspace.basis import Basis, early_decay, independent_basis, smooth_basis
from slackwater.fitting.subspace.problem import Doubles
from slackwater.gram.features import Features, room_for_matrix
from slackwater.gram.source import IndexArray

NAME = "subspace"


class Landmarks(NamedTuple):
    """A basis of the subspace, and how to go about it."""

    places: IndexArray  # in the sample
    basis: Basis
    widths: tuple[float, ...]  # over which the hinge is smoothed, one after the other
    max_half_loss: float
    smooth: bool  # whether they span nearly everything


@dataclass(frozen=True)
class SampleDual:
    """The dual solution of a sample, among which landmarks are chosen."""

    features: Features  # of all examples
    examples: IndexArray  # of the sample
    order: IndexArray  # of their places, by content
    alpha: Doubles  # (problems, sample)
    bounded: NDArray[np.bool_]  # (problems, sample): whose dual variables are at their upper bound

    def gram(self, places: IndexArray) -> Doubles:
        return gram_of(self.features, self.examples[places])


def gram_of(features: Features, examples: IndexArray) -> Doubles:
    """Kernel values of some examples with one another."""
    return features.part(examples).columns(np.arange(len(examples))).astype(np.float64)


def labels_are_noisy(context: FitContext, sample: SampleDual) -> bool:
    """Whether many dual variables are at their upper bound."""
    measured, limit = "bounded support vectors of the sample, share", context.settings.subspace.min_bounded
    return context.decide(NAME, measured, float(sample.bounded.mean()), ">=", limit)


def noisy_landmarks(context: FitContext, sample: SampleDual) -> Landmarks | None:
    """Any examples: where labels are noisy."""
    settings = context.settings.subspace
    candidates = _candidates(context, sample)
    basis = independent_basis(sample.gram(candidates))
    landmarks = candidates[basis.members]
    if not _has_room(context, sample, len(landmarks)):
        return None
    return Landmarks(landmarks, basis, (settings.hinge_width,), settings.max_half_loss, smooth=False)


def some_are_misfits(context: FitContext, sample: SampleDual) -> bool:
    """Whether there are many support vectors; else screening finds them sooner."""
    measured, limit = "bounded support vectors of any class, share", context.settings.subspace.min_bounded_any_class
    return context.decide(NAME, measured, float(sample.bounded.any(axis=0).mean()), ">=", limit)


def smooth_landmarks(context: FitContext, sample: SampleDual) -> Landmarks | None:
    """So many as nearly span everything. Half as many may do far worse: the residual decays quickly."""
    settings = context.settings.subspace
    candidates = context.rng.permutation(sample.order)[: settings.smooth_candidates]
    early = early_decay(sample.gram(candidates[: settings.landmarks]))
    measured = "decay of the residual, first candidates"
    if not context.decide(NAME, measured, early, ">=", settings.min_early_decay):
        return None
    found = smooth_basis(sample.gram(candidates), settings.max_smooth_landmarks, settings.max_residual)
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


class Family(NamedTuple):
    """A way to choose landmarks, and the data that it is for."""

    suits: Callable[[FitContext, SampleDual], bool]
    choose: Callable[[FitContext, SampleDual], Landmarks | None]


FAMILIES = (Family(labels_are_noisy, noisy_landmarks), Family(some_are_misfits, smooth_landmarks))


def _has_room(context: FitContext, sample: SampleDual, landmarks: int) -> bool:
    features = sample.features
    needed = landmarks * features.n * features.points.dtype.itemsize
    return context.has_room(NAME, "coordinates", needed, room_for_matrix(features, len(sample.alpha)))


def _candidates(context: FitContext, sample: SampleDual) -> IndexArray:
    """Candidates for landmarks, by their places in the sample: half of them support vectors, half of them any."""
    count = context.settings.subspace.landmarks
    shuffled = context.rng.permutation(sample.order)
    supporting = (sample.alpha[:, shuffled] > 0.0).any(axis=0)
    support = shuffled[supporting][: count // 2]
    others = shuffled[~np.isin(shuffled, support)]
    return np.concatenate([support, others[: count - len(support)]])
