"""Watching a training run: what callbacks are shown, and the table of a run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from slackwater.deadline import Clock as Clock
from slackwater.expansion import Expansion
from slackwater.history import History
from slackwater.solvers.base import Assessment
from slackwater.stopping import Progress


class Snapshot(NamedTuple):
    """One assessment of one binary problem: a row of ``history_``."""

    problem: int
    step: int
    evaluations: int
    seconds: float
    objective: float
    bound: float
    gap: float
    margin: float
    n_support: int
    holdout_error: float  # NaN without a hold-out part
    violation: float


_WHOLE = ("problem", "step", "evaluations", "n_support")


def snapshot(problem: int, step: int, progress: Progress, assessment: Assessment) -> Snapshot:
    error = assessment.holdout_error
    return Snapshot(
        problem=problem,
        step=step,
        evaluations=progress.evaluations,
        seconds=progress.seconds,
        objective=assessment.objective,
        bound=assessment.bound,
        gap=assessment.gap,
        margin=assessment.margin,
        n_support=assessment.n_support,
        holdout_error=float("nan") if error is None else error,
        violation=assessment.violation,
    )


class Callback(Protocol):
    """Looks on. Training time and the meter stand still meanwhile, and nothing it does changes the model."""

    def assessed(self, row: Snapshot) -> None:
        """A model was assessed."""

    def tick(self, progress: Progress) -> None:
        """Called some times a second."""

    def ended(self) -> None:
        """A stage of training is over; a fit may have several."""


@runtime_checkable
class DecisionWatcher(Protocol):
    """A callback that is also shown what a fit decides."""

    def decided(self, decision: Any) -> None:
        """A measurement spoke for or against a strategy."""


@runtime_checkable
class StageWatcher(Protocol):
    """A callback that is also told what a fit does at present, and when it is over."""

    def staged(self, name: str) -> None:
        """The next stage begins."""

    def done(self) -> None:
        """The fit is over."""


# Shown every step: number, kernel evaluations, seconds, and what makes the models of all problems; True ends training
Watch = Callable[[int, int, float, Callable[[], list[Expansion]]], bool]


_onlookers: ContextVar[tuple[Callback, ...]] = ContextVar("onlookers", default=())


@contextmanager
def watched_by(*callbacks: Callback) -> Iterator[None]:
    """Show every fit within this block to ``callbacks`` as well, whichever estimator it is of."""
    token = _onlookers.set((*_onlookers.get(), *callbacks))
    try:
        yield
    finally:
        _onlookers.reset(token)


@contextmanager
def unwatched() -> Iterator[None]:
    """Show fits within this block to nobody."""
    token = _onlookers.set(())
    try:
        yield
    finally:
        _onlookers.reset(token)


def onlookers() -> list[Callback]:
    """Who watches fits at present, from outside of the estimator."""
    return list(_onlookers.get())


@dataclass
class Recorder:
    """Keeps every assessment, the last of each step: a model may be looked at again, or its responses corrected."""

    rows: list[Snapshot] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._latest = {row[:2]: row for row in self.rows}

    def assessed(self, row: Snapshot) -> None:
        if row[:2] in self._latest:
            self.rows.remove(self._latest[row[:2]])
        self._latest[row[:2]] = row
        self.rows.append(row)

    def tick(self, progress: Progress) -> None:
        pass

    def ended(self) -> None:
        pass

    def table(self) -> History:
        """One array a column, one entry an assessment."""
        return History(
            {
                name: np.array([getattr(row, name) for row in self.rows], np.int64 if name in _WHOLE else np.float64)
                for name in Snapshot._fields
            }
        )
