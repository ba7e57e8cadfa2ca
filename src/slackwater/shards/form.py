"""The form in which all shards keep their points, so that kernel values of one shard's with another's can be computed.

It is chosen once, from a sample of all shards. Rows travel in it, too: whole numbers on a grid as bytes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from slackwater.gram import precision
from slackwater.gram.features import Features
from slackwater.gram.ledger import EvaluationLedger
from slackwater.kernels.base import Kernel
from slackwater.points import DensePoints, Floats, Grid, GridPoints, Points, SparsePoints, as_points, in_double
from slackwater.points.grid import place_on
from slackwater.workers import Workers

Packed = tuple[Any, ...]  # arrays, or one CSR matrix, with a row for each point


@dataclass(frozen=True)
class Form:
    """How rows of numbers become points."""

    sparse: bool
    values: str  # type of kernel values
    coordinates: str
    origin: NDArray[np.float64] | None = None
    grid: Grid | None = None

    def points(self, X: Any, workers: Workers) -> Points | None:
        """Rows of the user's data in this form; None if they are off its grid."""
        if self.sparse:
            return self._typed(as_points(sparse.csr_matrix(X)))
        points = self.dense_points(X)
        return points if self.grid is None else place_on(self.grid, points, workers)

    def dense_points(self, X: Any) -> DensePoints:
        """Rows that are not on the grid yet; no copy in double precision is made on the way."""
        rows = X.toarray() if sparse.issparse(X) else np.asarray(X)
        if self.origin is None:
            return self._dense(np.ascontiguousarray(rows, dtype=self.coordinates))
        shifted = np.empty(rows.shape, dtype=self.coordinates)
        np.subtract(rows, self.origin, out=shifted, casting="same_kind")
        return self._dense(shifted)

    def unpacked(self, packed: Packed) -> Points:
        """Points that have travelled."""
        if self.sparse:
            return self._typed(as_points(packed[0]))
        return self._dense(packed[0]) if self.grid is None else GridPoints(packed[0], self.grid, packed[1], packed[2])

    @property
    def bytes_a_coordinate(self) -> int:
        """Of points in memory, about; sparse ones take less."""
        return 1 if self.grid is not None else np.dtype(self.coordinates).itemsize

    def without_grid(self) -> Form:
        return replace(self, grid=None)

    def _dense(self, rows: Floats) -> DensePoints:
        return DensePoints(rows, dtype=np.dtype(self.values))

    def _typed(self, points: Points) -> Points:
        if self.values == "float64":
            return in_double(points)
        if isinstance(points, SparsePoints) and points.dtype != np.float32:
            return SparsePoints(points.indptr, points.indices, points.data.astype(np.float32), points.n_features)
        return points


def packed(points: Points) -> Packed:
    """Points as they travel."""
    if isinstance(points, GridPoints):
        return points.codes, points.own, points.others
    if isinstance(points, DensePoints):
        return (points.values,)
    return (points.raw,)


def joined(parts: list[Packed]) -> Packed:
    """Points of several messages, one behind the other."""
    stack = sparse.vstack if sparse.issparse(parts[0][0]) else np.concatenate
    return tuple(stack(columns) for columns in zip(*parts, strict=True))


def choose_form(sample: Any, kernel: Kernel, norm: float, tol: float, stated: bool, workers: Workers) -> Form:
    """The form that the single machine would give these rows.

    ``norm`` is the most that the norm of the coefficients can be; ``stated`` says that the user asks for a tolerance,
    for which kernel values are as precise as the data.
    """
    points = kernel.prepared(as_points(sample))
    origin = kernel.better_origin(points) if isinstance(points, DensePoints) else None
    if origin is not None and isinstance(points, DensePoints):
        points = DensePoints(np.ascontiguousarray(points.values - origin, dtype=points.values.dtype))
    names = np.arange(len(points))
    features = Features(kernel, points, EvaluationLedger(), workers, 0, 0, names)
    share = norm * (1.0 if points.dtype != np.float32 else kernel.largest_value(points))
    if stated or precision.calls_for_double(share):
        placed = precision.as_given(features, share).points
    else:
        placed = precision.precise_enough(features, norm, tol).points
    values = placed.dtype.name
    if isinstance(placed, GridPoints):
        return Form(False, values, "float32", origin, placed.grid)
    if isinstance(placed, DensePoints):
        return Form(False, values, placed.values.dtype.name, origin)
    return Form(True, values, values)
