"""Which rows of a data set are trained on: each distinct example once, its weight the sum of its copies'.

Repeating a row and giving it an integer weight are then the same problem, not merely similar ones. Examples are
put in an order that depends on their content only; draws run through that order, so permuting the rows of a data
set does not change the model either.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slackwater.deadline import deadline_of_thread, pieces
from slackwater.points import Points, SparsePoints, Vectors

_KEY_SEED = 20120626  # any constant: the keys only have to tell rows apart, in the same way every time
_PIECE = 2**21  # numbers read between two looks at the clock: 5 to 10 ms


class DistinctExamples(NamedTuple):
    """The examples kept, as row numbers of the data set; everything else is aligned with ``kept``."""

    kept: NDArray[np.intp]
    weights: NDArray[np.float64]
    order: NDArray[np.intp]
    keys: NDArray[np.float64]
    ranked: NDArray[np.intp]  # rows of positive weight, not aligned with ``kept``: copies next to each other,
    runs: NDArray[np.intp]  # and which run of copies each of them is in

    def of_rows(self, n: int) -> NDArray[np.intp]:
        """The place in ``kept`` of what each of the n rows is a copy of; -1 for rows without weight."""
        places = np.full(n, -1)
        places[self.ranked] = self.order[self.runs]
        return places


def distinct_examples(points: Points, groups: NDArray[np.intp], weights: NDArray[np.float64]) -> DistinctExamples:
    """Merge rows that are equal and of one group (class, and part of a split), adding up their weights.

    Arbitrary objects cannot be compared row by row and are kept as they are, in the order given.
    """
    used = np.flatnonzero(weights > 0)
    if not isinstance(points, Vectors):
        identity = np.arange(len(used))
        return DistinctExamples(used, weights[used], identity, identity.astype(np.float64), used, identity)
    deadline = deadline_of_thread()
    keys = row_keys(points)
    ranked = _by_key(keys, groups, used)
    starts = _starts_of_runs(points, keys, groups, ranked)
    deadline.check()
    first = np.minimum.reduceat(ranked, starts)  # a run is represented by the first of its copies
    summed = np.add.reduceat(weights[ranked], starts)
    by_row = np.argsort(first)
    deadline.check()
    order = np.empty_like(by_row)
    order[by_row] = np.arange(len(by_row))
    runs = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(ranked)))
    return DistinctExamples(first[by_row], summed[by_row], order, keys[first[by_row]], ranked, runs)


def row_keys(points: Vectors) -> NDArray[np.float64]:
    """One number per row, equal for equal rows wherever they stand: the inner product with a fixed vector."""
    from slackwater import _loops

    direction = np.random.default_rng(_KEY_SEED).standard_normal(points.n_features)
    keys = np.empty(len(points))
    for part in _pieces(points):
        if isinstance(points, SparsePoints):
            starts = points.indptr[part.start : part.stop + 1]
            keys[part] = _loops.sparse_keys(starts, points.indices, points.data, direction)
        else:
            keys[part] = _loops.dense_keys(points.raw[part], direction)
    return keys


def _pieces(points: Vectors) -> Iterator[slice]:
    """All rows, a few at a time."""
    return pieces(len(points), max(1, _PIECE // max(1, points.n_features)))


def _by_key(keys: NDArray[np.float64], groups: NDArray[np.intp], used: NDArray[np.intp]) -> NDArray[np.intp]:
    """Rows sorted by key, those of equal keys by group and number.

    Few keys are equal, as a rule. To sort by one key takes a sixth of the time of sorting by two.
    """
    ranked = used[np.argsort(keys[used])]
    deadline_of_thread().check()
    equal = np.zeros(len(ranked) + 1, dtype=bool)
    equal[1:-1] = keys[ranked[1:]] == keys[ranked[:-1]]
    tied = np.flatnonzero(equal[1:] | equal[:-1])
    among = ranked[tied]
    ranked[tied] = among[np.lexsort((among, groups[among], keys[among]))]
    return ranked


def _starts_of_runs(
    points: Vectors, keys: NDArray[np.float64], groups: NDArray[np.intp], ranked: NDArray[np.intp]
) -> NDArray[np.intp]:
    if len(ranked) == 0:
        return np.empty(0, np.intp)
    same = (np.diff(keys[ranked]) == 0) & (np.diff(groups[ranked]) == 0)
    suspects = np.flatnonzero(same)
    same[suspects] = _equal_rows(points, ranked[suspects], ranked[suspects + 1])
    return np.flatnonzero(np.concatenate(([True], ~same)))


def _equal_rows(points: Vectors, left: NDArray[np.intp], right: NDArray[np.intp]) -> NDArray[np.bool_]:
    equal = np.empty(len(left), dtype=bool)
    for part in pieces(len(left), max(1, _PIECE // max(1, points.n_features))):
        differs = points.take(left[part]).raw != points.take(right[part]).raw
        if isinstance(points, SparsePoints):
            equal[part] = differs.getnnz(axis=1) == 0
        else:
            equal[part] = ~differs.any(axis=1)
    return equal
