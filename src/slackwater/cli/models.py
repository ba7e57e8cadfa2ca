"""A model and data that fit each other."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

import slackwater
from slackwater.cli.console import RefusedError, note, one_line
from slackwater.cli.options import Reading
from slackwater.cli.progress import shown
from slackwater.data_io import LabelledData

_ROWS_AT_ONCE = 8192
_LIBSVM = "libsvm"  # strategy_ of a model that LIBSVM's text was read into


def load_model(path: Path, n_features: int | None = None) -> Any:
    """A fitted estimator from a file."""
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model = slackwater.load(path, n_features=n_features)
    except OSError as error:
        raise RefusedError(f"{path}: cannot be opened ({error.strerror or error}).") from error
    except ValueError as error:
        raise RefusedError(str(error)) from error
    for warning in caught:
        note(one_line(cast(Warning, warning.message)))
    return model


def load_with_data(path: Path, reading: Reading, needs_labels: bool, quiet: bool) -> tuple[Any, LabelledData]:
    """A model, and data with its features in its order."""
    model = load_model(path)
    names = getattr(model, "feature_names_in_", None)
    options: dict[str, Any] = {"needs_labels": needs_labels, "n_jobs": getattr(model, "n_jobs", None)}
    if names is not None:
        options["features"] = [str(name) for name in names]
    if model.classes_.dtype.kind in "OU":
        options["string_labels"] = True
    if getattr(model, "strategy_", None) == _LIBSVM:  # its text does not say how many features there are
        data = reading.read(quiet, **options)
        columns = max(int(data.X.shape[1]), model.n_features_in_)
        model = load_model(path, columns) if columns > model.n_features_in_ else model
        return model, data._replace(X=_widened(data.X, columns))
    return model, reading.read(quiet, n_features=model.n_features_in_, **options)


def _widened(X: Any, columns: int) -> Any:
    """With columns of zeros added."""
    missing = columns - X.shape[1]
    if not missing:
        return X
    if isinstance(X, np.ndarray):
        return np.pad(X, ((0, 0), (0, missing)))
    X.resize((X.shape[0], columns))
    return X


def in_parts(function: Any, X: Any, title: str, quiet: bool) -> NDArray[Any]:
    """``function`` of all rows, some thousand at a time, with progress."""
    rows = X.shape[0]
    found = []
    with shown(title, quiet=quiet) as update, warnings.catch_warnings():
        # Columns were put in the model's order when they were read.
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        for start in range(0, rows, _ROWS_AT_ONCE):
            found.append(function(X[start : start + _ROWS_AT_ONCE]))
            update(min(start + _ROWS_AT_ONCE, rows), rows)
    return np.concatenate(found)


def known_labels(model: Any, y: NDArray[Any] | None) -> NDArray[Any] | None:
    """Labels as the model has them; None if there are none, or none that the model knows."""
    if y is None:
        return None
    classes = model.classes_
    if (classes.dtype.kind in "OU") != (y.dtype.kind in "OU"):
        return None
    return y if bool(np.isin(y, classes).any()) else None


def labels_of(model: Any, y: NDArray[Any] | None, data: str) -> NDArray[Any]:
    """Labels, all of which the model knows."""
    found = known_labels(model, y)
    if found is None or not np.isin(found, model.classes_).all():
        classes = ", ".join(map(str, model.classes_.tolist()[:10]))
        odd = [label for label in np.unique([] if y is None else y).tolist() if label not in model.classes_.tolist()][
            :3
        ]
        raise RefusedError(
            f"{data}: labels must be of the model's classes ({classes}), found {', '.join(map(str, odd))}."
        )
    return found
