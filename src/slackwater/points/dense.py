"""Dense points: the rows of an array."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slackwater.deadline import pieces
from slackwater.memory import converted, rows_of, untouched
from slackwater.points.base import ALIGNMENT, Floats, Indices, Vectors
from slackwater.points.norms import SquaredNorms
from slackwater.points.packing import Packing

_CENTRE_SAMPLE = 4096  # points that the centre is estimated from, and that are shifted at a time
_NORMED = 2**22  # coordinates whose norms are computed at a time


class DensePoints(Vectors):
    """Rows of a C-contiguous float32 or float64 array, which is not copied; ``dtype`` is by default the array's.

    ``projected`` says that the norms are not those of the coordinates, but of points that had more of them.
    """

    tile_rows = 512
    tile_alignment = ALIGNMENT

    def __init__(
        self,
        values: Floats,
        norms: SquaredNorms | None = None,
        dtype: np.dtype[Any] | None = None,
        projected: bool = False,
        cut_from: tuple[DensePoints, int] | None = None,
    ) -> None:
        self.values = values
        self._cut_from = cut_from  # the whole, and where in it these points begin
        self._packing: Packing | None = None
        self.projected = projected
        self.dtype = values.dtype if dtype is None else dtype
        self.n_features = values.shape[1]
        self._norms = norms if norms is not None else SquaredNorms(partial(_norms_of, values))

    def __len__(self) -> int:
        return len(self.values)

    def take(self, indices: Indices) -> DensePoints:
        points = DensePoints(rows_of(self.values, indices), dtype=self.dtype, projected=self.projected)
        points._norms = self._norms.take(indices, points._norms)
        return points

    def slice(self, start: int, stop: int) -> DensePoints:
        whole, first = self._cut_from or (self, 0)
        norms, cut_from = self._norms.slice(start, stop), (whole, first + start)
        return DensePoints(self.values[start:stop], norms, self.dtype, self.projected, cut_from)

    def packed(self, width: int, few: bool) -> NDArray[np.uint32]:
        """The coordinates in single precision, as ``Packing`` has them."""
        whole, first = self._cut_from or (self, 0)
        if whole._packing is None:  # of two threads that are here at once, one makes it in vain
            whole._packing = Packing(np.ascontiguousarray(whole.dense(np.dtype(np.float32))).view(np.uint32))
        return whole._packing.words(first, len(self), width, few)

    def forget(self) -> None:
        """The packed coordinates."""
        self._packing = None

    def centre(self) -> NDArray[np.float64]:
        """About the median, rounded to so few digits that counts, say, are shifted there without error."""
        some = self.values[:: 1 + len(self) // _CENTRE_SAMPLE].astype(np.float64)
        median = np.median(some, axis=0)
        spread = np.median(np.abs(some - median), axis=0)
        steps = np.exp2(np.floor(np.log2(np.where(spread > 0.0, spread, 4.0)) - 2.0))
        return np.asarray(np.round(median / steps) * steps)

    def shifted(self, origin: NDArray[np.float64]) -> DensePoints | None:
        """The same points with another origin; None where single precision would round their coordinates."""
        values = untouched(self.values.shape, self.values.dtype)
        exactly = True
        for chunk in pieces(len(self), _CENTRE_SAMPLE):
            exact = self.values[chunk] - origin
            values[chunk] = exact
            exactly = exactly and (values.dtype == np.float64 or np.array_equal(values[chunk], exact))
        return DensePoints(values, dtype=self.dtype) if exactly else None

    @property
    def raw(self) -> Floats:
        return self.values

    def dense(self, dtype: np.dtype[Any]) -> Floats:
        return converted(self.values, dtype)


def _norms_of(values: Floats) -> NDArray[np.float64]:
    from slackwater.points import _loops

    norms = np.empty(len(values))
    for part in pieces(len(values), max(1, _NORMED // max(1, values.shape[1]))):
        norms[part] = _loops.dense_squared_norms(values[part])
    return norms
