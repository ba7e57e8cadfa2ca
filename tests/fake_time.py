"""Time that passes only when it is read, or when a test says so."""

from __future__ import annotations

from functools import partial
from typing import Any

from slackwater.tracing import Clock


class FakeTime:
    """Seconds that advance by ``tick`` with every reading, and by ``spend``."""

    def __init__(self, tick: float = 0.0) -> None:
        self.seconds, self._tick = 1000.0, tick

    def __call__(self) -> float:
        self.seconds += self._tick
        return self.seconds

    def spend(self, seconds: float) -> None:
        self.seconds += seconds


def timed_by(now: FakeTime, estimator: Any) -> Any:
    """The same estimator, whose clock reads the time from ``now``."""
    made = type(estimator.__class__.__name__, (estimator.__class__,), {"_make_clock": partial(Clock, now=now)})
    return made(**estimator.get_params(deep=False))
