"""Fitting as the experiments do it: a budget that runs out is expected."""

from __future__ import annotations

import time
import warnings
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from slackwater.callbacks import Model, Moment
from slackwater.datasets import Dataset
from slackwater.errors import ConvergenceWarning

from sbp_paper.experiments.gaussian import combinations

Estimator = TypeVar("Estimator", bound=Any)


def fitted(estimator: Estimator, X: Any, y: NDArray[Any]) -> Estimator:
    """The estimator after ``fit``; what it did not reach is in its attributes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        estimator.fit(X, y)
    return estimator


def error_of(estimator: Any, data: Dataset) -> float:
    """The share of the test part that a fitted estimator misclassifies."""
    return float(np.mean(estimator.predict(data.X_test) != data.y_test))


def model_error(model: Model, data: Dataset, gamma: float) -> float:
    """The share of the test part that a model seen by a callback misclassifies."""
    X, support = (each.astype(np.float64) for each in (data.X_test, data.X_train[model.support]))
    values = combinations(X, support, model.dual_coef, gamma)[:, 0] + model.intercept[0]
    return float(np.mean(np.where(values > 0.0, 1, -1) != data.y_test))


class TrainingClock:
    """Seconds of a ``fit`` that is about to begin: what it does before its first step counts, callbacks do not."""

    def __init__(self) -> None:
        self._began = time.perf_counter()
        self._preparation: float | None = None

    def at(self, moment: Moment) -> float:
        """To be asked at the first step, and later at will."""
        if self._preparation is None:
            self._preparation = time.perf_counter() - self._began - moment.seconds
        return moment.seconds + self._preparation
