"""What is seen of a reproduction under way: bars in a terminal, a line for each result elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn

from sbp_paper.experiments.job import Job


def seconds_left(unfinished: Iterable[tuple[Job, float]], pace: float, workers: int) -> float:
    """Wall time for jobs of which these shares are done, if they take ``pace`` times what was expected of them."""
    return pace * sum(job.seconds * (1.0 - share) / (1 if job.alone else workers) for job, share in unfinished)


def in_words(seconds: float) -> str:
    if seconds < 60.0:
        return f"{seconds:.0f} s"
    if seconds < 3600.0:
        return f"{seconds / 60.0:.0f} min"
    return f"{int(seconds // 3600)} h {int(seconds % 3600 // 60):02d} min"


class Board:
    """Keeps account of jobs and shows it. Nothing is drawn but by ``refresh``: a thread that draws would not
    survive a fork.
    """

    def __init__(self, console: Console, jobs: Sequence[Job], workers: int) -> None:
        self.console = console
        self.workers = workers
        self.unfinished = {job.key: (job, 0.0) for job in jobs}
        self.count = len(jobs)
        self.expected = self.taken = 0.0  # of the finished jobs, in seconds
        self._live = console.is_terminal
        self._bars = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.fields[note]}"),
            console=console,
            auto_refresh=False,
            redirect_stdout=False,
            redirect_stderr=False,
            disable=not self._live,
        )
        self._overall = self._bars.add_task("all", total=1.0, note="")
        self._tasks: dict[str, TaskID] = {}
        self._whole = max(self._left(1.0), 1e-9)

    def __enter__(self) -> Board:
        self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.refresh()
        self._bars.stop()

    @property
    def time_left(self) -> str:
        return in_words(self._left(self.taken / self.expected if self.expected else 1.0))

    def say(self, text: str) -> None:
        self.console.print(text, markup=False, highlight=False)

    def preparing(self, jobs: Sequence[Job]) -> None:
        """What these jobs share is being loaded or computed."""
        self._bars.update(self._overall, note=f"preparing {jobs[0].key.rsplit('/', 2)[0]} …")
        self._bars.refresh()

    def began(self, job: Job) -> None:
        self._tasks[job.key] = self._bars.add_task(job.key, total=1.0, note="")

    def advanced(self, job: Job, share: float) -> None:
        self.unfinished[job.key] = (job, share)
        self._bars.update(self._tasks[job.key], completed=share, note=f"{share:.0%}")

    def ended(self, job: Job, seconds: float, *, failed: bool) -> None:
        del self.unfinished[job.key]
        task = self._tasks.pop(job.key, None)
        if task is not None:
            self._bars.remove_task(task)
        if not failed:
            self.expected += job.seconds
            self.taken += seconds
        if failed or not self._live:
            done = self.count - len(self.unfinished)
            state = "FAILED" if failed else in_words(seconds)
            self.say(f"[{done}/{self.count}] {job.key}  {state}  (about {self.time_left} left)")

    def refresh(self) -> None:
        done = self.count - len(self.unfinished)
        share = 1.0 - min(1.0, self._left(1.0) / self._whole)
        note = f"{done} of {self.count}, about {self.time_left} left"
        self._bars.update(self._overall, completed=share, note=note)
        self._bars.refresh()

    def _left(self, pace: float) -> float:
        return seconds_left(self.unfinished.values(), pace, self.workers)
