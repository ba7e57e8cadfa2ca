"""From what users pass to points, and from one form of points to another."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from slackwater.points.base import ObjectPoints, Points
from slackwater.points.dense import DensePoints
from slackwater.points.sparse import SparsePoints

# Rows with an entry in every tenth column take as long sparse as dense where entries are evenly spread, and longer
# where a few columns have most of them. So from every 20th on they are dense, if that takes little memory.
DENSE_COLUMNS_AN_ENTRY = 20
MAX_DENSE_BYTES = 2**28


def quicker_form(points: Points) -> Points:
    """The same points, dense where sparse products would take longer."""
    if not isinstance(points, SparsePoints):
        return points
    start, stop = points.extent
    columns = points.n_features * len(points)
    few_entries = columns > DENSE_COLUMNS_AN_ENTRY * (stop - start)
    if few_entries or columns * points.dtype.itemsize > MAX_DENSE_BYTES:
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
