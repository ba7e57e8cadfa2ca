"""Hold-out examples of a fit whose strategy does not keep the responses of all examples.

Where it does (exact from scratch, the paper's method and its rivals), hold-out examples are examples of weight zero and
cost nothing. Elsewhere they are taken out of the training set, and the models on the way are evaluated at them. Of a
dual point only the coefficients that have changed since the last look are multiplied with kernel values.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from slackwater.expansion import Expansion
from slackwater.fitting.result import BinaryResult, FitResult
from slackwater.fitting.training_set import TrainingSet
from slackwater.gram.features import Features
from slackwater.solvers.base import Assessment
from slackwater.solvers.drive import HoldoutBest, Task


@dataclass
class Holdout:
    """Examples that judge the models of a fit, and the best model of each problem by their error."""

    whole: TrainingSet
    n_classes: int
    training_set: TrainingSet = field(init=False)  # the others
    best: dict[int, HoldoutBest] = field(default_factory=dict)  # examples numbered as in the training set

    def __post_init__(self) -> None:
        self._places = np.flatnonzero(self.whole.held_out)
        self._others = np.flatnonzero(~self.whole.held_out)
        self.training_set = self.whole.part(self._others)
        problems = self.whole.problems(self.n_classes)
        self._labels = np.stack([problem.labels[self._places] for problem in problems])
        self._weights = self.whole.weights[self._places]
        self.forget()

    def forget(self) -> None:
        """Evaluate the next models from scratch."""
        self._values = np.zeros(self._labels.shape)
        self._coefficients = np.zeros((len(self._labels), len(self._others)))

    @property
    def _features(self) -> Features:
        if self.whole.features is None:
            raise ValueError("hold-out examples of a precomputed matrix are examples of weight zero")
        return self.whole.features

    def judge(self, kept: NDArray[np.intp]) -> Callable[[Task, Assessment], Assessment]:
        """What adds the hold-out error to assessments of problems whose examples have these row numbers."""
        places = np.searchsorted(self.training_set.kept, kept)

        def judged(task: Task, assessment: Assessment) -> Assessment:
            coefficients = np.zeros(len(self._others))
            coefficients[places] = task.state.alpha * task.problem.labels
            values = self._updated(task.number, coefficients)
            return assessment._replace(
                holdout_error=self._error(task.number, assessment.scale * values + assessment.bias)
            )

        return judged

    def _updated(self, number: int, coefficients: NDArray[np.float64]) -> NDArray[np.float64]:
        """The values at the hold-out examples, from those at the last look."""
        change = coefficients - self._coefficients[number]
        self._coefficients[number] = coefficients
        self._values[number] += self._values_of(np.flatnonzero(change), change)
        return np.asarray(self._values[number])

    def _values_of(self, support: NDArray[np.intp], coefficients: NDArray[np.float64]) -> NDArray[np.float64]:
        if len(support) == 0:
            return np.zeros(len(self._places))
        with self.whole.ledger.charging("score"):
            found = self._features.values(self._places, self._others[support], coefficients[support][None])
        return np.asarray(found[:, 0])

    def _error(self, number: int, values: NDArray[np.float64]) -> float:
        wrong = self._labels[number] * values <= 0.0
        return float(self._weights @ wrong / self._weights.sum())

    def error_of(self, number: int, expansion: Expansion) -> float:
        """The error of a model on the hold-out examples."""
        dense = np.zeros(len(self._others))
        dense[expansion.support] = expansion.coefficients
        return self._error(number, self._values_of(expansion.support, dense) + expansion.bias)

    def consider(self, task: Task, kept: NDArray[np.intp]) -> None:
        """Let the best model of a stage be the best of all, if it is."""
        found = task.holdout_best
        if found.exists() and (task.number not in self.best or found.error <= self.best[task.number].error):
            places = np.searchsorted(self.training_set.kept, kept)
            self.best[task.number] = replace(found, support=places[found.support])

    def restored(self, result: FitResult) -> FitResult:
        """Models in the numbers of all examples; the best one where training did not come to its end and is worse."""
        found = [self._restored(number, each) for number, each in enumerate(result.binary_results)]
        return result._replace(binary_results=found)

    def _restored(self, number: int, result: BinaryResult) -> BinaryResult:
        best = self.best.get(number)
        if best is not None and not result.reason.reached and best.error < self.error_of(number, result.expansion):
            expansion, assessment = best.model()
            bound = result.assessment.bound
            result = result._replace(expansion=expansion, assessment=assessment.with_bound(bound), certified=False)
        expansion = result.expansion
        lower = result.lower
        if lower is not None:
            lower = np.full(len(self.whole.kept), -np.inf)
            lower[self._others] = result.lower
        return result._replace(expansion=replace(expansion, support=self._others[expansion.support]), lower=lower)
