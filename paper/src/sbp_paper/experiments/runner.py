"""Runs the jobs of a reproduction: those that are not stored yet, each stored as soon as it is done."""

from __future__ import annotations

import contextlib
import importlib
import sys
import time
import traceback
from collections.abc import Sequence
from contextlib import nullcontext
from typing import NamedTuple

from rich.console import Console

from sbp_paper.experiments.children import Ended, Finish, run_in_children
from sbp_paper.experiments.job import Job, Mode, Shared
from sbp_paper.experiments.progress import Board
from sbp_paper.experiments.store import Store

PARTS = {  # and the module that makes their jobs
    "table1": "table1",
    "table2": "table2",
    "fig1": "water",
    "fig2": "fig2",
    "fig3": "fig3",
    "fig4": "water",
    "runtime": "runtime",
    "forest": "forest",
    "scaling": "scaling",
}


class Failure(NamedTuple):
    """A job that came to nothing, and why."""

    key: str
    error: str  # the last line of the trace
    trace: str


def all_jobs(mode: Mode, parts: Sequence[str] = tuple(PARTS)) -> list[Job]:
    """The jobs of some parts, or of all."""
    unknown = [part for part in parts if part not in PARTS]
    if unknown:
        raise ValueError(f"parts must be among {', '.join(PARTS)}, got {', '.join(unknown)}.")
    modules = dict.fromkeys(PARTS[part] for part in PARTS if part in parts)
    jobs = [job for name in modules for job in _module_jobs(name, mode)]
    return [job for job in jobs if job.part in parts]


def _module_jobs(name: str, mode: Mode) -> list[Job]:
    module = importlib.import_module(f"sbp_paper.experiments.{name}")
    made: list[Job] = module.jobs(mode)
    return made


def run(jobs: Sequence[Job], store: Store, console: Console, workers: int = 2) -> list[Failure]:
    """Make what the store does not have; what went wrong is returned, and said at the end.

    Jobs run in processes of their own, ``workers`` at a time with a thread each, but those that measure time, or ask
    for it, by themselves with all threads. What jobs share is computed once, before their processes are forked. A
    failure does not stop the others. Ctrl-C raises KeyboardInterrupt as ever; what was finished is stored.
    """
    waiting = [job for job in jobs if store.get(job) is None]
    if len(waiting) < len(jobs):
        console.print(f"{len(jobs) - len(waiting)} of {len(jobs)} results are there already.", highlight=False)
    failures: list[Failure] = []
    with Board(console, waiting, workers) as board:

        def finish(job: Job, ended: Ended) -> None:
            if ended.record is not None:
                store.put(job, ended.record)
            else:
                failures.append(Failure(job.key, ended.trace.strip().rsplit("\n", 1)[-1], ended.trace))
            board.ended(job, ended.seconds, failed=ended.record is None)

        for group in _groups(waiting):
            with contextlib.ExitStack() as stack:
                try:
                    board.preparing(group)
                    stack.enter_context((group[0].shared or nullcontext)())
                except Exception:  # no data, no memory: the groups after this one may still be possible
                    for job in group:
                        finish(job, Ended(None, traceback.format_exc(), 0.0))
                    continue
                width = 1 if group[0].alone else workers
                if sys.platform == "linux":
                    run_in_children(group, width, board, finish)
                else:  # forks are not safe, or not there
                    _run_here(group, board, finish)
    for failure in failures:
        console.print(f"{failure.key} failed: {failure.error}", markup=False, highlight=False)
    return failures


def _groups(jobs: Sequence[Job]) -> list[list[Job]]:
    """Jobs that may run together: they share the same, and all or none of them measure time."""
    groups: dict[tuple[Shared | None, bool], list[Job]] = {}
    for job in jobs:
        groups.setdefault((job.shared, job.alone), []).append(job)
    return list(groups.values())


def _run_here(jobs: Sequence[Job], board: Board, finish: Finish) -> None:
    """One job after the other in this process."""
    for job in jobs:
        board.began(job)
        began = time.perf_counter()

        def advance(share: float, job: Job = job) -> None:
            board.advanced(job, share)
            board.refresh()

        try:
            ended = Ended(job.run(advance), "", time.perf_counter() - began)
        except Exception:
            ended = Ended(None, traceback.format_exc(), time.perf_counter() - began)
        finish(job, ended)
