"""The runner: what is stored is not made again, what fails does not stop the rest, nothing finished is lost."""

from __future__ import annotations

import io
import itertools
import json
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import pytest
from rich.console import Console

from sbp_paper.experiments import runner
from sbp_paper.experiments.job import Job
from sbp_paper.experiments.machine import thread_count
from sbp_paper.experiments.progress import Board, in_words, seconds_left
from sbp_paper.experiments.runner import all_jobs, run
from sbp_paper.experiments.store import Store

linux = pytest.mark.skipif(sys.platform != "linux", reason="jobs are forked on Linux only")


def stored(store: Store) -> dict[str, dict]:
    files = sorted((store.folder / "part").rglob("*.json"))
    return {p.relative_to(store.folder).with_suffix("").as_posix(): json.loads(p.read_text())["record"] for p in files}


def console():
    return Console(file=io.StringIO(), width=120)


def said(where):
    return where.file.getvalue()


def number(value, log=None, key=None, **fields):
    def made(advance):
        if log is not None:
            with log.open("a") as file:
                file.write(f"{value}\n")
        advance(0.5)
        return {"value": value}

    return Job(key or f"part/{value}", {"value": value}, made, 1.0, **fields)


@pytest.fixture(params=["forked", pytest.param("here", id="in this process")])
def everywhere(request, monkeypatch):
    if request.param == "here":
        monkeypatch.setattr(runner.sys, "platform", "darwin")
    elif sys.platform != "linux":
        pytest.skip("jobs are forked on Linux only")


@pytest.mark.usefixtures("everywhere")
def test_results_are_stored_and_not_made_again(tmp_path):
    store, log = Store(tmp_path / "store"), tmp_path / "log"
    jobs = [number(k, log) for k in range(4)]
    assert run(jobs[:2], store, console()) == []
    second = console()
    assert run(jobs, store, second) == []
    assert sorted(log.read_text().split()) == ["0", "1", "2", "3"]
    assert [store.get(job) for job in jobs] == [{"value": k} for k in range(4)]
    assert "2 of 4 results are there already" in said(second)
    assert "[2/2]" in said(second)


@pytest.mark.usefixtures("everywhere")
def test_other_settings_make_a_result_anew(tmp_path):
    store = Store(tmp_path)
    run([number(1, key="part/x")], store, console())
    run([number(2, key="part/x")], store, console())
    assert stored(store) == {"part/x": {"value": 2}}


@pytest.mark.usefixtures("everywhere")
def test_a_failing_job_is_reported_and_the_others_go_on(tmp_path):
    def failing(advance):
        raise ValueError("no such luck")

    where, store = console(), Store(tmp_path)
    failures = run([Job("part/bad", {}, failing, 1.0), number(1), number(2)], store, where)
    assert [failure.key for failure in failures] == ["part/bad"]
    assert failures[0].error == "ValueError: no such luck"
    assert "in failing" in failures[0].trace
    assert len(stored(store)) == 2
    assert "part/bad failed: ValueError: no such luck" in said(where)


@linux
def test_a_process_that_dies_is_a_failure(tmp_path):
    def dying(advance):
        os.kill(os.getpid(), signal.SIGKILL)

    failures = run([Job("part/dead", {}, dying, 1.0), number(1)], Store(tmp_path), console())
    assert "code -9" in failures[0].error
    assert Store(tmp_path).get(number(1)) == {"value": 1}


@dataclass(frozen=True)
class Numbers:
    """Something expensive, counted."""

    name: str

    @contextmanager
    def __call__(self):
        if self.name in HELD:
            yield HELD[self.name]
            return
        ENTERED.append(self.name)
        HELD[self.name] = np.arange(1000.0)
        yield HELD[self.name]
        del HELD[self.name]


HELD: dict = {}
ENTERED: list = []


@pytest.mark.usefixtures("everywhere")
def test_what_jobs_share_is_made_once_and_let_go(tmp_path):
    ENTERED.clear()

    def summing(name):
        def made(advance):
            held = name in HELD
            with Numbers(name)() as values:
                return {"sum": float(values.sum()), "held": held, "threads": thread_count()}

        return made

    jobs = [Job(f"part/{name}{k}", {}, summing(name), 1.0, shared=Numbers(name)) for k in range(2) for name in "ab"]
    store = Store(tmp_path)
    assert run(jobs, store, console()) == []
    assert ENTERED == ["a", "b"]
    assert not HELD
    assert all(record["sum"] == 499500.0 and record["held"] for record in stored(store).values())


@linux
def test_jobs_side_by_side_have_a_thread_each_and_lonely_ones_all(tmp_path):
    def threads(advance):
        np.ones((300, 300)) @ np.ones((300, 300))  # BLAS works after the fork
        return {"threads": thread_count()}

    np.ones((600, 600)) @ np.ones((600, 600))  # wakes BLAS' threads before it
    jobs = [Job(f"part/{k}", {}, threads, 1.0) for k in range(2)] + [Job("part/alone", {}, threads, 1.0, alone=True)]
    store = Store(tmp_path)
    assert run(jobs, store, console()) == []
    found = {key: record["threads"] for key, record in stored(store).items()}
    assert found == {"part/0": 1, "part/1": 1, "part/alone": thread_count()}


