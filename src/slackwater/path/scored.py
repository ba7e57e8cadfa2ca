"""What a scorer is given: a classifier that knows its decision values at the rows to be scored."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slackwater.estimators.svc import SVC
from slackwater.votes import scores, winners


class ScoredModel(SVC):
    """A fitted ``SVC`` to any scorer. Asked for more than its values at the rows of its fold, it is fitted first."""

    _test_rows: Any
    _known: NDArray[np.float64]
    _fit: Callable[[], SVC] | None

    @classmethod
    def of(
        cls,
        model: SVC,
        classes: NDArray[Any],
        rows: Any,
        values: NDArray[np.float64],
        fit: Callable[[], SVC] | None = None,
    ) -> ScoredModel:
        """Parameters as those of ``model``, decision values at ``rows``, and what fits it, should that be needed."""
        made = cls(**model.get_params())
        made.classes_, made._test_rows, made._known, made._fit = classes, rows, values, fit
        return made

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """As ``SVC`` has it."""
        if X is not self._test_rows:
            return self._fitted().decision_function(X)
        if self._known.ndim == 1 or self.decision_function_shape == "ovo":
            return self._known
        return scores(self._known, len(self.classes_))

    def predict(self, X: Any) -> NDArray[Any]:
        """As ``SVC`` has it."""
        if X is not self._test_rows:
            return self._fitted().predict(X)
        if self._known.ndim == 1:
            chosen = (self._known > 0.0).astype(np.intp)
        elif self.break_ties:
            chosen = scores(self._known, len(self.classes_)).argmax(axis=1)
        else:
            chosen = winners(self._known, len(self.classes_))
        return np.asarray(self.classes_[chosen])

    def _fitted(self) -> SVC:
        if self._fit is None:
            raise AttributeError("there are decision values, and no model")
        if "_whole" not in self.__dict__:
            self._whole = self._fit()
        return self._whole

    def __getattr__(self, name: str) -> Any:
        """Attributes of a fitted model, for scorers that look at more than predictions."""
        if name.startswith("_") or not name.endswith("_") or self.__dict__.get("_fit") is None:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(self._fitted(), name)
