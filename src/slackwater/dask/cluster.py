"""What the user's data are, and tasks on a cluster that ask them: survey, rows, and waiting for both."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import CancelledError
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from slackwater.dask.partitions import Look, Overview, Partition, is_collection, look_at, numbers_of, overview
from slackwater.errors import ClusterError

_SAMPLED = 8192  # rows of all partitions by which the form of the points is chosen,
_LEAST_SAMPLED = 16  # and of each
_WORDS = 500  # characters of an error that are told: some show the rows
_GLANCE = 2.0  # seconds between two looks at the cluster while tasks run
_LAST_CALL = 10.0  # seconds in which workers that seem silent are asked again: some computations hold an interpreter up
_IDLE = 10.0  # per cent of a core that a worker takes which computes nothing
_MORE_MEMORY = "Give workers more memory (memory_limit), or X smaller partitions (rechunk, repartition)"

Where = dict[str, Any]  # restrictions of tasks to workers, as Dask takes them


def survey(client: Any, partitions: Sequence[Partition], moments: bool, seed: int, patience: float) -> Overview:
    """Look at all partitions: one task each, a few numbers and rows back; ``moments`` are those of all entries."""
    sampled = max(_LEAST_SAMPLED, _SAMPLED // len(partitions))

    def submit(where: Where) -> list[Any]:
        given = computed(client, partitions, bool(where), **where)
        seeds = [[seed, number] for number in range(len(partitions))]
        # Before partitions still to be read, which would else pile up in memory.
        options = {"moments": moments, "sampled": sampled, "priority": 1, "pure": False}
        return list(client.map(_look_at, given, seeds, **options, **where))

    return overview(results(client, submit, "a first look at the partitions", patience))


def rows_at(
    client: Any,
    partitions: Sequence[Partition],
    firsts: Sequence[int],
    rows: NDArray[np.intp],
    patience: float,
    silent: Collection[str] = (),
) -> Any:
    """Some rows of the user's data as they are, in this order; not by workers that are known to be silent."""
    order = np.argsort(rows)
    owners = np.searchsorted(firsts, rows[order], side="right") - 1
    used = np.unique(owners) if len(owners) else np.zeros(1, np.intp)
    chosen = [rows[order][owners == k] - firsts[k] for k in used]

    def submit(where: Where) -> list[Any]:
        blocks = computed(client, [partitions[k][:1] for k in used], bool(where), **where)
        return list(client.map(_take, blocks, chosen, priority=1, pure=False, **where))

    found = results(client, submit, "the rows of the support vectors", patience, silent)
    stacked = sparse.vstack(found).tocsr() if any(map(sparse.issparse, found)) else np.concatenate(found)
    return stacked[np.argsort(order)]


def computed(client: Any, partitions: Sequence[tuple[Any, ...]], anew: bool, **where: Any) -> list[Any]:
    """Partitions as what tasks can take: futures of what is computed on the cluster, arrays as they are.

    All are submitted at once: a submission takes as long as many a task. Each is one task, so that Dask computes one
    after the other; else rows whose labels are not there yet would pile up in memory. ``anew`` gives them other names,
    since a silent worker may hold what has the names of before.
    """
    lazy = [any(map(is_collection, partition)) for partition in partitions]
    if not any(lazy):
        return list(partitions)
    from dask.graph_manipulation import clone

    from dask import delayed

    def renamed(column: Any) -> Any:  # one by one: of what is made of them, only the last task gets another name
        return clone(column) if anew and is_collection(column) else column

    together = delayed(_together, pure=False)
    used = [partition for partition, of_dask in zip(partitions, lazy, strict=True) if of_dask]
    futures = iter(client.compute([together(*map(renamed, partition)) for partition in used], **where))
    return [next(futures) if of_dask else part for part, of_dask in zip(partitions, lazy, strict=True)]


def _together(*columns: Any) -> tuple[Any, ...]:
    return columns


