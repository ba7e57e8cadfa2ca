"""Sparse points: the rows of a CSR matrix, and the columns of a few of them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from slackwater.points.base import Floats, Indices, Vectors
from slackwater.points.norms import SquaredNorms

MAX_ROWS_TOGETHER = 2048  # sparse rows that are transposed together,
MAX_ENTRIES_TOGETHER = 2**18  # with so many entries, which stay in cache
KEPT_PARTS = 4  # parts of sparse rows that one object may hold in memory by columns, too


class SparsePoints(Vectors):
    """Rows of a canonical CSR matrix.

    ``indptr`` of a slice does not start at 0: it points into the data of the whole, which is not copied.
    """

    def __init__(
        self,
        indptr: NDArray[np.int64],
        indices: Indices,
        data: Floats,
        n_features: int,
        norms: SquaredNorms | None = None,
    ) -> None:
        self.indptr, self.indices, self.data = indptr, indices, data
        self.dtype = data.dtype
        self.n_features = n_features
        self._norms = norms if norms is not None else SquaredNorms(partial(_norms_of, indptr, data))

    def __len__(self) -> int:
        return self.indptr.size - 1

    @property
    def extent(self) -> tuple[int, int]:
        """Where the entries of these rows begin and end in ``indices`` and ``data``."""
        return int(self.indptr[0]), int(self.indptr[-1])

    @property
    def tile_rows(self) -> int:  # type: ignore[override]
        """Rows with about MAX_ENTRIES_TOGETHER entries together."""
        return max(1, min(MAX_ROWS_TOGETHER, int(MAX_ENTRIES_TOGETHER / self._entries_a_row)))

    @property
    def columns_bytes(self) -> int:
        """Memory that the columns of ``tile_rows`` of these rows take, about."""
        return 4 * self.n_features + math.ceil(self._entries_a_row * self.tile_rows) * (4 + self.dtype.itemsize)

    @property
    def _entries_a_row(self) -> float:
        start, stop = self.extent
        return max(1.0, (stop - start) / max(1, len(self)))

    def take(self, indices: Indices) -> SparsePoints:
        starts, counts = self.indptr[:-1][indices], np.diff(self.indptr)[indices]
        indptr = np.concatenate(([0], np.cumsum(counts)))
        entries = np.arange(indptr[-1]) + np.repeat(starts - indptr[:-1], counts)
        points = SparsePoints(indptr, self.indices[entries], self.data[entries], self.n_features)
        points._norms = self._norms.take(indices, points._norms)
        return points

    def slice(self, start: int, stop: int) -> SparsePoints:
        norms = self._norms.slice(start, stop)
        return SparsePoints(self.indptr[start : stop + 1], self.indices, self.data, self.n_features, norms)

    @property
    def raw(self) -> scipy.sparse.csr_matrix:
        start, stop = self.extent
        parts = (self.data[start:stop], self.indices[start:stop], self.indptr - start)
        return scipy.sparse.csr_matrix(parts, shape=(len(self), self.n_features), copy=False)

    def dense(self, dtype: np.dtype[Any]) -> Floats:
        start, stop = self.extent
        values = np.zeros((len(self), self.n_features), dtype)
        rows = np.repeat(np.arange(len(self)), np.diff(self.indptr))
        values[rows, self.indices[start:stop]] = self.data[start:stop]
        return values

    @cached_property
    def _few_parts(self) -> list[SparsePoints]:
        return list(self._cut())

    def parts(self) -> Iterable[SparsePoints]:
        """These rows in parts of at most ``tile_rows``; kept, with their columns, only where they are few."""
        return self._few_parts if len(self) <= KEPT_PARTS * self.tile_rows else self._cut()

    def _cut(self) -> Iterator[SparsePoints]:
        step = self.tile_rows
        return (self.slice(first, min(first + step, len(self))) for first in range(0, len(self), step))

    @cached_property
    def columns(self) -> Columns:
        """The entries column by column; kept, since one block asks for them once a tile."""
        turned = self.raw.tocsc()
        return Columns(turned.indptr.astype(np.int32, copy=False), turned.indices.astype(np.uint32), turned.data)


def _norms_of(indptr: NDArray[np.int64], data: Floats) -> NDArray[np.float64]:
    from slackwater.points import _loops

    return _loops.sparse_squared_norms(indptr, data)


class Columns(NamedTuple):
    """The entries of a few sparse rows, column by column."""

    starts: NDArray[np.int32]  # where the entries of each column begin, and the last ones end
    rows: NDArray[np.uint32]  # of each entry; compiled loops would ask whether a number with a sign is negative
    values: Floats
