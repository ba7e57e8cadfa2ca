"""All problems of a training set solved together from start to end, with a state that can be kept and resumed."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence

from slackwater.errors import warn
from slackwater.fitting.context import FitContext, identity
from slackwater.fitting.result import FitResult, Previous, result_of
from slackwater.fitting.training_set import TrainingSet
from slackwater.fitting.warm_start import WarmStart
from slackwater.solvers.base import Solver
from slackwater.solvers.drive import Task
from slackwater.workers import Workers


def train(context: FitContext, tol: float, training_set: TrainingSet, workers: Workers | None = None) -> FitResult:
    """Train one model for each binary problem of the set to a tolerance; with ``workers``, side by side."""
    solver, persistence = context.solver, context.persistence
    tasks = context.tasks(training_set, tol)
    data = identity(solver, training_set) if persistence.keep else ""
    if persistence.previous is not None:
        _continue_previous(solver, data, tasks, persistence.previous)
    elif context.warm is not None:
        begin_warm(tasks, context.warm, training_set)
    context.open_journal()
    context.run_loop(tasks, training_set, workers)
    if context.journal is not None:
        context.journal.close(context.clock)
    states = [task.state for task in tasks]
    previous = Previous(data, repr(solver), context.seed, states) if persistence.keep else None
    return FitResult([result_of(solver, task) for task in tasks], context.recorder, previous)


def begin_warm(tasks: Sequence[Task], warm: WarmStart, training_set: TrainingSet) -> None:
    """Let problems of dual variables begin where an earlier model is: worst violators first."""
    responses = warm.responses(training_set)
    for number, task in enumerate(tasks):
        task.state.alpha[:], task.state.responses[:] = warm.alpha[number], responses[number]
        task.state.step = task.first_step = task.resumed_at = int(warm.steps[number])
        task.state.turn = math.inf


def _continue_previous(solver: Solver, data: str, tasks: Sequence[Task], previous: Previous) -> None:
    if previous.data != data:
        warn(
            "warm_start=True, but the data, the weights, the hold-out part, the kernel or fit_intercept differ from "
            "the previous fit: training starts afresh."
        )
        return
    for task, state in zip(tasks, copy.deepcopy(previous.states), strict=True):
        task.state = state if previous.solver == repr(solver) else solver.continued(state)
        task.first_step = task.resumed_at = state.step
