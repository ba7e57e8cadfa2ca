"""Which examples a shard offers for the next block."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from slackwater.gram.source import IndexArray
from slackwater.shards.messages import Doubles
from slackwater.solvers.dual_blocks import RARER


def in_turn(
    violating: NDArray[np.bool_], labels: NDArray[np.int8], lots: Doubles, turn: float, most: int
) -> tuple[IndexArray, int, bool]:
    """The violators with the smallest lots beyond ``turn``; how many; whether there are more.

    Behind them come others of a class that is rare among them.
    """
    waiting = np.flatnonzero(violating & (lots > turn))
    more = len(waiting) > most
    if more:
        waiting = waiting[np.argpartition(lots[waiting], most)]
    waiting, others = waiting[:most], waiting[most:]
    chosen = waiting[np.argsort(lots[waiting])]
    for label in (1, -1):
        missing = most // RARER - np.count_nonzero(labels[waiting] == label)
        if missing > 0:
            rare = others[labels[others] == label]
            chosen = np.concatenate([chosen, rare[np.argsort(lots[rare])[:missing]]])
    return chosen, len(waiting), more


def worst(rising: Doubles, falling: Doubles, most: int) -> tuple[IndexArray, int, bool]:
    """Those that want to rise most, and those that want to fall most, half of each. Overwrites its input."""
    up = _largest(rising, (most + 1) // 2)
    falling[up] = -np.inf
    chosen = np.concatenate([up, _largest(falling, most - len(up))])
    return chosen, len(chosen), True


def _largest(values: Doubles, count: int) -> IndexArray:
    """Positions of the largest finite values."""
    possible = np.flatnonzero(values > -np.inf)
    if len(possible) > count:
        possible = possible[np.argpartition(values[possible], len(possible) - count)[len(possible) - count :]]
    return np.sort(possible)
