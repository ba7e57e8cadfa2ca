"""How long a fit goes on after Ctrl-C, and what it leaves.

    python bench/interrupts.py [--fits NAME ...] [--moments S ...]

Each fit is begun anew for each moment, so many seconds after which another process sends SIGINT. Prints a row for each
fit, with milliseconds from the signal to the return of ``fit``, and the test error in per cent; more than 0.3 s is
marked by !, a fit that was over before the signal by -, and what is no fitted estimator with stop_reason_ "interrupted"
by ?. Data sets are those of ``bench/budgets.py``. Loops are compiled before.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple

from budgets import SETS, WAYS, Kernel, compile_loops, load

MOMENTS = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 4.0)
MOST_SECONDS = 0.3
FITS = {
    "forest sparse_kernel": ("forest", "sparse_kernel"),
    "digits auto": ("digits", "auto"),
    "adult tol": ("adult", "tol"),
    "avila auto": ("avila", "auto"),  # one-vs-one
    "digits SBP": ("digits", "SBP"),
    "adult SMO": ("adult", "SMO"),
    "adult Fourier": ("adult", "Fourier"),
}
# Sends SIGINT so many seconds after it was told, and says when: perf_counter is one clock for all processes.
SENDER = """
import os, signal, sys, time
for line in sys.stdin:
    process, moment = line.split()
    time.sleep(max(0.0, float(moment) - time.perf_counter()))
    print(time.perf_counter(), flush=True)
    os.kill(int(process), signal.SIGINT)
"""


class Outcome(NamedTuple):
    seconds: float  # from the signal to the return of fit
    interrupted: bool
    error: float  # per cent
    over: bool = False  # before the signal

    def __str__(self) -> str:
        if self.over:
            return "-".rjust(12)
        mark = "?" if not self.interrupted else "!" if self.seconds > MOST_SECONDS else " "
        return f"{1000.0 * self.seconds:5.0f}{mark}{self.error:6.1f}"


class Sender:
    """Another process, which interrupts this one."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", SENDER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def send_in(self, seconds: float) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{os.getpid()} {time.perf_counter() + seconds}\n")
        self._process.stdin.flush()

    def sent(self) -> float:
        """When it was sent, after it was."""
        assert self._process.stdout is not None
        return float(self._process.stdout.readline())

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def outcome(make: Callable[[Kernel], Any], kernel: Kernel, data: Any, moment: float, sender: Sender) -> Outcome:
    X, y, X_test, y_test = data
    model, over = make(kernel), False
    sender.send_in(moment)
    try:
        model.fit(X, y)
        over = True
        time.sleep(moment + 60.0)  # until the signal comes
    except KeyboardInterrupt:
        returned = time.perf_counter()
    sent = sender.sent()
    if over:
        return Outcome(0.0, True, 0.0, over=True)
    interrupted, error = getattr(model, "stop_reason_", "") == "interrupted", 100.0
    with suppress(AttributeError):
        error = 100.0 * (1.0 - model.score(X_test, y_test))
    return Outcome(returned - sent, interrupted, error)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fits", nargs="*", default=list(FITS), choices=list(FITS))
    parser.add_argument("--moments", nargs="*", type=float, default=MOMENTS)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGINT, signal.default_int_handler)
    print("fit".ljust(20), *(f"{moment:>12g}" for moment in arguments.moments))
    sender, every = Sender(), []
    for name in arguments.fits:
        of_set, way = FITS[name]
        data = load(of_set)
        compile_loops(WAYS[way], SETS[of_set], data)
        row = [outcome(WAYS[way], SETS[of_set], data, moment, sender) for moment in arguments.moments]
        print(name.ljust(20), *row, flush=True)
        every += [each for each in row if not each.over]
    sender.close()
    late = sum(each.seconds > MOST_SECONDS for each in every)
    print(
        f"{len(every)} signals: {late} late, the latest {max((each.seconds for each in every), default=0.0):.2f} s; ",
        end="",
    )
    print(f"{sum(not each.interrupted for each in every)} without a fitted estimator")


if __name__ == "__main__":
    main()
