"""Points in a few coordinates with nearly the kernel values of the originals: for judging many points cheaply."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slackwater.gram.features import Features
from slackwater.gram.source import IndexArray
from slackwater.kernels.norms import SquaredNorms
from slackwater.kernels.points import DensePoints
from slackwater.kernels.radial import Gaussian
from slackwater.memory import untouched

SAMPLE = 2048  # points that the axes are found from
_MOST_DROPPED = 0.05  # of the variance
_SHARE_OF_FEATURES = 4  # with more than a quarter of them left a sketch saves little
_FEWEST_FEATURES, _MOST_FEATURES = 96, 4096  # below, it saves nothing; above, finding the axes takes too long
_CHUNK = 4096


def sketched(features: Features, sample: IndexArray) -> Features | None:
    """The points along the leading principal axes of a sample; None where too many of those are needed.

    A Gaussian is computed from squared norms and inner products. The norms are kept exactly, so that what is lost is
    the inner product of the parts of two points outside the axes, which for points that are not close is small and as
    often positive as negative.
    """
    points = features.points
    if not isinstance(points, DensePoints) or not isinstance(features.kernel, Gaussian):
        return None
    if not _FEWEST_FEATURES <= points.n_features <= _MOST_FEATURES:
        return None
    chosen = points.values[sample]
    centre = chosen.mean(axis=0)
    chosen = chosen - centre
    variances, axes = np.linalg.eigh(chosen.T @ chosen)
    kept = np.cumsum(np.maximum(variances[::-1], 0.0), dtype=np.float64)
    count = int(np.searchsorted(kept, (1.0 - _MOST_DROPPED) * kept[-1])) + 1
    if count > points.n_features // _SHARE_OF_FEATURES:
        return None
    leading = np.ascontiguousarray(axes[:, ::-1][:, :count])
    return replace(features, points=_projected(features, points.values, centre, leading))


def _projected(features: Features, values: NDArray[Any], centre: NDArray[Any], axes: NDArray[Any]) -> DensePoints:
    """Coordinates about the centre, with the squared distances from it for norms."""
    coordinates = untouched((len(values), axes.shape[1]), values.dtype)
    norms = np.empty(len(values))

    def project(start: int) -> None:
        part = slice(start, start + _CHUNK)
        shifted = values[part] - centre
        coordinates[part] = shifted @ axes
        norms[part] = np.einsum("ij,ij->i", shifted, shifted, dtype=np.float64)

    features.workers.run(project, range(0, len(values), _CHUNK))
    return DensePoints(coordinates, SquaredNorms.of(norms))
