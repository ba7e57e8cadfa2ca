"""Blocks of kernel values, tile by tile, on several threads."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from slackwater.errors import KernelError
from slackwater.kernels.base import Kernel
from slackwater.kernels.points import Floats, Points, Vectors
from slackwater.workers import Workers

# A tile should stay in a core's L2 cache between the matrix product and the finish: 64 x 1024 float32 are 256
# KiB. Measured at n = 60000, d = 784 (bench/rows.py): 512 to 2048 columns differ by less than the noise.
TILE_VALUES = 2**16
FEWEST_COLUMNS = 1024
MOST_COLUMNS = 4096
GROUP_ROWS = 1024  # left rows that go over the right points together
SUM_ROWS, SUM_COLUMNS = 1024, 1024  # 256 rows would stay in cache, but BLAS makes a quarter more of 1024
OBJECT_ROWS = 256  # rows of a tile where points have no coordinates, hence no opinion


class NotFiniteError(KernelError):
    """A kernel value is NaN or infinite; says which, by the positions of the two points."""

    def __init__(self, kernel: str, row: int, column: int, value: float) -> None:
        super().__init__(
            f"the {kernel} kernel of points {row} and {column} is {value}, expected a finite number. "
            "Look for missing or huge values in these points, or scale the features."
        )
        self.kernel, self.row, self.column, self.value = kernel, row, column, value


def block(
    kernel: Kernel,
    left: Points,
    right: Points,
    *,
    out: Floats | None = None,
    workers: Workers | None = None,
) -> Floats:
    """Compute :math:`K(left_i, right_j)` for all pairs.

    The tiles depend on the sizes alone, so the values are bit for bit the same for any number of threads.

    Parameters
    ----------
    kernel : Kernel
    left, right : Points
    out : ndarray of shape (len(left), len(right)), optional
        Where to write; its rows must be contiguous and its type that of the points.
    workers : Workers, optional
        Threads to spread the tiles over; without them the caller's thread does it all.

    Returns
    -------
    ndarray of shape (len(left), len(right))
        ``out`` if given. All values are finite: others raise NotFiniteError.
    """
    dtype = np.result_type(left.dtype, right.dtype)
    shape = (len(left), len(right))
    if out is None:
        out = np.empty(shape, dtype)
    elif out.shape != shape or out.dtype != dtype:
        raise ValueError(f"out must have shape {shape} and type {dtype}, got {out.shape} and {out.dtype}.")
    if 0 in shape:
        return out
    threads = workers if workers is not None and kernel.reentrant else Workers()
    for start in range(0, len(left), GROUP_ROWS):  # what tiles keep for reuse is let go after each group
        stop = min(start + GROUP_ROWS, len(left))
        _fill(kernel, left.slice(start, stop), right, out[start:stop], threads, start)
    return out


def _fill(kernel: Kernel, left: Points, right: Points, out: Floats, threads: Workers, offset: int) -> None:
    tiles = _left_tiles(left)
    columns = tile_columns(tiles[0][1])

    def compute(start: int) -> None:
        stop = min(start + columns, len(right))
        part = right.slice(start, stop)
        for first, last, rows in tiles:  # one right tile meets all left ones while it is in cache
            tile = out[first:last, start:stop]
            kernel.fill(rows, part, tile)
            require_finite(tile, kernel.name, offset + first, start)

    threads.run(compute, range(0, len(right), columns))


def combinations(
    kernel: Kernel, points: Points, support: Points, coefficients: NDArray[np.float64], workers: Workers
) -> NDArray[np.float64]:
    """Values of k functions, given by their (k, support) coefficients, at m points: shape (m, k).

    Computed tile by tile: the m × support kernel matrix is never held. A float32 kernel value is multiplied in
    float32 and summed in float64 over the tiles. Values that are not finite are the caller's to find.
    """
    values = np.empty((len(points), len(coefficients)))
    dtype = np.result_type(points.dtype, support.dtype)
    extreme = np.abs(coefficients).max(initial=0.0) > 1e30 or np.abs(coefficients).max(initial=1.0) < 1e-30
    factors = np.ascontiguousarray(coefficients.T, dtype=np.float64 if extreme else dtype)
    support = kernel.prepared(support)

    def evaluate(start: int) -> None:
        left = kernel.prepared(points.slice(start, min(start + SUM_ROWS, len(points))))
        sums = np.zeros((len(left), len(coefficients)))
        tile = np.empty((len(left), SUM_COLUMNS), dtype=dtype)
        for first in range(0, len(support), SUM_COLUMNS):
            right = support.slice(first, min(first + SUM_COLUMNS, len(support)))
            out = tile[:, : len(right)]
            kernel.fill(left, right, out)
            with np.errstate(over="ignore", invalid="ignore"):  # looked for by the caller
                sums += out @ factors[first : first + len(right)]
        values[start : start + len(left)] = sums

    (workers if kernel.reentrant else Workers()).run(evaluate, range(0, len(points), SUM_ROWS))
    return values


def require_finite(tile: Floats, kernel: str, row: int, column: int) -> None:
    """Raise NotFiniteError if a value of the tile that begins at this row and column is NaN or infinite."""
    with np.errstate(over="ignore", invalid="ignore"):
        # NaN and infinity show in a row's sum; BLAS takes it four times faster than tile.sum().
        if np.isfinite(tile @ np.ones(tile.shape[1], tile.dtype)).all():
            return
    finite = np.isfinite(tile)
    if not finite.all():
        i, j = (int(axis[0]) for axis in np.nonzero(~finite))
        raise NotFiniteError(kernel, row + i, column + j, float(tile[i, j]))


def tile_columns(rows: int) -> int:
    """How many right points a tile has that has ``rows`` left points."""
    return min(MOST_COLUMNS, max(FEWEST_COLUMNS, TILE_VALUES // rows))


def _left_tiles(left: Points) -> list[tuple[int, int, Points]]:
    step = left.tile_rows if isinstance(left, Vectors) else OBJECT_ROWS
    if len(left) <= step:
        return [(0, len(left), left)]
    return [
        (start, min(start + step, len(left)), left.slice(start, min(start + step, len(left))))
        for start in range(0, len(left), step)
    ]
