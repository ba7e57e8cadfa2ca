"""Kernel values from compressed points: fewer coordinates, or shorter ones (``points/projected.py``)."""

from __future__ import annotations

from dataclasses import dataclass, replace

from slackwater.gram.features import Features
from slackwater.gram.source import IndexArray
from slackwater.kernels.base import Kernel
from slackwater.points import DensePoints
from slackwater.points.projected import Axes, ProjectedPoints, QuantisedPoints, principal_axes

SAMPLE = 2048  # points that axes are found from
CHECK_POINTS = 512  # other points by which it is estimated how much the axes leave out


@dataclass(frozen=True)
class CompressedFeatures:
    """Features whose points are compressed when they are first asked for."""

    features: Features
    points: ProjectedPoints

    @classmethod
    def of(cls, features: Features, kind: type[ProjectedPoints], axes: Axes) -> CompressedFeatures:
        """Compress dense points."""
        if not isinstance(features.points, DensePoints):
            raise TypeError("only dense points can be projected on axes")
        return cls(features, kind(features.points, axes, features.workers))

    def all(self) -> Features:
        """All of the points."""
        return replace(self.features, points=self.points.all())

    def part(self, examples: IndexArray) -> Features:
        """Some of the points."""
        return replace(self.features, points=self.points.part(examples), names=self.features.names[examples])


def compressions(kernel: Kernel) -> list[type[ProjectedPoints]]:
    """The kinds of compression that a kernel can compute with, the quickest first."""
    if not kernel.accepts_projected:
        return []
    return [QuantisedPoints, ProjectedPoints] if kernel.multiplies_integers() else [ProjectedPoints]


def axes_of(features: Features, sample: IndexArray, others: IndexArray) -> Axes | None:
    """Principal axes of a sample, and what they leave out of other points; None where compression is of no use."""
    if not isinstance(features.points, DensePoints) or not features.kernel.accepts_projected:
        return None
    return principal_axes(features.points, sample, others)
