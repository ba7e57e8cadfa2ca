"""Class probabilities by scikit-learn's calibration of decision values that a cross-validation has made."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from slackwater.estimators.validation import take

_FOLDS = 5  # as in LIBSVM


class DecisionValues(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier whose input is the decision values themselves: what is calibrated are values, not a model."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> DecisionValues:
        """Learn which classes there are."""
        self.classes_ = np.unique(y)
        return self

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """The input: (m,) for two classes, else (m, n_classes)."""
        return X[:, 0] if len(self.classes_) == 2 else X

    def predict(self, X: Any) -> NDArray[Any]:
        """The class with the largest value."""
        values = self.decision_function(X)
        return np.asarray(self.classes_[(values > 0).astype(int) if values.ndim == 1 else values.argmax(axis=1)])


def calibrator(model: Any, X: Any, y: NDArray[Any], sample_weight: Any, seed: int) -> CalibratedClassifierCV:
    """From decision values to probabilities, learned from values at rows that their models were not trained on.

    ``model`` is an unfitted classifier with a column of decision values for each class. What comes back takes decision
    values. This is ``CalibratedClassifierCV(model, ensemble=False)``, with the user's own model as the one that was
    fitted to all rows, so that it is neither fitted nor kept twice. A class of a single row cannot be left out of the
    training: values are then those at the training rows.
    """
    weights = None if sample_weight is None else np.broadcast_to(np.asarray(sample_weight, dtype=np.float64), len(y))
    if weights is not None and not (weights > 0.0).all():
        counted = np.flatnonzero(weights > 0.0)
        X, y, weights = _rows(model, X, counted), y[counted], weights[counted]
    everything = [(np.arange(len(y)), np.arange(len(y)))]
    folds = min(_FOLDS, int(np.unique(y, return_counts=True)[1].min()))
    splits = StratifiedKFold(folds, shuffle=True, random_state=seed) if folds > 1 else everything
    given = {} if weights is None else {"sample_weight": weights}
    with config_context(enable_metadata_routing=False):  # the weights are meant for everybody here
        values = cross_val_predict(model, X, y, cv=splits, method="decision_function", params=given)
        values = values.reshape(len(y), -1)
        return CalibratedClassifierCV(DecisionValues(), ensemble=False, cv=everything).fit(values, y, **given)


def _rows(model: Any, X: Any, rows: NDArray[np.intp]) -> Any:
    """Some rows; of a matrix of kernel values their columns, too."""
    chosen = take(X, rows)
    return chosen[:, rows] if model.kernel == "precomputed" else chosen
