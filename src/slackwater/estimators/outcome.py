"""Why training ended, and what it has missed: from the results of all problems of a fit."""

from __future__ import annotations

import math
from collections.abc import Sequence

from slackwater.errors import ConvergenceWarning, warn
from slackwater.fitting.result import AnyBinaryResult
from slackwater.stopping import StopReason

REMEDIES = {
    StopReason.STEPS: "raise max_iter",
    StopReason.EVALUATIONS: "raise max_kernel_evals",
    StopReason.SECONDS: "raise max_time",
    StopReason.STALLED: "lower C, or scale the features",
}
_VIOLATION = 10.0  # times tol, that the optimality conditions may be violated by: stopping.GapBelow


def short_of_gap(results: Sequence[AnyBinaryResult], tol: float, name: str = "tol=") -> str:
    """Which part of ``stopping.GapBelow`` was not met, and by how much."""
    gap = max(result.assessment.gap for result in results)
    violation = max(result.assessment.violation for result in results)
    if math.isnan(gap):
        return f"before {name}{tol:g} was met"
    if gap > tol:
        return f"at the relative gap {gap:.3g}, above {name}{tol:g}"
    if violation > _VIOLATION * tol:
        return (
            f"at the relative gap {gap:.3g}, within {name}{tol:g}, but with the optimality conditions violated by "
            f"{violation:.3g}, above ten times that"
        )
    return ""


def known(result: AnyBinaryResult, certified: bool) -> AnyBinaryResult:
    """The same, without a gap where none is defined."""
    return result if certified else result._replace(assessment=result.assessment._replace(gap=math.nan))


def weakest_reason(results: Sequence[AnyBinaryResult]) -> StopReason:
    """Of several problems' reasons, the least satisfying one."""
    order = list(StopReason)
    return max((result.reason for result in results), key=order.index)


def warn_of_shortfall(results: Sequence[AnyBinaryResult], shortfall: str, remedy: str, or_else: str) -> None:
    """Warn where training has missed its goals: by what, and what to do about it."""
    reason = weakest_reason(results)
    if min(result.assessment.margin for result in results) <= 0.0:
        warn(
            f"training stopped ({reason}) without a positive margin: the classes are not separated with as little "
            f"slack as was allowed. Raise nu, or {remedy} if they can be separated.",
            ConvergenceWarning,
        )
    elif shortfall:
        warn(
            f"training stopped ({reason}) {shortfall}. The model is usable; for a better one {remedy}{or_else}.",
            ConvergenceWarning,
        )
