"""When a fit has to end: one clock and one flag, which every long loop of the fit looks at.

Whoever computes kernel values, builds a structure of many parts or runs a compiled loop in slices calls
``Deadline.check`` between two pieces of work, each well below a tenth of a second. It raises ``CutShort``, which leaves
the stage; whoever has a model from an earlier one catches it. A step of a solver is never torn apart: its state changes
after all kernel values are there (``solvers/drive.py``).
"""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

_SECONDS_BETWEEN_LOOKS = 0.02  # while another thread does what cannot be cut into pieces


class CutShort(Exception):  # noqa: N818  # the fit goes on to its end with the model it has
    """Raised where work is left undone because the fit has to end."""

    def __init__(self, interrupted: bool) -> None:
        super().__init__("interrupted" if interrupted else "max_time")
        self.interrupted = interrupted


class Clock:
    """Seconds of training, without those spent in callbacks."""

    def __init__(self, already: float = 0.0, now: Callable[[], float] = time.perf_counter) -> None:
        self._now = now
        self._start = now() - already
        self._stands_still = False

    def go_on_from(self, already: float) -> None:
        """Go on from the seconds that an earlier run has spent."""
        self._start = self._now() - already

    def seconds(self) -> float:
        return self._now() - self._start

    @contextmanager
    def paused(self) -> Iterator[None]:
        if self._stands_still:  # somebody pauses it already
            yield
            return
        self._stands_still, stopped = True, self._now()
        try:
            yield
        finally:
            self._start += self._now() - stopped
            self._stands_still = False


class Deadline:
    """The seconds on a clock at which work has to end, and a flag that asks for its end at once.

    Parameters
    ----------
    clock : Clock
    limit : float, default=inf
        Seconds on the clock.
    interrupted : threading.Event, optional
        The flag; one of its own by default.
    """

    def __init__(self, clock: Clock, limit: float = math.inf, interrupted: threading.Event | None = None) -> None:
        self.clock, self.limit = clock, limit
        self.interrupted = threading.Event() if interrupted is None else interrupted
        self._shields = 0

    def within(self, limit: float) -> Deadline:
        """One that is not later than ``limit``, with the same clock and flag."""
        return Deadline(self.clock, min(self.limit, limit), self.interrupted)

    @property
    def left(self) -> float:
        """Seconds to go; infinite without a limit."""
        return self.limit - self.clock.seconds() if math.isfinite(self.limit) else math.inf

    def passed(self) -> bool:
        """Whether the time is over or the flag is raised."""
        return self.interrupted.is_set() or self.left <= 0.0

    def check(self) -> None:
        """Raise CutShort if it has passed."""
        if self._shields == 0 and self.passed():
            raise CutShort(self.interrupted.is_set())

    @contextmanager
    def shielded(self) -> Iterator[None]:
        """Let work within this block be done to its end."""
        self._shields += 1
        try:
            yield
        finally:
            self._shields -= 1

    def aside(self, function: Callable[[], Any]) -> Any:
        """The result of what cannot be cut into pieces; its thread goes on alone where CutShort ends the waiting."""
        outcome: list[Any] = []
        done = threading.Event()

        def work() -> None:
            try:
                outcome.append((function(), None))
            except BaseException as error:
                outcome.append((None, error))
            done.set()

        threading.Thread(target=work, name="slackwater-aside").start()
        while not done.wait(_SECONDS_BETWEEN_LOOKS):
            self.check()
        result, error = outcome.pop()
        try:
            if error is not None:
                raise error
            return result
        finally:
            del error  # an error knows its frames: were they to know it, all their arrays would stay in memory


NEVER = Deadline(Clock())
_of_thread = threading.local()


def deadline_of_thread() -> Deadline:
    """That of the fit on whose behalf this thread works at present."""
    found: Deadline = getattr(_of_thread, "deadline", NEVER)
    return found


@contextmanager
def working_until(deadline: Deadline) -> Iterator[None]:
    """Let this thread work on behalf of a fit that has this deadline."""
    before = deadline_of_thread()
    _of_thread.deadline = deadline
    try:
        yield
    finally:
        _of_thread.deadline = before


def pieces(n: int, size: int) -> Iterator[slice]:
    """The numbers below n in slices of ``size``, with a look at this thread's deadline between two of them."""
    deadline = deadline_of_thread()
    for start in range(0, n, size):
        if start > 0:
            deadline.check()
        yield slice(start, min(start + size, n))


class Interrupts:
    """Ctrl-C during a fit: the first one raises a flag, a second one raises KeyboardInterrupt where that does no harm.

    What must not be torn apart, such as giving back the threads of BLAS, is done in a ``critical`` block: a second
    Ctrl-C raises after it.
    """

    def __init__(self) -> None:
        self._critical = 0
        self._pending = False
        self._listening = 0  # blocks whose handler is in force

    @contextmanager
    def raising(self, flag: threading.Event) -> Iterator[None]:
        """Within this block, the first Ctrl-C raises ``flag``. Nothing is done outside of the main thread, or where
        SIGINT is ignored, as under nohup."""
        previous = signal.getsignal(signal.SIGINT)
        if previous is signal.SIG_IGN or threading.current_thread() is not threading.main_thread():
            yield
            return

        def handle(signum: int, frame: Any) -> None:
            if not flag.is_set():
                flag.set()
            elif self._critical:
                self._pending = True
            elif callable(previous):
                previous(signum, frame)

        signal.signal(signal.SIGINT, handle)
        self._listening += 1
        try:
            yield
        finally:
            self._listening -= 1
            signal.signal(signal.SIGINT, previous)

    @contextmanager
    def critical(self) -> Iterator[None]:
        """Keep Ctrl-C from raising within this block, also where no fit listens to it, as during a prediction.

        Only the main thread is ever interrupted; blocks of other threads are none of its concern.
        """
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        with nullcontext() if self._critical or self._listening else self._deferred():
            self._critical += 1
            try:
                yield
            finally:
                self._critical -= 1
        if self._pending and not self._critical:
            self._pending = False
            raise KeyboardInterrupt

    @contextmanager
    def _deferred(self) -> Iterator[None]:
        """Note Ctrl-C, for the end of the block; somebody's own handler is called then."""
        previous, noted = signal.getsignal(signal.SIGINT), []
        if not callable(previous):
            yield
            return
        signal.signal(signal.SIGINT, lambda *received: noted.append(received))
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, previous)
        if noted:
            previous(*noted[0])


INTERRUPTS = Interrupts()
