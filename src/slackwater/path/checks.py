"""What a search is given, checked before any work, and what a scorer returns, checked each time."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from inspect import signature
from numbers import Real
from reprlib import repr as short
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import check_scoring, get_scorer_names
from sklearn.model_selection import check_cv

from slackwater.estimators.parameters import is_real, is_whole
from slackwater.estimators.svc import SVC
from slackwater.path.grid import DEFAULT_CS
from slackwater.path.preparation import require_distinct, rising

Rows = NDArray[np.intp]
Fold = tuple[Rows, Rows]

_C_MEANING = "C is what a unit of hinge loss costs."
_GAMMA_MEANING = "None is a default grid."
_CV_REMEDY = (
    "Pass a number of folds, a splitter of sklearn.model_selection, or pairs of row numbers (training rows, test rows)."
)
_SCORING_REMEDY = "Pass the name of one score, a callable scoring(estimator, X, y) that returns it, or None: accuracy."


def checked_cs(Cs: Any) -> list[float]:
    """The values of C to try: those given, so many as asked for, or the default ones."""
    if Cs is None:
        return list(DEFAULT_CS)
    if not is_whole(Cs):
        return rising("Cs", Cs, _C_MEANING)
    if Cs < 1:
        raise ValueError(f"Cs must be values or a number of them >= 1, got {Cs!r}. {_C_MEANING}")
    return np.geomspace(DEFAULT_CS[0], DEFAULT_CS[-1], Cs).tolist() if Cs > 1 else [1.0]


def checked_gammas(gammas: Any) -> list[Any] | None:
    """Numbers > 0, "scale" or "auto", each once; None for a default grid."""
    if gammas is None:
        return None
    if isinstance(gammas, Mapping) or not isinstance(gammas, Iterable):
        raise ValueError(
            f"gammas must be a sequence of numbers > 0, 'scale' or 'auto', got {short(gammas)}. Pass one value in a "
            f"list. {_GAMMA_MEANING}"
        )
    given = [gammas] if isinstance(gammas, str) else list(gammas)
    if not given:
        raise ValueError("gammas must have at least one value, got none. Leave None for a default grid.")
    for gamma in given:
        if not (gamma in ("scale", "auto") if isinstance(gamma, str) else is_real(gamma) and gamma > 0):
            raise ValueError(f"gammas must be numbers > 0, 'scale' or 'auto', got {short(gamma)}. {_GAMMA_MEANING}")
    require_distinct("gammas", given, _GAMMA_MEANING)
    return given


def checked_scorer(model: SVC, scoring: Any) -> Callable[..., Any]:
    """The scorer of a name or a callable, if it can score such a model by one number."""
    if isinstance(scoring, str):
        _require_known(scoring)
    elif scoring is not None:
        _require_callable(scoring)
    scorer: Callable[..., Any] = check_scoring(model, scoring=scoring)
    methods = getattr(scorer, "_response_method", "predict")  # of scikit-learn's scorers: by what they judge
    needed = (methods,) if isinstance(methods, str) else tuple(methods or ("predict",))
    if "default" not in needed and not any(hasattr(model, name) for name in needed):
        raise ValueError(
            f"scoring must not need {needed[0]}, which SVC has only by a calibration of its own, got {scoring!r}. "
            "Choose by accuracy or 'roc_auc', then calibrate the model chosen."
        )
    return scorer


def _require_known(name: str) -> None:
    known = get_scorer_names()
    if name not in known:
        near = get_close_matches(name, known, 3, 0.0)
        raise ValueError(
            f"scoring must be a score that scikit-learn knows, got {name!r}; the nearest are {', '.join(near)}. "
            "sklearn.metrics.get_scorer_names() lists all."
        )


def _require_callable(scoring: Any) -> None:
    if not callable(scoring):
        raise ValueError(f"scoring must be one score, a name or a callable, got {short(scoring)}. {_SCORING_REMEDY}")
    try:
        accepts = signature(scoring)
    except ValueError:  # compiled functions have none
        return
    try:
        accepts.bind(None, None, None)
    except TypeError as error:
        raise ValueError(
            f"scoring must be callable with an estimator, X and y, got one with {accepts} ({error}). {_SCORING_REMEDY}"
        ) from error


def checked_score(found: Any, C: float, gamma: float, fold: int) -> float:
    """What a scorer has returned, if it is a finite number."""
    value = found.item() if isinstance(found, np.ndarray) and found.ndim == 0 else found
    if not isinstance(value, Real | np.bool_) or not math.isfinite(float(value)):
        where = f"C={C:g}" + (f", gamma={gamma:g}" if gamma else "")
        raise ValueError(
            f"scoring must return a finite number, got {short(found)} for {where} in fold {fold}. Scores are compared: "
            "have the scorer return a number for rows or predictions of any kind."
        )
    return float(value)


def checked_folds(cv: Any, X: Any, y: NDArray[Any], groups: Any, weights: NDArray[np.float64]) -> list[Fold]:
    """Training and test rows of each fold, if every fold can be trained and scored."""
    try:
        splitter = check_cv(cv, y, classifier=True)
        pairs = list(splitter.split(X, y, groups))
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"cv must split these {len(y)} rows, got {short(cv)}: {str(error).rstrip('.')}. {_CV_REMEDY}"
        ) from error
    if not pairs:
        raise ValueError(f"cv must give at least one fold, got none. {_CV_REMEDY}")
    folds = [_fold(pair, number, len(y)) for number, pair in enumerate(pairs)]
    for number, (train, _) in enumerate(folds):
        classes = np.unique(y[train[weights[train] > 0.0]])
        if len(classes) < 2:
            raise ValueError(
                f"cv must leave at least two classes in the training rows of every fold, got {len(classes)} "
                f"({', '.join(map(str, classes))}) in fold {number}. Stratified folds keep all classes: pass an int."
            )
    return folds


def _fold(pair: Any, number: int, n: int) -> Fold:
    if not isinstance(pair, Sequence | np.ndarray) or len(pair) != 2:
        raise ValueError(f"cv must give pairs of row numbers, got {short(pair)} for fold {number}. {_CV_REMEDY}")
    train, test = (_rows(rows, what, number, n) for rows, what in zip(pair, ("training", "test"), strict=True))
    return train, test


def _rows(given: Any, what: str, fold: int, n: int) -> Rows:
    rows = np.asarray(given)
    if rows.dtype == bool and rows.shape == (n,):
        rows = np.flatnonzero(rows)
    if rows.ndim != 1 or len(rows) == 0 or rows.dtype.kind not in "iu" or rows.min() < -n or rows.max() >= n:
        raise ValueError(
            f"cv must give row numbers from 0 to {n - 1}, at least one, got {short(given)} for the {what} rows of fold "
            f"{fold}. {_CV_REMEDY}"
        )
    return np.where(rows < 0, rows + n, rows).astype(np.intp)
