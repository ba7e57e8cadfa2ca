"""Live progress on standard error, for whatever takes longer than two seconds and is watched by somebody."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, Task, TextColumn, TimeElapsedColumn
from rich.text import Text

from slackwater.cli.console import in_a_terminal
from slackwater.progress import spelled

PATIENCE = 2.0  # seconds


class _TimeLeft(ProgressColumn):
    """What a forecast says, asked whenever the line is drawn."""

    def __init__(self, forecast: Callable[[Task], float | None]) -> None:
        super().__init__()
        self._forecast = forecast

    def render(self, task: Task) -> Text:
        left = self._forecast(task)
        return Text("" if left is None else f"about {spelled(left)} left")


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
