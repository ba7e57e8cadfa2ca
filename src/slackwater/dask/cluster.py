"""From the user's collections to shards on a cluster: which client, what the data are, where they go."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from slackwater.dask.partitions import Look, Overview, Partition, look_at, numbers_of, overview
from slackwater.errors import ClusterError

_SAMPLED = 8192  # rows of all partitions by which the form of the points is chosen,
_LEAST_SAMPLED = 16  # and of each
_GLANCE = 2.0  # seconds between two looks at the cluster while tasks run


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


def survey(client: Any, partitions: Sequence[Partition], seed: int, patience: float) -> Overview:
    """Look at all partitions: one task each, a few numbers and rows back."""
    sampled = max(_LEAST_SAMPLED, _SAMPLED // len(partitions))
    tasks = [
        client.submit(look_at, *(as_argument(client, each) for each in part), sampled, [seed, number], pure=False)
        for number, part in enumerate(partitions)
    ]
    looks: list[Look] = results(client, tasks, "a first look at the partitions", patience)
    return overview(looks)


def rows_at(
    client: Any, partitions: Sequence[Partition], firsts: Sequence[int], rows: NDArray[np.intp], patience: float
) -> Any:
    """Some rows of the user's data as they are, in this order."""
    order = np.argsort(rows)
    owners = np.searchsorted(firsts, rows[order], side="right") - 1
    used = np.unique(owners)
    tasks = [
        client.submit(_take, as_argument(client, partitions[k].X), rows[order][owners == k] - firsts[k], pure=False)
        for k in used
    ]
    found = results(client, tasks, "the rows of the support vectors", patience)
    stacked = sparse.vstack(found).tocsr() if any(map(sparse.issparse, found)) else np.concatenate(found)
    return stacked[np.argsort(order)]


def as_argument(client: Any, part: Any) -> Any:
    """A partition as what a task can take: computed on the cluster, or sent from here."""
    return client.compute(part) if hasattr(part, "__dask_graph__") else part


def _take(X: Any, rows: NDArray[np.intp]) -> Any:
    return numbers_of(X)[rows]


def results(client: Any, tasks: Sequence[Any], what: str, patience: float) -> list[Any]:
    """The results of tasks; ClusterError where nobody is left to do them."""
    from distributed import wait

    alone_since: float | None = None
    while True:
        with contextlib.suppress(TimeoutError, asyncio.TimeoutError):  # one and the same from Python 3.11 on
            wait(tasks, timeout=_GLANCE)
        if all(task.status == "finished" for task in tasks) or any(task.status == "error" for task in tasks):
            return list(client.gather(tasks))
        if any(task.status == "cancelled" for task in tasks):  # "lost" ones are computed again
            raise ClusterError(f"the scheduler was lost during {what}. Start the cluster again, then fit.")
        alone_since = None if _has_workers(client, patience, what) else alone_since or time.monotonic()
        if alone_since is not None and time.monotonic() - alone_since > patience:
            raise ClusterError(f"no worker came within {patience:g} s for {what}. Start workers, then fit again.")


def _has_workers(client: Any, patience: float, what: str) -> bool:
    try:
        return bool(client.sync(client.scheduler.ncores, callback_timeout=patience))
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
