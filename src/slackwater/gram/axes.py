"""Points in fewer coordinates with nearly the kernel values of the originals.

A Gaussian is computed from squared norms and inner products. Points are turned to principal axes and the norms kept
exactly, so that what is lost with the last axes is the inner product of the parts of two points outside of the first.
For points that are not close to each other that is small and as often positive as negative.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slackwater.gram.features import Features
from slackwater.gram.source import IndexArray
from slackwater.kernels.norms import SquaredNorms
from slackwater.kernels.points import DensePoints
from slackwater.kernels.radial import Gaussian
from slackwater.memory import rows_of, untouched

SAMPLE = 2048  # points that the axes are found from
JUDGES = 512  # others that say how much the axes leave out
_FEWEST_FEATURES = 96  # below, there is nothing to save
_MOST_FEATURES = 1024  # above, axes are found from so many points, for eigenvectors take the cube of the time
_CHUNK_BYTES = 2**23  # of points that a thread turns at a time


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
        count = int(enough[0])
        return Axes(self.centre, np.ascontiguousarray(self.directions[:, :count]), self.left_out[: count + 1])


class Turned:
    """Points in coordinates along some axes, with the squared distances from the centre for norms.

    A point is turned when it is first asked for.
    """

    def __init__(self, features: Features, axes: Axes) -> None:
        if not isinstance(features.points, DensePoints):
            raise TypeError("axes are for dense points")
        self._features, self._points, self._axes = features, features.points, axes
        self._coordinates = untouched((features.n, axes.directions.shape[1]), self._points.values.dtype)
        self._norms = np.zeros(features.n)
        self._known = np.zeros(features.n, dtype=bool)

    def all(self) -> Features:
        """All of the points."""
        self._turn(np.arange(self._features.n))
        return self._as_features(self._coordinates, self._norms)

    def part(self, examples: IndexArray) -> Features:
        """Some of them."""
        self._turn(examples)
        return self._as_features(rows_of(self._coordinates, examples), self._norms[examples])

    def _turn(self, examples: IndexArray) -> None:
        wanted = examples[~self._known[examples]]
        values = self._points.values
        chunk = max(1, _CHUNK_BYTES // (values.shape[1] * values.itemsize))

        def turn(start: int) -> None:
            some = wanted[start : start + chunk]
            shifted = values[some]
            shifted -= self._axes.centre
            self._coordinates[some] = shifted @ self._axes.directions
            self._norms[some] = np.einsum("ij,ij->i", shifted, shifted, dtype=np.float64)

        self._features.workers.run(turn, range(0, len(wanted), chunk))
        self._known[wanted] = True

    def _as_features(self, coordinates: NDArray[Any], norms: NDArray[np.float64]) -> Features:
        return replace(self._features, points=DensePoints(coordinates, SquaredNorms.of(norms), self._points.dtype))


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
