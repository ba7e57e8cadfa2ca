"""The user's collections as partitions of rows, and what has to be known of all of them before training."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_array, column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from slackwater.estimators.validation import check_sparse_format, check_sum, require_two
from slackwater.kernels.registry import entry_moments
from slackwater.points import Vectors, as_points

_MIN_ROWS = 8192  # of a partition that a whole array is cut into, at least
_OF_ONE_KIND = "y must have labels of one kind: numbers, or strings"


class Partition(NamedTuple):
    """Some rows: delayed objects of Dask, or arrays."""

    X: Any
    y: Any
    weights: Any


class Look(NamedTuple):
    """What one partition tells of itself."""

    n: int
    n_features: int
    dtype: str
    sparse: bool
    labels: NDArray[Any]
    counts: NDArray[np.intp]  # of rows with these labels
    used: NDArray[np.intp]  # of these, rows of positive weight
    weight: float
    squared_weight: float
    mean: float  # of all entries
    squares: float  # their squared distances from it
    sample: Any  # some rows
    names: list[str] | None


class Overview(NamedTuple):
    """What is known of all partitions together."""

    n: int
    n_features: int
    dtype: str
    sparse: bool
    classes: NDArray[Any]
    counts: NDArray[np.intp]
    variance: float  # of all entries
    weight: float
    squared_weight: float
    firsts: list[int]  # number of each partition's first row
    sample: Any
    names: list[str] | None


def is_collection(X: Any) -> bool:
    """Whether X is a collection of Dask; without Dask nothing is."""
    return hasattr(X, "__dask_graph__")


def partitions_of(X: Any, y: Any, weights: Any, workers: int) -> list[Partition]:
    """Rows of X with their labels and weights; in memory they are cut into as many parts as there are workers."""
    if y is None:
        raise ValueError("y must have the label of each row of X, got None. A classifier needs labels.")
    if not is_collection(X):
        return _cut(X, y, weights, workers)
    parts = _delayed(X, "X", None)
    X_chunks = getattr(X, "chunks", (None,))[0]
    of_y = _delayed(y, "y", X_chunks) if is_collection(y) else _like(y, "y", X_chunks)
    if weights is None or (not is_collection(weights) and np.ndim(weights) == 0):
        of_weights: list[Any] = [weights] * len(parts)
    else:
        of_weights = (
            _delayed(weights, "sample_weight", X_chunks)
            if is_collection(weights)
            else _like(weights, "sample_weight", X_chunks)
        )
    for name, found in (("y", of_y), ("sample_weight", of_weights)):
        if len(found) != len(parts):
            raise ValueError(
                f"{name} must have the partitions of X, got {len(found)} for {len(parts)} of X. Rechunk or repartition "
                "them alike."
            )
    return [Partition(*each) for each in zip(parts, of_y, of_weights, strict=True)]


def _delayed(collection: Any, name: str, chunks: tuple[int, ...] | None) -> list[Any]:
    """The partitions of a collection: rows are not cut, columns are together."""
    from dask.utils import is_arraylike, is_dataframe_like, is_series_like

    if is_arraylike(collection):
        if collection.ndim == 2 and len(collection.chunks[1]) > 1:
            collection = collection.rechunk({1: -1})
        known = chunks is not None and not np.isnan([*chunks, *collection.chunks[0]]).any()
        if known and collection.chunks[0] != chunks:
            if sum(chunks or ()) != collection.shape[0]:
                raise ValueError(
                    f"{name} must have one entry for each row of X, got {collection.shape[0]} for {sum(chunks or ())}."
                )
            collection = collection.rechunk({0: chunks})
        return list(collection.to_delayed().ravel())
    if is_dataframe_like(collection) or is_series_like(collection):
        return list(collection.to_delayed())
    raise TypeError(
        f"{name} must be a Dask array or data frame, or an array in memory, got {type(collection).__name__}."
    )


def _like(values: Any, name: str, chunks: tuple[int, ...] | None) -> list[Any]:
    """An array in memory, cut as X is."""
    if chunks is None or np.isnan(chunks).any():
        raise ValueError(
            f"{name} must be a Dask collection with the partitions of X where the lengths of these are not known. "
            "X.compute_chunk_sizes() finds those of an array, X.to_dask_array(lengths=True) those of a data frame; or "
            "pass a collection."
        )
    values = np.asarray(values)
    if len(values) != sum(chunks):
        raise ValueError(f"{name} must have one entry for each row of X, got {len(values)} for {sum(chunks)} rows.")
    return np.split(values, np.cumsum(chunks)[:-1])


def _cut(X: Any, y: Any, weights: Any, workers: int) -> list[Partition]:
    """An array, data frame or sparse matrix in memory, in even parts."""
    if is_collection(y) or is_collection(weights):
        raise TypeError("X must be a Dask collection where y or sample_weight is one, got an array in memory.")
    if sparse.issparse(X):
        X = X.tocsr()
    elif not hasattr(X, "shape") or len(X.shape) != 2:
        X = check_array(X, input_name="X")  # which says what is wrong with it, if it is no list of rows
    y = column_or_1d(y)
    n = X.shape[0]
    if len(y) != n:
        raise ValueError(f"y must have one label for each row of X, got {len(y)} labels for {n} rows.")
    weights = None if weights is None else row_weights(weights, n)
    bounds = np.linspace(0, n, 1 + max(1, min(workers, n // _MIN_ROWS))).astype(int)
    cut = X.iloc if hasattr(X, "iloc") else X
    return [
        Partition(cut[first:last], y[first:last], None if weights is None else weights[first:last])
        for first, last in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True)
    ]


def numbers_of(X: Any) -> Any:
    """Rows as float32, float64 or CSR; finite."""
    if sparse.issparse(X):
        check_sparse_format(X)
    kinds = {"accept_sparse": "csr", "dtype": [np.float64, np.float32], "order": "C"}
    return check_array(X, **kinds, ensure_min_samples=0, input_name="X")


def look_at(X: Any, y: Any, weights: Any, seed: Sequence[int], moments: bool, sampled: int) -> Look:
    """A task: statistics of one partition, with ``moments`` those of its entries as well, and some of its rows."""
    names = _names_of(X)
    X, y = numbers_of(X), column_or_1d(y)
    n = X.shape[0]
    if len(y) != n:
        raise ValueError(f"y must have one label for each row of X, got {len(y)} for {n} rows of a partition.")
    weights = row_weights(weights, n)
    labels, places = _labels_of(y)
    counts = np.bincount(places, minlength=len(labels))
    used = np.bincount(places[weights > 0.0], minlength=len(labels))
    mean, squares = entry_moments(cast("Vectors", as_points(X))) if n and moments else (0.0, 0.0)
    chosen = np.sort(np.random.default_rng(seed).permutation(n)[:sampled])
    with np.errstate(over="ignore"):  # said of all partitions together
        weight, squared = float(weights.sum()), float(weights @ weights)
    kind = X.shape[1], X.dtype.name, sparse.issparse(X)
    return Look(n, *kind, labels, counts, used, weight, squared, mean, squares, X[chosen], names)


def _names_of(X: Any) -> list[str] | None:
    """The names of a data frame's columns, by scikit-learn's rule: all of them are strings, or there are none."""
    columns = list(getattr(X, "columns", ()))
    texts = [isinstance(each, str) for each in columns]
    if any(texts) and not all(texts):
        odd = columns[texts.index(False)]
        raise TypeError(
            f"X must have columns whose names are all strings, or none of them, got {odd!r} beside "
            f"{columns[texts.index(True)]!r}. X.columns = X.columns.astype(str) makes them strings."
        )
    return columns if columns and all(texts) else None


def _labels_of(y: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """The labels that there are, and which of them each row has."""
    try:
        labels, places = np.unique(y, return_inverse=True)
    except TypeError as error:
        check_classification_targets(y)
        raise ValueError(f"{_OF_ONE_KIND}, got labels without an order: {error}.") from error
    return labels, places


def row_weights(weights: Any, n: int) -> NDArray[np.float64]:
    """A weight for each row of a partition; rows of weight zero or less do not count."""
    try:
        found = np.asarray(1.0 if weights is None else weights, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"sample_weight must have numbers, got what is none: {error}.") from error
    if found.ndim == 0:
        found = np.full(n, found)
    if found.shape != (n,):
        raise ValueError(f"sample_weight must have one weight for each row of X, got shape {found.shape} for {n} rows.")
    if not np.isfinite(found).all():
        raise ValueError("sample_weight must be finite, got NaN or infinity. A weight of 0 leaves a row out.")
    return np.maximum(found, 0.0)


def codes_and_weights(
    y: Any, weights: Any, classes: NDArray[Any], factors: NDArray[np.float64], floor: float
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Class numbers, and sample weights times class weights."""
    y = column_or_1d(y)
    weights = row_weights(weights, len(y))
    places = np.minimum(np.searchsorted(classes, y), len(classes) - 1).astype(np.intp)
    used = (weights > 0.0) & (classes[places] == y)
    return places, np.where(used, np.maximum(weights * factors[places], floor), 0.0)


