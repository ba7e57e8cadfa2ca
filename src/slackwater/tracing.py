"""Watching a training run: what callbacks are shown, the table of a run, and a line of progress."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, TextIO, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from slackwater.expansion import Expansion
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


def onlookers() -> list[Callback]:
    """Who watches fits at present, from outside of the estimator."""
    return list(_onlookers.get())


class Clock:
    """Seconds of training, without those spent in callbacks."""

    def __init__(self, already: float = 0.0, now: Callable[[], float] = time.perf_counter) -> None:
        self._now = now
        self._start = now() - already

    def continued(self, already: float) -> Clock:
        """A clock by the same time that starts from so many seconds."""
        return Clock(already, self._now)

    def seconds(self) -> float:
        return self._now() - self._start

    @contextmanager
    def paused(self) -> Iterator[None]:
        stopped = self._now()
        try:
            yield
        finally:
            self._start += self._now() - stopped


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

    def table(self) -> dict[str, NDArray[Any]]:
        """One array a column, one entry an assessment."""
        return {
            name: np.array([getattr(row, name) for row in self.rows], np.int64 if name in _WHOLE else np.float64)
            for name in Snapshot._fields
        }


class ProgressLine:
    """A line that is rewritten in a terminal, or a new line now and then where there is none."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._live = False
        with contextlib.suppress(OSError, ValueError, AttributeError):
            self._live = self._stream.isatty()
        self._latest: Snapshot | None = None
        self._quiet_until = 1.0

    def assessed(self, row: Snapshot) -> None:
        self._latest = row

    def decided(self, decision: Any) -> None:
        text = f"slackwater: {decision.sentence()}"
        self._emit(f"\r{text}\x1b[K\n" if self._live else f"{text}\n")

    def tick(self, progress: Progress) -> None:
        if self._live or progress.seconds >= self._quiet_until:
            self._quiet_until = 2.0 * progress.seconds
            self._write(progress.steps, progress.evaluations, progress.seconds)

    def ended(self) -> None:
        if self._latest is not None:
            self._write(self._latest.step, self._latest.evaluations, self._latest.seconds)
        if self._live:
            self._emit("\n")

    def _write(self, steps: int, evaluations: int, seconds: float) -> None:
        text = f"slackwater: step {steps:,}  kernel evaluations {evaluations:.3g}  {seconds:.1f} s"
        if self._latest is not None:
            row = self._latest
            text += f"  margin {row.margin:.4g}  gap {row.gap:.3g}  support {row.n_support:,}"
            if row.holdout_error == row.holdout_error:
                text += f"  hold-out error {row.holdout_error:.2%}"
        self._emit(f"\r{text}\x1b[K" if self._live else text + "\n")

    def _emit(self, text: str) -> None:
        """Write, if there is anything to write to: a terminal that has gone must not end a run."""
        with contextlib.suppress(OSError, ValueError, AttributeError):
            self._stream.write(text)
            self._stream.flush()
