"""Fitted models that the tests of several formats share."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from sklearn.datasets import make_classification

WORDS = np.array(["ash", "birch", "cedar", "elm"])


def four_classes(n: int = 160, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    return make_classification(n, 6, n_informative=5, n_redundant=0, n_classes=4, class_sep=1.2, random_state=seed)


def unseen(n: int = 400) -> np.ndarray:
    """Rows that no model was trained on: at training rows two functions may be equal up to rounding."""
    return 2.0 * np.random.default_rng(1).standard_normal((n, 6))


def rbf_values(A, B):
    """A kernel of one's own."""
    A, B = (each.toarray() if sparse.issparse(each) else np.asarray(each) for each in (A, B))
    return np.exp(-0.2 * ((A[:, None, :] - B[None, :, :]) ** 2).sum(axis=2))


def letters_in_common(A, B):
    """Of two lists of words, the number of letters that both words have: an inner product of indicators."""
    letters = [chr(code) for code in range(97, 123)]
    left, right = (np.array([[letter in word for letter in letters] for word in words], float) for words in (A, B))
    return left @ right.T
