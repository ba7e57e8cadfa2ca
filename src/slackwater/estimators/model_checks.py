"""Whether the fitted attributes of a loaded model fit each other; compiled code and users trust them afterwards."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse

from slackwater.errors import ModelFileError


def require(holds: Any, rule: str) -> None:
    """Raise ModelFileError with the rule unless it holds."""
    if not holds:
        raise ModelFileError(rule)


def require_array(model: Any, name: str, kind: str, shape: tuple[int, ...]) -> Any:
    """A fitted attribute as an array of numbers ("i" or "f", which must be finite) of that shape; -1 is any length."""
    value: Any = getattr(model, name, None)
    require(isinstance(value, np.ndarray) and value.dtype.kind == kind, f"{name} must be an array of type {kind!r}")
    fits = value.ndim == len(shape) and all(n in (-1, m) for n, m in zip(shape, value.shape, strict=True))
    require(fits, f"{name} must have the shape {shape}, got {value.shape}")
    require(np.isfinite(value).all(), f"{name} must be finite")
    return value


def require_classes(model: Any) -> int:
    """The number of classes."""
    classes: Any = getattr(model, "classes_", None)
    require(isinstance(classes, np.ndarray) and classes.ndim == 1, "classes_ must be an array of labels")
    labels = classes.tolist()
    require(len(labels) >= 2 and len(set(labels)) == len(labels), "classes_ must be two or more different labels")
    return len(labels)


def require_feature_names(model: Any) -> None:
    """As many names as features, if there are names."""
    names = getattr(model, "feature_names_in_", None)
    if names is not None:
        texts = isinstance(names, np.ndarray) and all(isinstance(name, str) for name in names.tolist())
        require(texts and names.shape == (model.n_features_in_,), "feature_names_in_ must be a name for each feature")


def require_expansion(model: Any) -> None:
    """The attributes of a kernel expansion: support vectors, their coefficients, intercepts."""
    n_classes = require_classes(model)
    support = require_array(model, "support_", "i", (-1,))
    require((support >= 0).all(), "support_ must be row numbers >= 0")
    counts = require_array(model, "n_support_", "i", (n_classes,))
    require(
        (counts >= 0).all() and sum(counts.tolist()) == len(support),
        f"n_support_ must add up to the {len(support)} support vectors, got {counts.tolist()}",
    )
    _require_coefficients(model, n_classes, len(support))
    if model._kernel is None:
        _require_features(model)
        require(
            support.max(initial=-1) < model.n_features_in_,
            f"support_ must be row numbers below n_features_in_, {model.n_features_in_}",
        )
        require_array(model, "support_vectors_", "f", (-1, -1))
    else:
        _require_support_vectors(model, len(support))
    require_feature_names(model)


def _require_coefficients(model: Any, n_classes: int, n_support: int) -> None:
    in_pairs = getattr(model, "_in_pairs", False)
    require(isinstance(in_pairs, bool), "in_pairs must be true or false")
    require(n_classes > 2 or not in_pairs, "in_pairs must be false with two classes")
    functions = 1 if n_classes == 2 else n_classes
    rows, biases = (n_classes - 1, n_classes * (n_classes - 1) // 2) if in_pairs else (functions, functions)
    require_array(model, "intercept_", "f", (biases,))
    coefficients: Any = getattr(model, "dual_coef_", None)
    if scipy.sparse.issparse(coefficients):
        require(coefficients.shape == (rows, n_support), f"dual_coef_ must have the shape {(rows, n_support)}")
        require(np.isfinite(coefficients.data).all(), "dual_coef_ must be finite")
    else:
        require_array(model, "dual_coef_", "f", (rows, n_support))


def _require_features(model: Any) -> None:
    number = getattr(model, "n_features_in_", None)
    require(type(number) is int and number >= 0, f"n_features_in_ must be a whole number >= 0, got {str(number)[:60]}")


def _require_support_vectors(model: Any, n_support: int) -> None:
    vectors: Any = getattr(model, "support_vectors_", None)
    if callable(model.kernel) and isinstance(vectors, list | np.ndarray) and np.ndim(vectors) == 1:
        require(len(vectors) == n_support, f"support_vectors_ must be {n_support} objects, got {len(vectors)}")
        return
    _require_features(model)
    shape = (n_support, model.n_features_in_)
    if scipy.sparse.issparse(vectors):
        require(vectors.shape == shape, f"support_vectors_ must have the shape {shape}, got {vectors.shape}")
        require(np.isfinite(vectors.data).all(), "support_vectors_ must be finite")
    else:
        require_array(model, "support_vectors_", "f", shape)
