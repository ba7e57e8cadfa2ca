"""The only training loop.

All binary problems of a fit advance together, a step of each at a time, so that a kernel row fetched for one of
them serves the others, and so that a budget that runs out finds them equally far.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from slackwater.deadline import NEVER, CutShort, Deadline
from slackwater.expansion import Expansion
from slackwater.gram.ledger import EvaluationLedger
from slackwater.gram.source import RowBlock, RowSource
from slackwater.problem import Problem
from slackwater.solvers.base import (
    Assessment,
    Foresighted,
    Outlook,
    Paced,
    Prudent,
    Redrawable,
    RowReuseHint,
    ScaledAsAssessed,
    Solver,
    model_of,
)
from slackwater.stopping import Progress, StoppingRule, StopReason, first_reason, reason_of
from slackwater.tracing import Callback, Clock, Watch, snapshot
from slackwater.workers import Workers

# Rows computed together cost less each, but the further ahead, the more of them are never drawn. On MNIST 16 halve the
# time of single rows for half as many evaluations again; 32 gain little more.
_MOST_ROWS_AHEAD = 16
_SECONDS_BETWEEN_TICKS = 0.2
_LONG_LOOK = 0.005  # seconds to assess a model, from which on it is measured twice
_FIRST = np.zeros(1, dtype=np.intp)


@dataclass
class HoldoutBest:
    """The model with the least hold-out error so far, the latest of several; plain data, to be stored."""

    error: float
    support: NDArray[np.intp]
    coefficients: NDArray[np.float64]
    bias: float
    assessment: list[Any]

    @classmethod
    def none(cls) -> HoldoutBest:
        return cls(np.inf, np.empty(0, dtype=np.intp), np.empty(0), 0.0, [0.0] * len(Assessment._fields))

    @classmethod
    def of(cls, expansion: Expansion, assessment: Assessment, error: float) -> HoldoutBest:
        return cls(error, expansion.support, expansion.coefficients, expansion.bias, list(assessment))

    def exists(self) -> bool:
        return self.error < np.inf

    def model(self) -> tuple[Expansion, Assessment]:
        return Expansion(self.support, self.coefficients, self.bias), Assessment(*self.assessment)


@dataclass(eq=False)
class Task:
    """A binary problem being solved, and how it ended."""

    number: int  # among the problems of the fit
    problem: Problem
    state: Any
    rules: list[StoppingRule]
    first_step: int = 0  # steps that an earlier call made and that this call's budget does not count
    resumed_at: int = 0  # the step at which this call took over
    reason: StopReason | None = None
    assessment: Assessment | None = None
    holdout_best: HoldoutBest = field(default_factory=HoldoutBest.none)

    def steps(self) -> int:
        return int(self.state.step) - self.first_step


def drive(
    solver: Solver,
    tasks: Sequence[Task],
    rows: RowSource,
    ledger: EvaluationLedger,
    clock: Clock,
    callbacks: Sequence[Callback] = (),
    workers: Workers | None = None,
    deadline: Deadline = NEVER,
    watch: Watch | None = None,
    keeper: StateKeeper | None = None,
    judge: Judge | None = None,
    torn: bool = True,
) -> None:
    """Advance every task until one of its rules, ``watch`` or the deadline ends it; ``reason`` and ``assessment`` say
    how.

    With ``workers`` the problems draw and step side by side, which pays where a step takes milliseconds. A step that
    the deadline overtakes while its kernel values are computed is as if it had not been begun; CutShort is raised if it
    is the first, so that there is no model, and before it if there is no time to look at the models. Without ``torn``
    such a step is made all the same, for a solver whose draws cannot be undone and a state that is to be continued.
    """
    run = _Run(solver, rows, ledger, clock, callbacks, workers or Workers(), judge)
    whole = nullcontext if torn or isinstance(solver, Redrawable) else deadline.shielded
    for task in tasks:
        if task.reason is not None:  # a resumed run in which this problem had already ended
            run.assess(task)
    active = [task for task in tasks if task.reason is None]
    called_off: StopReason | None = None
    timed = math.isfinite(deadline.limit)
    ending = run.seconds_to_end(active, deadline) if timed else 0.0  # that the models will take, once training is over
    while active:
        outlooks = [run.outlook(task) for task in active]
        cost = sum(outlook.next_cost for outlook in outlooks)
        began = clock.seconds() if timed else 0.0
        assessments = run.assessments_due(active)
        if timed and any(each is not None for each in assessments):
            ending = run.looks_at_the_end * (clock.seconds() - began)
        called_off = called_off or reason_of(deadline.within(deadline.limit - ending))
        for task, outlook, assessment in zip(active, outlooks, assessments, strict=True):
            run.review(task, outlook, cost, assessment, called_off)
        active = [task for task in active if task.reason is None]
        if active:
            if keeper is not None:  # after the reviews: what they change is part of the state
                keeper.between_steps(run.work)
            try:
                with whole():
                    run.step(active)
            except CutShort:
                if any(task.state.step == 0 for task in active):
                    raise
                continue
            run.tick(active[0])
            if watch is not None and run.shown(tasks, watch):
                called_off = StopReason.CALLBACK
    with clock.paused():
        for callback in callbacks:
            callback.ended()


Judge = Callable[[Task, Assessment], Assessment]  # adds the error on hold-out examples that are not in the problem


class StateKeeper(Protocol):
    """Takes down the states of all tasks between two steps."""

    def between_steps(self, work: int) -> None:
        """Called with the kernel values that all steps so far have used."""


@dataclass
class _Run:
    solver: Solver
    rows: RowSource
    ledger: EvaluationLedger
    clock: Clock
    callbacks: Sequence[Callback]
    workers: Workers
    judge: Judge | None = None
    next_tick: float = 0.0
    work: int = 0  # kernel values used: rows times their length

    def __post_init__(self) -> None:
        self.foresighted = self.solver if isinstance(self.solver, Foresighted) else None
        self.reuse_hint = self.solver if isinstance(self.solver, RowReuseHint) else None
        self.prudent = self.solver if isinstance(self.solver, Prudent) else None
        self.paced = self.solver if isinstance(self.solver, Paced) else None  # asking costs microseconds a step
        # Each model is assessed, and scaled as it was assessed.
        self.looks_at_the_end = 1.0 if isinstance(self.solver, ScaledAsAssessed) else 2.0

    def step(self, active: Sequence[Task]) -> None:
        """Draw for every problem, fetch the rows together, apply."""
        before = [copy.copy(task.state) for task in active]
        try:
            drawn, fetched, places = self._fetched(active)
        except CutShort:
            for task, state in zip(active, before, strict=True):
                task.state = state
            raise

        def apply(number: int) -> None:
            task = active[number]
            self.solver.apply(task.problem, task.state, drawn[number], fetched.part(places[number]))

        self.workers.run(apply, range(len(active)))

    def _fetched(self, active: Sequence[Task]) -> tuple[list[NDArray[np.intp]], RowBlock, list[NDArray[np.intp]]]:
        """What each problem has drawn, the rows of all of them, and where each problem's are among these."""
        drawn = self.workers.run(lambda task: self.solver.draw(task.problem, task.state), active)

        def ahead() -> NDArray[np.intp]:
            share = max(1, _rows_ahead(active[0].state.step) // len(active))
            return np.concatenate([self.solver.foresee(t.problem, t.state, share) for t in active])

        wanted, places = _joined(drawn)
        self.work += len(wanted) * self.rows.n
        return drawn, self.rows.fetch(wanted, ahead, self._transient(active, drawn, places, len(wanted))), places

    def _transient(
        self, active: Sequence[Task], drawn: Sequence[NDArray[np.intp]], places: Sequence[NDArray[np.intp]], count: int
    ) -> NDArray[np.bool_] | None:
        """Which of the rows wanted none of the problems that want them is likely to want again soon."""
        if self.reuse_hint is None:
            return None
        transient = np.ones(count, dtype=bool)
        for task, indices, where in zip(active, drawn, places, strict=True):
            transient[where] &= self.reuse_hint.at_bound(task.problem, task.state, indices)
        return transient

    def outlook(self, task: Task) -> Outlook:
        if self.foresighted is not None:
            return self.foresighted.outlook(task.problem, task.state)
        return Outlook(self.solver.rows_a_step * self.rows.n)

    def assessments_due(self, active: Sequence[Task]) -> list[Assessment | None]:
        """Assess the models of those problems whose time it is, side by side."""

        def assess(task: Task) -> Assessment | None:
            due = task.state.step > task.resumed_at and self.solver.due(task.state.step)
            return self.solver.assess(task.problem, task.state) if due else None

        return self.workers.run(assess, active)

    def seconds_to_end(self, active: Sequence[Task], deadline: Deadline) -> float:
        """What the models of all problems will take, where it will be some steps until one is assessed.

        CutShort if there is not so much time, nor a model yet.
        """
        if not active or self.solver.due(1):
            return 0.0
        took = self._seconds_to_assess(active[0])
        if _LONG_LOOK < took < deadline.left:  # perhaps because loops had to be loaded, or compiled
            took = min(took, self._seconds_to_assess(active[0]))
        needed = self.looks_at_the_end * len(active) * took
        if needed > deadline.left and any(task.state.step == 0 for task in active):
            raise CutShort(deadline.interrupted.is_set())
        return needed

    def _seconds_to_assess(self, task: Task) -> float:
        began = self.clock.seconds()
        self.solver.assess(task.problem, task.state)  # which changes nothing
        return self.clock.seconds() - began

    def review(
        self, task: Task, outlook: Outlook, cost: int, assessment: Assessment | None, called_off: StopReason | None
    ) -> None:
        """Ask the rules whether the task has ended.

        ``cost`` is what the next step of all problems together may need, ``assessment`` the model's, if it was due,
        ``called_off`` the reason of whoever wants training to end, if anybody does.
        """
        progress = self._progress(task, outlook, cost)
        if assessment is not None and self.judge is not None:
            assessment = self.judge(task, assessment)
        if assessment is not None:
            self._show(task, progress, assessment)
            self.solver.remember(task.state, assessment)
            self._keep_best(task, assessment)
            progress = progress._replace(
                gap=assessment.gap,
                objective=assessment.objective,
                bound=assessment.bound,
                holdout_error=assessment.holdout_error,
                violation=assessment.violation,
            )
        task.reason = first_reason(task.rules, progress)
        if task.state.step > 0:  # else there is no model
            task.reason = task.reason or called_off
        if task.reason is not None and assessment is None:
            self._show(task, progress, self.solver.assess(task.problem, task.state))

    def _keep_best(self, task: Task, assessment: Assessment) -> None:
        """By the hold-out error, if there is one; else by what the solver goes by."""
        error = assessment.holdout_error
        if error is not None:
            if error <= task.holdout_best.error:
                model = model_of(self.solver, task.problem, task.state, assessment)
                task.holdout_best = HoldoutBest.of(model, assessment, error)
        elif self.prudent is not None:
            self.prudent.keep_best(task.problem, task.state, assessment)

    def assess(self, task: Task) -> None:
        outlook = self.outlook(task)
        progress = self._progress(task, outlook, outlook.next_cost)
        self._show(task, progress, self.solver.assess(task.problem, task.state))

    def tick(self, task: Task) -> None:
        if self.callbacks and self.clock.seconds() >= self.next_tick:
            outlook = self.outlook(task)
            progress = self._progress(task, outlook, outlook.next_cost)
            with self.clock.paused():
                for callback in self.callbacks:
                    callback.tick(progress)
            self.next_tick = progress.seconds + _SECONDS_BETWEEN_TICKS

    def shown(self, tasks: Sequence[Task], watch: Watch) -> bool:
        """Show the models after a step, off the clock; whether training is to end."""
        step, seconds = max(int(task.state.step) for task in tasks), self.clock.seconds()

        def expansions() -> list[Expansion]:
            return [self.solver.expansion(task.problem, task.state) for task in tasks]

        with self.clock.paused():
            return watch(step, self.ledger.train, seconds, expansions)

    def _progress(self, task: Task, outlook: Outlook, cost: int) -> Progress:
        return Progress(
            task.steps(),
            self.ledger.train,
            self.clock.seconds(),
            cost,
            violation=outlook.violation,
            passes=outlook.passes,
            epochs=None if self.paced is None else self.paced.epochs(task.problem.n, task.state.step),
        )

    def _show(self, task: Task, progress: Progress, assessment: Assessment) -> None:
        task.assessment = assessment
        row = snapshot(task.number, task.state.step, progress, assessment)
        with self.clock.paused():
            for callback in self.callbacks:
                callback.assessed(row)


def epochs_made(solver: Solver, problem: Problem, step: int) -> float | None:
    """The passes over the examples to which so many steps amount; None where that is not to be considered."""
    return solver.epochs(problem.n, step) if isinstance(solver, Paced) else None


def _joined(drawn: Sequence[NDArray[np.intp]]) -> tuple[NDArray[np.intp], list[NDArray[np.intp]]]:
    """What all problems want, each row once, and where each problem's rows are among them."""
    if len(drawn) == 1 and len(drawn[0]) <= 1:  # most steps of most methods: worth the microseconds
        return drawn[0], [_FIRST[: len(drawn[0])]]
    wanted, where = np.unique(np.concatenate(drawn), return_inverse=True)
    stops = np.cumsum([len(indices) for indices in drawn])
    return wanted, np.split(where, stops[:-1])


def _rows_ahead(step: int) -> int:
    """Early steps are long and change which examples are under water; rows fetched ahead would go to waste."""
    return min(_MOST_ROWS_AHEAD, 1 + step // 16)
