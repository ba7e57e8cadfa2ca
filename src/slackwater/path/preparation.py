"""From what a user passes to what many fits share: checked data, training set, kernel values of the right precision."""

from __future__ import annotations

import copy
import reprlib
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from slackwater.deadline import Clock, Deadline
from slackwater.estimators.layout import length
from slackwater.estimators.parameters import check_parameters, is_real
from slackwater.estimators.svc import SVC
from slackwater.estimators.validation import Targets, check_rows, check_targets
from slackwater.fitting.context import FitContext
from slackwater.fitting.decisions import Decisions
from slackwater.fitting.result import BinaryResult, FitResult
from slackwater.fitting.strategies import exact
from slackwater.fitting.training_set import TrainingSet
from slackwater.gram.features import Features
from slackwater.kernels.base import Kernel
from slackwater.tracing import Recorder
from slackwater.workers import Workers, thread_count


@dataclass(frozen=True)
class Preparation:
    """One training set, for fits that differ in C alone."""

    estimator: SVC  # parameters, and what checking X has left; its C is none of theirs
    X: Any
    targets: Targets
    kernel: Kernel | None
    training_set: TrainingSet
    context: FitContext

    @property
    def n(self) -> int:
        """Number of distinct examples."""
        return self.training_set.n

    @property
    def is_shareable(self) -> bool:
        """Whether the kernel is positive semi-definite, and its values are computed here."""
        return self.training_set.features is not None and self.training_set.certified

    def features(self, largest_C: float) -> Features:
        """Points with kernel values as precise as this C calls for."""
        found = exact.features_for(replace(self.context, solver=replace(self.context.solver, C=largest_C)))
        if found is None:
            raise TypeError("a precomputed kernel has no points")
        return found

    def fitted(self, C: float, result: BinaryResult, strategy: str, decisions: Decisions) -> SVC:
        """The estimator that a fit with this C would have left."""
        model: SVC = copy.copy(self.estimator).set_params(C=C)
        found = FitResult([result], Recorder(), strategy=strategy, decisions=decisions)
        model._keep_fitted(self.X, self.kernel, self.targets, self.training_set, found.models)
        model._keep_account(self.training_set, found)
        return model


@contextmanager
def prepared(estimator: SVC, X: Any, y: Any, sample_weight: Any) -> Iterator[Preparation]:
    """Check everything, and set up what the fits share, for as long as threads are needed."""
    check_parameters(estimator, estimator._rules)
    X = check_rows(estimator, X, reset=True)
    targets = check_targets(y, length(X), sample_weight, estimator.class_weight)
    seed, n_classes = estimator._seed(), len(targets.classes)
    with Workers(thread_count(estimator.n_jobs)) as workers:
        kernel = estimator._make_kernel(X)
        training_set = estimator._training_set(X, targets, kernel, seed, workers)
        deadline = Deadline(Clock())
        context = estimator._context(estimator._solver(n_classes), training_set, n_classes, seed, deadline)
        yield Preparation(estimator, X, targets, kernel, training_set, context)


def rising(name: str, values: Sequence[float], meaning: str) -> list[float]:
    """Positive numbers, each once, in rising order."""
    given = list(np.ravel(np.asarray(values, dtype=object)))
    if not given:
        raise ValueError(f"{name} must have at least one value, got none. {meaning}")
    for value in given:
        if not is_real(value) or not 0.0 < float(value) < np.inf:
            raise ValueError(f"{name} must be finite numbers > 0, got {reprlib.repr(value)}. {meaning}")
    found = sorted(float(value) for value in given)
    require_distinct(name, found, meaning)
    return found


def require_distinct(name: str, values: Sequence[Any], meaning: str) -> None:
    """Refuse a value that is there twice: what belongs to it would be, too."""
    repeated = [value for value, count in Counter(values).items() if count > 1]
    if repeated:
        raise ValueError(f"{name} must be distinct, got {repeated[0]!r} more than once. Leave it out. {meaning}")
