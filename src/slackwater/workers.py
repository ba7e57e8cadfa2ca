"""Threads for kernel blocks: many threads of our own, one BLAS thread in each.

A block of kernel values is cut into tiles, and each tile is a matrix product followed by a pass over its
values. Threading the tiles instead of the product keeps both halves busy and the tile in its core's cache.
BLAS must then keep to one thread, or two pools fight for the same cores.
"""

from __future__ import annotations

import contextlib
import copy
import os
import threading
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path, PurePosixPath
from types import TracebackType
from typing import Any, TypeVar

from slackwater.deadline import INTERRUPTS, NEVER, Deadline, working_until

Item = TypeVar("Item")
Value = TypeVar("Value")


@lru_cache(maxsize=1)
def _controller() -> Any:
    """Find the BLAS libraries of this process: once, for it walks every loaded library."""
    import scipy.linalg  # noqa: F401  # loads SciPy's own BLAS, which must be found as well
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


class _SingleThreadedBlas:
    """Keep BLAS to one thread while anybody in the process wants so.

    The setting belongs to the process. Were each user to restore what it found, two overlapping users could
    leave the limit behind for good; so the first to come sets it and the last to go lifts it.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self._limiter: Any = None

    def acquire(self) -> None:
        with INTERRUPTS.critical(), self._lock:
            if self._users == 0:
                self._limiter = _controller().limit(limits=1, user_api="blas")
            self._users += 1

    def release(self) -> None:
        with INTERRUPTS.critical(), self._lock:
            self._users -= 1
            if self._users == 0:
                self._limiter.restore_original_limits()
                self._limiter = None


_single_threaded_blas = _SingleThreadedBlas()


class Workers:
    """A fixed number of threads that work through lists of independent tasks.

    Outside its ``with`` block a Workers object works as well: inline, and without a limit on BLAS.

    Parameters
    ----------
    n_threads : int, default=1
        How many threads work at once, the caller's own among them.
    deadline : Deadline, optional
        What long work looks at between two pieces: ``deadline.check()``. By default it never passes.
    """

    def __init__(self, n_threads: int = 1, deadline: Deadline = NEVER) -> None:
        if n_threads < 1:
            raise ValueError(f"n_threads must be >= 1, got {n_threads}. Use thread_count(n_jobs) to derive it.")
        self.n_threads, self.deadline = n_threads, deadline
        self._executor: ThreadPoolExecutor | None = None
        self._entered = 0

    def __enter__(self) -> Workers:
        before = self._entered
        try:
            with INTERRUPTS.critical():
                if self._entered == 0:
                    _single_threaded_blas.acquire()
                    if self.n_threads > 1:  # the caller is a worker too
                        self._executor = ThreadPoolExecutor(self.n_threads - 1, thread_name_prefix="slackwater")
                self._entered += 1
        except KeyboardInterrupt:  # at the end of the critical block: nobody else would lift the limit
            if self._entered > before:
                self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        with INTERRUPTS.critical():
            self._entered -= 1
            if self._entered:
                return
            try:
                if self._executor is not None:
                    self._executor.shutdown()
                    self._executor = None
            finally:
                _single_threaded_blas.release()

    def until(self, deadline: Deadline) -> Workers:
        """The same threads, with another deadline."""
        other = copy.copy(self)
        other.deadline = deadline
        return other

    def alone(self) -> Workers:
        """The caller's thread alone, with the same deadline."""
        return Workers(1, self.deadline)

    def run(self, function: Callable[[Item], Value], items: Iterable[Item]) -> list[Value]:
        """Apply ``function`` to every item and return the results in order.

        The first exception is raised here once the tasks under way have ended; no new ones are begun.
        """
        tasks = list(items)
        if self._executor is None or len(tasks) < 2:
            return [function(task) for task in tasks]
        queue = _Queue(function, tasks, self.deadline)
        helpers = min(self.n_threads, len(tasks)) - 1
        futures = [self._executor.submit(queue.drain) for _ in range(helpers)]
        try:
            queue.drain()
        finally:
            queue.abandon()
            _settle(futures)
        return queue.outcome()


class _Queue:
    """Tasks that threads take from one end: whoever is free takes the next, none waits for a slow one."""

    def __init__(self, function: Callable[[Any], Any], tasks: list[Any], deadline: Deadline) -> None:
        self._function, self._deadline = function, deadline
        self._results: list[Any] = [None] * len(tasks)
        self._waiting = deque(enumerate(tasks))  # popleft is atomic
        self._errors: list[Exception] = []

    def drain(self) -> None:
        with working_until(self._deadline):
            self._drain()

    def _drain(self) -> None:
        while True:
            try:
                position, task = self._waiting.popleft()
            except IndexError:
                return
            try:
                self._results[position] = self._function(task)
            except Exception as error:
                self._errors.append(error)
                self.abandon()

    def abandon(self) -> None:
        self._waiting.clear()

    def outcome(self) -> list[Any]:
        if not self._errors:
            return self._results
        error = self._errors[0]
        self._errors.clear()
        try:
            raise error
        finally:
            del error  # an error knows its frames: were they to know it, all their arrays would stay in memory


def _settle(futures: list[Future[None]]) -> None:
    """Wait for helpers that have begun; those that have not are not needed any more (and may never begin)."""
    for future in futures:
        if not future.cancel():
            future.result()


def thread_count(n_jobs: int | None) -> int:
    """Translate scikit-learn's ``n_jobs`` into a number of threads.

    Parameters
    ----------
    n_jobs : int or None
        None: as many as BLAS may use at present, so that limits set by threadpoolctl, joblib or environment
        variables are obeyed. -1: all cores this process may run on; -2: all but one, and so on. k: k threads.
    """
    if n_jobs is None:
        pools = [library["num_threads"] for library in _controller().info() if library["user_api"] == "blas"]
        return max(1, min(max(pools, default=1), _cores()))
    if n_jobs == 0 or n_jobs < -_cores():
        raise ValueError(
            f"n_jobs must be a positive number of threads, -1 to {-_cores()} (counted down from all "
            f"{_cores()} cores) or None, got {n_jobs}. Use -1 for all cores, 1 for a single thread."
        )
    return n_jobs if n_jobs > 0 else _cores() + 1 + n_jobs


def _cores() -> int:
    """Cores this process may run on: a container or taskset may allow fewer than the machine has."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def available_memory() -> int:
    """Bytes that this process may use: those of the machine, or of its container if that has a limit.

    4 GiB where neither tells.
    """
    try:
        of_machine = int(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, OSError, ValueError):
        of_machine = 2**32
    return min([of_machine, *_container_limits(Path("/proc/self/cgroup"), Path("/sys/fs/cgroup"))])


def _container_limits(own: Path, root: Path) -> list[int]:
    """The limits of memory of the control groups (versions 1 and 2) that this process is in, and of those above."""
    limits = []
    with contextlib.suppress(OSError, ValueError):
        for line in own.read_text().splitlines():
            _, controllers, group = line.split(":", 2)
            if controllers and "memory" not in controllers.split(","):
                continue
            base, name = (root / "memory", "memory.limit_in_bytes") if controllers else (root, "memory.max")
            inside = PurePosixPath(group).relative_to("/")
            for folder in (inside, *inside.parents):  # in a container's own name space only the root is to be seen
                with contextlib.suppress(OSError, ValueError):  # "max" is no number
                    limits.append(int((base / folder / name).read_text()))
    return [limit for limit in limits if limit > 0]
