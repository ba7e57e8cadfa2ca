"""Who looks on at a fit on the user's behalf, and what is said when it ends early."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from slackwater.callbacks import watch_for
from slackwater.estimators.outcome import REMEDIES, warn_of_shortfall, weakest_reason
from slackwater.fitting.context import ModelWatch
from slackwater.fitting.result import AnyBinaryResult
from slackwater.fitting.training_set import TrainingSet
from slackwater.progress import Forecast, ProgressLine
from slackwater.tracing import Callback


def progress_of(estimator: Any) -> list[Callback]:
    """A line of progress, if one is wanted."""
    if not estimator.verbose:
        return []
    most, limits = estimator.max_iter, (estimator.max_time, estimator.tol)
    steps = None if most is None or most == -1 else int(most)
    return [ProgressLine(None, Forecast(*limits, steps, estimator.max_kernel_evals), estimator.verbose > 1)]


def watch_of(estimator: Any, training_set: TrainingSet) -> ModelWatch | None:
    """The user's callback, of an estimator that has one."""
    callback = getattr(estimator, "callback", None)
    return None if callback is None else watch_for(callback, training_set.kept)


def words_of_interrupt(estimator: Any) -> str:
    """What Ctrl-C has left."""
    kept = estimator.warm_start or estimator.checkpoint is not None
    further = "fit goes on from here" if kept else "to be continued, it needs warm_start=True or a checkpoint"
    return f"the model reached is kept and usable (stop_reason_ is {estimator.stop_reason_!r}); {further}."


def warn_unless_converged(estimator: Any, results: Sequence[AnyBinaryResult]) -> None:
    """Say what was missed, and what to do about it."""
    reason = weakest_reason(results)
    shortfall = estimator._shortfall(results) if reason in REMEDIES else ""
    warn_of_shortfall(results, shortfall, estimator._remedy(reason), estimator._or_else())
