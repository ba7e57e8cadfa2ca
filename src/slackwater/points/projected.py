"""Points compressed to fewer or shorter coordinates, with nearly the distances of the originals.

Points are projected on leading principal axes and their squared norms kept exactly. The error of a squared distance is
then twice the inner product of what two points have outside of these axes: small for points that are not close to each
other, and of either sign. The coordinates can be quantised to two bytes on top.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from slackwater.memory import rows_of, untouched
from slackwater.points.base import Indices, Vectors
from slackwater.points.dense import DensePoints
from slackwater.points.grid import Grid, GridPoints
from slackwater.points.norms import SquaredNorms
from slackwater.workers import Workers

_MIN_FEATURES = 65  # with fewer, there is nothing to save
_MAX_SAMPLE_BEYOND = 1024  # points, where there are more features: eigenvectors take the cube of that
_CHUNK_BYTES = 2**23  # of points that a thread projects at a time
_MAX_STEPS_APART = 45000  # its square fits into 31 bits
_RELATIVE_EIGENVALUE = 1e-5  # axes with less variance than this share of the largest are dropped


@dataclass(frozen=True)
class Axes:
    """Principal axes of a sample, by decreasing variance."""

    centre: NDArray[Any]
    directions: NDArray[Any]  # (features, axes)
    left_out: NDArray[np.float64]  # squared mean distance of other points from the span of the first 0, 1, ... axes

    @property
    def share(self) -> float:
        """Axes per feature."""
        return int(self.directions.shape[1]) / len(self.centre)

    def fit_into(self, n_bytes: int, n_points: int) -> bool:
        """Whether the coordinates of so many points do."""
        return n_points * int(self.directions.shape[1]) * self.directions.itemsize <= n_bytes

    def leaving(self, most: float) -> Axes | None:
        """The fewest leading axes that leave out at most so much; None if all of them leave more."""
        enough = np.flatnonzero(self.left_out <= most)
        if len(enough) == 0:
            return None
        count = max(int(enough[0]), 1)
        return Axes(self.centre, np.ascontiguousarray(self.directions[:, :count]), self.left_out[: count + 1])


class ProjectedPoints:
    """Coordinates along axes, with squared distances from the centre for norms.

    A point is projected when it is first asked for.
    """

    RELATIVE_COST: ClassVar[float] = 1.0  # of a coordinate, compared with one in single precision

    def __init__(self, points: DensePoints, axes: Axes, workers: Workers) -> None:
        self._points, self._axes, self._workers = points, axes, workers
        self._chunk = max(1, _CHUNK_BYTES // (points.n_features * points.values.itemsize))
        self._coordinates = self._room(axes.directions.shape[1])
        self._norms = np.zeros(len(points))
        self._known = np.zeros(len(points), dtype=bool)

    def all(self) -> Vectors:
        """All of the points."""
        self._project(np.arange(len(self._points)))
        return self._as_points(self._coordinates, self._norms)

    def part(self, indices: Indices) -> Vectors:
        """Some of the points."""
        self._project(indices)
        return self._as_points(rows_of(self._coordinates, indices), self._norms[indices])

    def _project(self, indices: Indices) -> None:
        wanted = indices[~self._known[indices]]

        def project(start: int) -> None:
            some = wanted[start : start + self._chunk]
            shifted = self._points.values[some]
            shifted -= self._axes.centre
            self._coordinates[some] = self._stored(shifted @ self._axes.directions)
            self._norms[some] = np.einsum("ij,ij->i", shifted, shifted, dtype=np.float64)

        self._workers.run(project, range(0, len(wanted), self._chunk))
        self._known[wanted] = True

    def _room(self, axes: int) -> NDArray[Any]:
        return untouched((len(self._points), axes), self._points.values.dtype)

    def _stored(self, coordinates: NDArray[Any]) -> NDArray[Any]:
        return coordinates

    def _as_points(self, coordinates: NDArray[Any], norms: NDArray[np.float64]) -> Vectors:
        return DensePoints(coordinates, SquaredNorms.of(norms), self._points.dtype, projected=True)


class QuantisedPoints(ProjectedPoints):
    """The same, with coordinates rounded to two bytes: the finest grid on which squared distances fit into 31 bits."""

    RELATIVE_COST = 0.5

    def __init__(self, points: DensePoints, axes: Axes, workers: Workers) -> None:
        super().__init__(points, axes, workers)
        largest = max(workers.run(self._largest_squared_norm, range(0, len(points), self._chunk)))
        step = 2.0 * math.sqrt(max(largest, 1e-30)) / _MAX_STEPS_APART
        self._grid = Grid(np.zeros(axes.directions.shape[1]), step)

    def _largest_squared_norm(self, start: int) -> float:
        """Of some of the points, seen from the centre."""
        shifted = self._points.values[start : start + self._chunk] - self._axes.centre
        return float(np.einsum("ij,ij->i", shifted, shifted, dtype=np.float64).max())

    def _room(self, axes: int) -> NDArray[np.int16]:
        return untouched((len(self._points), axes + axes % 2), np.int16)  # two to a word

    def _stored(self, coordinates: NDArray[Any]) -> NDArray[Any]:
        codes = np.rint(coordinates / self._grid.step)
        return codes if codes.shape[1] % 2 == 0 else np.pad(codes, ((0, 0), (0, 1)))

    def _as_points(self, coordinates: NDArray[Any], norms: NDArray[np.float64]) -> Vectors:
        squares = np.rint(norms / self._grid.step**2).astype(np.int32)
        return GridPoints(coordinates, self._grid, squares, squares)


def principal_axes(points: DensePoints, sample: Indices, others: Indices) -> Axes | None:
    """The principal axes of a sample, and what they leave out of other points; None if there is nothing to save."""
    if points.n_features < _MIN_FEATURES:
        return None
    chosen = points.values[sample if points.n_features <= _MAX_SAMPLE_BEYOND else sample[:_MAX_SAMPLE_BEYOND]]
    centre = chosen.mean(axis=0)
    chosen -= centre
    directions = _directions(chosen)
    if directions.shape[1] == 0:  # all points are equal
        return None
    judged = points.values[others] - centre
    norms = np.einsum("ij,ij->i", judged, judged, dtype=np.float64)
    reached = np.cumsum(np.square(judged @ directions, dtype=np.float64), axis=1)
    outside = np.maximum(norms[:, None] - np.pad(reached, ((0, 0), (1, 0))), 0.0)
    return Axes(centre, directions, np.square(np.sqrt(outside).mean(axis=0)))


def _directions(centred: NDArray[Any]) -> NDArray[Any]:
    """Eigenvectors of the scatter matrix; of fewer points than features, from their inner products."""
    n, d = centred.shape
    if d <= n:
        return np.asarray(np.linalg.eigh(centred.T @ centred)[1][:, ::-1])
    variances, mixtures = np.linalg.eigh(centred @ centred.T)
    kept = variances > _RELATIVE_EIGENVALUE * variances[-1]
    return np.asarray((centred.T @ (mixtures[:, kept] / np.sqrt(variances[kept])))[:, ::-1])
