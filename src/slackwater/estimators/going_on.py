"""A fitted ``SVC`` as another fit can start from it: what a model says of itself, and what was kept beside it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slackwater.estimators.validation import Targets
from slackwater.examples import row_keys
from slackwater.fitting.context import FitContext
from slackwater.fitting.result import AnyResult, PairsResult
from slackwater.fitting.training_set import TrainingSet
from slackwater.fitting.warm_start import Choice, EarlierModel, Seen, renumbered
from slackwater.points import Vectors, as_points


@dataclass(frozen=True)
class Kept:
    """What a fit leaves beside its model for the next one; without it, a model is all that there is to start from."""

    C: float
    classes: NDArray[Any]
    seen: Seen | None = None
    choices: Mapping[int, Choice] = field(default_factory=dict)

    @classmethod
    def of(cls, C: float, classes: NDArray[Any], training_set: TrainingSet, result: AnyResult) -> Kept:
        """All that is of use: the examples seen, and what was decided by their measurement."""
        used = ~training_set.held_out
        if isinstance(result, PairsResult):
            choices, lower = result.choices, result.lower
        else:
            choices = {} if result.choice is None else {0: result.choice}
            each = [found.lower for found in result.binary_results]
            lower = None if any(one is None for one in each) else np.stack([one for one in each if one is not None])
        kernel = None if training_set.features is None else training_set.features.kernel
        lower = None if lower is None else lower[:, used]
        seen = Seen(training_set.keys[used], training_set.codes[used], kernel, lower)
        return cls(C, classes, seen, choices)


class GoesOn:
    """What an estimator is asked at the beginning of a fit."""

    def _goes_on(self, n: int) -> bool:
        """Whether a fit of n rows begins at a model that is of use as it is."""
        return False

    def _go_on(self, context: FitContext, targets: Targets) -> int:
        """Let a fit go on from the model of the last one; returns the kernel values that this one had computed.

        Nothing here: states that are bound to the data have an account of their own.
        """
        return 0

    def _evaluations_before(self: Any, result: AnyResult) -> int:
        """Kernel values computed by the fits that this one continues; a checkpoint has them in its own account."""
        previous = getattr(self, "_previous", None)
        if previous is None or result.previous is None or self.checkpoint is not None:
            return 0
        return int(self.n_kernel_evals_) if previous.data == result.previous.data else 0


def earlier_model(estimator: Any, classes: NDArray[Any]) -> EarlierModel | None:
    """The model of an estimator, for a fit with these classes; None if it has none, or one of another kind."""
    if not hasattr(estimator, "dual_coef_"):
        return None
    in_pairs = estimator._trains_pairs(len(classes))
    several = len(estimator.classes_) > 2
    if several != (len(classes) > 2) if not in_pairs else several != estimator._in_pairs:
        return None
    kept = getattr(estimator, "_kept", None) or Kept(float(estimator.C), estimator.classes_)
    numbers = _numbers(estimator.classes_, classes)
    old_codes = np.repeat(np.arange(len(estimator.classes_)), estimator.n_support_)
    same = np.array_equal(numbers, np.arange(len(classes)))
    table = _table(estimator, old_codes)
    if not same:
        if in_pairs:
            table = renumbered(table, estimator.n_support_, numbers, len(classes))
        elif several:
            table = _reordered(table, numbers, len(classes))
    seen, problems = kept.seen, len(classes) * (len(classes) - 1) // 2 if in_pairs else len(table)
    return EarlierModel(
        keys=_keys(estimator),
        codes=numbers[old_codes],
        table=table,
        C=kept.C,
        biases=np.asarray(estimator._biases, dtype=np.float64) if same else np.zeros(problems),
        norms=1.0 / np.atleast_1d(estimator.margin_) / estimator.scale_ if same else None,
        steps=np.atleast_1d(estimator.n_iter_) if same else None,
        seen=None if seen is None else Seen(seen.keys, numbers[seen.codes], seen.kernel, seen.lower if same else None),
        choices=kept.choices if same else {},
    )


def _numbers(old: NDArray[Any], new: NDArray[Any]) -> NDArray[np.intp]:
    """The number that each of the old classes has among the new ones; -1: none."""
    place = {label: number for number, label in enumerate(new.tolist())}
    return np.array([place.get(label, -1) for label in old.tolist()], dtype=np.intp)


def _keys(estimator: Any) -> NDArray[np.float64]:
    """Of the support vectors: by content, or by their row numbers where there are no vectors."""
    if estimator._kernel is not None:
        points = as_points(estimator.support_vectors_)
        if isinstance(points, Vectors):
            return row_keys(points)
    return np.asarray(estimator.support_, dtype=np.float64)


def _table(estimator: Any, codes: NDArray[np.intp]) -> NDArray[np.float64]:
    """y_i times the coefficient of each support vector in each problem: its dual variable, unless in a subspace."""
    shown: Any = estimator.dual_coef_
    coefficients = np.asarray(shown.toarray() if hasattr(shown, "toarray") else shown, dtype=np.float64)
    k = len(estimator.classes_)
    if k == 2:
        return np.where(codes == 1, 1.0, -1.0) * coefficients
    if not estimator._in_pairs:
        return np.where(codes == np.arange(k)[:, None], 1.0, -1.0) * coefficients
    # In row r the other class is r + 1 for classes up to r, for which the pair's label is positive.
    return np.where(codes <= np.arange(k - 1)[:, None], 1.0, -1.0) * coefficients


def _reordered(table: NDArray[np.float64], numbers: NDArray[np.intp], n_classes: int) -> NDArray[np.float64]:
    """Rows of classes against the rest, where classes have other numbers."""
    out = np.zeros((n_classes, table.shape[1]))
    present = np.flatnonzero(numbers >= 0)
    out[numbers[present]] = table[present]
    return out
