"""One point of the front, as the dual's solution or a separate fit has it, and how to make its estimator."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from slackwater.deadline import Deadline
from slackwater.estimators.svc import SVC
from slackwater.expansion import Expansion
from slackwater.fitting.decisions import Decisions
from slackwater.fitting.result import BinaryResult
from slackwater.fitting.shared_path import PathPoint
from slackwater.fitting.shared_subspace import SubspacePoint
from slackwater.fitting.strategies import exact
from slackwater.fitting.subspace.landmarks import NAME as SUBSPACE
from slackwater.objectives import hinge_total
from slackwater.path.preparation import Preparation

Floats = NDArray[np.float64]

_LEAST_SECONDS = 1e-3  # of a fit, where none are left: the first point is always there


class Criteria(NamedTuple):
    """The two criteria of the front, the average hinge loss being that of an example of weight one."""

    norm: float
    loss: float

    @property
    def nu(self) -> float:
        """The parameter of the slack-constrained form: loss / ‖w‖; infinite where a flat function has a loss.

        An indefinite kernel may have no norm; then there is no ν.
        """
        if self.norm == 0.0:
            return math.inf if self.loss > 0.0 else math.nan
        return self.loss / self.norm

    def objective(self, cost: float) -> float:
        """½ ‖w‖² and what losses cost, C times the weight of all examples being ``cost``."""
        return 0.5 * self.norm**2 + cost * self.loss


@dataclass(frozen=True)
class FrontPoint:
    """What the path shows of one C."""

    C: float
    criteria: Criteria
    gap: float
    certified: bool
    n_support: int
    train_accuracy: float
    strategy: str
    stop_reason: str
    make: Callable[[], SVC]


def point_of_dual(data: Preparation, labels: NDArray[np.int8], point: PathPoint, decisions: Decisions) -> FrontPoint:
    """Of a solution of the dual."""
    found, weights = point.assessment, data.training_set.weights
    result = BinaryResult(Expansion.from_dense(point.alpha * labels, found.bias), found, point.reason, 1)
    return FrontPoint(
        C=point.C,
        criteria=_criteria(found.margin, found.slack_nu, found.objective / (point.C * float(weights.sum()))),
        gap=found.gap,
        certified=True,
        n_support=found.n_support,
        train_accuracy=_accuracy(labels * point.responses + found.bias, labels, weights),
        strategy=exact.NAME,
        stop_reason=str(point.reason),
        make=partial(data.fitted, point.C, result, exact.NAME, decisions),
    )


def point_in_subspace(data: Preparation, point: SubspacePoint, decisions: Decisions) -> FrontPoint:
    """Of a model in the span of some landmarks; its gap is extrapolated, not proven."""
    found, cost = point.result.assessment, point.C * float(data.training_set.weights.sum())
    return FrontPoint(
        C=point.C,
        criteria=_criteria(found.margin, found.slack_nu, found.objective / cost),
        gap=found.gap,
        certified=False,
        n_support=found.n_support,
        train_accuracy=point.right,
        strategy=SUBSPACE,
        stop_reason=str(point.result.reason),
        make=partial(data.fitted, point.C, point.result, SUBSPACE, decisions),
    )


def point_of_fit(data: Preparation, C: float, deadline: Deadline) -> FrontPoint:
    """Of a fit of its own, in the time that is left."""
    classes, codes, weights = data.targets.classes, data.targets.codes, data.targets.weights
    limit = max(deadline.left, _LEAST_SECONDS) if math.isfinite(deadline.limit) else None
    model = clone(data.estimator).set_params(C=C, class_weight=None, max_time=limit)
    model.fit(data.X, classes[codes], sample_weight=weights).set_params(max_time=None)
    values, labels = model.decision_function(data.X), np.where(codes == 1, 1, -1).astype(np.int8)
    loss = hinge_total(labels * values, weights) / float(weights.sum())
    return FrontPoint(
        C=C,
        criteria=_criteria(float(model.margin_), float(model.slack_nu_), loss),
        gap=float(model.gap_),
        certified=bool(model.certified_),
        n_support=len(model.support_),
        train_accuracy=_accuracy(values, labels, weights),
        strategy=model.strategy_,
        stop_reason=model.stop_reason_,
        make=lambda: model,
    )


def _criteria(margin: float, nu: float, loss: float) -> Criteria:
    """By margin and ν; the loss does not follow from these where the margin is infinite, or where there is no norm."""
    norm = 1.0 / margin
    return Criteria(norm, nu * norm if norm > 0.0 else loss)


def _accuracy(values: Floats, labels: NDArray[np.int8], weights: Floats) -> float:
    """The weighted share of the examples that ``SVC`` would predict right: a value of 0 is the first class."""
    right = (values > 0.0) == (labels > 0)
    return float(weights[right].sum() / weights.sum())
