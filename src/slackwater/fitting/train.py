"""All problems of a training set solved together from start to end, with a state that can be kept and resumed."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from slackwater.checkpoint import Saved, read_checkpoint, require_writable, write_checkpoint
from slackwater.errors import warn
from slackwater.fitting.context import FitContext
from slackwater.fitting.result import FitResult, Previous, result_of
from slackwater.fitting.training_set import TrainingSet
from slackwater.solvers.base import Solver
from slackwater.solvers.drive import HoldoutBest, Task, epochs_made
from slackwater.stopping import Progress, first_reason
from slackwater.tracing import Callback, Clock, Recorder, Snapshot
from slackwater.workers import Workers

SECONDS_BETWEEN_CHECKPOINTS = 30.0


def train(context: FitContext, tol: float, training_set: TrainingSet, workers: Workers | None = None) -> FitResult:
    """Train one model for each binary problem of the set to a tolerance; with ``workers``, side by side."""
    solver, persistence = context.solver, context.persistence
    tasks = context.tasks(training_set, tol)
    data = _identity(solver, training_set) if persistence.used else ""
    callbacks: list[Callback] = []
    if persistence.previous is not None:
        _continue_previous(solver, data, tasks, persistence.previous)
    if persistence.checkpoint is not None:
        owner = f"{data} {solver!r} {context.seed}"
        checkpointer = Checkpointer(persistence.checkpoint, owner, tasks, context.recorder)
        context.clock = checkpointer.resume(solver, training_set, context.clock)
        callbacks.append(checkpointer)
    context.run_loop(tasks, training_set, workers, callbacks)
    states = [task.state for task in tasks]
    previous = Previous(data, repr(solver), context.seed, states) if persistence.keep else None
    return FitResult([result_of(solver, task) for task in tasks], context.recorder, previous)


def _identity(solver: Solver, training_set: TrainingSet) -> str:
    """What a state belongs to; a state of the paired form is of no use to the single one."""
    return f"{training_set.identify()} {type(solver).__name__} {solver.rows_a_step}"


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


@dataclass
class Checkpointer:
    """A callback that stores the state of all tasks every so often; a failing disk does not end the run."""

    path: Path
    owner: str
    tasks: Sequence[Task]
    recorder: Recorder
    next_save: float | None = None
    latest: Progress | None = None

    def resume(self, solver: Solver, training_set: TrainingSet, clock: Clock) -> Clock:
        """Pour a stored state, if there is one, into tasks, ledger, history, hold-out rules and clock."""
        require_writable(self.path)
        if not self.path.exists():
            return clock
        moulds = [[task.state, HoldoutBest.none()] for task in self.tasks]
        states, saved = read_checkpoint(self.path, self.owner, moulds)
        for task, (state, holdout_best) in zip(self.tasks, states, strict=True):
            task.state, task.holdout_best = state, holdout_best
            task.resumed_at = state.step
        training_set.ledger.charge("train", saved.evaluations - training_set.ledger.train)
        for row in _rows_of(saved.history):
            self.recorder.assessed(row)
            _replay(solver, self.tasks[row.problem], row)
        return clock.continued(saved.seconds)

    def assessed(self, row: Snapshot) -> None:
        self.latest = Progress(row.step, row.evaluations, row.seconds)

    def tick(self, progress: Progress) -> None:
        self.latest = progress
        if self.next_save is None or progress.seconds >= self.next_save:
            if self.next_save is not None:
                self.save(progress)
            self.next_save = progress.seconds + SECONDS_BETWEEN_CHECKPOINTS

    def ended(self) -> None:
        if self.latest is not None:
            self.save(self.latest)

    def save(self, progress: Progress) -> None:
        history = np.array(self.recorder.rows, dtype=np.float64).reshape(-1, len(Snapshot._fields))
        saved = Saved(progress.evaluations, progress.seconds, history)
        try:
            states = [[task.state, task.holdout_best] for task in self.tasks]
            write_checkpoint(self.path, self.owner, states, saved)
        except OSError as error:
            warn(
                f"checkpoint {str(self.path)!r} could not be written ({error}); training goes on. Free some space, or "
                "name another file.",
                RuntimeWarning,
            )


def _rows_of(history: NDArray[np.float64]) -> list[Snapshot]:
    rows = []
    for row in history.tolist():
        values = dict(zip(Snapshot._fields, row, strict=True))
        whole = {name: int(values[name]) for name in ("problem", "step", "evaluations", "n_support")}
        rows.append(Snapshot(**{**values, **whole}))
    return rows


def _replay(solver: Solver, task: Task, row: Snapshot) -> None:
    """Show the rules the regular assessments made before the interruption: some count them, some were met."""
    if not solver.due(row.step):
        return
    error = None if np.isnan(row.holdout_error) else row.holdout_error
    epochs = epochs_made(solver, task.problem, row.step)
    progress = Progress(
        steps=0,
        evaluations=0,
        seconds=0.0,
        gap=row.gap,
        objective=row.objective,
        bound=row.bound,
        holdout_error=error,
        violation=row.violation,
        epochs=epochs,
    )
    task.reason = first_reason(task.rules, progress)
