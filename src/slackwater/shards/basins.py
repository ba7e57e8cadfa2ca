"""Basins of several shards, seen through one window: the C-level of all examples from sums and a few points of each.

A shard tells the weight and the sum of its points below a window, and the points inside it (``water/_scan_loops.py``).
Where these are too many to be sent, it tells strata of them; the window is narrowed then, and shards are asked again.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from slackwater.shards.messages import EVERYTHING, Doubles, Window
from slackwater.water import _scan_loops
from slackwater.water._scan_loops import Basin

MAX_POINTS = 8192  # of a window that a shard sends


def seen_through(responses: Doubles, upper: Doubles, C: float, window: Window) -> Basin:
    """The examples of one class."""
    return _scan_loops.gather(responses, None, 1, upper / C, *window)


def join_basins(parts: Sequence[Basin], window: Window, most: int = MAX_POINTS) -> tuple[Basin, bool]:
    """One basin of several with the same window; whether it has every point, not strata of them."""
    points = np.concatenate([np.empty(0), *(part.points for part in parts)])
    weights = np.concatenate([np.empty(0), *(part.weights for part in parts)])
    below = sum(part.weight for part in parts), sum(part.total for part in parts)
    if len(points) > most:  # equal ones are one
        points, group = np.unique(points, return_inverse=True)
        weights = np.bincount(group.ravel(), weights)
    whole = len(points) <= most
    if not whole:
        points, weights = _strata(points, weights, most)
    return Basin(points, weights, float(below[0]), float(below[1]), *window), whole


def _strata(points: Doubles, weights: Doubles, count: int) -> tuple[Doubles, Doubles]:
    """Neighbours replaced by their mean, which has the weight of all of them."""
    order = np.argsort(points)
    starts = np.arange(count) * len(points) // count
    total = np.add.reduceat(weights[order], starts)
    return np.add.reduceat((weights * points)[order], starts) / total, total


def flat() -> Basin:
    """The second basin of a problem without a bias."""
    return Basin(np.zeros(1), np.full(1, np.inf), 0.0, 0.0, *EVERYTHING)
