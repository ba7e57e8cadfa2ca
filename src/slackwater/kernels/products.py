"""Inner products and L1 distances of two sets of rows, dense or sparse in any combination.

Everything is computed in the type of ``out``, in the caller's thread, and written straight into ``out``.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from slackwater.points.base import Floats, Vectors
from slackwater.points.sparse import SparsePoints

# Values of a sparse side made dense at a time, where the other side is dense.
DENSE_CHUNK = 2**19


def inner_products(left: Vectors, right: Vectors, out: Floats) -> None:
    """Write :math:`\\langle left_i, right_j\\rangle` into ``out[i, j]``."""
    # Values that are not finite are found and named by whoever asked for the block.
    with np.errstate(over="ignore", invalid="ignore"):
        _dispatch(left, right, out, _dense_products, _sparse_products)


def l1_distances(left: Vectors, right: Vectors, out: Floats) -> None:
    """Write :math:`\\sum_k |left_{ik} - right_{jk}|` into ``out[i, j]``."""
    _dispatch(left, right, out, _dense_l1, _sparse_l1)


def flatten(block: Floats) -> tuple[Floats, int]:
    """View the memory spanned by ``block`` as one flat array; also return the distance between two rows."""
    rows, columns = block.shape
    size = block.itemsize
    if columns > 1 and block.strides[1] != size:
        raise ValueError("the rows of a block of kernel values must be contiguous; pass a C-ordered array.")
    stride = block.strides[0] // size if rows > 1 else columns
    span = (rows - 1) * stride + columns
    return np.lib.stride_tricks.as_strided(block, shape=(span,), strides=(size,)), stride


def _dispatch(
    left: Vectors,
    right: Vectors,
    out: Floats,
    dense: Callable[[Floats, Floats, Floats], None],
    sparse: Callable[[SparsePoints, SparsePoints, Floats], None],
) -> None:
    if isinstance(left, SparsePoints) and isinstance(right, SparsePoints):
        first = 0
        for part in left.parts():
            sparse(part, right, out[first : first + len(part)])
            first += len(part)
    elif isinstance(left, SparsePoints):
        for start, stop in _chunks(left):
            chunk = left.slice(start, stop).dense(out.dtype)
            dense(chunk, right.dense(out.dtype), out[start:stop])
    elif isinstance(right, SparsePoints):
        for start, stop in _chunks(right):
            chunk = right.slice(start, stop).dense(out.dtype)
            dense(left.dense(out.dtype), chunk, out[:, start:stop])
    else:
        dense(left.dense(out.dtype), right.dense(out.dtype), out)


def _chunks(points: Vectors) -> list[tuple[int, int]]:
    step = max(1, DENSE_CHUNK // max(1, points.n_features))
    return [(start, min(start + step, len(points))) for start in range(0, len(points), step)]


def _dense_products(left: Floats, right: Floats, out: Floats) -> None:
    np.matmul(left, right.T, out=out)


def _sparse_products(left: SparsePoints, right: SparsePoints, out: Floats) -> None:
    from slackwater.kernels import _loops

    _loops.sparse_products(right.indptr, right.indices, right.data, *left.columns, len(left), *flatten(out))


def _dense_l1(left: Floats, right: Floats, out: Floats) -> None:
    from slackwater.kernels import _loops

    _loops.dense_l1_distances(left, right, *flatten(out))


def _sparse_l1(left: SparsePoints, right: SparsePoints, out: Floats) -> None:
    from slackwater.kernels import _loops

    _loops.sparse_l1_distances(right.indptr, right.indices, right.data, *left.columns, len(left), *flatten(out))
