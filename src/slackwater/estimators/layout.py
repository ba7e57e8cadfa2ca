"""The forms in which attributes of a fitted model are shown."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from slackwater.linear_functions import weighted_sums
from slackwater.points import DensePoints


def like(container: Any, values: NDArray[np.float64]) -> Any:
    """The values as they are, or in the kind of sparse matrix that the container is."""
    return type(container)(values) if sparse.issparse(container) else values


def read_only(values: Any) -> Any:
    """The same array or sparse matrix, which cannot be changed: it is derived, and a change would have no effect."""
    if sparse.issparse(values):
        values.sum_duplicates()  # which others would do in place
    (values.data if sparse.issparse(values) else values).flags.writeable = False
    return values


def linear_weights(coefficients: Any, support_vectors: Any) -> Any:
    """Σ_i a_i x_i for each row of coefficients; a sparse matrix where the support vectors are one."""
    if sparse.issparse(coefficients) or sparse.issparse(support_vectors):
        return coefficients @ support_vectors
    return weighted_sums(DensePoints(support_vectors), coefficients)


def one_or_all(values: list[float]) -> Any:
    return values[0] if len(values) == 1 else np.array(values)


def length(X: Any) -> int:
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def support_columns(estimator: Any, X: NDArray[Any]) -> NDArray[Any]:
    """Kernel values with the support vectors, out of those with all training rows or with them alone."""
    if X.shape[1] == estimator.n_features_in_:
        return X[:, estimator.support_]
    if X.shape[1] == len(estimator.support_):
        return X
    raise ValueError(
        f"X has {X.shape[1]} features, but {type(estimator).__name__} is expecting {estimator.n_features_in_} features "
        f"as input: kernel values with all training rows, or with the {len(estimator.support_)} support vectors alone."
    )
