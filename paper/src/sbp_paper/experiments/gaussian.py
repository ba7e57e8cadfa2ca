r"""The Gaussian kernel in plain NumPy, for what is computed beside the methods that are compared.

.. math:: K(x, z) = \exp(-\gamma \|x - z\|^2)

Values have the precision of the points. A tile of them fits in a core's cache; tiles are distributed over threads.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from threadpoolctl import threadpool_limits

from sbp_paper.experiments.machine import thread_count

Floats = NDArray[np.floating[Any]]

_TILE = 2**20  # values
_NARROW = 1000  # features up to which products of dense rows are quicker than those of sparse ones


@dataclass(frozen=True)
class _Points:
    rows: Any  # dense or CSR
    squared_norms: Floats

    @staticmethod
    def of(X: Any) -> _Points:
        if sparse.issparse(X):
            X = X.toarray() if X.shape[1] <= _NARROW else X.tocsr()
        squares = X.multiply(X).sum(axis=1) if sparse.issparse(X) else np.einsum("ij,ij->i", X, X, dtype=np.float64)
        return _Points(X, np.asarray(squares).ravel().astype(X.dtype))

    def __getitem__(self, part: slice) -> _Points:
        return _Points(self.rows[part], self.squared_norms[part])

    def __len__(self) -> int:
        return len(self.squared_norms)


def kernel_matrix(X: Any, gamma: float) -> Floats:
    """K(X, X); its diagonal is 1, as by formula."""
    points = _Points.of(X)
    values = np.empty((len(points), len(points)), points.squared_norms.dtype)

    def fill(part: slice) -> None:
        values[part] = _tile(points[part], points, gamma)

    _over_rows(fill, len(points), len(points))
    np.fill_diagonal(values, 1.0)
    return values


def combinations(X: Any, Z: Any, coefficients: NDArray[np.float64], gamma: float) -> NDArray[np.float64]:
    """K(X, Z) @ coefficients.T for (k, len(Z)) coefficients: the values of k functions at the rows of X."""
    left, right = _Points.of(X), _Points.of(Z)
    values = np.zeros((len(left), len(coefficients)))

    def fill(part: slice) -> None:
        values[part] = _tile(left[part], right, gamma) @ coefficients.T

    _over_rows(fill, len(left), len(right))
    return values


def _tile(left: _Points, right: _Points, gamma: float) -> Floats:
    products = left.rows @ right.rows.T
    values: Floats = products.toarray() if sparse.issparse(products) else products
    values *= 2.0
    values -= left.squared_norms[:, None]
    values -= right.squared_norms
    np.minimum(values, 0.0, out=values)  # rounding may leave a negative squared distance
    values *= gamma
    np.exp(values, out=values)
    return values


def _over_rows(fill: Callable[[slice], None], n: int, width: int) -> None:
    height = max(1, _TILE // max(width, 1))
    parts = [slice(start, start + height) for start in range(0, n, height)]
    threads = thread_count()
    with threadpool_limits(1), ThreadPoolExecutor(threads) as pool:  # a thread a tile, and none of BLAS beside them
        list(pool.map(fill, parts))
