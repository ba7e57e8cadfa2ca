"""``partial_fit`` of ``SVC``: rows are added to those seen, and training goes on with all of them."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import column_or_1d
from sklearn.utils.metaestimators import available_if

from slackwater.errors import warn
from slackwater.estimators.layout import length
from slackwater.estimators.parameters import check_parameters
from slackwater.estimators.probabilities import Probabilities
from slackwater.estimators.validation import CheckedRows, check_rows, checked_weights, stacked

Growing = TypeVar("Growing", bound="AddsRows")


class RowsSeen(NamedTuple):
    """All rows that ``partial_fit`` was called with, their labels and weights, and what labels there may be."""

    X: Any
    y: NDArray[Any]
    weights: NDArray[np.float64]
    classes: NDArray[Any] | None

    def and_more(self, other: RowsSeen) -> RowsSeen:
        """These rows, and behind them others."""
        y, weights = np.concatenate([self.y, other.y]), np.concatenate([self.weights, other.weights])
        return RowsSeen(stacked(self.X, other.X), y, weights, self.classes)


def _keeps_rows(estimator: Any) -> bool:
    if not estimator._can_add_rows:
        raise AttributeError(f"{type(estimator).__module__}.SVC has no partial_fit. Call fit on all rows.")
    if estimator.kernel == "precomputed":
        raise AttributeError(
            "partial_fit is not available with kernel='precomputed': new rows would need columns in the old ones. "
            "Call fit on the whole matrix, with warm_start=True to go on."
        )
    return True


class AddsRows(Probabilities):
    """Keeps the rows of ``partial_fit``: an exact SVM may need any of them again."""

    _can_add_rows: bool = True
    _adds_rows: bool = False  # while partial_fit is at work
    _rows_seen: RowsSeen | None = None

    @available_if(_keeps_rows)  # type: ignore[untyped-decorator]
    def partial_fit(self: Growing, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Growing:
        """Add rows to those of the calls before, and go on training with all of them from the model there is.

        The model is that of ``fit`` on all rows seen, within the tolerance. All rows are kept in memory, and by
        ``pickle``: whichever of them is no support vector now may become one. ``save`` does not keep them.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n, d)
            New rows; with a callable kernel also any sequence of n objects.
        y : array-like of shape (n,)
            Their labels. The rows of the first call must be of at least two classes.
        classes : array-like, optional
            All labels there will ever be: others are an error then. Without it classes may be added. ``classes_`` has
            those of which there are rows.
        sample_weight : array-like of shape (n,), optional
            What each row's slack costs.

        Returns
        -------
        self
        """
        check_parameters(self, self._rules)
        before = self._rows_before()
        X = check_rows(self, X, reset=before is None)
        rows = _checked(X, y, classes if before is None else _same_classes(before, classes), sample_weight)
        rows = rows if before is None else before.and_more(_of_same_kind(before, rows))
        self._adds_rows = True
        try:
            self.fit(CheckedRows(rows.X), rows.y, rows.weights)
        except KeyboardInterrupt:  # which leaves a model
            self._rows_seen = rows
            raise
        finally:
            del self._adds_rows
        self._rows_seen = rows
        return self

    def _rows_before(self) -> RowsSeen | None:
        """Those of the calls before; after ``fit``, or in a model that was read from a file, its support vectors."""
        if self._rows_seen is not None or not hasattr(self, "dual_coef_"):
            return self._rows_seen
        instead = "Use partial_fit from the first rows on, or fit on all rows with warm_start=True."
        if "subspace" in self.strategy_:
            raise ValueError(
                f"partial_fit needs the rows seen before; this model has the landmarks of a subspace only. {instead}"
            )
        warn(
            "partial_fit adds rows to those of earlier calls, and this model has none: it was fitted by fit, or read "
            f"from a file, which keep no rows. Its support vectors stand for them. {instead}"
        )
        labels = np.repeat(self.classes_, self.n_support_)
        return RowsSeen(self.support_vectors_, labels, np.ones(len(labels)), None)


def _checked(X: Any, y: Any, classes: Any, sample_weight: Any) -> RowsSeen:
    if y is None:
        raise ValueError(
            "requires y to be passed, but the target y is None: a classifier needs the labels of its rows."
        )
    y, n = column_or_1d(y, warn=True), length(X)
    if len(y) != n:
        raise ValueError(f"y must have one label for each row of X, got {len(y)} labels for {n} rows.")
    if classes is not None:
        classes = np.unique(column_or_1d(classes))
        unknown = np.setdiff1d(y, classes)
        if len(unknown):
            raise ValueError(f"y must have labels out of classes, got {unknown[0]!r}. Name all in the first call.")
    return RowsSeen(X, y, checked_weights(sample_weight, n), classes)


def _same_classes(before: RowsSeen, classes: Any) -> Any:
    """Those of the first call."""
    if classes is None or before.classes is None:
        return before.classes
    if not np.array_equal(np.unique(column_or_1d(classes)), before.classes):
        raise ValueError(
            f"classes must be those of the first call, {before.classes.tolist()}, got {list(classes)}. Leave it out."
        )
    return before.classes


def _of_same_kind(before: RowsSeen, rows: RowsSeen) -> RowsSeen:
    """The same; ValueError where numbers would become text."""
    if (before.y.dtype.kind in "US") != (rows.y.dtype.kind in "US"):
        raise ValueError(
            f"y must have labels of one kind, got {rows.y.dtype} after {before.y.dtype}. Use numbers or text alone."
        )
    return rows
