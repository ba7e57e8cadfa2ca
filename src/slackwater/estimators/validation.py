"""From what a user passes to what a solver can train on, with an error for everything that cannot be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import assert_all_finite, check_array, check_random_state, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from slackwater.estimators.parameters import is_real

_FLOATS = [np.float64, np.float32]


class Targets(NamedTuple):
    """Labels as class numbers; rows of weight zero are ignored and may have any number."""

    classes: NDArray[Any]
    codes: NDArray[np.intp]
    weights: NDArray[np.float64]
    class_weights: NDArray[np.float64]  # one factor for each class, part of the weights


class CheckedRows(NamedTuple):
    """Rows that were checked before."""

    X: Any


def is_collection_of_objects(X: Any) -> bool:
    """Whether X is a sequence of things other than rows of numbers: strings, graphs, anything."""
    if sparse.issparse(X) or getattr(X, "ndim", None) == 2 or hasattr(X, "columns"):
        return False
    try:
        array = np.asarray(X)
    except ValueError:  # a list of arrays of different lengths
        return True
    return array.ndim == 1 and array.dtype.kind in "OUS"


def seed_of(random_state: Any) -> int:
    """A seed; None means 0, so that a fit can be repeated, resumed and continued without stating one."""
    chance = check_random_state(0 if random_state is None else random_state)
    return int(chance.randint(np.iinfo(np.int32).max))


def check_sparse_format(X: Any) -> None:
    """Raise ValueError where a sparse matrix points outside of itself: compiled code would read other memory.

    Takes 10 ms for ten million entries. Scipy's own ``check_format`` may cut off arrays of the user's matrix.
    """
    if X.format == "coo":
        for axis, (name, places) in enumerate(zip(("row", "col"), (X.row, X.col), strict=True)):
            _require(len(places) == len(X.data), f"X.{name} and X.data must be equally long", len(places), len(X.data))
            _require_within(f"X.{name}", places, X.shape[axis])
    if X.format not in ("csr", "csc", "bsr"):
        return
    rows, columns = X.blocksize if X.format == "bsr" else (1, 1)
    shape = (X.shape[0] // rows, X.shape[1] // columns)
    outer, inner = shape[::-1] if X.format == "csc" else shape
    starts, places = X.indptr, X.indices
    _require(len(starts) == outer + 1, f"X.indptr must have {outer + 1} entries", len(starts))
    _require(starts[0] == 0, "X.indptr must start with 0", starts[0])
    falls = np.flatnonzero(starts[1:] < starts[:-1])
    if len(falls):
        _require(False, "X.indptr must not decrease", starts[falls[0] + 1], f"{starts[falls[0]]} before it")
    _require(len(places) == len(X.data), "X.indices and X.data must be equally long", len(places), len(X.data))
    _require(starts[-1] <= len(places), f"X.indptr must end with {len(places)} entries or fewer", starts[-1])
    _require_within("X.indices", places[: starts[-1]], inner)


def _require_within(name: str, places: NDArray[Any], size: int) -> None:
    if len(places):
        for extreme in (places.min(), places.max()):
            _require(0 <= extreme < size, f"{name} must be from 0 to {size - 1}", extreme)


def _require(holds: Any, rule: str, *values: Any) -> None:
    if not holds:
        raise ValueError(
            f"X must be a valid sparse matrix: {rule}, got {' and '.join(map(str, values))}. Build it anew from rows, "
            "columns and values: scipy.sparse.csr_matrix((values, (rows, columns)), shape)."
        )


def check_rows(estimator: Any, X: Any, *, reset: bool) -> Any:
    """X as finite numbers: float32 and float64 as they are, CSR as CSR, other numbers as float64."""
    if isinstance(X, CheckedRows):
        return X.X
    if callable(estimator.kernel) and is_collection_of_objects(X):
        if len(X) == 0:
            raise ValueError("X must have at least one example, got 0.")
        return X
    if sparse.issparse(X):
        if estimator.kernel == "precomputed":
            raise TypeError("Sparse precomputed kernels are not supported: X must be dense. Pass X.toarray().")
        check_sparse_format(X)
    if estimator.kernel == "precomputed" and not reset:
        return check_array(X, dtype=_FLOATS)  # how many columns there must be is for the model to say
    accepts_sparse = "csr" if estimator.kernel != "precomputed" else False
    return validate_data(estimator, X, reset=reset, accept_sparse=accepts_sparse, dtype=_FLOATS, order="C")


def check_targets(y: Any, n: int, sample_weight: Any, class_weight: Any) -> Targets:
    """Classes among the rows that count, and each row's weight: sample weight times class weight.

    Rows without a positive weight do not count, as in scikit-learn.
    """
    if y is None:
        raise ValueError(
            "requires y to be passed, but the target y is None: a classifier needs the labels of its rows."
        )
    y = column_or_1d(y, warn=True)
    assert_all_finite(y, input_name="y")
    check_classification_targets(y)
    weights = checked_weights(sample_weight, n)
    if len(y) != n:
        raise ValueError(f"y must have one label for each row of X, got {len(y)} labels for {n} rows.")
    used = weights > 0
    classes = np.unique(y[used])
    require_two(classes, bool(used.all()))
    codes = np.searchsorted(classes, np.where(used, y, classes[0]))
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):  # looked for in what comes out
        factors = class_factors(class_weight, classes, counts_of(classes, y))
        weights = _summable(weights * factors[codes], used)
    return Targets(classes, codes.astype(np.intp), weights, factors)


def require_two(classes: NDArray[Any], all_used: bool) -> None:
    """Raise ValueError where there is nothing to separate."""
    if len(classes) < 2:
        which = "" if all_used else "Invalid input - all samples with positive weights belong to the same class: "
        raise ValueError(
            f"{which}y must have at least two classes among the rows of positive weight, got {len(classes)} class "
            f"({', '.join(map(repr, classes.tolist()))}). One class leaves nothing to separate."
        )


def take(X: Any, rows: NDArray[np.intp]) -> Any:
    """Some rows of an array, a sparse matrix or a sequence of objects."""
    if hasattr(X, "iloc"):  # pandas would take numbers for labels
        return X.iloc[rows]
    return X[rows] if hasattr(X, "shape") else [X[int(row)] for row in rows]


def same_rows(one: Any, other: Any) -> bool:
    """Whether two collections of examples hold the same."""
    if sparse.issparse(one) != sparse.issparse(other):
        return False
    if sparse.issparse(one):
        return bool(one.shape == other.shape and (one != other).nnz == 0)
    return bool(np.array_equal(np.asarray(one), np.asarray(other)))


def _summable(weights: NDArray[np.float64], used: NDArray[np.bool_]) -> NDArray[np.float64]:
    """The same, but none of those that are used below 1e-15 of the sum: doubles have sixteen digits.

    Boosting makes such weights. What is below that would be lost in any sum; raised to it, a row still counts.
    """
    total = float(weights.sum())
    check_sum(total)
    return np.where(used, np.maximum(weights, 1e-15 * total), 0.0)


def check_sum(total: float) -> None:
    """Raise ValueError where weights have a sum that leaves no room for their products with anything else."""
    if not 1e-280 < total < 1e300:
        raise ValueError(
            "sample_weight times class_weight must have a sum from 1e-280 to 1e300, within double precision, got the "
            f"sum {total:g}. Multiply all of them by one number, and divide C by it."
        )


def checked_weights(sample_weight: Any, n: int) -> NDArray[np.float64]:
    """A weight for each row: 0 where it is not positive."""
    if sample_weight is None:
        return np.ones(n)
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.ndim == 0:
        weights = np.full(n, weights)
    if weights.shape != (n,):
        raise ValueError(
            f"sample_weight must have one weight for each row of X, got shape {weights.shape} for {n} rows."
        )
    if not np.isfinite(weights).all():
        worst = weights[~np.isfinite(weights)][0]
        raise ValueError(f"sample_weight must be finite, got {worst}. A weight of 0 leaves a row out.")
    if not (weights > 0).any():
        raise ValueError(
            "Invalid input - all samples have zero or negative weights. sample_weight must be positive for some row: "
            "the others are left out."
        )
    return np.maximum(weights, 0.0)


def counts_of(classes: NDArray[Any], y: NDArray[Any]) -> NDArray[np.intp]:
    """Rows of each class."""
    places = np.minimum(np.searchsorted(classes, y), len(classes) - 1)
    return np.bincount(places[classes[places] == y], minlength=len(classes))


def class_factors(class_weight: Any, classes: NDArray[Any], counts: NDArray[np.intp]) -> NDArray[np.float64]:
    """One factor for each class, by scikit-learn's rules: "balanced" counts rows, whatever their weights."""
    if class_weight is None:
        return np.ones(len(classes))
    if isinstance(class_weight, str):
        return np.asarray(counts.sum() / (len(classes) * counts))
    plain, known = _plain(class_weight), set(classes.tolist())
    for label, factor in plain.items():
        if not is_real(factor) or factor <= 0:
            raise ValueError(f"class_weight must be > 0 for each class, got {factor!r} for class {label!r}.")
    unknown, left = [label for label in plain if label not in known], known - plain.keys()
    if unknown and left:  # a label that is misspelt; a weight for a class that this part of the data lacks is not
        raise ValueError(
            f"class_weight must name classes of y, got {unknown[0]!r}, and no weight for {sorted(left, key=repr)}. "
            f"The classes are {classes.tolist()}."
        )
    return np.array([float(plain.get(label, 1.0)) for label in classes.tolist()])


