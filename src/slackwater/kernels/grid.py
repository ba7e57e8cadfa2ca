"""Points on a grid: coordinates that are whole numbers of one step, as pixels, counts and indicators are.

Their squared distances are whole numbers of squared steps, which some processors find four times as fast as BLAS does
those of fractions, and without further error (``_grid_loops``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slackwater.kernels.lines import Lines
from slackwater.kernels.norms import SquaredNorms
from slackwater.kernels.points import DensePoints, Floats, Indices, Vectors
from slackwater.memory import rows_of, untouched
from slackwater.workers import Workers

_MOST = 255  # steps, in a byte
_MOST_OFF = 1e-3  # of a step, however coarse the numbers are
_MOST_FEATURES = 2**15  # whose squared distances fit into 31 bits
_GUESSED_FROM, _MOST_GUESSED_FROM = 512, 2**20  # points, with so many coordinates in all
_GUESSES = 4
_ROWS_AT_A_TIME = 2048
WORD = 4  # bytes, whose coordinates are multiplied together


Codes = NDArray[np.uint8] | NDArray[np.int16]


class Grid(NamedTuple):
    """Coordinates are ``origin`` + ``step`` · whole numbers."""

    origin: NDArray[np.float64]
    step: float


class GridPoints(Vectors):
    """Points by their places on a grid, with zeros up to a whole number of words.

    Parameters
    ----------
    codes : ndarray of uint8 or int16, shape (n, coordinates)
        The places.
    grid : Grid
    own, others : ndarray of int32
        What to add, for a point of the left and for one of the right side, to twice the sum of products taken
        negative, to have the squared distance in squared steps; modulo 2³².
    """

    tile_rows = 512
    dtype = np.dtype(np.float32)

    def __init__(self, codes: Codes, grid: Grid, own: NDArray[np.int32], others: NDArray[np.int32]) -> None:
        self.codes, self.grid, self.own, self.others = codes, grid, own, others
        self.n_features = len(grid.origin)
        self._norms = SquaredNorms(lambda: DensePoints(self.dense(self.dtype)).squared_norms)

    def __len__(self) -> int:
        return len(self.codes)

    def take(self, indices: Indices) -> GridPoints:
        return GridPoints(rows_of(self.codes, indices), self.grid, self.own[indices], self.others[indices])

    def slice(self, start: int, stop: int) -> GridPoints:
        part = slice(start, stop)
        return GridPoints(self.codes[part], self.grid, self.own[part], self.others[part])

    @property
    def raw(self) -> Floats:
        return self.dense(self.dtype)

    @property
    def effort(self) -> int:
        return int(self.codes.shape[1]) * self.codes.itemsize // WORD

    def dense(self, dtype: np.dtype[Any]) -> Floats:
        return (self.grid.origin + self.grid.step * self.codes[:, : self.n_features]).astype(dtype)

    def write_gaussian(self, right: GridPoints, gamma: float, lines: Lines) -> None:
        """Write exp(-gamma |x_i - z_j|²), for points of the same grid."""
        from slackwater.kernels import _grid_loops

        words = self.codes.view(np.uint32), right.codes.view(np.uint32)
        code, flip = self.codes.dtype.type(0), np.uint32(0x80808080 if self.codes.itemsize == 1 else 0)
        factor = np.float32(max(-gamma * self.grid.step**2, -1e38))  # infinite, it would make nought NaN
        _grid_loops.gaussian32(
            *words, code, flip, self.own, right.others, factor, lines.base, lines.starts, lines.steps
        )


def grids_pay() -> bool:
    """Whether this machine is quicker with whole numbers."""
    from slackwater.kernels import _grid_loops

    return _grid_loops.available()


def on_grid(workers: Workers, rounding: float, *sets: DensePoints) -> list[GridPoints] | None:
    """Sets of points on one grid; None where they are on none, or where that would gain nothing on this machine.

    Coordinates may be off by what rounding makes of them, ``rounding`` times the largest of them all.
    """
    if not grids_pay() or not 0 < sets[0].n_features <= _MOST_FEATURES or not all(len(each) for each in sets):
        return None
    step = _guessed_step(_some_rows(sets))
    if step is None:
        return None
    lows, highs = zip(*(_extremes(each.values, workers) for each in sets), strict=True)
    low, high = np.min(lows, axis=0).astype(np.float64), np.max(highs, axis=0).astype(np.float64)
    most_off = min(rounding * float(max(-low.min(), high.max())) / step, _MOST_OFF)
    if (high - low).max() > (_MOST + most_off) * step:
        return None
    grid, found = Grid(low, step), []
    for each in sets:
        points = _encoded(each, grid, most_off, workers)
        if points is None:
            return None
        found.append(points)
    return found


def _some_rows(sets: Sequence[DensePoints]) -> Floats:
    """Rows here and there, from which a step can be guessed."""
    count = max(2, min(_GUESSED_FROM, _MOST_GUESSED_FROM // sets[0].n_features))
    return np.concatenate([each.values[:: 1 + len(each) // count] for each in sets])


def _guessed_step(values: Floats) -> float | None:
    """The step of a grid that some points are on, by what is between them and the lowest."""
    above = values.astype(np.float64)
    above -= above.min(axis=0)
    largest = float(above.max(initial=0.0))
    above = above[above > 1e-3 * largest / _MOST]
    if above.size == 0:
        return None
    smallest = float(above.min())
    for parts in range(1, _GUESSES + 1):
        step = smallest / parts
        if largest > (_MOST + 0.5) * step:
            return None
        whole = np.rint(above / step)
        if np.abs(above - step * whole).max() <= 0.02 * step:
            return float(above @ whole / (whole @ whole))
    return None


def _extremes(values: Floats, workers: Workers) -> tuple[Floats, Floats]:
    """The least and the largest value of each coordinate."""

    def of_some(start: int) -> tuple[Floats, Floats]:
        some = values[start : start + _ROWS_AT_A_TIME]
        return some.min(axis=0), some.max(axis=0)

    lows, highs = zip(*workers.run(of_some, range(0, len(values), _ROWS_AT_A_TIME)), strict=True)
    return np.min(lows, axis=0), np.max(highs, axis=0)


def _encoded(points: DensePoints, grid: Grid, most_off: float, workers: Workers) -> GridPoints | None:
    """The places of points on a grid; None if one of them is off by more of a step."""
    from slackwater.kernels import _grid_loops

    n, d = points.values.shape
    codes = untouched((n, -(-d // WORD) * WORD), np.uint8)
    own, others = np.empty(n, np.int32), np.empty(n, np.int32)

    def encode(start: int) -> bool:
        part = slice(start, start + _ROWS_AT_A_TIME)
        return _grid_loops.encode(
            points.values[part], grid.origin, grid.step, most_off, codes[part], own[part], others[part]
        )

    return GridPoints(codes, grid, own, others) if all(workers.run(encode, range(0, n, _ROWS_AT_A_TIME))) else None
