"""Predictions on Dask's collections: as lazy as these are, a block at a time, by a model that knows nothing of Dask."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data


def lazily(model: Any, method: str, X: Any, columns: int | None, dtype: Any) -> Any:
    """A Dask array of what ``method`` returns: with so many columns, or with one axis where there are none."""
    import dask.array as da
    from dask.delayed import delayed

    _check_columns(model, X)
    if getattr(X, "chunks", None) is None:
        X = X.to_dask_array()
    if X.ndim == 2 and len(X.chunks[1]) > 1:
        X = X.rechunk({1: -1})
    shape: dict[str, Any] = {"drop_axis": 1} if columns is None else {"chunks": (X.chunks[0], (columns,))}
    meta = np.empty((0,) if columns is None else (0, 0), dtype=dtype)
    return da.map_blocks(_applied, X, delayed(_nameless(model)), method, dtype=dtype, meta=meta, **shape)


def _check_columns(model: Any, X: Any) -> None:
    """Raise now what else every block would: other names than those of training, or another number of columns."""
    from dask.utils import is_arraylike, is_dataframe_like

    if is_dataframe_like(X):
        few: Any = X._meta
    elif is_arraylike(X) and X.ndim == 2:
        few = np.empty((1, model.n_features_in_ if np.isnan(X.shape[1]) else X.shape[1]))
    else:
        got = f"{X.ndim} axes" if is_arraylike(X) else type(X).__name__
        raise ValueError(f"X must be a Dask array with two axes or a data frame, got {got}. X[:, None] adds an axis.")
    validate_data(model, few, reset=False, skip_check_array=True)


def _nameless(model: Any) -> Any:
    """The same model for arrays, whose columns have no names: those of X have been compared."""
    found = copy.copy(model)
    if hasattr(found, "feature_names_in_"):
        del found.feature_names_in_
    return found


def _applied(block: Any, model: Any, method: str) -> Any:
    n = block.shape[0]  # of no rows scikit-learn makes an error
    return getattr(model, method)(block if n else np.zeros((1, model.n_features_in_)))[:n]