def _look_at(partition: Partition, seed: Sequence[int], moments: bool, sampled: int) -> Look:
    X, y, weights = partition
    try:
        return look_at(X, y, weights, seed, moments, sampled)
    except (TypeError, ValueError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        words = str(error).strip()[:_WORDS].rstrip(".")
        raise kind(f"{words} (in partition {seed[-1]} of X).") from error


def _take(partition: tuple[Any, ...], rows: NDArray[np.intp]) -> Any:
    return numbers_of(partition[0])[rows]


def results(
    client: Any,
    submit: Callable[[Where], list[Any]],
    what: str,
    patience: float,
    silent: Collection[str] = (),
) -> list[Any]:
    """The results of tasks; ClusterError where nobody is left to do them.

    Where nothing is done for so many seconds, tasks are submitted again, to those workers that answer.
    """
    from distributed import wait

    tasks = submit(_elsewhere(client, silent, patience, what))
    done, since = 0, time.monotonic()
    while True:
        with contextlib.suppress(TimeoutError, asyncio.TimeoutError, CancelledError):
            wait(tasks, timeout=_GLANCE)
        finished = sum(task.status == "finished" for task in tasks)
        if finished == len(tasks) or any(task.status == "error" for task in tasks):
            return _gathered(client, tasks, what)
        if any(task.status == "cancelled" for task in tasks):  # "lost" ones are computed again
            raise ClusterError(f"the scheduler was lost during {what}. Start the cluster again, then fit.")
        if finished > done:
            done, since = finished, time.monotonic()
        elif time.monotonic() - since > patience:
            workers = known_workers(client, patience, what)
            if not workers:
                raise ClusterError(f"no worker came within {patience:g} s for {what}. Start workers, then fit again.")
            starved = [each for each, state in workers.items() if is_starved(state)]
            quiet = _silent(client, set(workers) - set(starved), min(patience, _LAST_CALL))
            if len(starved) + len(quiet) == len(workers):
                raise ClusterError(_nobody_works(what, quiet, starved))
            if starved or quiet:
                tasks = submit(_elsewhere(client, [*starved, *quiet], patience, what))
            done, since = 0, time.monotonic()


def _gathered(client: Any, tasks: list[Any], what: str) -> list[Any]:
    try:
        return list(client.gather(tasks))
    except Exception as error:
        if kills_workers(error):
            raise ClusterError(f"one worker after the other died of {what}. {_MORE_MEMORY}, then fit again.") from error
        raise


def kills_workers(error: Exception) -> bool:
    """Whether this is Dask's error of a task of which several workers have died."""
    return type(error).__name__ == "KilledWorker"


def is_starved(state: dict[str, Any]) -> bool:
    """Whether Dask lets a worker begin no task, its memory being short, and it has none under way."""
    return state.get("status") == "paused" and state["metrics"]["cpu"] < _IDLE


def _nobody_works(what: str, quiet: Sequence[str], starved: Sequence[str]) -> str:
    if starved:
        return (
            f"{', '.join(starved)} cannot begin a task for want of memory, waiting for {what}. {_MORE_MEMORY}, then "
            "fit again."
        )
    return (
        f"no worker answers, waiting for {what}: {', '.join(quiet)}. They may be stopped, cut off, or "
        "killed again and again for want of memory: see their logs, give them more memory, then fit again."
    )


def _silent(client: Any, workers: Collection[str], seconds: float) -> list[str]:
    """Those that do not answer, however often they are asked for so long."""
    quiet, until = list(workers), time.monotonic() + seconds
    while True:
        quiet = [each for each in quiet if not answers(client, each)]
        if not quiet or time.monotonic() > until:
            return quiet


def answers(client: Any, worker: str) -> bool:
    """Whether a worker's event loop answers, whatever its threads are doing."""
    try:
        return worker in client.sync(client._run, _nothing, workers=[worker], callback_timeout=_GLANCE)
    except Exception:  # whatever a cluster that falls apart raises
        return False


def _nothing() -> bool:
    return True


def _elsewhere(client: Any, silent: Collection[str], patience: float, what: str) -> Where:
    """How to keep tasks away from silent workers, as long as there are others."""
    if not silent:
        return {}
    others = [each for each in known_workers(client, patience, what) if each not in silent]
    return {"workers": others} if others else {}


def known_workers(client: Any, patience: float, what: str) -> dict[str, Any]:
    """What the scheduler knows of each worker, by address."""
    try:
        return workers_of(client, patience)
    except Exception as error:  # whatever a cluster that falls apart raises
        raise ClusterError(
            f"the scheduler does not answer ({type(error).__name__}: {error}) during {what}. Start the cluster again, "
            "then fit."
        ) from error


def workers_of(client: Any, patience: float) -> dict[str, Any]:
    found = client.sync(client.scheduler.identity, n_workers=-1, callback_timeout=patience)["workers"]
    return dict(found)


def grouped(counts: Sequence[int], shards: int) -> list[list[int]]:
    """Partitions, by their numbers, in so many groups of neighbours with about as many rows each; none is empty."""
    shards = max(1, min(shards, len(counts)))
    middles = np.cumsum(counts) - np.asarray(counts) / 2.0
    owners = np.minimum((middles * shards / max(sum(counts), 1)).astype(int), shards - 1)
    groups = [np.flatnonzero(owners == shard).tolist() for shard in range(shards)]
    return [group for group in groups if group]
