"""Predictions on Dask's collections: as lazy as these are, a block at a time, by a model that knows nothing of Dask."""

from __future__ import annotations

from typing import Any

import numpy as np


def lazily(model: Any, method: str, X: Any, columns: int | None, dtype: Any) -> Any:
    """A Dask array of what ``method`` returns: with so many columns, or with one axis where there are none."""
    import dask.array as da
    from dask.delayed import delayed

    if getattr(X, "chunks", None) is None:
        X = X.to_dask_array()
    if X.ndim == 2 and len(X.chunks[1]) > 1:
        X = X.rechunk({1: -1})
    shape: dict[str, Any] = {"drop_axis": 1} if columns is None else {"chunks": (X.chunks[0], (columns,))}
    meta = np.empty((0,) if columns is None else (0, 0), dtype=dtype)
    return da.map_blocks(_applied, X, delayed(model), method, dtype=dtype, meta=meta, **shape)


def _applied(block: Any, model: Any, method: str) -> Any:
    names = getattr(model, "feature_names_in_", None)
    if names is not None:  # of the columns of a data frame, which blocks of an array have lost
        import pandas

        block = pandas.DataFrame(block, columns=names, copy=False)
    return getattr(model, method)(block)
