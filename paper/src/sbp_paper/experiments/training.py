"""Fitting as the experiments do it: a budget that runs out is expected, an interruption is not a result."""

from __future__ import annotations

import warnings
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from slackwater.datasets import Dataset
from slackwater.errors import ConvergenceWarning

Estimator = TypeVar("Estimator", bound=Any)


def fitted(estimator: Estimator, X: Any, y: NDArray[Any]) -> Estimator:
    """The estimator after ``fit``; what it did not reach is in its attributes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        estimator.fit(X, y)
    if getattr(estimator, "stop_reason_", "") == "interrupted":
        raise KeyboardInterrupt
    return estimator


def error_of(estimator: Any, data: Dataset) -> float:
    """The share of the test part that a fitted estimator misclassifies."""
    return float(np.mean(estimator.predict(data.X_test) != data.y_test))
