"""Shards on the workers of a cluster: made from the user's collections, asked, and made again where one is lost.

Shards are actors, because a round is then one message there and one back. An actor is lost with its worker, so nothing
is kept there alone: rows come from the user's collection again, and the rest from the driver. Every wait has a limit.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

from slackwater.dask.clients import TidyClient
from slackwater.dask.cluster import answers, computed, is_starved, kills_workers, workers_of
from slackwater.dask.host import Assignment, Host, HostGoneError, Labelling, bring
from slackwater.dask.partitions import Partition
from slackwater.errors import ClusterError
from slackwater.shards.session import Call
from slackwater.shards.shard import Plan, Size
from slackwater.workers import available_memory

_GLANCE = 2.0  # seconds between two looks at whether a worker that has not answered is still there
_ATTEMPTS = 5  # at one shard, before the fit ends
_SECONDS_BETWEEN_MOVES = 5.0  # of shards to workers that have joined
_TIMEOUTS = (TimeoutError, asyncio.TimeoutError)  # one and the same from Python 3.11 on
_CLUSTER_ERRORS = (OSError, RuntimeError, *_TIMEOUTS, CancelledError, KeyError)


class OffGridAnywhereError(ValueError):
    """A partition has points off the grid of the sample: another form is needed."""


class Source(NamedTuple):
    """A partition, and the number of its first row."""

    partition: Partition
    first: int


@dataclass
class _Placed:
    """A shard that is somewhere."""

    worker: str
    host: Any  # the actor
    key: Any  # the future that keeps it alive


@dataclass
class DaskTransport:
    """One shard for each worker that was there at the beginning, wherever they are by now."""

    client: TidyClient
    sources: list[list[Source]]  # of each shard
    plan: Plan
    labelling: Labelling
    cache_size: int | None  # bytes a worker; None: a sixth of its memory
    on_disk: bool | None  # None: where a shard's rows would take more than a quarter of its worker's memory
    shard_bytes: list[int]  # that the rows of each shard take
    patience: float  # seconds that a worker may be silent
    checkpoint: str | None = None
    fit: str = field(default_factory=lambda: uuid.uuid4().hex)
    log: list[str] = field(default_factory=list)  # what was lost, and what became of it

    def __post_init__(self) -> None:
        self._placed: list[_Placed | None] = [None] * len(self.sources)
        self.silent: set[str] = set()  # workers that did not answer
        self._next_move = time.monotonic() + _SECONDS_BETWEEN_MOVES
        self.sizes: list[Sequence[Size]] = []

    @property
    def count(self) -> int:
        return len(self.sources)

    @property
    def shard_memory(self) -> int:
        """A third of the memory of the smallest worker."""
        limits = [each["memory_limit"] for each in self._workers().values() if each["memory_limit"]]
        return int(min(limits, default=available_memory())) // 3

    def place_all(self) -> None:
        """Make all shards, side by side; those that are lost meanwhile, again."""
        made = [self._attempted(shard, partial(self._begin, shard)) for shard in range(self.count)]
        for stage in self._stages:
            made = [self._attempted(k, partial(stage, each)) if each else None for k, each in enumerate(made)]
        self.sizes = [self._made_again(k) if each is None else each.sizes for k, each in enumerate(made)]

    def call(self, calls: Sequence[Call], catch_up: Callable[[int], Call]) -> list[Any]:
        """One call to each shard; one that is lost is made again, brought up to date and asked again."""
        self._use_newcomers(catch_up)
        sent = [self._send(shard, call) for shard, call in enumerate(calls)]
        return [self._answer(shard, calls[shard], each, catch_up) for shard, each in enumerate(sent)]

    def release(self) -> None:
        """Let go of the shards."""
        for shard in range(self.count):
            self._displace(shard)

    # ---- calls

    def _send(self, shard: int, call: Call) -> Any:
        placed = self._placed[shard]
        try:
            return None if placed is None else placed.host.call(call.method, call.arguments)
        except _CLUSTER_ERRORS as error:
            self._lose(shard, error)
            return None

    def _answer(self, shard: int, call: Call, sent: Any, catch_up: Callable[[int], Call]) -> Any:
        for _ in range(_ATTEMPTS):
            try:
                if sent is not None:
                    return self._value(shard, sent, call)
            except _CLUSTER_ERRORS as error:
                self._lose(shard, error)
            self._made_again(shard, catch_up)
            sent = self._send(shard, call)
        raise ClusterError(self._explained(f"shard {shard} was lost {_ATTEMPTS} times in a row"))

    def _value(self, shard: int, sent: Any, call: Call) -> Any:
        placed = self._placed[shard]
        worker = "nowhere" if placed is None else placed.worker
        outcome = self._wait(sent, worker, f"shard {shard}'s answer to {call.method!r}")
        if outcome.error is not None:
            raise _ShardError(outcome.error)
        return outcome.value

    def _wait(self, sent: Any, worker: str, what: str) -> Any:
        """The result of a call; TimeoutError once the worker has been silent, or out of memory, for too long."""
        heard = time.monotonic()
        while not self._done(sent):
            state = self._workers().get(worker)
            if state is None:
                raise OSError(f"{worker} is gone, waiting for {what}")
            starved = is_starved(state)
            if not starved and answers(self.client, worker):  # it takes its time
                heard = time.monotonic()
            elif time.monotonic() - heard > self.patience:
                self.silent.add(worker)
                was = "too short of memory to begin a task" if starved else "silent"
                raise TimeoutError(f"{worker} has been {was} for {self.patience:g} s, waiting for {what}")
        try:
            return sent.result(timeout=self.patience)
        except Exception as error:
            if kills_workers(error):
                raise OSError(f"workers die of {what}, of too little memory, perhaps ({error})") from error
            if getattr(sent, "status", None) == "error" and not isinstance(error, HostGoneError):
                raise _ShardError(error) from error  # of the user's collection, as it is computed
            raise

    @staticmethod
    def _done(sent: Any) -> bool:
        """Whether there is a result, or an error, by now; waits a moment for it."""
        try:
            sent.result(timeout=_GLANCE)
        except _TIMEOUTS:
            return bool(sent.done())
        except Exception:  # which is raised again when the result is asked for
            return True
        return True

    # ---- shards

    def _lose(self, shard: int, error: BaseException) -> None:
        """Note that a shard is lost; raise what no other worker would help."""
        if isinstance(error, _ShardError):
            raise error.error
        if isinstance(error, ClusterError):
            raise error
        placed = self._placed[shard]
        where = "on no worker" if placed is None else f"on {placed.worker}"
        self.log.append(f"shard {shard} {where} was lost ({type(error).__name__}: {error})")
        self._displace(shard)

    def _displace(self, shard: int) -> None:
        """Name a shard no more, and have its worker free it, if it ever answers again."""
        placed, self._placed[shard] = self._placed[shard], None
        if placed is not None:
            self.client.let_go([placed.key])

    def _attempted(self, shard: int, attempt: Callable[[], Any]) -> Any:
        """What comes of an attempt at a shard; None if the cluster fails it."""
        try:
            return attempt()
        except _CLUSTER_ERRORS as error:
            self._lose(shard, error)
            return None

    def _made_anew(self, shard: int) -> Sequence[Size]:
        return self._make(self._begin(shard))

    def _made_again(self, shard: int, catch_up: Callable[[int], Call] | None = None) -> Sequence[Size]:
        """Make a shard that was lost, and bring it up to date."""

        def attempt() -> Sequence[Size]:
            sizes = self._made_anew(shard)
            if catch_up is not None:
                self._catch_up(shard, catch_up)
            return sizes

        for _ in range(_ATTEMPTS):
            sizes: Sequence[Size] | None = self._attempted(shard, attempt)
            if sizes is not None:
                return sizes
        raise ClusterError(self._explained(f"shard {shard} could not be made in {_ATTEMPTS} attempts"))

    def _catch_up(self, shard: int, catch_up: Callable[[int], Call]) -> None:
        call = catch_up(shard)
        self._value(shard, self._send(shard, call), call)

    def _begin(self, shard: int) -> _Making:
        """Have a worker begin to make a shard."""
        making = self._making(shard, self._choose_worker(shard))
        self._placed[shard] = _Placed(making.worker, None, making.actor)
        return making

    def _making(self, shard: int, worker: str) -> _Making:
        sources, key = self.sources[shard], (f"{self.fit}-{uuid.uuid4().hex[:8]}", shard)
        state = self._workers()[worker]
        rows = self.shard_bytes[shard]
        limit = state["memory_limit"] or 0
        on_disk = self.on_disk if self.on_disk is not None else bool(limit) and rows > limit / 4
        cache = self.cache_size if self.cache_size is not None else (limit or 2**32) // 6
        threads = max(1, state["nthreads"])
        assignment = Assignment(key, shard, self.plan, len(sources), cache, on_disk, threads, limit)
        host = self.client.submit(Host, assignment, actor=True, workers=[worker], pure=False)
        return _Making(shard, worker, key, host)

    def _make(self, making: _Making) -> Sequence[Size]:
        for stage in self._stages:
            making = stage(making)
        return making.sizes

    @property
    def _stages(self) -> tuple[Callable[[_Making], _Making], ...]:
        """Each begins what the next one waits for: shards pass them side by side."""
        return self._bring, self._have_made, self._place

    def _bring(self, making: _Making) -> _Making:
        """Begin to bring its partitions to a host."""
        host = self._wait(making.actor, making.worker, f"the actor of shard {making.shard}")
        return making._replace(host=host, pending=self._bringing(making))

    def _have_made(self, making: _Making) -> _Making:
        """Have a host make a shard of its partitions, once all have come."""
        for number, task in enumerate(making.pending):
            if not self._wait(task, making.worker, f"partition {number} of shard {making.shard}"):
                raise OffGridAnywhereError(f"partition {number} of shard {making.shard}")
        return making._replace(pending=[making.host.finish()])

    def _place(self, making: _Making) -> _Making:
        shard, worker = making.shard, making.worker
        (finished,) = making.pending
        sizes = self._wait(finished, worker, f"shard {shard} to be made")
        self._placed[shard] = _Placed(worker, making.host, making.actor)
        return making._replace(sizes=sizes)

    def _bringing(self, making: _Making) -> list[Any]:
        """The tasks that bring a shard's partitions to its host, whoever computes them.

        They come before partitions still to be read (``priority``), which would else pile up in memory.
        """
        sources, worker = self.sources[making.shard], making.worker
        partitions = [source.partition for source in sources]
        where = {"workers": [worker], "allow_other_workers": True}
        given = [self._sent(each, worker) for each in computed(self.client, partitions, bool(self.silent), **where)]
        firsts = [source.first for source in sources]
        task = partial(bring, key=making.key, labelling=self.labelling, form=self.plan.form)
        where = {"workers": [worker], "priority": 1, "pure": False}
        return list(self.client.map(task, range(len(sources)), given, firsts, **where))

    def _sent(self, part: Any, worker: str) -> Any:
        """A partition in memory here, sent to a worker; anything else as it is."""
        if not isinstance(part, Partition):
            return part
        (sent,) = self.client.scatter([part], workers=[worker], hash=False, direct=False)
        return sent

    # ---- workers

    def _workers(self) -> dict[str, Any]:
        try:
            return workers_of(self.client, self.patience)
        except (*_CLUSTER_ERRORS, AttributeError) as error:
            raise ClusterError(
                self._explained(f"the scheduler does not answer ({type(error).__name__}: {error})")
            ) from error

    def _choose_worker(self, shard: int) -> str:
        """The one with the fewest shards; those that were silent last."""
        deadline = time.monotonic() + self.patience
        while True:
            workers = self._workers()
            if workers:
                burden = Counter(each.worker for each in self._placed if each is not None)
                return min(workers, key=lambda name: (name in self.silent, burden[name], name))
            if time.monotonic() > deadline:
                raise ClusterError(self._explained(f"no worker came within {self.patience:g} s"))
            time.sleep(0.2)

    def _use_newcomers(self, catch_up: Callable[[int], Call]) -> None:
        """Move a shard from a worker that has several to one that has none."""
        if time.monotonic() < self._next_move:
            return
        self._next_move = time.monotonic() + _SECONDS_BETWEEN_MOVES
        burden = Counter(each.worker for each in self._placed if each is not None)
        idle = [name for name in self._workers() if name not in burden and name not in self.silent]
        if not idle or max(burden.values(), default=0) < 2:
            return
        crowded = burden.most_common(1)[0][0]
        shard = next(k for k, each in enumerate(self._placed) if each is not None and each.worker == crowded)
        before = self._placed[shard]
        making = None
        try:
            making = self._making(shard, idle[0])
            self._make(making)
            self._catch_up(shard, catch_up)
            self.log.append(f"shard {shard} moved from {crowded} to {idle[0]}")
            self.client.let_go([] if before is None else [before.key])
        except _CLUSTER_ERRORS as error:
            self.log.append(f"shard {shard} stays on {crowded}: {type(error).__name__} on {idle[0]}")
            self._placed[shard] = before
            self.client.let_go([] if making is None else [making.actor])

    def _explained(self, what: str) -> str:
        kept = (
            f" The checkpoint {self.checkpoint!r} is intact: fit goes on from it."
            if self.checkpoint
            else (" With checkpoint=path a fit goes on from where it was.")
        )
        history = "; ".join(self.log[-3:])
        return f"{what}.{' Before: ' + history + '.' if history else ''} Look at the workers' logs.{kept}"


class _Making(NamedTuple):
    """A shard on its way to a worker."""

    shard: int
    worker: str
    key: tuple[str, int]
    actor: Any  # the future that keeps it alive
    host: Any = None  # the actor
    pending: Sequence[Any] = ()  # what is waited for next
    sizes: Sequence[Size] = ()


class _ShardError(RuntimeError):
    """An error of the shard itself, which no other worker would help."""

    def __init__(self, error: Exception) -> None:
        super().__init__(f"{type(error).__name__}: {error}")
        self.error = error
