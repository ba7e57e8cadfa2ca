"""Points on a grid: coordinates that are whole multiples of one step, as pixels, counts and indicators are.

Squared distances of such points are whole multiples of the squared step. Integer instructions compute them exactly, and
on some processors four times as fast as BLAS (``kernels/_grid_loops.py``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slackwater.memory import rows_of, untouched
from slackwater.points.base import ALIGNMENT, Floats, Indices, Vectors
from slackwater.points.dense import DensePoints
from slackwater.points.norms import SquaredNorms
from slackwater.points.packing import Packing
from slackwater.workers import Workers

MAX_CODE = 255  # a coordinate takes one byte
_MAX_OFF_GRID = 1e-3  # steps that a coordinate may be off the grid, however coarse the numbers are
_MAX_FEATURES = 2**15  # with more, squared distances would exceed 31 bits
_SAMPLE_ROWS, _SAMPLE_VALUES = 512, 2**20  # from which a step is guessed
_MAX_DIVISOR = 4  # the step is the smallest difference divided by 1, 2, 3 or 4
_CHUNK_ROWS = 2048
WORD = 4  # bytes multiplied by one lane of the instruction
ROWS_TOGETHER = 12  # left points that are multiplied in the time of one


Codes = NDArray[np.uint8] | NDArray[np.int16]


class Grid(NamedTuple):
    """Coordinates are ``origin + step * code``, within ``tolerance`` steps."""

    origin: NDArray[np.float64]
    step: float
    tolerance: float = 0.0


class GridPoints(Vectors):
    """Points as integer codes on a grid, padded with zeros to a whole number of words.

    Parameters
    ----------
    codes : ndarray of uint8 or int16, shape (n, coordinates)
    grid : Grid
    own, others : ndarray of int32
        ``own[i] + others[j] - 2 * products[i, j]`` is the squared distance of a left point i and a right point j in
        squared steps, modulo 2³².
    """

    tile_rows = 512
    tile_alignment = ALIGNMENT
    rows_together = ROWS_TOGETHER
    dtype = np.dtype(np.float32)

    def __init__(
        self,
        codes: Codes,
        grid: Grid,
        own: NDArray[np.int32],
        others: NDArray[np.int32],
        cut_from: tuple[Packing, int] | None = None,
    ) -> None:
        self.codes, self.grid, self.own, self.others = codes, grid, own, others
        self._packing, self._first = cut_from or (Packing(codes.view(np.uint32)), 0)
        self.n_features = len(grid.origin)
        # Of the arrays, not of self: a cycle would keep them in memory for longer.
        self._norms = SquaredNorms(lambda: DensePoints(_decoded(codes, grid, np.dtype(np.float32))).squared_norms)

    def __len__(self) -> int:
        return len(self.codes)

    def take(self, indices: Indices) -> GridPoints:
        return GridPoints(rows_of(self.codes, indices), self.grid, self.own[indices], self.others[indices])

    def slice(self, start: int, stop: int) -> GridPoints:
        part = slice(start, stop)
        cut_from = self._packing, self._first + start
        return GridPoints(self.codes[part], self.grid, self.own[part], self.others[part], cut_from)

    @property
    def words(self) -> NDArray[np.uint32]:
        """The codes, a word at a time."""
        return self.codes.view(np.uint32)

    def packed(self, width: int, few: bool) -> NDArray[np.uint32]:
        """The words, as ``Packing`` has them."""
        return self._packing.words(self._first, len(self), width, few)

    def forget(self) -> None:
        """The packed words."""
        self._packing.forget()

    @property
    def raw(self) -> Floats:
        return self.dense(self.dtype)

    @property
    def effort(self) -> int:
        return int(self.codes.shape[1]) * self.codes.itemsize // WORD

    def dense(self, dtype: np.dtype[Any]) -> Floats:
        return _decoded(self.codes, self.grid, dtype)


def _decoded(codes: Codes, grid: Grid, dtype: np.dtype[Any]) -> Floats:
    return np.asarray(grid.origin + grid.step * codes[:, : len(grid.origin)]).astype(dtype)


def on_grid(workers: Workers, rounding: float, *sets: DensePoints) -> list[GridPoints] | None:
    """Sets of points as codes on one grid; None if they are on none.

    Coordinates may be off by their rounding: ``rounding`` times the largest of all.
    """
    grid = find_grid(workers, rounding, *sets)
    if grid is None:
        return None
    found = []
    for each in sets:
        points = place_on(grid, each, workers)
        if points is None:
            return None
        found.append(points)
    return found


def find_grid(workers: Workers, rounding: float, *sets: DensePoints) -> Grid | None:
    """A grid with one step and an origin for each coordinate that all sets seem to be on; None if there is none."""
    if not 0 < sets[0].n_features <= _MAX_FEATURES or not all(len(each) for each in sets):
        return None
    step = _guessed_step(_sampled_rows(sets))
    if step is None:
        return None
    lows, highs = zip(*(_extremes(each.values, workers) for each in sets), strict=True)
    low, high = np.min(lows, axis=0).astype(np.float64), np.max(highs, axis=0).astype(np.float64)
    tolerance = min(rounding * float(max(-low.min(), high.max())) / step, _MAX_OFF_GRID)
    if (high - low).max() > (MAX_CODE + tolerance) * step:
        return None
    return Grid(_origin(low, high, step, tolerance), step, tolerance)


def _origin(low: Floats, high: Floats, step: float, tolerance: float) -> NDArray[np.float64]:
    """Where codes begin: such that points beyond the range of these sets have codes, too, if that is possible.

    One origin for all coordinates, if they are on one grid with room for all of them, as pixels are. Else the codes of
    each coordinate are centred between 0 and 255.
    """
    lowest, highest = low.min(), high.max()
    offsets = (low - lowest) / step
    if highest - lowest <= MAX_CODE * step and np.abs(offsets - np.rint(offsets)).max() <= tolerance:
        low, high = np.full_like(low, lowest), np.full_like(high, highest)
    spare = np.floor((MAX_CODE - np.rint((high - low) / step)) / 2.0)
    return np.asarray(low - step * spare)


def place_on(grid: Grid, points: DensePoints, workers: Workers) -> GridPoints | None:
    """Points as codes on a grid; None if one of them is off it, or beyond its 256 codes."""
    from slackwater.points import _loops

    n, d = points.values.shape
    codes = untouched((n, -(-d // WORD) * WORD), np.uint8)
    own, others = np.empty(n, np.int32), np.empty(n, np.int32)

    def encode(start: int) -> bool:
        workers.deadline.check()
        part = slice(start, start + _CHUNK_ROWS)
        return _loops.encode(
            points.values[part], grid.origin, grid.step, grid.tolerance, codes[part], own[part], others[part]
        )

    return GridPoints(codes, grid, own, others) if all(workers.run(encode, range(0, n, _CHUNK_ROWS))) else None


def _sampled_rows(sets: Sequence[DensePoints]) -> Floats:
    """Rows spread evenly over the sets, from which a step can be guessed."""
    count = max(2, min(_SAMPLE_ROWS, _SAMPLE_VALUES // sets[0].n_features))
    return np.concatenate([each.values[:: 1 + len(each) // count] for each in sets])


def _guessed_step(values: Floats) -> float | None:
    """The step of a grid that some points are on, from their differences to the lowest; None if there is none."""
    above = values.astype(np.float64)
    above -= above.min(axis=0)
    largest = float(above.max(initial=0.0))
    above = above[above > 1e-3 * largest / MAX_CODE]
    if above.size == 0:
        return None
    smallest = float(above.min())
    for parts in range(1, _MAX_DIVISOR + 1):
        step = smallest / parts
        if largest > (MAX_CODE + 0.5) * step:
            return None
        whole = np.rint(above / step)
        if np.abs(above - step * whole).max() <= 0.02 * step:
            return float(above @ whole / (whole @ whole))
    return None


def _extremes(values: Floats, workers: Workers) -> tuple[Floats, Floats]:
    """The least and the largest value of each coordinate."""

    def of_some(start: int) -> tuple[Floats, Floats]:
        workers.deadline.check()
        some = values[start : start + _CHUNK_ROWS]
        return some.min(axis=0), some.max(axis=0)

    lows, highs = zip(*workers.run(of_some, range(0, len(values), _CHUNK_ROWS)), strict=True)
    return np.min(lows, axis=0), np.max(highs, axis=0)
