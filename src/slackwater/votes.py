"""From the decision values of all pairs of classes to one class, as LIBSVM and scikit-learn do it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def pair_number(first: Any, second: Any, n_classes: int) -> Any:
    """The position of a pair of classes, or of several, among (0, 1), (0, 2), …, (1, 2), …"""
    return first * n_classes - first * (first + 1) // 2 + second - first - 1


def winners(values: NDArray[np.float64], n_classes: int) -> NDArray[np.intp]:
    """The class with the most votes, the first of several: LIBSVM's rule. A value of 0 is a vote for the second."""
    return np.asarray(_count(values, n_classes, 0.0)[0].argmax(axis=1))


def scores(values: NDArray[np.float64], n_classes: int) -> NDArray[np.float64]:
    """Votes, and within a third of a vote the sum of the decision values: scikit-learn's one-vs-rest shape.

    Here a value of 0 is a vote for the first class of the pair.
    """
    votes, sums = _count(values, n_classes, -np.finfo(np.float64).tiny)
    return np.asarray(votes + sums / (3.0 * (np.abs(sums) + 1.0)))


def _count(
    values: NDArray[np.float64], n_classes: int, least: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Votes, and the sums of the decision values for and against each class: (rows, classes).

    A value above ``least`` is a vote for the first class of its pair.
    """
    votes, sums = np.zeros((len(values), n_classes)), np.zeros((len(values), n_classes))
    start = 0
    for first in range(n_classes - 1):  # its pairs with all classes after it
        part = values[:, start : start + n_classes - 1 - first]
        for_first = part > least
        votes[:, first] += np.count_nonzero(for_first, axis=1)
        votes[:, first + 1 :] += ~for_first
        sums[:, first] += part.sum(axis=1)
        sums[:, first + 1 :] -= part
        start += part.shape[1]
    return votes, sums
