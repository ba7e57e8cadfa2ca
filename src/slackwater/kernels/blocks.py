"""Blocks of kernel values, tile by tile, on several threads."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from slackwater.deadline import Deadline
from slackwater.errors import KernelError
from slackwater.kernels.base import Kernel
from slackwater.kernels.destinations import Destinations
from slackwater.memory import Buffers
from slackwater.points import Floats, Points, SparsePoints, Vectors
from slackwater.workers import Workers

# A tile should stay in cache between the matrix product and the finish, and take long beside the 50 µs that it costs to
# begin one. At n = 28000 with 40 features a value of 70 rows takes 3.9 ns in tiles of 2**16 values, 1.9 ns in tiles of
# 2**18; with 784 features they differ by less than the noise.
TILE_VALUES = 2**18
MIN_COLUMNS = 1024
MAX_COLUMNS = 4096
MIN_ROWS = 128
GROUP_ROWS = 1024  # left rows that go over the right points together
MIN_COLUMNS_WRITTEN, PARTS_WRITTEN = 1024, 16  # right points whose columns a thread writes, of so many parts or fewer
SUM_ROWS, SUM_COLUMNS = 1024, 1024  # 256 rows would stay in cache, but BLAS makes a quarter more of 1024
SPARSE_SUM_ROWS = 256  # here it does not matter to BLAS
COLUMNS_BYTES = 2**26  # of sparse support vectors by columns, at a time
OBJECT_ROWS = 256  # rows of a tile where points have no coordinates, hence no opinion

Tile = tuple[int, Points]  # the position of its first point, and the points
ComputeTile = Callable[[Points, Points, int, int], None]  # left, right, first row, first column


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
    target = out

    def compute(rows: Points, columns: Points, first: int, start: int) -> None:
        tile = target[first : first + len(rows), start : start + len(columns)]
        kernel.fill(rows, columns, tile)
        require_finite(tile, kernel.name, first, start)

    _each_tile(kernel, left, right, compute, workers)
    return out


def hand_over(
    kernel: Kernel, left: Points, right: Points, take: Callable[[int, int, Floats], None], workers: Workers
) -> None:
    """Compute as ``block`` does, but give each tile away while it is in cache: ``take(row, column, tile)``.

    The tile begins at that row and column; its memory is used again afterwards. Several threads call at once.
    """
    buffers = Buffers(np.result_type(left.dtype, right.dtype))

    def compute(rows: Points, columns: Points, first: int, start: int) -> None:
        with buffers.lent(len(rows), len(columns)) as tile:
            kernel.fill(rows, columns, tile)
            require_finite(tile, kernel.name, first, start)
            take(first, start, tile)

    _each_tile(kernel, left, right, compute, workers)


def write(kernel: Kernel, left: Vectors, right: Vectors, to: Destinations, workers: Workers) -> None:
    """Have a kernel write all values where they are kept, without a tile in between; the right points are shared."""
    size = _evenly(len(right), max(MIN_COLUMNS_WRITTEN, len(right) // PARTS_WRITTEN), 1)
    parts = _tiles(right, 0, len(right), -(-size // right.tile_alignment) * right.tile_alignment)
    groups = _tiles(left, 0, len(left), left.tile_rows)

    def compute(rows: Points, columns: Points, first: int, start: int) -> None:
        part = to.part(first, first + len(rows), start)
        kernel.write(cast("Vectors", rows), cast("Vectors", columns), part)

    workers.run(partial(_meet, compute, groups, workers.deadline), parts)


def _each_tile(
    kernel: Kernel,
    left: Points,
    right: Points,
    compute: ComputeTile,
    workers: Workers | None,
) -> None:
    """Call ``compute`` with the left points, the right points, the first row and the first column of every tile."""
    given = workers or Workers()
    threads, deadline = given if kernel.reentrant else given.alone(), given.deadline
    one_tile = len(right) <= MIN_COLUMNS  # so that threads have only the groups to share
    rows = _evenly(len(left), GROUP_ROWS, MIN_ROWS) if one_tile else GROUP_ROWS
    offsets, size = range(0, len(left), rows), _tile_rows(left)

    def group(offset: int) -> list[Tile]:
        return _tiles(left, offset, min(offset + rows, len(left)), size)

    if len(right) == 0:
        return
    if one_tile:
        threads.run(lambda offset: _meet(compute, group(offset), deadline, (0, right)), offsets)
        return
    for offset in offsets:  # what tiles keep for reuse is let go after each group
        tiles = group(offset)
        columns = _tiles(right, 0, len(right), _tile_columns(len(tiles[0][1]), len(right)))
        threads.run(partial(_meet, compute, tiles, deadline), columns)


def _meet(compute: ComputeTile, group: list[Tile], deadline: Deadline, column: Tile) -> None:
    """One right tile meets all left ones of a group while it is in cache."""
    start, right = column
    for first, left in group:
        deadline.check()
        compute(left, right, first, start)


class Factors(Protocol):
    """The coefficients of some functions, as tiles of kernel values are multiplied by them."""

    @property
    def functions(self) -> int:
        """How many there are."""

    def add_to(self, sums: NDArray[np.float64], tile: Floats, first: int) -> None:
        """Add what support vectors from ``first`` on contribute: ``tile`` has their values, a row for each point."""


@dataclass(frozen=True)
class DenseFactors:
    """Every function has a coefficient for every support vector: shape (support, functions)."""

    factors: Floats

    @property
    def functions(self) -> int:
        """As many as there are columns."""
        return int(self.factors.shape[1])

    def add_to(self, sums: NDArray[np.float64], tile: Floats, first: int) -> None:
        """By one product."""
        sums += tile @ self.factors[first : first + tile.shape[1]]


def in_type_of_values(coefficients: NDArray[np.float64], dtype: np.dtype[Any]) -> Floats:
    """Coefficients, turned, in the type of the kernel values, unless they are beyond single precision."""
    largest = np.abs(coefficients).max(initial=0.0)
    extreme = largest > 1e30 or 0.0 < largest < 1e-30
    return np.ascontiguousarray(coefficients.T, dtype=np.float64 if extreme else dtype)


def combinations(
    kernel: Kernel, points: Points, support: Points, coefficients: NDArray[np.float64] | Factors, workers: Workers
) -> NDArray[np.float64]:
    """Values of k functions, given by their (k, support) coefficients, at m points: shape (m, k).

    Computed tile by tile: the m × support kernel matrix is never held. A float32 kernel value is multiplied in
    float32 and summed in float64 over the tiles. Values that are not finite are the caller's to find.
    """
    dtype = np.result_type(points.dtype, support.dtype)
    if isinstance(coefficients, np.ndarray):
        factors: Factors = DenseFactors(in_type_of_values(coefficients, dtype))
    else:
        factors = coefficients
    values = np.empty((len(points), factors.functions))
    support = kernel.prepared(support)
    some = kernel.prepared(points.slice(0, min(SUM_ROWS, len(points))))
    if kernel.reentrant and isinstance(support, SparsePoints) and isinstance(some, SparsePoints):
        return _sparse_combinations(kernel, points, support, factors, workers)

    buffers = Buffers(dtype)

    def evaluate(start: int) -> None:
        left = kernel.prepared(points.slice(start, min(start + SUM_ROWS, len(points))))
        sums = np.zeros((factors.functions, len(left))).T  # one function after the other
        with buffers.lent(len(left), SUM_COLUMNS) as tile:
            for first in range(0, len(support), SUM_COLUMNS):
                workers.deadline.check()
                right = support.slice(first, min(first + SUM_COLUMNS, len(support)))
                out = tile[:, : len(right)]
                kernel.fill(left, right, out)
                with np.errstate(over="ignore", invalid="ignore"):  # looked for by the caller
                    factors.add_to(sums, out, first)
        values[start : start + len(left)] = sums

    (workers if kernel.reentrant else workers.alone()).run(evaluate, range(0, len(points), SUM_ROWS))
    return values


def _sparse_combinations(
    kernel: Kernel, points: Points, support: SparsePoints, factors: Factors, workers: Workers
) -> NDArray[np.float64]:
    """The same for sparse rows: support vectors are turned to columns once for all points, as many as fit in memory."""
    values, dtype = np.zeros((len(points), factors.functions)), np.result_type(points.dtype, support.dtype)
    together = max(1, COLUMNS_BYTES // support.columns_bytes) * support.tile_rows
    for offset in range(0, len(support), together):
        last = min(offset + together, len(support))
        tiles = _tiles(support, offset, last, support.tile_rows)

        def evaluate(start: int, tiles: list[Tile] = tiles) -> None:
            right = points.slice(start, min(start + SPARSE_SUM_ROWS, len(points)))
            for first, left in tiles:
                workers.deadline.check()
                out = np.empty((len(left), len(right)), dtype)
                kernel.fill(left, right, out)
                with np.errstate(over="ignore", invalid="ignore"):  # looked for by the caller
                    factors.add_to(values[start : start + len(right)], out.T, first)

        workers.run(evaluate, range(0, len(points), SPARSE_SUM_ROWS))
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


def _tile_columns(rows: int, n: int) -> int:
    """How many of n right points a tile has that has ``rows`` left points, for an even number of tiles."""
    return _evenly(n, min(MAX_COLUMNS, max(MIN_COLUMNS, TILE_VALUES // rows)), 1)


def _evenly(n: int, most: int, least: int) -> int:
    """The size of parts of n, at most so large, for an even number of them; unless they would be too small."""
    return max(least, math.ceil(n / (2 * math.ceil(n / most / 2)))) if n else least


def _tile_rows(left: Points) -> int:
    return left.tile_rows if isinstance(left, Vectors) else OBJECT_ROWS


def _tiles(points: Points, first: int, last: int, size: int) -> list[Tile]:
    """Some of the points, so many at a time."""
    return [(start, points.slice(start, min(start + size, last))) for start in range(first, last, size)]
