"""From the user's collections to shards on a cluster: which client, what the data are, where they go."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from slackwater.dask.partitions import Overview, Partition, look_at, numbers_of, overview
from slackwater.errors import ClusterError

_SAMPLED = 8192  # rows of all partitions by which the form of the points is chosen,
_LEAST_SAMPLED = 16  # and of each
_GLANCE = 2.0  # seconds between two looks at the cluster while tasks run

Where = dict[str, Any]  # restrictions of tasks to workers, as Dask takes them


@contextmanager
def connected(given: Any) -> Iterator[Any]:
    """The client to use: the one given, the current one, or one of a cluster on this machine, for as long as needed."""
    try:
        from distributed import Client, LocalCluster, get_client
    except ImportError as error:
        raise ImportError(
            'slackwater.dask.SVC needs Dask to train: pip install "slackwater[dask]". A fitted model predicts without.'
        ) from error
    if given is not None:
        yield given
        return
    try:
        current = get_client()
    except ValueError:
        current = None
    if current is not None:
        yield current
        return
    with LocalCluster(dashboard_address=":0") as local, Client(local) as client:
        yield client


def survey(client: Any, partitions: Sequence[Partition], moments: bool, seed: int, patience: float) -> Overview:
    """Look at all partitions: one task each, a few numbers and rows back; ``moments`` are those of all entries."""
    sampled = max(_LEAST_SAMPLED, _SAMPLED // len(partitions))

    def submit(where: Where) -> list[Any]:
        return [
            client.submit(
                look_at, *_arguments(client, part, where), moments, sampled, [seed, number], pure=False, **where
            )
            for number, part in enumerate(partitions)
        ]

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
    used = np.unique(owners)

    def submit(where: Where) -> list[Any]:
        found = []
        for k in used:
            (X,) = _arguments(client, partitions[k][:1], where)
            found.append(client.submit(_take, X, rows[order][owners == k] - firsts[k], pure=False, **where))
        return found

    found = results(client, submit, "the rows of the support vectors", patience, silent)
    stacked = sparse.vstack(found).tocsr() if any(map(sparse.issparse, found)) else np.concatenate(found)
    return stacked[np.argsort(order)]


def _arguments(client: Any, parts: Sequence[Any], where: Where) -> list[Any]:
    """Partitions as what a task can take: computed on the cluster, or sent from here."""
    return [computed(client, each, bool(where), **where) if hasattr(each, "__dask_graph__") else each for each in parts]


def computed(client: Any, part: Any, anew: bool, **where: Any) -> Any:
    """A partition's future; ``anew`` under other names, since a silent worker may hold what has the names of before."""
    if anew:
        from dask.graph_manipulation import clone

        part = clone(part)
    return client.compute(part, **where)


def _take(X: Any, rows: NDArray[np.intp]) -> Any:
    return numbers_of(X)[rows]


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
            return list(client.gather(tasks))
        if any(task.status == "cancelled" for task in tasks):  # "lost" ones are computed again
            raise ClusterError(f"the scheduler was lost during {what}. Start the cluster again, then fit.")
        if finished > done:
            done, since = finished, time.monotonic()
        elif time.monotonic() - since > patience:
            workers = _workers(client, patience, what)
            if not workers:
                raise ClusterError(f"no worker came within {patience:g} s for {what}. Start workers, then fit again.")
            quiet = [each for each in workers if not answers(client, each)]
            if len(quiet) == len(workers):
                raise ClusterError(f"no worker answers, waiting for {what}: {', '.join(quiet)}.")
            if quiet:
                tasks = submit(_elsewhere(client, quiet, patience, what))
            done, since = 0, time.monotonic()


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
    others = [each for each in _workers(client, patience, what) if each not in silent]
    return {"workers": others} if others else {}


def _workers(client: Any, patience: float, what: str) -> list[str]:
    try:
        return list(client.sync(client.scheduler.ncores, callback_timeout=patience))
    except Exception as error:  # whatever a cluster that falls apart raises
        raise ClusterError(
            f"the scheduler does not answer ({type(error).__name__}: {error}) during {what}. Start the cluster again, "
            "then fit."
        ) from error


def grouped(counts: Sequence[int], shards: int) -> list[list[int]]:
    """Partitions, by their numbers, in so many groups of neighbours with about as many rows each; none is empty."""
    shards = max(1, min(shards, len(counts)))
    middles = np.cumsum(counts) - np.asarray(counts) / 2.0
    owners = np.minimum((middles * shards / max(sum(counts), 1)).astype(int), shards - 1)
    groups = [np.flatnonzero(owners == shard).tolist() for shard in range(shards)]
    return [group for group in groups if group]