def overview(looks: Sequence[Look]) -> Overview:
    """All partitions together; an error where they do not go together."""
    filled = [look for look in looks if look.n]
    if not filled:
        raise ValueError("X must have at least one row, got partitions without any.")
    widths = {look.n_features for look in filled}
    if len(widths) > 1:
        raise ValueError(f"X must have as many columns in each partition, got {sorted(widths)}.")
    _check_together(looks)
    labels = np.concatenate([look.labels for look in filled])
    if sum(look.weight for look in filled) <= 0.0:
        raise ValueError("sample_weight must be positive for some row, got none: the others are left out.")
    check_classification_targets(labels)
    check_sum(sum(look.weight for look in filled))
    used = np.concatenate([look.used for look in filled])
    classes = np.unique(labels[used > 0])
    require_two(classes, all((look.used == look.counts).all() for look in filled))
    places = np.minimum(np.searchsorted(classes, labels), len(classes) - 1)
    known = classes[places] == labels
    counts = np.bincount(places[known], np.concatenate([look.counts for look in filled])[known], len(classes)).astype(
        np.intp
    )
    n, d = sum(look.n for look in filled), filled[0].n_features
    mean = sum(look.n * look.mean for look in filled) / n
    squares = sum(look.squares + look.n * d * (look.mean - mean) ** 2 for look in filled)
    is_sparse = any(look.sparse for look in filled)
    samples = [look.sample for look in filled]
    stacked = (
        sparse.vstack([sparse.csr_matrix(each) for each in samples]).tocsr() if is_sparse else np.concatenate(samples)
    )
    return Overview(
        n=n,
        n_features=d,
        dtype=np.result_type(*(look.dtype for look in filled)).name,
        sparse=is_sparse,
        classes=classes,
        counts=counts,
        variance=squares / (n * d),
        weight=sum(look.weight for look in filled),
        squared_weight=sum(look.squared_weight for look in filled),
        firsts=np.concatenate([[0], np.cumsum([look.n for look in looks])[:-1]]).astype(int).tolist(),
        sample=stacked,
        names=filled[0].names,
    )


def _check_together(looks: Sequence[Look]) -> None:
    """Partitions with other columns, or labels of another kind, are not of the same data."""
    filled = [(number, look) for number, look in enumerate(looks) if look.n]
    first, one = filled[0]
    for number, other in filled[1:]:
        if other.names != one.names:
            raise ValueError(
                f"X must have the same columns in the same order in each partition, got {one.names} in partition "
                f"{first} and {other.names} in partition {number}. X[columns] puts them in order."
            )
        if (other.labels.dtype.kind in "US") != (one.labels.dtype.kind in "US") and "O" not in (
            other.labels.dtype.kind,
            one.labels.dtype.kind,
        ):
            raise ValueError(
                f"{_OF_ONE_KIND}, got {one.labels.dtype} in partition {first} and {other.labels.dtype} in partition "
                f"{number}. y.astype(str) makes strings of all."
            )
    try:
        np.sort(np.concatenate([look.labels for _, look in filled]))
    except TypeError as error:
        raise ValueError(f"{_OF_ONE_KIND}, got both: {error}. y.astype(str) makes strings of all.") from error
