"""scikit-learn's callbacks (``sklearn.callback``, from 1.9 on); below that version there is nothing to support."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from slackwater.fitting.context import FitContext, ModelWatch
from slackwater.fitting.result import Models
from slackwater.tracing import Snapshot

Method = TypeVar("Method", bound=Callable[..., Any])

try:
    from sklearn.callback import CallbackSupportMixin as CallbackSupport
    from sklearn.callback import with_callbacks as _with_callbacks
except ImportError:  # scikit-learn before 1.9, or Python before 3.11

    class CallbackSupport:  # type: ignore[no-redef]
        """Nothing: this version of scikit-learn has no callbacks."""

    def _with_callbacks(method: Any) -> Any:
        return method


def with_callbacks(method: Method) -> Method:
    """A ``fit`` that scikit-learn's callbacks can watch, where there are any; of the same type."""
    watched: Method = _with_callbacks(method)
    return watched


__all__ = ["CallbackSupport", "FitTasks", "with_callbacks"]


class FitTasks:
    """The tasks of a fit that callbacks see: one for each look at the models on the way, below that of the whole fit.

    A look is taken at steps where models are assessed, so that callbacks cost nothing in between. Where a callback
    asks for an end (True from ``on_fit_task_end``), training ends with the model reached.
    """

    def __init__(self, estimator: Any, X: Any, y: Any, sample_weight: Any) -> None:
        self._estimator, self._data = estimator, {"X": X, "y": y}
        if sample_weight is not None:
            self._data["metadata"] = {"sample_weight": sample_weight}
        self._root: Any = None
        if hasattr(estimator, "_init_callback_context"):
            self._root = estimator._init_callback_context(max_subtasks=None)
            self._root.call_on_fit_task_begin(estimator=estimator, **self._data)

    def watch(self, context: FitContext, attributes: Callable[[Models], dict[str, Any]]) -> None:
        """Look at the models of a fit; ``attributes`` makes the fitted attributes of an estimator of them."""
        if self._root is None or not getattr(self._estimator, "_skl_callbacks", None):
            return
        assessed = _Assessed()
        context.watchers = [*context.watchers, assessed]
        context.watch = self._joined(context.watch, assessed, attributes)

    def _joined(
        self, first: ModelWatch | None, assessed: _Assessed, attributes: Callable[[Models], dict[str, Any]]
    ) -> ModelWatch:
        """The watch of the estimator's own callback, if there is one, and these."""

        def watch(step: int, evaluations: int, seconds: float, models: Callable[[], Models]) -> bool:
            stop = first is not None and first(step, evaluations, seconds, models)
            if not assessed.since_last_look():
                return stop
            task = self._root.subcontext(task_name="assessment")
            task.call_on_fit_task_begin(estimator=self._estimator, **self._data)
            asked = task.call_on_fit_task_end(
                estimator=self._estimator,
                reconstruction_attributes=lambda: attributes(models()),
                **self._data,
            )
            return stop or bool(asked)

        return watch

    def end(self, attributes: Callable[[], dict[str, Any]]) -> None:
        """The whole fit is over."""
        if self._root is not None:
            self._root.call_on_fit_task_end(
                estimator=self._estimator, reconstruction_attributes=attributes, **self._data
            )


class _Assessed:
    """Whether a model was assessed since somebody last asked."""

    def __init__(self) -> None:
        self._seen = False

    def since_last_look(self) -> bool:
        seen, self._seen = self._seen, False
        return seen

    def assessed(self, row: Snapshot) -> None:
        self._seen = True

    def tick(self, progress: Any) -> None:
        pass

    def ended(self) -> None:
        pass
