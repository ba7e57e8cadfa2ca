"""What a fit returns whose budget runs out in the middle of a stage.

The model of an unfinished stage can be worse than the best one of the sample. So both are compared on examples that
neither of them was trained on.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slackwater.expansion import Expansion
from slackwater.fitting.result import BinaryResult
from slackwater.fitting.training_set import TrainingSet
from slackwater.gram.features import Features
from slackwater.objectives import hinge_total
from slackwater.solvers.base import Assessment
from slackwater.solvers.incumbent import Incumbent

_MAX_VALUES = 2**22  # kernel values of a comparison: time is up


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
    results: list[BinaryResult],
    fallbacks: dict[int, Fallback],
    training_set: TrainingSet,
    n_classes: int,
    C: float,
    comparison_examples: NDArray[np.intp],
) -> list[BinaryResult]:
    """The results, with the sample's models in place of those that are worse and did not reach their goal."""
    features = training_set.features
    if features is None or not fallbacks or all(each.reason.reached for each in results):
        return results
    place = np.zeros(training_set.kept.max() + 1, dtype=np.intp)
    place[training_set.kept] = np.arange(len(training_set.kept))
    results = list(results)
    with training_set.ledger.charging("score"):
        for number, problem in enumerate(training_set.problems(n_classes)):
            found = fallbacks.get(number)
            if found is not None and not results[number].reason.reached:
                room = _MAX_VALUES // len(results) // (len(found.names) + len(results[number].expansion.support) + 1)
                expansion = Expansion(place[found.names], found.coefficients, found.bias)
                results[number] = _better(
                    results[number], expansion, found.norm, features, problem.labels, comparison_examples[:room], C
                )
    return results


def _better(
    result: BinaryResult,
    other: Expansion,
    norm: float,
    features: Features,
    labels: NDArray[np.int8],
    comparison_examples: NDArray[np.intp],
    C: float,
) -> BinaryResult:
    unseen = np.setdiff1d(comparison_examples, np.concatenate([result.expansion.support, other.support]))
    if len(unseen) == 0 or norm == 0.0:
        return result
    now, then = (labels[unseen] * _values(each, features, unseen) for each in (result.expansion, other))
    lost = np.count_nonzero(now <= 0.0) - np.count_nonzero(then <= 0.0)
    if lost <= math.sqrt(np.count_nonzero((now <= 0.0) != (then <= 0.0))):  # a standard error of the difference
        return result
    losses = hinge_total(then, np.full(len(unseen), C * len(labels) / len(unseen)))
    assessment = Assessment(
        objective=0.5 * norm**2 + losses,
        bound=result.assessment.bound,
        gap=0.0,
        margin=1.0 / norm,
        slack_nu=losses / (C * len(labels) * norm),
        n_support=len(other.support),
        holdout_error=None,
    )
    assessment = assessment.with_bound(assessment.bound)
    return result._replace(expansion=other, assessment=assessment, certified=False)


def _values(expansion: Expansion, features: Features, at: NDArray[np.intp]) -> NDArray[np.float64]:
    if len(expansion.support) == 0:
        return np.full(len(at), expansion.bias)
    return features.values(at, expansion.support, expansion.coefficients[None, :])[:, 0] + expansion.bias
