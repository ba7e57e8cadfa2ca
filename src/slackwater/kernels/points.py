"""One data set as kernels see it: dense rows, sparse rows, or any objects at all.

Rows can be selected (``take``, a copy) and cut out (``slice``, a view). What was once computed for a row, its
squared norm, goes along with it.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple, cast

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from slackwater.kernels.norms import SquaredNorms
from slackwater.memory import rows_of, untouched

Floats = NDArray[np.floating[Any]]
Indices = NDArray[np.integer[Any]]

# Rows with an entry in every tenth column take as long sparse as dense where entries are evenly spread, and longer
# where a few columns have most of them. So from every 20th on they are dense, if that takes little memory.
DENSE_COLUMNS_AN_ENTRY = 20
MOST_DENSE_BYTES = 2**28
MOST_TOGETHER = 2048  # sparse rows that are turned to columns together,
MOST_ENTRIES = 2**18  # with so many entries, which stay in cache
_JUDGED = 4096  # points, by which their middle is judged, and which are moved at a time
KEPT_PARTS = 4  # parts of sparse rows that one object may hold in memory by columns, too


class Points(ABC):
    """A sequence of points, each an argument for a kernel.

    Attributes
    ----------
    dtype : numpy dtype
        Type of the kernel values of these points: float32 if the data are float32, else float64.
    """

    dtype: np.dtype[Any] = np.dtype(np.float64)

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def take(self, indices: Indices) -> Points:
        """Copy the points at ``indices``, in that order."""

    @abstractmethod
    def slice(self, start: int, stop: int) -> Points:
        """Cut out points ``start`` to ``stop`` without copying data."""

    @property
    @abstractmethod
    def raw(self) -> Any:
        """The points as a user's callable expects them: an array, a CSR matrix, a list."""


class Vectors(Points):
    """Points with coordinates."""

    n_features: int
    tile_rows: int  # how many of these rows, as the left side of a product, make good use of the cache
    _norms: SquaredNorms

    @property
    def squared_norms(self) -> NDArray[np.float64]:
        """:math:`\\|x_i\\|^2` of every row; float64 whatever the data are."""
        return self._norms.values

    @property
    def largest_squared_norm(self) -> float:
        """Largest squared norm of the set these rows were cut from."""
        return self._norms.largest

    @property
    def effort(self) -> int:
        """As long as so many coordinates in single precision take, a product takes."""
        return self.n_features

    @abstractmethod
    def dense(self, dtype: np.dtype[Any]) -> Floats:
        """The rows as a dense array of that type; not copied where they are one already."""


