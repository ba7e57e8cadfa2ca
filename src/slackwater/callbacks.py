"""What a ``callback`` of an estimator is shown after every step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slackwater.expansion import Expansion

__all__ = ["Model", "Moment"]


class Model(NamedTuple):
    """Decision values are K(x, X[support]) @ dual_coef.T + intercept, X being the training data."""

    support: NDArray[np.intp]  # row numbers of X
    dual_coef: NDArray[np.float64]  # (n_problems, n_support)
    intercept: NDArray[np.float64]  # (n_problems,)


@dataclass(frozen=True)
class Moment:
    """Training between two steps.

    Parameters
    ----------
    step, evaluations, seconds
        As in ``history_``, of this call of ``fit``. Time spent in callbacks is not counted.
    model : callable
        ``model()`` makes the current model, which takes O(n).
    """

    step: int
    evaluations: int
    seconds: float
    model: Callable[[], Model]


def joined(expansions: Sequence[Expansion]) -> Model:
    """The models of all problems over the examples that any of them uses, as the problems number them."""
    support = np.unique(np.concatenate([each.support for each in expansions]))
    stacked = np.zeros((len(expansions), len(support)))
    for row, each in zip(stacked, expansions, strict=True):
        row[np.searchsorted(support, each.support)] = each.coefficients
    return Model(support, stacked, np.array([each.bias for each in expansions]))


def watch_for(
    callback: Callable[[Moment], Any], kept: NDArray[np.intp]
) -> Callable[[int, int, float, Callable[[], Any]], bool]:
    """Show the user's function what the training loop shows; ``kept`` has the examples' row numbers."""

    def watch(step: int, evaluations: int, seconds: float, expansions: Callable[[], Any]) -> bool:
        def model() -> Model:
            found = joined(expansions())
            return found._replace(support=kept[found.support])

        return bool(callback(Moment(step, evaluations, seconds, model)))

    return watch
