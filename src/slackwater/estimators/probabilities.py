"""Class probabilities by scikit-learn's calibration of decision values that a cross-validation has made."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import column_or_1d
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from slackwater.estimators.model_checks import require
from slackwater.estimators.one_vs_one import OneVsOneClassifier
from slackwater.estimators.validation import check_rows, take
from slackwater.model_io.model import StoredModel

_FOLDS = 5  # as in LIBSVM
Calibrated = TypeVar("Calibrated", bound="Probabilities")


class Probabilities(OneVsOneClassifier):
    """A classifier that has ``predict_proba`` where ``probability`` is True."""

    _calibrator: Any = None

    def fit(
        self: Calibrated, X: Any, y: Any, sample_weight: Any = None, X_val: Any = None, y_val: Any = None
    ) -> Calibrated:
        """Train on X and y; with ``probability=True``, calibrate decision values of a cross-validation as well.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n, d)
            (n, n) kernel values for kernel="precomputed"; with a callable kernel also any sequence of n objects.
        y : array-like of shape (n,)
            Labels of at least two classes.
        sample_weight : array-like of shape (n,), optional
            What each row's slack costs; an integer weight is the same as repeating the row, 0 leaves it out (and so
            does a negative one, as in scikit-learn).
        X_val, y_val : array-like, optional
            Hold-out rows and their labels for ``early_stopping=True``, in place of a part of X. ``sample_weight`` is of
            X alone.

        Returns
        -------
        self

        Raises
        ------
        KeyboardInterrupt
            After Ctrl-C, so that loops and searches end. The model reached is kept: ``stop_reason_`` "interrupted".
        """
        self._calibrator = None  # of an earlier fit: it does not fit a model that Ctrl-C leaves behind
        super().fit(X, y, sample_weight, X_val, y_val)
        if self._estimates_probabilities():
            model = clone(self).set_params(
                probability=False,
                decision_function_shape="ovr",
                warm_start=False,
                checkpoint=None,
                verbose=0,
            )
            rows = check_rows(self, X, reset=False)
            self._calibrator = calibrator(model, rows, column_or_1d(y), sample_weight, self._seed())
        return self

    def _internals(self) -> dict[str, Any]:
        found = super()._internals()
        return found if self._calibrator is None else {**found, "calibration": sigmoids_of(self._calibrator)}

    def _restore(self, model: StoredModel, kernel: Any) -> None:
        internals = dict(model.internals)
        sigmoids = internals.pop("calibration", None)
        super()._restore(replace(model, internals=internals), kernel)
        self._calibrator = None
        if sigmoids is not None:
            functions = 1 if len(self.classes_) == 2 else len(self.classes_)
            fits = isinstance(sigmoids, np.ndarray) and sigmoids.shape == (functions, 2) and sigmoids.dtype.kind == "f"
            require(fits and np.isfinite(sigmoids).all(), f"calibration must be {functions} × 2 finite numbers")
            self._calibrator = calibrator_of(self.classes_, sigmoids)

    def _estimates_probabilities(self) -> bool:
        return self.probability is not False and self.probability != "deprecated" and bool(self.probability)

    def _check_probability(self) -> bool:
        if not self._estimates_probabilities():
            raise AttributeError("predict_proba is not available when probability=False")
        return True

    @available_if(_check_probability)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probabilities of the classes; only with ``probability=True``.

        They are the calibrated decision values of the model. The class of the largest one is that of ``predict`` but
        for rows near a boundary.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (m, d)
            (m, n) kernel values for kernel="precomputed".

        Returns
        -------
        ndarray of shape (m, n_classes)
            In the order of ``classes_``.
        """
        check_is_fitted(self)
        if self._calibrator is None:
            raise NotFittedError(
                "predict_proba is not available when fitted with probability=False. Call fit again, with "
                "probability=True."
            )
        values = self._class_values(X)
        return np.asarray(self._calibrator.predict_proba(values.reshape(len(values), -1)))

    @available_if(_check_probability)  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Logarithms of ``predict_proba``; only with ``probability=True``.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (m, d)
            As in ``predict_proba``.

        Returns
        -------
        ndarray of shape (m, n_classes)
            In the order of ``classes_``.
        """
        with np.errstate(divide="ignore"):  # a probability of 0 has the logarithm -inf
            return np.asarray(np.log(self.predict_proba(X)))


class DecisionValues(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier whose input is the decision values themselves: what is calibrated are values, not a model."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> DecisionValues:
        """Learn which classes there are."""
        self.classes_ = np.unique(y)
        return self

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """The input: (m,) for two classes, else (m, n_classes)."""
        return np.asarray(X[:, 0] if len(self.classes_) == 2 else X)

    def predict(self, X: Any) -> NDArray[Any]:
        """The class with the largest value."""
        values = self.decision_function(X)
        return np.asarray(self.classes_[(values > 0).astype(int) if values.ndim == 1 else values.argmax(axis=1)])


def calibrator(model: Any, X: Any, y: NDArray[Any], sample_weight: Any, seed: int) -> Any:
    """From decision values to probabilities, learned from values at rows that their models were not trained on.

    ``model`` is an unfitted classifier with a column of decision values for each class. What comes back takes decision
    values. This is ``CalibratedClassifierCV(model, ensemble=False)``, with the user's own model as the one that was
    fitted to all rows, so that it is neither fitted nor kept twice. A class of a single row cannot be left out of the
    training: values are then those at the training rows.
    """
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.model_selection import StratifiedKFold, cross_val_predict

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


def sigmoids_of(found: Any) -> NDArray[np.float64]:
    """The two numbers of the sigmoid of each function: all that the calibration has learned."""
    (classifier,) = found.calibrated_classifiers_
    return np.array([(each.a_, each.b_) for each in classifier.calibrators])


def calibrator_of(classes: NDArray[Any], sigmoids: NDArray[np.float64]) -> Any:
    """The same from its numbers: one that is fitted to any values, and then given them."""
    from sklearn.calibration import CalibratedClassifierCV

    codes = np.arange(len(classes))
    values = np.eye(len(classes)) if len(classes) > 2 else np.array([[-1.0], [1.0]])
    found = CalibratedClassifierCV(DecisionValues(), ensemble=False, cv=[(codes, codes)]).fit(values, classes)
    (classifier,) = found.calibrated_classifiers_
    for each, (slope, offset) in zip(classifier.calibrators, sigmoids.tolist(), strict=True):
        each.a_, each.b_ = slope, offset
    return found


def _rows(model: Any, X: Any, rows: NDArray[np.intp]) -> Any:
    """Some rows; of a matrix of kernel values their columns, too."""
    chosen = take(X, rows)
    return chosen[:, rows] if model.kernel == "precomputed" else chosen
