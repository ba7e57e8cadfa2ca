"""What a quick training run returns when its budget runs out in the middle of a stage.

A stage that knows only some of the examples can be at a model that is worse for all of them than the one found on the
way through the sample. So both are judged by examples that neither of them was trained on.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slackwater.expansion import Expansion
from slackwater.gram.features import Features
from slackwater.objectives import hinge_total
from slackwater.solvers.base import Assessment
from slackwater.solvers.incumbent import Incumbent
from slackwater.stopping import StopReason
from slackwater.training.run import Ending, Outcome
from slackwater.training.training_set import TrainingSet

_JUDGES = 2048


class Fallback(NamedTuple):
    """The best model of a sample, by examples of it that no block had held."""

    names: NDArray[np.intp]  # of the support vectors: their numbers in the user's data
    coefficients: NDArray[np.float64]
    bias: float
    norm: float

    @classmethod
    def of(cls, best: Incumbent, labels: NDArray[np.int8], names: NDArray[np.intp]) -> Fallback:
        support = np.flatnonzero(best.alpha)
        norm = best.scale * math.sqrt(max(float(best.alpha @ best.responses), 0.0))
        return cls(names[support], best.scale * best.alpha[support] * labels[support], best.bias, norm)


def with_fallbacks(
    outcome: Outcome, fallbacks: dict[int, Fallback], training_set: TrainingSet, n_classes: int, C: float, seed: int
) -> Outcome:
    """The outcome, with the sample's models in place of those that are worse and did not reach their tolerance."""
    features = training_set.features
    if features is None or not fallbacks or all(each.reason is StopReason.TOLERANCE for each in outcome.endings):
        return outcome
    place = {int(name): number for number, name in enumerate(training_set.kept)}
    judges = np.random.default_rng(seed).permutation(training_set.order)[:_JUDGES]
    endings = list(outcome.endings)
    with training_set.ledger.charging("score"):
        for number, problem in enumerate(training_set.problems(n_classes)):
            found = fallbacks.get(number)
            if found is not None and endings[number].reason is not StopReason.TOLERANCE:
                support = np.array([place[int(name)] for name in found.names], dtype=np.intp)
                expansion = Expansion(support, found.coefficients, found.bias)
                labels = problem.labels
                endings[number] = _better(endings[number], expansion, found.norm, features, labels, judges, C)
    return outcome._replace(endings=endings)


def _better(
    ending: Ending,
    other: Expansion,
    norm: float,
    features: Features,
    labels: NDArray[np.int8],
    judges: NDArray[np.intp],
    C: float,
) -> Ending:
    judges = np.setdiff1d(judges, np.concatenate([ending.expansion.support, other.support]))
    if len(judges) == 0 or norm == 0.0:
        return ending
    now, then = (labels[judges] * _values(each, features, judges) for each in (ending.expansion, other))
    lost = np.count_nonzero(now <= 0.0) - np.count_nonzero(then <= 0.0)
    if lost <= math.sqrt(np.count_nonzero((now <= 0.0) != (then <= 0.0))):  # a standard error of the difference
        return ending
    losses = hinge_total(then, np.full(len(judges), C * len(labels) / len(judges)))
    assessment = Assessment(
        objective=0.5 * norm**2 + losses,
        bound=ending.assessment.bound,
        gap=0.0,
        margin=1.0 / norm,
        slack_nu=losses / (C * len(labels) * norm),
        n_support=len(other.support),
        holdout_error=None,
    )
    return ending._replace(expansion=other, assessment=assessment.with_bound(assessment.bound))


def _values(expansion: Expansion, features: Features, at: NDArray[np.intp]) -> NDArray[np.float64]:
    if len(expansion.support) == 0:
        return np.full(len(at), expansion.bias)
    return features.values(at, expansion.support, expansion.coefficients[None, :])[:, 0] + expansion.bias
