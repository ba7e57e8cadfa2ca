"""A fit by itself, within the time of a search."""

from __future__ import annotations

from typing import Any

from slackwater.deadline import CutShort, Deadline
from slackwater.estimators.layout import length
from slackwater.estimators.svc import SVC
from slackwater.estimators.validation import check_rows, check_targets
from slackwater.estimators.watching import warn_unless_converged
from slackwater.stopping import StopReason

_CUT_SHORT = (str(StopReason.SECONDS), str(StopReason.INTERRUPT))


def fitted_until(model: SVC, X: Any, y: Any, sample_weight: Any, deadline: Deadline) -> SVC:
    """What ``model.fit`` makes; CutShort where there is no time for all of it.

    ``SVC(max_time=…)`` has a model whenever time is up. Its score would be that of the clock, not of C and gamma.
    """
    X = check_rows(model, X, reset=True)
    targets = check_targets(y, length(X), sample_weight, model.class_weight)
    results = model._fit_rows(X, targets, model._make_kernel(X), deadline)
    if model.stop_reason_ in _CUT_SHORT:
        raise CutShort(deadline.interrupted.is_set())
    warn_unless_converged(model, results)
    return model
