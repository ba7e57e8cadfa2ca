"""The line of progress, and what it foretells."""

from __future__ import annotations

import io
import math
import os
import pty
import subprocess
import sys

import pytest

from slackwater.progress import Forecast, ProgressLine, rewrites, spelled
from slackwater.stopping import Progress
from slackwater.tracing import Snapshot


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def row(gap=0.125, error=math.nan, seconds=1.0):
    return Snapshot(0, 16, 1000, seconds, 2.0, 1.0, gap, 0.5, 1234, error, 0.1)


def test_a_line_says_what_is_done_how_long_it_takes_and_how_good_the_model_is():
    line = ProgressLine(Terminal(), Forecast(max_time=1000.0))
    line.staged("screening, 4,096 of 60,000 examples")
    line.assessed(row(error=0.034))
    text = line.text()
    for part in (
        "screening, 4,096 of 60,000 examples",
        "at most 17 min left",
        "gap 0.12",
        "3.40%",
        "1,234 support vectors",
    ):
        assert part in text


def test_a_line_is_rewritten_in_a_terminal_and_never_wraps(monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    stream = Terminal()
    line = ProgressLine(stream)
    line.staged("a stage with a name that is longer than the terminal is wide")
    line.staged("short")
    parts = stream.getvalue().split("\r")[1:]
    assert len(parts) == 2
    assert all(len(part) <= 39 for part in parts)
    assert len(parts[1]) >= len(parts[0])  # blanks cover what was longer
    assert "\n" not in stream.getvalue()
    line.done()
    assert stream.getvalue().endswith("\n")


def test_a_pipe_gets_nothing_unless_details_are_asked_for():
    quiet, detailed = io.StringIO(), io.StringIO()
    for stream, details in ((quiet, False), (detailed, True)):
        line = ProgressLine(stream, detailed=details)
        line._next_line = 0.0
        line.staged("a stage")
        line.assessed(row())
        line.tick(Progress(1, 1, 5.0))
        line.done()
    assert quiet.getvalue() == ""
    assert "a stage" in detailed.getvalue()
    assert "\r" not in detailed.getvalue()


def test_the_output_of_a_notebook_can_be_rewritten():
    notebook = type("OutStream", (io.StringIO,), {"__module__": "ipykernel.iostream"})()
    assert rewrites(notebook)
    assert not rewrites(io.StringIO())
    assert not rewrites(None)


def test_time_left_is_that_of_the_budget_that_ends_first(monkeypatch):
    now = [100.0]
    monkeypatch.setattr("slackwater.progress.time.monotonic", lambda: now[0])
    forecast = Forecast(max_time=50.0, max_iter=100, max_kernel_evals=10**6)
    assert forecast.left() == 50.0
    now[0] += 10.0
    forecast.tick(Progress(steps=50, evaluations=10, seconds=10.0))
    assert forecast.left() == pytest.approx(10.0)  # half of the steps are made


def test_time_left_is_estimated_from_the_rate_at_which_the_gap_closes(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("slackwater.progress.time.monotonic", lambda: now[0])
    forecast = Forecast(tol=1e-3)
    assert forecast.left() is None
    for gap in (1.0, 0.1, 0.01):
        forecast.assessed(row(gap=gap))
        now[0] += 1.0
    assert forecast.left() == pytest.approx(0.0)
    now[0] -= 1.0
    assert forecast.left() == pytest.approx(1.0)


def test_seconds_are_spelled_as_one_would_say_them():
    assert [spelled(each) for each in (-1, 5, 300, 7200)] == ["0 s", "5 s", "5 min", "2.0 h"]


SCRIPT = """
from sklearn.datasets import make_moons
from slackwater import SBPClassifier
X, y = make_moons(500, noise=0.2, random_state=0)
SBPClassifier(0.02, tol=0.0, max_iter=2000, verbose=1, random_state=0).fit(X, y)
"""


def run(stderr):
    arguments = [sys.executable, "-W", "ignore", "-c", SCRIPT]
    return subprocess.run(arguments, stderr=stderr, stdout=subprocess.PIPE, timeout=120, check=True)


def test_a_fit_is_live_in_a_terminal_and_quiet_in_a_pipe():
    leader, follower = pty.openpty()
    run(follower)
    os.close(follower)
    shown = os.read(leader, 2**16).decode()
    os.close(leader)
    assert shown.count("\r") > 1
    assert "slackwater: training" in shown
    assert "slackwater: done" in shown.split("\r")[-2]
    assert run(subprocess.PIPE).stderr == b""
