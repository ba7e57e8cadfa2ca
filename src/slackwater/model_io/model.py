"""Models as plain data: what a file of ours holds, and what any format needs to compute decision values."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from slackwater.prediction import PairCoefficients

Doubles = NDArray[np.float64]


@dataclass(frozen=True)
class StoredKernel:
    """A kernel by its name; one that the library does not know also by values that a kernel at load must have."""

    name: str
    parameters: dict[str, Any] = field(default_factory=dict)
    custom: bool = False
    probe: Doubles | None = None  # kernel values of the first support vectors with one another, of a custom kernel


@dataclass(frozen=True)
class StoredModel:
    """A fitted estimator: its class by name, parameters, fitted attributes."""

    estimator: str
    parameters: dict[str, Any]
    attributes: dict[str, Any]
    internals: dict[str, Any]  # what the class keeps under private names
    kernel: StoredKernel | None  # None: precomputed, or none at all


class Form(Enum):
    """How decision values become a class."""

    TWO_CLASSES = "two classes"  # one value: the second class where it is positive
    ONE_VS_ONE = "one-vs-one"  # LIBSVM's layout of coefficients and its votes
    ONE_VS_REST = "one-vs-rest"  # a value for each class, the largest wins


@dataclass(frozen=True)
class KernelModel:
    """Decision functions over support vectors: f(x) = Σ_i coefficient_i K(x_i, x) + intercept."""

    kernel: StoredKernel | None  # None: precomputed
    form: Form
    classes: NDArray[Any]
    n_features: int  # of a row to be classified; of a precomputed kernel, the training rows
    support: NDArray[np.intp]  # row numbers in the training data
    support_vectors: Any  # (n, d), dense or CSR; None where the kernel is precomputed
    n_support: NDArray[np.intp]  # of each class
    dual_coef: Doubles  # (functions, n); one-vs-one: (classes - 1, n), support vectors grouped by class
    intercept: Doubles  # (functions,); one-vs-one: (pairs,)
    scores_by_pair: bool = False  # decision_function_shape="ovo"
    break_ties: bool = False
    is_inner_product: bool = False  # the kernel is, so that a function is a vector of the features

    @property
    def n_classes(self) -> int:
        return len(self.classes)

    @property
    def pair_coefficients(self) -> PairCoefficients:
        return PairCoefficients(self.dual_coef, self.n_support)

    def dense_support(self) -> NDArray[Any]:
        vectors = self.support_vectors
        return np.asarray(vectors.toarray() if scipy.sparse.issparse(vectors) else vectors)
