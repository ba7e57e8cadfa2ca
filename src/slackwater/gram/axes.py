"""Points in fewer coordinates with nearly the kernel values of the originals.

A Gaussian is computed from squared norms and inner products. Points are turned to principal axes and the norms kept
exactly, so that what is lost with the last axes is the inner product of the parts of two points outside of the first.
For points that are not close to each other that is small and as often positive as negative.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from slackwater.gram.features import Features
from slackwater.gram.source import IndexArray
from slackwater.kernels.grid import Grid, GridPoints, grids_pay
from slackwater.kernels.norms import SquaredNorms
from slackwater.kernels.points import DensePoints, Vectors
from slackwater.kernels.radial import Gaussian
from slackwater.memory import rows_of, untouched

SAMPLE = 2048  # points that the axes are found from
JUDGES = 512  # others that say how much the axes leave out
_FEWEST_FEATURES = 65  # below, there is nothing to save
_MOST_FEATURES = 1024  # above, axes are found from so many points, for eigenvectors take the cube of the time
_CHUNK_BYTES = 2**23  # of points that a thread turns at a time
_FARTHEST = 45000  # steps from point to point, whose square fits into 31 bits


@dataclass(frozen=True)
class Axes:
    """Principal axes of a sample, the leading ones first."""

    centre: NDArray[Any]
    directions: NDArray[Any]  # (features, axes)
    left_out: NDArray[np.float64]  # the square of other points' mean distance from the span of no axes, the first, ...

    @property
    def share(self) -> float:
        """How many axes there are, for each feature."""
        return int(self.directions.shape[1]) / len(self.centre)

    def fit_into(self, n_bytes: int, features: Features) -> bool:
        """Whether the coordinates of all points do."""
        return features.n * int(self.directions.shape[1]) * self.directions.itemsize <= n_bytes

    def leaving(self, most: float) -> Axes | None:
        """So many of the axes that they leave out at most so much; None if all of them leave more."""
        enough = np.flatnonzero(self.left_out <= most)
        if len(enough) == 0:
            return None
        count = max(int(enough[0]), 1)
        return Axes(self.centre, np.ascontiguousarray(self.directions[:, :count]), self.left_out[: count + 1])


class Turned:
    """Points in coordinates along some axes, with the squared distances from the centre for norms.

    A point is turned when it is first asked for.
    """

    SHARE: ClassVar[float] = 1.0  # of the time that a coordinate in single precision takes

    def __init__(self, features: Features, axes: Axes) -> None:
        if not isinstance(features.points, DensePoints):
            raise TypeError("axes are for dense points")
        self._features, self._points, self._axes = features, features.points, axes
        self._chunk = max(1, _CHUNK_BYTES // (self._points.n_features * self._points.values.itemsize))
        self._coordinates = self._room(axes.directions.shape[1])
        self._norms = np.zeros(features.n)
        self._known = np.zeros(features.n, dtype=bool)

    def all(self) -> Features:
        """All of the points."""
        self._turn(np.arange(self._features.n))
        return replace(self._features, points=self._as_points(self._coordinates, self._norms))

    def part(self, examples: IndexArray) -> Features:
        """Some of them."""
        self._turn(examples)
        coordinates, norms = rows_of(self._coordinates, examples), self._norms[examples]
        return replace(self._features, points=self._as_points(coordinates, norms), names=self._features.names[examples])

    def _turn(self, examples: IndexArray) -> None:
        wanted = examples[~self._known[examples]]

        def turn(start: int) -> None:
            some = wanted[start : start + self._chunk]
            shifted = self._points.values[some]
            shifted -= self._axes.centre
            self._coordinates[some] = self._kept(shifted @ self._axes.directions)
            self._norms[some] = np.einsum("ij,ij->i", shifted, shifted, dtype=np.float64)

        self._features.workers.run(turn, range(0, len(wanted), self._chunk))
        self._known[wanted] = True

    def _room(self, axes: int) -> NDArray[Any]:
        return untouched((self._features.n, axes), self._points.values.dtype)

    def _kept(self, coordinates: NDArray[Any]) -> NDArray[Any]:
        return coordinates

    def _as_points(self, coordinates: NDArray[Any], norms: NDArray[np.float64]) -> Vectors:
        return DensePoints(coordinates, SquaredNorms.of(norms), self._points.dtype, projected=True)


class Coded(Turned):
    """The same, with coordinates rounded to whole numbers of two bytes: on a grid so fine that distances just fit."""

    SHARE = 0.5

    def __init__(self, features: Features, axes: Axes) -> None:
        super().__init__(features, axes)
        largest = max(self._features.workers.run(self._largest_square, range(0, features.n, self._chunk)))
        step = 2.0 * math.sqrt(max(largest, 1e-30)) / _FARTHEST
        self._grid = Grid(np.zeros(axes.directions.shape[1]), step)

    def _largest_square(self, start: int) -> float:
        """Of some points' distances from the centre."""
        shifted = self._points.values[start : start + self._chunk] - self._axes.centre
        return float(np.einsum("ij,ij->i", shifted, shifted, dtype=np.float64).max())

    def _room(self, axes: int) -> NDArray[np.int16]:
        return untouched((self._features.n, axes + axes % 2), np.int16)  # two to a word

    def _kept(self, coordinates: NDArray[Any]) -> NDArray[Any]:
        kept = np.rint(coordinates / self._grid.step)
        return kept if kept.shape[1] % 2 == 0 else np.pad(kept, ((0, 0), (0, 1)))

    def _as_points(self, coordinates: NDArray[Any], norms: NDArray[np.float64]) -> Vectors:
        squares = np.rint(norms / self._grid.step**2).astype(np.int32)
        return GridPoints(coordinates, self._grid, squares, squares)


def ways_to_turn() -> list[type[Turned]]:
    """The quickest first."""
    return [Coded, Turned] if grids_pay() else [Turned]


def principal_axes(features: Features, sample: IndexArray, others: IndexArray) -> Axes | None:
    """The axes of a sample, and what they leave out of other points; None where few coordinates are of no use."""
    points = features.points
    if not isinstance(points, DensePoints) or not isinstance(features.kernel, Gaussian):
        return None
    if points.n_features < _FEWEST_FEATURES:
        return None
    chosen = points.values[sample if points.n_features <= _MOST_FEATURES else sample[:_MOST_FEATURES]]
    centre = chosen.mean(axis=0)
    chosen -= centre
    directions = _directions(chosen)
    if directions.shape[1] == 0:  # all points are the same
        return None
    judged = points.values[others] - centre
    norms = np.einsum("ij,ij->i", judged, judged, dtype=np.float64)
    reached = np.cumsum(np.square(judged @ directions, dtype=np.float64), axis=1)
    outside = np.maximum(norms[:, None] - np.pad(reached, ((0, 0), (1, 0))), 0.0)
    return Axes(centre, directions, np.square(np.sqrt(outside).mean(axis=0)))


def _directions(centred: NDArray[Any]) -> NDArray[Any]:
    """The eigenvectors of the points' scatter; where they are fewer than their features, from their inner products."""
    n, d = centred.shape
    if d <= n:
        return np.asarray(np.linalg.eigh(centred.T @ centred)[1][:, ::-1])
    strengths, mixtures = np.linalg.eigh(centred @ centred.T)
    telling = strengths > 1e-5 * strengths[-1]
    return np.asarray((centred.T @ (mixtures[:, telling] / np.sqrt(strengths[telling])))[:, ::-1])