@linux
def test_lonely_jobs_run_by_themselves_and_others_side_by_side(tmp_path):
    def lonely(advance):
        began = time.monotonic()
        time.sleep(0.2)
        return {"span": [began, time.monotonic()]}

    def meeting(mine, other):
        def made(advance):
            (tmp_path / mine).touch()
            deadline = time.monotonic() + 30
            while not (tmp_path / other).exists():  # never, unless the other one runs at the same time
                assert time.monotonic() < deadline
                time.sleep(0.01)
            return {}

        return made

    jobs = [Job(f"part/{k}", {}, lonely, 1.0, alone=True) for k in range(3)]
    jobs += [Job("other/a", {}, meeting("a", "b"), 1.0), Job("other/b", {}, meeting("b", "a"), 1.0)]
    store = Store(tmp_path / "store")
    assert run(jobs, store, console()) == []
    spans = sorted(record["span"] for record in stored(store).values())
    assert all(before[1] <= after[0] for before, after in itertools.pairwise(spans))


def test_data_that_cannot_be_had_fail_their_jobs_alone(tmp_path):
    @contextmanager
    def absent():
        raise FileNotFoundError("no copy of it")
        yield

    failures = run([number(1, shared=absent), number(2, shared=absent), number(3)], Store(tmp_path), console())
    assert [failure.key for failure in failures] == ["part/1", "part/2"]
    assert Store(tmp_path).get(number(3)) == {"value": 3}


INTERRUPTED = """
import os, pathlib, subprocess, sys, time
from rich.console import Console
from sbp_paper.experiments.job import Job
from sbp_paper.experiments.runner import run
from sbp_paper.experiments.store import Store
folder, patient = pathlib.Path(sys.argv[1]), sys.argv[2] == "patient"

def slow(k):
    def made(advance):
        with (folder / "made").open("a") as log:
            log.write(f"{k}\\n")
        if k >= 2 and not patient:
            program = subprocess.Popen(["sleep", "60"])
            (folder / f"sleeping{k}").write_text(f"{os.getpid()} {program.pid}")
            program.wait()
        return {"k": k}
    return made

jobs = [Job(f"part/{k}", {}, slow(k), 1.0) for k in range(4)]
failures = run(jobs, Store(folder / "store"), Console(force_terminal=True))
sys.exit(len(failures))
"""


def _gone(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] == "Z"
    except FileNotFoundError:
        return True


@linux
def test_ctrl_c_ends_at_once_and_the_next_run_does_the_rest(tmp_path):
    command = [sys.executable, "-c", INTERRUPTED, str(tmp_path)]
    first = subprocess.Popen([*command, "hasty"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    sleeping = [tmp_path / "sleeping2", tmp_path / "sleeping3"]
    deadline = time.monotonic() + 60
    while not all(each.exists() and each.read_text() for each in sleeping):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    interrupted = time.monotonic()
    first.send_signal(signal.SIGINT)
    _, error = first.communicate(timeout=20)
    assert time.monotonic() - interrupted < 10
    assert b"KeyboardInterrupt" in error
    assert sorted(stored(Store(tmp_path / "store"))) == ["part/0", "part/1"]
    pids = [pid for each in sleeping for pid in each.read_text().split()]
    while not all(_gone(pid) for pid in pids):  # the jobs, and what they had started
        assert time.monotonic() < deadline
        time.sleep(0.05)
    again = subprocess.run([*command, "patient"], capture_output=True, timeout=60, check=False)
    assert again.returncode == 0, again.stderr.decode()
    assert sorted((tmp_path / "made").read_text().split()) == ["0", "1", "2", "2", "3", "3"]
    assert len(stored(Store(tmp_path / "store"))) == 4


def test_time_left_follows_the_pace_so_far():
    jobs = [number(k) for k in range(4)]
    assert seconds_left([(jobs[0], 0.5), (jobs[1], 0.0)], 2.0, 2) == pytest.approx(1.5)
    assert seconds_left([(number(9, alone=True), 0.0)], 2.0, 2) == pytest.approx(2.0)
    board = Board(console(), jobs, 2)
    board.began(jobs[0])
    board.ended(jobs[0], 100.0, failed=False)  # a hundred times as long as expected
    assert board.time_left == "2 min"
    assert [in_words(s) for s in (3.0, 300.0, 7500.0)] == ["3 s", "5 min", "2 h 05 min"]


def test_a_terminal_is_shown_bars(tmp_path):
    terminal = Console(file=io.StringIO(), force_terminal=True, width=120)
    run([number(1)], Store(tmp_path), terminal)
    assert "1 of 1" in said(terminal)
    assert "about 0 s left" in said(terminal)


def test_parts_are_collected_by_name():
    jobs = all_jobs("quick", ["table2", "fig3"])
    assert {job.part for job in jobs} == {"table2", "fig3"}
    assert len({job.key for job in jobs}) == len(jobs)
    with pytest.raises(ValueError, match=r"parts must be among table1.*got fig9"):
        all_jobs("quick", ["fig9"])
