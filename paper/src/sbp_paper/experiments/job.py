"""One result of the reproduction: what it depends on and how it is made."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Literal

Mode = Literal["quick", "full"]
Record = dict[str, Any]  # what JSON can hold
Advance = Callable[[float], None]  # told the share of the job that is done, 0 to 1
Shared = Callable[[], AbstractContextManager[Any]]  # holds something in memory for a ``with`` block; comparable


@dataclass(frozen=True)
class Job:
    """A result that is stored as soon as it is there, so that an interrupted reproduction goes on where it was.

    Parameters
    ----------
    key : str
        Such as "fig2/adult/sbp/3"; also the place in the store.
    settings : dict
        All that the result depends on. A stored result of other settings is made anew.
    run : callable
        Makes the record; calls what it is given with the share done.
    seconds : float
        About how long it takes, for the time left.
    alone : bool
        Whether it measures time, so that nothing may run beside it.
    shared : callable, optional
        Holds what the job and its neighbours need, such as a kernel matrix, in memory; jobs for which it is equal
        run while it is held. A job must enter it itself as well, which costs nothing if it is held already.
    """

    key: str
    settings: Record
    run: Callable[[Advance], Record]
    seconds: float
    alone: bool = False
    shared: Shared | None = None

    @property
    def part(self) -> str:
        return self.key.split("/", 1)[0]
