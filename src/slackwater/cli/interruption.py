"""Ctrl-C and SIGTERM: a fit ends at its next step with the model reached, and the command with 130 or 143."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class Interruption:
    """Which signal has come, if any."""

    def __init__(self) -> None:
        self.terminated = False

    @property
    def exit_code(self) -> int:
        return 128 + (signal.SIGTERM if self.terminated else signal.SIGINT)

    @property
    def word(self) -> str:
        return "terminated" if self.terminated else "interrupted"


@contextmanager
def terminable() -> Iterator[Interruption]:
    """Treat SIGTERM as Ctrl-C, which estimators know how to end a fit on, and remember that it was SIGTERM.

    SIGINT gets Python's handler even where it was ignored, as it is in the background of a shell script: else
    nothing could end a fit gently there.
    """
    found = Interruption()
    if threading.current_thread() is not threading.main_thread():
        yield found
        return

    def forward(signum: int, frame: Any) -> None:
        found.terminated = True
        # Called, not raised as a signal: that would wait for the next bytecode, and a blocked read has none.
        handler = signal.getsignal(signal.SIGINT)
        if callable(handler):
            handler(signal.SIGINT, frame)

    before = {
        signal.SIGTERM: signal.signal(signal.SIGTERM, forward),
        signal.SIGINT: signal.signal(signal.SIGINT, signal.default_int_handler),
    }
    try:
        yield found
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