class DensePoints(Vectors):
    """Rows of a C-contiguous float32 or float64 array, which is not copied; ``dtype`` is by default the array's.

    ``projected`` says that the norms are not those of the coordinates, but of points that had more of them.
    """

    tile_rows = 512

    def __init__(
        self,
        values: Floats,
        norms: SquaredNorms | None = None,
        dtype: np.dtype[Any] | None = None,
        projected: bool = False,
    ) -> None:
        self.values = values
        self.projected = projected
        self.dtype = values.dtype if dtype is None else dtype
        self.n_features = values.shape[1]
        self._norms = norms if norms is not None else SquaredNorms(self._compute_norms)

    def __len__(self) -> int:
        return len(self.values)

    def take(self, indices: Indices) -> DensePoints:
        points = DensePoints(rows_of(self.values, indices), dtype=self.dtype, projected=self.projected)
        points._norms = self._norms.take(indices, points._compute_norms)
        return points

    def slice(self, start: int, stop: int) -> DensePoints:
        return DensePoints(self.values[start:stop], self._norms.slice(start, stop), self.dtype, self.projected)

    def middle(self) -> NDArray[np.float64]:
        """About the median, in whole numbers of steps so coarse that counts, say, are moved there without error."""
        some = self.values[:: 1 + len(self) // _JUDGED].astype(np.float64)
        median = np.median(some, axis=0)
        spread = np.median(np.abs(some - median), axis=0)
        steps = np.exp2(np.floor(np.log2(np.where(spread > 0.0, spread, 4.0)) - 2.0))
        return np.asarray(np.round(median / steps) * steps)

    def moved(self, origin: NDArray[np.float64]) -> DensePoints | None:
        """The same points, seen from another origin; None where single precision would not have their coordinates."""
        values = untouched(self.values.shape, self.values.dtype)
        exactly = True
        for start in range(0, len(self), _JUDGED):
            chunk = slice(start, start + _JUDGED)
            shifted = self.values[chunk] - origin
            values[chunk] = shifted
            exactly = exactly and (values.dtype == np.float64 or np.array_equal(values[chunk], shifted))
        return DensePoints(values, dtype=self.dtype) if exactly else None

    @property
    def raw(self) -> Floats:
        return self.values

    def dense(self, dtype: np.dtype[Any]) -> Floats:
        return self.values.astype(dtype, copy=False)

    def _compute_norms(self) -> NDArray[np.float64]:
        from slackwater.kernels import _loops

        return _loops.dense_squared_norms(self.values)


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
        self._norms = norms if norms is not None else SquaredNorms(self._compute_norms)

    def __len__(self) -> int:
        return self.indptr.size - 1

    @property
    def extent(self) -> tuple[int, int]:
        """Where the entries of these rows begin and end in ``indices`` and ``data``."""
        return int(self.indptr[0]), int(self.indptr[-1])

    @property
    def tile_rows(self) -> int:  # type: ignore[override]
        """Rows with about MOST_ENTRIES entries together."""
        return max(1, min(MOST_TOGETHER, int(MOST_ENTRIES / self._entries_a_row)))

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
        points._norms = self._norms.take(indices, points._compute_norms)
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

    def _compute_norms(self) -> NDArray[np.float64]:
        from slackwater.kernels import _loops

        return _loops.sparse_squared_norms(self.indptr, self.data)


class Columns(NamedTuple):
    """The entries of a few sparse rows, column by column."""

    starts: NDArray[np.int32]  # where the entries of each column begin, and the last ones end
    rows: NDArray[np.uint32]  # of each entry; compiled loops would ask whether a number with a sign is negative
    values: Floats


class ObjectPoints(Points):
    """Any objects in a sequence: strings, graphs, trees. Only a callable kernel can compare them."""

    def __init__(self, items: Sequence[Any] | NDArray[Any]) -> None:
        self.items = items

    def __len__(self) -> int:
        return len(self.items)

    def take(self, indices: Indices) -> ObjectPoints:
        if isinstance(self.items, np.ndarray):
            return ObjectPoints(self.items[indices])
        return ObjectPoints([self.items[int(i)] for i in indices])

    def slice(self, start: int, stop: int) -> ObjectPoints:
        return ObjectPoints(self.items[start:stop])

    @property
    def raw(self) -> Any:
        return self.items


def quicker_form(points: Points) -> Points:
    """The same points, dense where sparse products would take longer."""
    if not isinstance(points, SparsePoints):
        return points
    start, stop = points.extent
    columns = points.n_features * len(points)
    few_entries = columns > DENSE_COLUMNS_AN_ENTRY * (stop - start)
    if few_entries or columns * points.dtype.itemsize > MOST_DENSE_BYTES:
        return points
    return DensePoints(points.dense(points.dtype), points._norms)


def in_double(points: Points) -> Points:
    """The same points with kernel values in double precision."""
    double = np.dtype(np.float64)
    if isinstance(points, DensePoints) and points.dtype != double:
        return DensePoints(points.dense(double))
    if isinstance(points, SparsePoints) and points.dtype != double:
        return SparsePoints(points.indptr, points.indices, points.data.astype(double), points.n_features)
    return points


def as_points(X: Any) -> Points:
    """Wrap a data set for the kernels.

    Parameters
    ----------
    X : array of shape (n, d), sparse matrix of shape (n, d), or sequence of n objects
        C-contiguous float32 and float64 arrays and canonical CSR matrices are used as they are. Anything that
        is neither sparse nor a numeric array of two dimensions is a sequence of objects.
    """
    if isinstance(X, Points):
        return X
    if scipy.sparse.issparse(X):
        return _sparse_points(X)
    if isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "fiub":
        return DensePoints(np.ascontiguousarray(X, dtype=_value_type(X.dtype)))
    if isinstance(X, np.ndarray) and X.ndim >= 1:
        return ObjectPoints(X)
    if hasattr(X, "__array__") and not isinstance(X, np.ndarray):  # data frames and series
        return as_points(np.asarray(X))
    scalar = isinstance(X, np.ndarray | str | bytes | Mapping)
    if scalar or not hasattr(X, "__len__") or not hasattr(X, "__getitem__"):
        raise TypeError(f"points must be an array, a sparse matrix or a sequence, got {type(X).__name__}.")
    return ObjectPoints(X if isinstance(X, list) else [X[i] for i in range(len(X))])


def _sparse_points(X: Any) -> SparsePoints:
    csr = X.tocsr()
    # A new object over the same arrays: what X remembers of its format may be out of date.
    matrix = scipy.sparse.csr_matrix((csr.data, csr.indices, csr.indptr), shape=csr.shape, copy=False)
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    data = matrix.data.astype(_value_type(matrix.dtype), copy=False)
    indptr = cast("NDArray[np.int64]", matrix.indptr.astype(np.int64, copy=False))
    return SparsePoints(indptr, matrix.indices, data, matrix.shape[1])


def _value_type(dtype: np.dtype[Any]) -> np.dtype[Any]:
    small = dtype.kind == "f" and dtype.itemsize <= 4
    return np.dtype(np.float32 if small else np.float64)
