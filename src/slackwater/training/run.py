"""One training run of an estimator: start or resume the problems of a training set, drive them, keep account."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slackwater.checkpoint import Saved, read_checkpoint, require_writable, write_checkpoint
from slackwater.expansion import Expansion
from slackwater.solvers.base import Assessment, Prudent, Solver
from slackwater.solvers.drive import HoldoutBest, Task, drive, epochs_made
from slackwater.stopping import Progress, StoppingRule, StopReason, first_reason
from slackwater.tracing import Callback, Clock, ProgressLine, Recorder, Snapshot, Watch
from slackwater.training.estimate import Estimate
from slackwater.training.training_set import TrainingSet
from slackwater.workers import Workers

SECONDS_BETWEEN_CHECKPOINTS = 30.0


class Previous(NamedTuple):
    """Where an earlier fit left off, for warm_start."""

    data: str  # digest of the training set, and the kind of solver
    solver: str
    seed: int
    states: list[Any]


@dataclass(frozen=True)
class Plan:
    """How to run: what ends it, where its state is kept, who watches."""

    tol: float
    n_examples: int  # of the whole training set
    make_goals: Callable[[float], list[StoppingRule]]  # what is to be reached, for a tolerance
    make_limits: Callable[[], list[StoppingRule]]  # budgets and the like, anew for each problem
    checkpoint: Path | None = None
    previous: Previous | None = None
    keep: bool = False  # where the run ends, for warm_start
    verbose: bool = False
    watch: Watch | None = None  # the user's callback
    fallbacks: dict[int, Any] = field(default_factory=dict)  # where a quick run puts the best models of its sample

    def rules(self, tol: float | None = None) -> list[StoppingRule]:
        return [*self.make_goals(self.tol if tol is None else tol), *self.make_limits()]

    def watchers(self) -> list[Callback]:
        return [ProgressLine()] if self.verbose else []


class Ending(NamedTuple):
    """What became of one binary problem."""

    expansion: Expansion
    assessment: Assessment
    reason: StopReason
    steps: int


class Outcome(NamedTuple):
    endings: list[Ending]
    recorder: Recorder
    previous: Previous | None = None


def train(
    solver: Solver, training_set: TrainingSet, n_classes: int, seed: int, plan: Plan, workers: Workers | None = None
) -> Outcome:
    """Train one model for each binary problem of the set; with ``workers``, side by side."""
    # Every problem draws from the same stream: two classes that lack the same example ask for one row.
    tasks = [
        Task(number, problem, solver.start(problem, np.random.default_rng(seed)), plan.rules())
        for number, problem in enumerate(training_set.problems(n_classes))
    ]
    recorder = Recorder()
    callbacks: list[Callback] = [recorder, *plan.watchers()]
    clock = Clock()
    data = _identity(solver, training_set) if plan.keep or plan.checkpoint is not None else ""
    if plan.previous is not None:
        _continue_previous(solver, data, tasks, plan.previous)
    if plan.checkpoint is not None:
        owner = f"{data} {solver!r} {seed}"
        checkpointer = Checkpointer(plan.checkpoint, owner, tasks, recorder)
        clock = checkpointer.resume(solver, training_set, clock)
        callbacks.append(checkpointer)
    drive(solver, tasks, training_set.rows, training_set.ledger, clock, callbacks, workers, watch=plan.watch)
    states = [task.state for task in tasks]
    endings = [ending(solver, task) for task in tasks]
    return Outcome(endings, recorder, Previous(data, repr(solver), seed, states) if plan.keep else None)


def ending(solver: Solver, task: Task) -> Ending:
    """What a task that has ended leaves: the model it was to reach, or else the best one on the way."""
    if task.assessment is None or task.reason is None:
        raise RuntimeError("the training loop ended without assessing a model")
    expansion, assessment = _final_model(solver, task, task.assessment)
    return Ending(expansion, assessment, task.reason, int(task.state.step))


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

    The gap is one that the true one exceeds in at most 5 of 100 cases.
    """
    objective = assessment.objective + hidden.total
    most = assessment.objective + max(hidden.upper, 0.0)
    gap = max(0.0, (most - assessment.bound) / most) if most > 0.0 else 0.0
    slack_nu = assessment.slack_nu + hidden.total * assessment.margin / cost
    return assessment._replace(objective=objective, gap=gap, slack_nu=slack_nu)


def _identity(solver: Solver, training_set: TrainingSet) -> str:
    """What a state belongs to; a state of the paired form is of no use to the single one."""
    return f"{training_set.identify()} {type(solver).__name__} {solver.rows_a_step}"


def _continue_previous(solver: Solver, data: str, tasks: Sequence[Task], previous: Previous) -> None:
    if previous.data != data:
        warnings.warn(
            "warm_start=True, but the data, the weights, the hold-out part, the kernel or fit_intercept differ from "
            "the previous fit: training starts afresh.",
            UserWarning,
            stacklevel=4,
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
        return Clock(already=saved.seconds)

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
            warnings.warn(
                f"checkpoint {str(self.path)!r} could not be written ({error}); training goes on.",
                RuntimeWarning,
                stacklevel=2,
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
