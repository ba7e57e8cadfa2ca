"""When training ends, and why. A rule looks at the progress made and names a reason to stop, or none."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple, Protocol

from slackwater.deadline import CutShort, Deadline

_COUNTED_EPOCHS = 0.1  # between assessments that count
_LEAST_RISE = 1e-3  # of the distance between bound and objective


class StopReason(str, Enum):
    """Why training ended; the value is what ``stop_reason_`` shows, most to least satisfied."""

    TOLERANCE = "tol"
    CONVERGED = "converged"
    HOLDOUT = "early_stopping"
    EPOCHS = "epochs"
    STEPS = "max_iter"
    EVALUATIONS = "max_kernel_evals"
    SECONDS = "max_time"
    CALLBACK = "callback"
    STALLED = "stalled"
    INTERRUPT = "interrupted"

    def __str__(self) -> str:
        return self.value

    @property
    def reached(self) -> bool:
        """Whether training came to where it was meant to end."""
        return self in (StopReason.TOLERANCE, StopReason.CONVERGED)


class Progress(NamedTuple):
    """How far a solver has come.

    Gap, objective, bound and hold-out error are known only at steps where the model was assessed; so is the violation
    of the optimality conditions, unless the solver finds it at every step.
    """

    steps: int
    evaluations: int
    seconds: float
    next_cost: int = 0  # kernel evaluations the next step may need
    gap: float | None = None
    objective: float | None = None
    bound: float | None = None
    holdout_error: float | None = None
    violation: float = 0.0
    passes: int = 0  # over all examples, of a solver that makes passes
    epochs: float | None = None  # to which the steps amount, of a solver whose steps are small parts of an epoch


class StoppingRule(Protocol):
    def __call__(self, progress: Progress) -> StopReason | None: ...


@dataclass(frozen=True)
class MaxSteps:
    limit: int

    def __call__(self, progress: Progress) -> StopReason | None:
        return StopReason.STEPS if progress.steps >= self.limit else None


@dataclass(frozen=True)
class MaxEvaluations:
    """Stops before the step that would go over the limit."""

    limit: int

    def __call__(self, progress: Progress) -> StopReason | None:
        return StopReason.EVALUATIONS if progress.evaluations + progress.next_cost > self.limit else None


@dataclass(frozen=True)
class GapBelow:
    """The relative gap is small, and so is the error of single decision values.

    The gap is a sum over all examples, in which a few that are far off may hide: so none may violate
    the optimality conditions by more than ten times the tolerance (0.01 at the gap 1e-3).
    """

    tolerance: float

    def __call__(self, progress: Progress) -> StopReason | None:
        small = progress.gap is not None and progress.gap <= self.tolerance
        return StopReason.TOLERANCE if small and progress.violation <= 10.0 * self.tolerance else None


@dataclass(frozen=True)
class ViolationBelow:
    """No pair of examples violates the optimality conditions by more: LIBSVM's rule."""

    tolerance: float

    def __call__(self, progress: Progress) -> StopReason | None:
        return StopReason.TOLERANCE if progress.violation <= self.tolerance else None


@dataclass(frozen=True)
class NearOptimal:
    """The violation allowed is reached, and so is the gap, unless a small part of that violation does not close it."""

    violation: float
    gap: float
    finest: float  # violation with which the gap may be what it is

    def __call__(self, progress: Progress) -> StopReason | None:
        closed = progress.violation <= self.finest or (progress.gap is not None and progress.gap <= self.gap)
        return StopReason.TOLERANCE if closed and progress.violation <= self.violation else None


@dataclass(frozen=True)
class MaxEpochs:
    """So many complete passes over the examples were to be made, and were."""

    limit: int

    def __call__(self, progress: Progress) -> StopReason | None:
        return StopReason.EPOCHS if progress.passes >= self.limit else None


@dataclass
class HoldoutStalled:
    """The hold-out error has not improved for ``patience`` assessments in a row.

    Where steps are small parts of an epoch, an assessment counts if at least a tenth of an epoch has passed since the
    last one that counted: an error that takes a pass over the examples to improve has not stalled.
    """

    patience: int
    best: float = math.inf
    stalled: int = 0
    counted: float = 0.0  # epochs, when an assessment last counted

    def __call__(self, progress: Progress) -> StopReason | None:
        if progress.holdout_error is None:
            return None
        if progress.holdout_error < self.best:
            self.best = progress.holdout_error
            self.stalled = 0
            self.counted = progress.epochs or 0.0
        elif progress.epochs is None or progress.epochs - self.counted >= _COUNTED_EPOCHS:
            self.stalled += 1
            self.counted = progress.epochs or 0.0
        return StopReason.HOLDOUT if self.stalled >= self.patience else None


@dataclass
class BoundStalled:
    """The bound has not risen by a thousandth of its distance from the objective for ``patience`` assessments.

    At that rate the gap would take a hundred thousand assessments to close. It is what the rounding of kernel values
    lets happen where they hardly tell examples apart and C is large.
    """

    patience: int = 100
    bound: float = -math.inf
    stalled: int = 0

    def __call__(self, progress: Progress) -> StopReason | None:
        if progress.bound is None or progress.objective is None:
            return None
        if progress.bound > self.bound + _LEAST_RISE * (progress.objective - progress.bound):
            self.bound = progress.bound
            self.stalled = 0
        else:
            self.stalled += 1
        return StopReason.STALLED if self.stalled >= self.patience else None


def first_reason(rules: Iterable[StoppingRule], progress: Progress) -> StopReason | None:
    """The first reason to stop; every rule sees the progress, because some count what they see."""
    reasons = [rule(progress) for rule in rules]
    return next((reason for reason in reasons if reason is not None), None)


def reason_of(deadline: Deadline) -> StopReason | None:
    """Ctrl-C or the limit of time, if one of them asks for an end."""
    if deadline.interrupted.is_set():
        return StopReason.INTERRUPT
    return StopReason.SECONDS if deadline.passed() else None


def reason_of_cut(cut: CutShort) -> StopReason:
    """Why work was left undone."""
    return StopReason.INTERRUPT if cut.interrupted else StopReason.SECONDS
