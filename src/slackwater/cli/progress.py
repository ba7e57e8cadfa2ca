"""Live progress on standard error, for whatever takes longer than two seconds and is watched by somebody."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, Task, TextColumn, TimeElapsedColumn
from rich.text import Text

from slackwater.cli.console import in_a_terminal
from slackwater.tracing import Snapshot

PATIENCE = 2.0  # seconds
_RECENT = 12  # assessments from which the end of a fit is foretold


class _TimeLeft(ProgressColumn):
    """What a forecast says, asked whenever the line is drawn."""

    def __init__(self, forecast: Callable[[Task], float | None]) -> None:
        super().__init__()
        self._forecast = forecast

    def render(self, task: Task) -> Text:
        left = self._forecast(task)
        return Text("" if left is None else f"about {spelled(left)} left")


def spelled(seconds: float) -> str:
    """As short as one would say it."""
    if seconds < 90:
        return f"{max(seconds, 0):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def by_share(task: Task) -> float | None:
    """Time left if the rest takes as long in proportion."""
    if not task.total or not task.completed or task.elapsed is None:
        return None
    return task.elapsed * (task.total / task.completed - 1.0)


@contextmanager
def shown(
    title: str, forecast: Callable[[Task], float | None] = by_share, quiet: bool = False
) -> Iterator[Callable[[float, float | None], None]]:
    """A line of progress that appears after two seconds. Yields ``update(done, total)``."""
    if quiet or not in_a_terminal():
        yield lambda done, total: None
        return
    columns = [SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), _TimeLeft(forecast)]
    progress = Progress(*columns, console=Console(stderr=True), transient=True)
    task = progress.add_task(title, total=None)
    timer = threading.Timer(PATIENCE, progress.start)
    timer.daemon = True
    timer.start()
    try:
        yield lambda done, total: progress.update(task, completed=done, total=total)
    finally:
        timer.cancel()
        timer.join()
        progress.stop()


class FitForecast:
    """Foretells when a fit ends: by its budget of seconds, or by the rate at which its gap closes.

    Looks on as any callback of ``slackwater.tracing`` does.
    """

    def __init__(self, max_time: float | None, tol: float | None) -> None:
        self._start = time.monotonic()
        self._max_time = max_time
        self._tol = tol
        self._gaps: list[tuple[float, float]] = []  # (seconds, logarithm of the gap), the latest ones

    def assessed(self, row: Snapshot) -> None:
        if 0.0 < row.gap < math.inf:
            self._gaps = [*self._gaps[1 - _RECENT :], (time.monotonic() - self._start, math.log(row.gap))]

    def tick(self, progress: Any) -> None:
        pass

    def ended(self) -> None:
        self._gaps = []  # the next stage begins with a gap of its own

    def left(self, task: Task | None = None) -> float | None:
        """Seconds; None where nothing speaks for a number."""
        elapsed = time.monotonic() - self._start
        estimates = [] if self._max_time is None else [self._max_time - elapsed]
        if self._tol is not None and self._tol > 0 and len(self._gaps) >= 3:
            (first, high), (last, low) = self._gaps[0], self._gaps[-1]
            if high > low and last > first:
                end = last + (low - math.log(self._tol)) * (last - first) / (high - low)
                estimates.append(end - elapsed)
        return max(min(estimates), 0.0) if estimates else None
