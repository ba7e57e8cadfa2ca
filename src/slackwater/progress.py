"""A line that says what a fit is doing, how long it will take, and how good the model is."""

from __future__ import annotations

import contextlib
import math
import shutil
import sys
import time
from typing import Any, TextIO

from slackwater.stopping import Progress
from slackwater.tracing import Snapshot

_RECENT = 12  # assessments from which the end of a stage is foretold
_LEAST_SECONDS = 0.1  # between two looks of a line at the clock


def spelled(seconds: float) -> str:
    """As short as one would say it."""
    if seconds < 90:
        return f"{max(seconds, 0):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


class Forecast:
    """Foretells when a fit ends: by its budgets, or by the rate at which the gap closes. A callback of a fit.

    Budgets of steps and of kernel evaluations are extrapolated from those spent so far.
    """

    def __init__(
        self,
        max_time: float | None = None,
        tol: float | None = None,
        max_iter: int | None = None,
        max_kernel_evals: int | None = None,
    ) -> None:
        self._start = time.monotonic()
        self._max_time, self._max_iter, self._max_kernel_evals = max_time, max_iter, max_kernel_evals
        self._tol = tol
        self._gaps: list[tuple[float, float]] = []  # (seconds, logarithm of the gap), the latest ones
        self._spent: Progress | None = None

    def assessed(self, row: Snapshot) -> None:
        if 0.0 < row.gap < math.inf:
            self._gaps = [*self._gaps[1 - _RECENT :], (self.elapsed(), math.log(row.gap))]

    def tick(self, progress: Progress) -> None:
        self._spent = progress

    def ended(self) -> None:
        self._gaps = []  # the next stage begins with a gap of its own

    def elapsed(self) -> float:
        return time.monotonic() - self._start

    def left(self, task: Any = None) -> float | None:
        """Seconds; None where nothing speaks for a number."""
        estimates = [each for each in (self._by_time(), *self._by_work(), self._by_gap()) if each is not None]
        return max(min(estimates), 0.0) if estimates else None

    def words(self) -> str:
        """The same for a reader: a budget of time says how long at most; nothing where nothing is known."""
        left, by_time = self.left(), self._by_time()
        if left is None:
            return ""
        return f", {'at most' if by_time is not None and left >= by_time else 'about'} {spelled(left)} left"

    def _by_time(self) -> float | None:
        return None if self._max_time is None else self._max_time - self.elapsed()

    def _by_work(self) -> list[float]:
        if self._spent is None:
            return []
        limits = (self._max_iter, self._spent.steps), (self._max_kernel_evals, self._spent.evaluations)
        return [self._spent.seconds * (most / made - 1.0) for most, made in limits if most is not None and made > 0]

    def _by_gap(self) -> float | None:
        if self._tol is None or self._tol <= 0 or len(self._gaps) < 3:
            return None
        (first, high), (last, low) = self._gaps[0], self._gaps[-1]
        if high <= low or last <= first:
            return None
        end = last + (low - math.log(self._tol)) * (last - first) / (high - low)
        return end - self.elapsed()


class ProgressLine:
    """A line that is rewritten, in a terminal or in a notebook; nothing where the stream is a pipe or a file.

    With ``detailed``, decisions are shown as they are made, and a pipe gets a line after 1, 2, 4, 8, … seconds.
    """

    def __init__(self, stream: TextIO | None = None, forecast: Forecast | None = None, detailed: bool = False) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._forecast = forecast or Forecast()
        self._live, self._detailed = rewrites(self._stream), detailed
        self._stage, self._latest, self._spent = "training", None, 0.0  # type: tuple[str, Snapshot | None, float]
        self._next_line, self._next_look = 1.0, 0.0
        self._width = 0  # of what is in the line

    def staged(self, name: str) -> None:
        self._stage = name
        self._draw(at_once=True)

    def assessed(self, row: Snapshot) -> None:
        self._forecast.assessed(row)
        self._latest, self._spent = row, row.seconds
        self._draw()

    def decided(self, decision: Any) -> None:
        if self._detailed:
            self._line(f"slackwater: {decision.sentence()}")

    def tick(self, progress: Progress) -> None:
        self._forecast.tick(progress)
        self._spent = progress.seconds
        self._draw()

    def ended(self) -> None:
        """A stage is over; the line stays until the fit is."""
        self._forecast.ended()

    def done(self) -> None:
        """The fit is over: what was reached remains to be read."""
        if self._live:
            self._line(self.text(done=True))
        elif self._detailed:
            self._emit(f"{self.text(done=True)}\n")

    def text(self, done: bool = False) -> str:
        """What the line says now."""
        seconds = f"{self._forecast.elapsed():.1f} s"
        parts = ["done", seconds] if done else [self._stage, seconds + self._forecast.words()]
        if self._latest is not None:
            row = self._latest
            parts.append(f"step {row.step:,}")
            parts.append(f"gap {row.gap:.2g}" if math.isfinite(row.gap) else f"margin {row.margin:.3g}")
            if row.holdout_error == row.holdout_error:
                parts.append(f"hold-out error {row.holdout_error:.2%}")
            parts.append(f"{row.n_support:,} support vectors")
        return "slackwater: " + " · ".join(parts)

    def _draw(self, at_once: bool = False) -> None:
        now = self._forecast.elapsed()
        if self._live and (at_once or now >= self._next_look):
            self._next_look = now + _LEAST_SECONDS
            self._rewrite(self.text())
        elif self._detailed and not self._live and now >= self._next_line:
            self._next_line = 2.0 * now
            self._emit(f"{self.text()}\n")

    def _line(self, text: str) -> None:
        """A line that remains, above the one that is rewritten."""
        if self._live:
            self._rewrite(text, whole=True)
            self._width = 0
        self._emit("\n" if self._live else f"{text}\n")

    def _rewrite(self, text: str, whole: bool = False) -> None:
        # A line that wraps cannot be rewritten; blanks instead of an escape sequence, which not every notebook knows.
        room = shutil.get_terminal_size().columns - 1
        text = text if whole or len(text) <= room else text[: room - 1] + "…"
        self._emit("\r" + text + " " * (self._width - len(text)))
        self._width = len(text)

    def _emit(self, text: str) -> None:
        """Write, if there is anything to write to: a terminal that has gone must not end a run."""
        with contextlib.suppress(OSError, ValueError, AttributeError):
            self._stream.write(text)
            self._stream.flush()


def rewrites(stream: Any) -> bool:
    """Whether a line written to the stream can be rewritten: a terminal, or the output of a notebook's cell."""
    if type(stream).__module__.startswith("ipykernel."):
        return True
    with contextlib.suppress(OSError, ValueError, AttributeError):
        return bool(stream.isatty())
    return False
