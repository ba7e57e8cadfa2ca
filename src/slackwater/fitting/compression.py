"""Whether kernel rows may be computed and kept with errors: in two bytes a value, of points in fewer coordinates."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from slackwater.gram.cache import TWO_BYTE_ROUNDING
from slackwater.gram.compressed import CompressedFeatures, compressions
from slackwater.gram.features import Features
from slackwater.gram.source import IndexArray
from slackwater.points.projected import Axes

if TYPE_CHECKING:
    from slackwater.fitting.active_set import ActiveSet


class Compression(NamedTuple):
    """How rows are computed and kept; by default, without any error of their own."""

    two_byte: bool = False
    projected: CompressedFeatures | None = None  # points in fewer coordinates

    def part(self, features: Features, examples: IndexArray) -> Features:
        """Points to compute rows from."""
        return features.part(examples) if self.projected is None else self.projected.part(examples)


def choose_compression(active: ActiveSet, axes: Axes | None, tol: float) -> Compression:
    """Two bytes a value, and nearly all axes that tell, if the models at hand tolerate the error of their responses."""
    solution = active.solution
    features, settings = solution.features, active.context.settings.compression
    if not features.kernel.bounded_by_one:
        return Compression()
    rounding = TWO_BYTE_ROUNDING * np.linalg.norm(solution.alpha[:, active.examples], axis=1)
    if not tolerates(active, _normal_errors(rounding, settings.test_examples), tol):
        return Compression()
    most = None if axes is None else axes.leaving(features.kernel.squared_distance_tolerance(settings.max_residual))
    if most is None or not has_room_for(most, features):
        return Compression(two_byte=True)
    for way in compressions(features.kernel):
        if way.RELATIVE_COST * most.share <= settings.max_cost:
            projected = CompressedFeatures.of(features, way, most)
            errors = _response_errors(active, projected)
            if tolerates(active, errors + _normal_errors(rounding, errors.shape[1]), tol):
                return Compression(two_byte=True, projected=projected)
    return Compression(two_byte=True)


def has_room_for(axes: Axes, features: Features) -> bool:
    return axes.fit_into(features.matrix_bytes // 2, features.n)


def tolerates(active: ActiveSet, errors: NDArray[np.float64], tol: float) -> bool:
    """Whether responses of each problem may have errors such as these, (problems, cases), at a relative gap ``tol``.

    A longer w makes up for most of them, and support vectors that are off by more, half of them to their disadvantage,
    have slack: by how much it is longer is chosen so that it costs least.
    """
    costs = []
    for task, each in zip(active.tasks, np.abs(errors), strict=True):
        if task.assessment is None:
            raise RuntimeError("models are to be found before they are judged")
        slack = float(task.state.upper[task.state.alpha > 0.0].sum()) / max(task.assessment.objective, 1e-300)
        longer = np.append(each, 0.0)
        beyond = np.maximum(each - longer[:, None], 0.0).mean(axis=1)
        costs.append(np.min(2.0 * longer + 0.5 * slack * beyond))
    growth = math.sqrt(active.solution.whole.n / len(active.examples))  # of the errors, as more examples are admitted
    return growth * float(np.mean(costs)) <= active.context.settings.compression.share_of_gap * tol


def _response_errors(active: ActiveSet, projected: CompressedFeatures) -> NDArray[np.float64]:
    """The errors of some responses of each problem, if they are computed from projected points."""
    solution, settings = active.solution, active.context.settings
    known, support = active.not_supporting(settings.screening.min_observed), solution.support()
    known = known[solution.whole.ranked(known)][:: math.ceil(len(known) / settings.compression.test_examples)]
    near = projected.part(np.concatenate([known, support]))
    places = np.arange(near.n)
    values = near.values(places[: len(known)], places[len(known) :], solution.signed(support))
    return np.asarray(solution.labels[:, known] * values.T - solution.responses[:, known])


def _normal_errors(deviations: NDArray[np.float64], cases: int) -> NDArray[np.float64]:
    """Errors with these standard deviations, (problems, cases), as a normal distribution has them."""
    return np.asarray(deviations[:, None] * ndtri((np.arange(cases) + 0.5) / cases))
