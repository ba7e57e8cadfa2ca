"""Points sorted into leaves with bounding boxes, so that pairs of points far apart need not be looked at."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from slackwater.deadline import NEVER, Deadline
from slackwater.points.base import Floats
from slackwater.points.dense import DensePoints

_LEAF = 128  # points at most
_PROBED_LEAVES = 64  # by which the share of near pairs is estimated
_POINTS_TOGETHER = 2**14  # whose deviations from the mean are in memory
_SPREAD_SAMPLE = 512  # points by which the widest coordinate is found


class Leaves:
    """Points in an order in which neighbours stand together, cut into leaves with bounding boxes.

    Attributes
    ----------
    order : ndarray of shape (n,)
        The points, leaf after leaf.
    starts : ndarray of shape (leaves + 1,)
        Where in that order each leaf begins.
    packed : ndarray of shape (n * d,)
        Centred coordinates: leaf after leaf, within a leaf coordinate after coordinate, widest coordinate first.
    lower, upper : ndarray of shape (leaves, d)
        The bounding boxes.
    """

    def __init__(self, points: DensePoints, deadline: Deadline = NEVER) -> None:
        from slackwater.points import _leaf_loops

        values = points.values
        self.order, self.starts = _median_leaves(values, deadline)
        mean, spread = _mean_and_spread(values, deadline)
        self.dimensions = np.argsort(-spread, kind="stable")[: max(1, np.count_nonzero(spread))]
        # A whole number, so that whole numbers stay exact.
        self.centre = np.rint(mean)[self.dimensions].astype(values.dtype)
        d = len(self.dimensions)
        self.packed = np.empty(len(values) * d, values.dtype)
        for first, last in zip(self.starts[:-1], self.starts[1:], strict=True):
            deadline.check()
            self.packed[first * d : last * d] = self.coordinates(values[self.order[first:last]]).T.ravel()
        self.lower = np.empty((len(self), d), values.dtype)
        self.upper = np.empty_like(self.lower)
        _leaf_loops.bound_boxes(self.packed, self.starts, self.lower, self.upper)

    def __len__(self) -> int:
        return len(self.starts) - 1

    def coordinates(self, values: Floats) -> Floats:
        """Other points, in the coordinates of the leaves."""
        return np.asarray(values[:, self.dimensions] - self.centre)

    def share_near(self, limit: float) -> float:
        """The share of pairs of leaves that are near, estimated from some of them."""
        probes = range(0, len(self), max(1, len(self) // _PROBED_LEAVES))
        return float(np.mean([len(self.near(leaf, limit)) for leaf in probes])) / len(self)

    def near(self, leaf: int, limit: float) -> NDArray[np.int64]:
        """Leaves whose box is within the squared distance ``limit`` of this one's."""
        from slackwater.points import _leaf_loops

        found = np.empty(len(self), np.int64)
        return found[: _leaf_loops.near_leaves(self.lower, self.upper, leaf, limit, found)]

    def pairs_within(
        self, leaf: int, members: NDArray[np.intp], near: NDArray[np.int64], limit: float
    ) -> tuple[NDArray[np.int32], NDArray[np.float32], NDArray[np.int64], int]:
        """Points of ``near`` leaves within a squared distance of each of some members of a leaf.

        Returns their positions in the order, one member after the other; their squared distances; how many each member
        has; and how many distances were computed.
        """
        from slackwater.points import _leaf_loops

        most = len(members) * int((self.starts[near + 1] - self.starts[near]).sum())
        columns, squared = np.empty(most, np.int32), np.empty(most, np.float32)
        lengths = np.empty(len(members), np.int64)
        boxes = self.packed, self.starts, self.lower, self.upper
        written, computed = _leaf_loops.pairs_within(*boxes, leaf, members, near, limit, columns, squared, lengths)
        return columns[:written], squared[:written], lengths, int(computed)


def _mean_and_spread(values: Floats, deadline: Deadline) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean and standard deviation of each coordinate, some points at a time."""
    mean, squares = values.mean(axis=0, dtype=np.float64), np.zeros(values.shape[1])
    for first in range(0, len(values), _POINTS_TOGETHER):
        deadline.check()
        squares += ((values[first : first + _POINTS_TOGETHER] - mean) ** 2).sum(axis=0)
    return mean, np.sqrt(squares / len(values))


def _median_leaves(values: Floats, deadline: Deadline) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
    """Split at the median of the widest coordinate until at most _LEAF points are together."""
    order = np.arange(len(values))
    starts = [0]
    parts = [(0, len(values))]
    while parts:
        deadline.check()
        first, last = parts.pop()
        if last - first <= _LEAF:
            starts.append(last)
            continue
        members = order[first:last]
        sample = values[members[:: max(1, len(members) // _SPREAD_SAMPLE)]]
        widest = int(np.argmax(sample.std(axis=0)))
        middle = (last - first) // 2
        order[first:last] = members[np.argpartition(values[members, widest], middle)]
        parts += [(first + middle, last), (first, first + middle)]
    return order, np.array(starts, np.int64)
