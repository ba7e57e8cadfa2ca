"""What a fit leaves behind: a model for each binary problem, why it ended, how good it is known to be."""

from __future__ import annotations

from typing import Any, NamedTuple

from slackwater.expansion import Expansion
from slackwater.fitting.decisions import Decisions
from slackwater.fitting.estimate import Estimate
from slackwater.solvers.base import Assessment, Prudent, Solver
from slackwater.solvers.drive import Task
from slackwater.stopping import StopReason
from slackwater.tracing import Recorder


class BinaryResult(NamedTuple):
    """What one binary problem ended with."""

    expansion: Expansion
    assessment: Assessment
    reason: StopReason
    steps: int
    certified: bool = True  # whether the assessment's gap is a proof


class Previous(NamedTuple):
    """Where an earlier fit left off, for warm_start."""

    data: str  # digest of the training set, and the kind of solver
    solver: str
    seed: int
    states: list[Any]


class FitResult(NamedTuple):
    """What a fit leaves behind."""

    binary_results: list[BinaryResult]
    recorder: Recorder
    previous: Previous | None = None
    strategy: str = ""
    decisions: Decisions | None = None


def result_of(solver: Solver, task: Task) -> BinaryResult:
    """What a task that has ended leaves: the model it was to reach, or else the best one on the way."""
    if task.assessment is None or task.reason is None:
        raise RuntimeError("the training loop ended without assessing a model")
    expansion, assessment = _final_model(solver, task, task.assessment)
    return BinaryResult(expansion, assessment, task.reason, int(task.state.step))


def _final_model(solver: Solver, task: Task, assessment: Assessment) -> tuple[Expansion, Assessment]:
    """The current model, or an earlier one that is better, with the bound known by now."""
    if task.reason is not StopReason.TOLERANCE and task.holdout_best.exists():
        expansion, found = task.holdout_best.model()
    elif task.reason is not StopReason.TOLERANCE and isinstance(solver, Prudent):
        point = solver.best(task.problem, task.state, assessment)
        expansion = solver.expansion(task.problem, point)
        found = assessment if point is task.state else solver.assess(task.problem, point).with_bound(assessment.bound)
    else:
        expansion, found = solver.expansion(task.problem, task.state), assessment
    return expansion, found


def with_losses(assessment: Assessment, hidden: Estimate, cost: float) -> Assessment:
    """The same, with losses that the problem did not show; ``cost`` is C times the weight of all examples.

    The gap is one that the true one exceeds in at most 5 of 100 cases; it is a proof where nothing was estimated.
    """
    objective = assessment.objective + hidden.total
    most = assessment.objective + max(hidden.upper, 0.0)
    gap = max(0.0, (most - assessment.bound) / most) if most > 0.0 else 0.0
    slack_nu = assessment.slack_nu + hidden.total * assessment.margin / cost
    return assessment._replace(objective=objective, gap=gap, slack_nu=slack_nu)
