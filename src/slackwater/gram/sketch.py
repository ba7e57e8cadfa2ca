"""Points in a few dimensions whose kernel values are nearly those of the originals: for judging many points cheaply."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.extmath import randomized_svd

from slackwater.gram.features import Features
from slackwater.kernels.norms import SquaredNorms
from slackwater.kernels.points import DensePoints
from slackwater.kernels.radial import Gaussian

_SAMPLE = 2048
_MOST_DROPPED = 0.1  # of the variance
_SHARE_OF_DIMENSIONS = 6  # with more than a sixth of them left a sketch saves little
_CHUNK = 4096


def sketched(features: Features, rng: np.random.Generator) -> Features | None:
    """The points in their leading principal components; None where too many of those are needed.

    A Gaussian is computed from squared norms and inner products. The norms are kept exactly, so that what is lost is
    the inner product of the parts of two points outside the components, which for points that are not close is small
    and as often positive as negative.
    """
    points = features.points
    if not isinstance(points, DensePoints) or not isinstance(features.kernel, Gaussian):
        return None
    most = points.n_features // _SHARE_OF_DIMENSIONS
    if most < 16:
        return None
    sample = points.values[rng.permutation(len(points))[:_SAMPLE]]
    centre = sample.mean(axis=0)
    _, singular, directions = randomized_svd(sample - centre, most, n_iter=2, random_state=0)
    kept = np.cumsum(singular**2) / float(np.sum((sample - centre) ** 2))
    if kept[-1] < 1.0 - _MOST_DROPPED:
        return None
    components = directions[: int(np.searchsorted(kept, 1.0 - _MOST_DROPPED)) + 1].T
    return replace(features, points=_projected(features, points, centre, np.ascontiguousarray(components)))


def _projected(features: Features, points: DensePoints, centre: NDArray[Any], components: NDArray[Any]) -> DensePoints:
    """Coordinates about the centre, with the squared distances from it for norms."""
    coordinates = np.empty((len(points), components.shape[1]), points.dtype)
    shift = centre @ components
    norms = points.squared_norms - 2.0 * (points.values @ centre) + float(centre @ centre)

    def project(start: int) -> None:
        part = points.values[start : start + _CHUNK]
        coordinates[start : start + _CHUNK] = part @ components - shift

    features.workers.run(project, range(0, len(points), _CHUNK))
    return DensePoints(coordinates, SquaredNorms.of(np.maximum(norms.astype(np.float64), 0.0)))