def _plain(class_weight: Mapping[Any, float]) -> dict[Any, float]:
    """Keys as Python values: numpy's scalars print and compare in their own ways."""
    return {getattr(key, "item", lambda key=key: key)(): value for key, value in class_weight.items()}


class GivenHoldout(NamedTuple):
    """Hold-out rows that the user gives, with the numbers of their classes and what an error at each costs."""

    X: Any
    codes: NDArray[np.intp]
    weights: NDArray[np.float64]


def check_holdout(estimator: Any, X_val: Any, y_val: Any, targets: Targets) -> GivenHoldout | None:
    """The hold-out rows given to ``fit``, if there are any."""
    if X_val is None and y_val is None:
        return None
    if X_val is None or y_val is None:
        raise ValueError("X_val and y_val must be given together, got one of them. They are rows and their labels.")
    if not estimator.early_stopping:
        raise ValueError("X_val needs early_stopping=True, got False: it is what training is stopped by.")
    if estimator.kernel == "precomputed":
        raise ValueError(
            "X_val must be None with kernel='precomputed', got rows: use validation_fraction, which takes rows of X."
        )
    X_val = check_rows(estimator, X_val, reset=False)
    y_val = column_or_1d(y_val, warn=True)
    n = X_val.shape[0] if hasattr(X_val, "shape") else len(X_val)
    if len(y_val) != n:
        raise ValueError(f"y_val must have one label for each row of X_val, got {len(y_val)} labels for {n} rows.")
    codes = np.minimum(np.searchsorted(targets.classes, y_val), len(targets.classes) - 1).astype(np.intp)
    unknown = np.flatnonzero(targets.classes[codes] != y_val)
    if len(unknown):
        raise ValueError(f"y_val must have classes of y, got {y_val[unknown[0]]!r} in row {unknown[0]}.")
    factors = np.asarray(targets.class_weights, dtype=np.float64)[codes]
    return GivenHoldout(X_val, codes, np.where(factors > 0.0, factors, 1.0))


class Rows(NamedTuple):
    """Rows to train on, and behind them those held out, if these were given; then ``held_out`` says which."""

    X: Any
    codes: NDArray[np.intp]
    weights: NDArray[np.float64]
    held_out: NDArray[np.bool_] | None


def with_holdout(X: Any, targets: Targets, given: GivenHoldout | None) -> Rows:
    """Training rows and hold-out rows together."""
    if given is None:
        return Rows(X, targets.codes, targets.weights, None)
    codes, weights = np.concatenate([targets.codes, given.codes]), np.concatenate([targets.weights, given.weights])
    X_val = given.X.astype(X.dtype, copy=False) if hasattr(X, "dtype") else given.X
    return Rows(stacked(X, X_val), codes, weights, np.arange(len(codes)) >= len(targets.codes))


def stacked(first: Any, second: Any) -> Any:
    """Rows of two arrays, sparse matrices or sequences of objects, one after the other."""
    if sparse.issparse(first) or sparse.issparse(second):
        return sparse.vstack([first, second], format="csr")
    if hasattr(first, "shape"):
        return np.concatenate([first, second])
    return [*first, *second]
