"""The client that a fit uses: the user's, the current one, or one of a cluster made for it; and what is left of it."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

from slackwater.errors import ClusterError

_GLANCE = 2.0  # seconds in which a worker has to answer

_lock = threading.Lock()
_fits: WeakKeyDictionary[Any, tuple[Any, int]] = WeakKeyDictionary()  # a client's setting before, and fits that use it


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
        if not isinstance(given, Client):
            raise TypeError(
                f"client must be a distributed.Client or None, got {given!r}. Client(address) makes one of the address "
                "of a scheduler."
            )
        with given.as_current():  # which parts of Dask ask for
            yield _usable(given)
        return
    try:
        current = get_client()
    except ValueError:
        current = None
    if current is not None:
        with _beside_its_task():
            yield _usable(current)
        return
    try:
        local = LocalCluster(dashboard_address=":0")
    except RuntimeError as error:
        raise ClusterError(
            f"no cluster could be started on this machine ({error}). Where fit is called by a script, that has to be "
            "below 'if __name__ == \"__main__\":', since worker processes import the script. Or make a Client of a "
            "cluster before fit."
        ) from error
    with local, Client(local) as client:
        yield client


@contextmanager
def _beside_its_task() -> Iterator[None]:
    """Let a fit that is itself a task of the cluster leave its thread to the tasks that it waits for."""
    from distributed import rejoin, secede

    try:
        secede()
    except (ValueError, KeyError):  # no task, or one that has done so already
        yield
        return
    try:
        yield
    finally:
        rejoin()


def _usable(client: Any) -> Any:
    if client.asynchronous:
        raise ValueError(
            "client must be synchronous, got an asynchronous one, which fit cannot wait for. In a coroutine, call "
            "fit in a thread (asyncio.to_thread) with a Client that was made with asynchronous=False."
        )
    if client.status != "running":
        raise ClusterError(f"client must be connected, got one that is {client.status}. Make another Client, then fit.")
    return client


@contextmanager
def closing_named(client: Any) -> Iterator[None]:
    """Say what has happened where a client is closed while it is at work."""
    try:
        yield
    except ClusterError:
        raise
    except Exception as error:
        if client.status == "running":
            raise
        raise ClusterError(
            f"the client was {client.status} during the fit, by close() or because its scheduler is gone "
            f"({type(error).__name__}: {error}). Make another Client, then fit; a checkpoint is intact."
        ) from error


class TidyClient:
    """A client, and the futures that a fit has of it, which are let go of when the fit is over.

    Dask frees what no future names any more. Futures that are named by cycles of references, in which Dask's own errors
    take part, would keep shards in the workers' memory until Python's garbage collector comes by here.
    """

    def __init__(self, client: Any) -> None:
        self._client, self._futures = client, WeakSet[Any]()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def submit(self, *arguments: Any, **options: Any) -> Any:
        return self._noted([self._client.submit(*arguments, **options)])[0]

    def map(self, *arguments: Any, **options: Any) -> list[Any]:
        return self._noted(self._client.map(*arguments, **options))

    def compute(self, collections: list[Any], **options: Any) -> list[Any]:
        return self._noted(self._client.compute(collections, **options))

    def scatter(self, data: list[Any], **options: Any) -> list[Any]:
        return self._noted(self._client.scatter(data, **options))

    def let_go(self, futures: Iterable[Any] | None = None) -> None:
        """Have these futures freed on the cluster, by default all that there are, whoever else names them."""
        chosen = list(self._futures if futures is None else futures)
        with contextlib.suppress(Exception):  # of a cluster that is gone, with all that it held
            if chosen and self._client.status == "running":
                self._client.cancel(chosen)

    def _noted(self, futures: Iterable[Any]) -> list[Any]:
        found = list(futures)
        self._futures.update(found)
        return found


@contextmanager
def tidy(client: Any) -> Iterator[TidyClient]:
    """A client for one fit."""
    found = TidyClient(client)
    try:
        yield found
    finally:
        found.let_go()


@contextmanager
def direct(client: Any, worker: str | None) -> Iterator[None]:
    """Let messages go to the workers themselves if this one can be reached from here, not through the scheduler.

    They pass half as many sockets then; the scheduler's process, often this one, need not handle them. The client is as
    it was once no fit uses it any more, of several that do so side by side.
    """
    reachable = worker is not None and client.sync(_reachable, client, worker)
    with _lock:
        before, users = _fits.get(client, (client.direct_to_workers, 0))
        _fits[client] = before, users + 1
        client.direct_to_workers = reachable
    try:
        yield
    finally:
        with _lock:
            before, users = _fits.pop(client)
            if users > 1:
                _fits[client] = before, users - 1
            else:
                client.direct_to_workers = before


async def _reachable(client: Any, worker: str) -> bool:
    try:
        await asyncio.wait_for(client.rpc(worker).identity(), _GLANCE)
    except Exception:  # whatever a network between them raises
        return False
    return True
