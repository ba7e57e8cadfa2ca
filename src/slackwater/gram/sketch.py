"""Points in fewer coordinates whose kernel values are nearly those of the originals.

A Gaussian is computed from squared norms and inner products. The norms are kept exactly, so that what is lost is the
inner product of the parts of two points outside the leading principal axes, which for points that are not close is
small and as often positive as negative.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slackwater.gram.features import Features
from slackwater.gram.fractions import FractionRows
from slackwater.kernels.norms import SquaredNorms
from slackwater.kernels.points import DensePoints
from slackwater.kernels.radial import Gaussian

_SAMPLE = 4096
_FEWEST_FEATURES, _MOST_FEATURES = 96, 4096  # below, BLAS gains little; above, finding the axes takes too long
_CHUNK = 4096
_COARSE = 0.1  # of the variance may be lost where points are only judged
_FINE = 0.05  # of the exponent of a point's kernel value with itself, where a model is trained


@dataclass(frozen=True)
class PrincipalAxes:
    """Orthonormal axes through the centre of the points, those of most variance first.

    ``lost[k]`` is the mean squared length of what the first k axes do not show.
    """

    features: Features
    points: DensePoints
    centre: NDArray[Any]
    axes: NDArray[Any]
    lost: NDArray[np.float64]

    def coarse(self) -> Features | None:
        """Enough coordinates to judge by; None with more than a sixth of the features, which would save little.

        None also, as with ``fine``, where they would take more memory than rows may.
        """
        return self._in_coordinates(_COARSE * self.lost[0], 1 / 6)

    def fine(self) -> Features | None:
        """Enough coordinates to train with; None with more than six tenths of the features."""
        gamma = self.features.kernel.parameters()["gamma"]
        fewer = self._in_coordinates(_FINE / (2.0 * gamma), 0.6)
        # Rounding leaves the matrix definite: what a point's own value, 1, has over its coordinates' is far larger.
        return None if fewer is None else replace(fewer, keep=FractionRows)

    def _in_coordinates(self, most_lost: float, largest_share: float) -> Features | None:
        count = max(1, int(np.argmax(self.lost <= most_lost)))
        memory = count * len(self.points) * self.points.dtype.itemsize
        if count > largest_share * len(self.centre) or memory > self.features.cache_bytes:
            return None
        return replace(self.features, points=self._projected(np.ascontiguousarray(self.axes[:, :count])))

    def _projected(self, axes: NDArray[Any]) -> DensePoints:
        """Coordinates about the centre, with the squared distances from it for norms."""
        values, centre = self.points.values, self.centre
        coordinates = np.empty((len(values), axes.shape[1]), values.dtype)
        shift = centre @ axes
        norms = self.points.squared_norms - 2.0 * (values @ centre) + float(centre @ centre)

        def project(start: int) -> None:
            coordinates[start : start + _CHUNK] = values[start : start + _CHUNK] @ axes - shift

        self.features.workers.run(project, range(0, len(values), _CHUNK))
        return DensePoints(coordinates, SquaredNorms.of(np.maximum(norms.astype(np.float64), 0.0)))


def principal_axes(features: Features, rng: np.random.Generator) -> PrincipalAxes | None:
    """The axes of a sample; None where the kernel is no Gaussian of dense points, or features are few."""
    points = features.points
    if not isinstance(points, DensePoints) or not isinstance(features.kernel, Gaussian):
        return None
    if not _FEWEST_FEATURES <= points.n_features <= _MOST_FEATURES:
        return None
    sample = points.values[rng.permutation(len(points))[:_SAMPLE]]
    centre = sample.mean(axis=0)
    sample = sample - centre
    variances, axes = np.linalg.eigh(sample.T @ sample / np.float32(len(sample)))
    lost = np.append(np.cumsum(np.maximum(variances, 0.0), dtype=np.float64)[::-1], 0.0)
    return PrincipalAxes(features, points, centre, axes[:, ::-1], lost)
