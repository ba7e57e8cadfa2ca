"""What runs on a worker: a shard as an actor, and the task that brings partitions of the data to it."""

from __future__ import annotations

import tempfile
import threading
import weakref
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slackwater.dask import allocator
from slackwater.dask.partitions import Partition, codes_and_weights, numbers_of
from slackwater.shards.examples import Gathering, OffGridError, Part, Rows, distinct_part
from slackwater.shards.form import Form
from slackwater.shards.shard import Plan, Shard, Size
from slackwater.workers import Workers

_HOSTS: weakref.WeakValueDictionary[tuple[str, int], Host] = weakref.WeakValueDictionary()


class HostGoneError(OSError):
    """A task has come to a worker where its shard is not, or no more."""


class Assignment(NamedTuple):
    """What a host is to hold."""

    key: tuple[str, int]  # the fit and the number of the shard; another attempt has another key
    shard: int
    plan: Plan
    n_parts: int
    cache_bytes: int
    on_disk: bool
    threads: int
    memory_limit: int  # of the worker, in bytes; 0: none


class Labelling(NamedTuple):
    """How labels become class numbers, and rows get weights."""

    classes: NDArray[Any]
    factors: NDArray[np.float64]  # weight of each class
    floor: float  # least weight of a row that counts


class Outcome(NamedTuple):
    """What a call came to. An error of the shard itself is a value: what is raised is an error of the cluster."""

    value: Any
    error: Exception | None


class Host:
    """A shard in the memory of a worker: filled partition by partition, then asked round by round."""

    def __init__(self, assignment: Assignment) -> None:
        self._assignment, self._lock = assignment, threading.Lock()
        self._parts: dict[int, Part | None] = {}
        self._shard: Shard | None = None
        self._workers = Workers(assignment.threads)
        self._folder = _folder() if assignment.on_disk else None
        where, plan = None if self._folder is None else Path(self._folder.name), assignment.plan
        if self._folder is not None:
            weakref.finalize(self, self._folder.cleanup)
        self._gathering = Gathering(plan.form, plan.n_classes, where)
        _HOSTS[assignment.key] = self

    def add(self, number: int, part: Part) -> None:
        """Take over a partition, once: to the disk at once, in memory in the order of the partitions."""
        with self._lock:
            if number in self._parts:
                return
            if self._folder is not None:
                self._gathering.add(part)
            self._parts[number] = part if self._folder is None else None

    def finish(self) -> list[Size]:
        """All partitions are here: make the shard."""
        assignment, plan = self._assignment, self._assignment.plan
        if self._shard is None and len(self._parts) != assignment.n_parts:
            raise RuntimeError(f"{len(self._parts)} of {assignment.n_parts} partitions have arrived")
        if self._shard is None:
            for number in sorted(self._parts):
                part = self._parts.pop(number)
                if part is not None:
                    self._gathering.add(part)
            with self._workers:
                examples = self._gathering.examples([plan.seed, assignment.shard], plan.held_out)
                self._hold_memory()
                self._shard = Shard(examples, plan, assignment.cache_bytes, self._workers)
        return self._shard.sizes()

    def _hold_memory(self) -> None:
        """From now on, each round makes the same arrays."""
        allocator.hold(self._assignment.memory_limit)
        weakref.finalize(self, allocator.let_go)

    def call(self, method: str, arguments: tuple[Any, ...]) -> Outcome:
        """A method of the shard."""
        try:
            with self._workers:
                return Outcome(getattr(self._shard, method)(*arguments), None)
        except Exception as error:
            return Outcome(None, error)


def _folder() -> tempfile.TemporaryDirectory[str]:
    """A folder in the worker's own, which Dask removes where a worker is killed before it can."""
    from distributed import get_worker

    try:
        where = get_worker().local_directory
    except ValueError:  # not on a worker
        where = None
    return tempfile.TemporaryDirectory(prefix="slackwater-", dir=where)


def bring(
    number: int, partition: Partition, first: int, key: tuple[str, int], labelling: Labelling, form: Form
) -> bool:
    """A task: a partition in the common form, to the host on this worker. False if it is off the grid."""
    X, y, given = partition
    codes, weights = codes_and_weights(y, given, labelling.classes, labelling.factors, labelling.floor)
    try:
        part = distinct_part(Rows(numbers_of(X), codes, weights, first), form, Workers())
    except OffGridError:
        return False
    host = _HOSTS.get(key)
    if host is None:
        raise HostGoneError(f"shard {key[1]} is not on this worker")
    host.add(number, part)
    return True
