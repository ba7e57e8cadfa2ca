"""Jobs in forked processes: what the parent holds in memory is theirs to read, without a copy."""

from __future__ import annotations

import contextlib
import importlib
import multiprocessing
import os
import signal
import time
import traceback
import warnings
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from typing import Any, NamedTuple

from sbp_paper.experiments.job import Job, Record
from sbp_paper.experiments.progress import Board

_SECONDS_BETWEEN_LOOKS = 0.25


class Ended(NamedTuple):
    """How a job ended: with a record, or with the trace of an error."""

    record: Record | None
    trace: str
    seconds: float


Finish = Callable[[Job, Ended], None]


@dataclass
class Child:
    job: Job
    process: Any
    began: float = field(default_factory=time.perf_counter)

    def ended(self, record: Record | None, trace: str = "") -> Ended:
        return Ended(record, trace, time.perf_counter() - self.began)

    def kill(self) -> None:
        """End the process and what it has started."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.kill()
        self.process.join()


def run_in_children(jobs: Sequence[Job], width: int, board: Board, finish: Finish) -> None:
    """Run jobs, ``width`` of them at a time; more than one with one thread each. None outlives this call.

    No thread may be alive in this process when it forks: those of fits have ended, BLAS stops its own, and the board is
    drawn from here.
    """
    importlib.import_module("numba")  # the compiler, which every child would load by itself
    waiting, running = deque(jobs), dict[Connection, Child]()
    try:
        while waiting or running:
            while waiting and len(running) < width:
                connection, child = _start(waiting.popleft(), 1 if width > 1 else None)
                running[connection] = child
                board.began(child.job)
            for ready in wait(list(running), timeout=_SECONDS_BETWEEN_LOOKS):
                assert isinstance(ready, Connection)
                ended = _listen(ready, running[ready], board)
                if ended is not None:
                    child = running.pop(ready)
                    ready.close()
                    child.process.join()
                    finish(child.job, ended)
            board.refresh()
    finally:
        for child in running.values():
            child.kill()


def _start(job: Job, threads: int | None) -> tuple[Connection, Child]:
    context = multiprocessing.get_context("fork")
    mine, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_work, args=(job, theirs, threads), daemon=False)
    with warnings.catch_warnings():  # Python 3.12 warns of threads; those that may be there hold none of our locks
        warnings.simplefilter("ignore", DeprecationWarning)
        process.start()
    theirs.close()  # so that the end of the process shows as the end of the pipe
    with contextlib.suppress(OSError):  # the child does the same; whoever comes first
        os.setpgid(process.pid or 0, process.pid or 0)
    return mine, Child(job, process)


def _listen(connection: Connection, child: Child, board: Board) -> Ended | None:
    """Take one message; how the job ended, if it did."""
    try:
        kind, content = connection.recv()
    except EOFError:
        child.process.join()
        code = child.process.exitcode
        return child.ended(None, f"its process ended with code {code}{' (killed: out of memory?)' * (code == -9)}")
    if kind == "share":
        board.advanced(child.job, content)
        return None
    return child.ended(content) if kind == "record" else child.ended(None, content)


def _work(job: Job, connection: Connection, threads: int | None) -> None:
    """In the child: run the job and report."""
    from threadpoolctl import threadpool_limits

    with contextlib.suppress(OSError):
        os.setpgid(0, 0)  # Ctrl-C is the parent's affair; what the job starts ends with it
    warnings.simplefilter("ignore")  # the terminal is the parent's; what matters is in the record
    told = [time.perf_counter()]

    def advance(share: float) -> None:
        if time.perf_counter() - told[0] >= _SECONDS_BETWEEN_LOOKS:
            told[0] = time.perf_counter()
            connection.send(("share", share))

    try:
        with threadpool_limits(threads):
            connection.send(("record", job.run(advance)))
    except BrokenPipeError:  # nobody is waiting for it any more
        return
    except BaseException:
        connection.send(("error", traceback.format_exc()))
