"""What everyone who takes part in a fit shares: solver, seed, clock, budgets, callbacks, settings, decisions."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slackwater.deadline import INTERRUPTS, Clock, Deadline
from slackwater.expansion import Expansion
from slackwater.fitting.decisions import Decision, Decisions, decide
from slackwater.fitting.fallback import Fallback
from slackwater.fitting.holdout import Holdout
from slackwater.fitting.journal import Journal, Keeper
from slackwater.fitting.result import Models, Previous
from slackwater.fitting.settings import Settings
from slackwater.fitting.training_set import TrainingSet
from slackwater.fitting.warm_start import Choice, EarlierModel, WarmStart
from slackwater.gram.source import Forgetful
from slackwater.memory import SpareMemory
from slackwater.solvers.base import Solver
from slackwater.solvers.drive import Task, drive
from slackwater.solvers.dual_blocks import DualBlocks
from slackwater.stopping import Progress, StoppingRule, StopReason, reason_of
from slackwater.tracing import Callback, DecisionWatcher, Recorder, Snapshot, StageWatcher, Watch
from slackwater.workers import Workers


@dataclass(frozen=True)
class Stopping:
    """What ends a problem: goals for a tolerance, and budgets, made anew for each problem."""

    tol: float | None  # None: the fit chooses
    make_goals: Callable[[float], list[StoppingRule]]
    make_limits: Callable[[], list[StoppingRule]]

    def rules(self, tol: float) -> list[StoppingRule]:
        return [*self.make_goals(tol), *self.make_limits()]


@dataclass(frozen=True)
class Persistence:
    """Where a training state is kept and comes from."""

    checkpoint: Path | None = None
    previous: Previous | None = None
    keep: bool = False  # where the run ends, for warm_start

    @property
    def used(self) -> bool:
        return self.checkpoint is not None or self.keep


# Shown the models on the way: step, kernel evaluations, seconds, and what makes the models of all problems, by the
# numbers that examples have in the training set of the fit; True ends training
ModelWatch = Callable[[int, int, float, Callable[[], Models]], bool]


@dataclass
class FitContext:
    """One fit, from its data to its decisions. Strategies read it, and record in it what they decide."""

    solver: Any
    training_set: TrainingSet
    n_classes: int
    seed: int
    stopping: Stopping
    persistence: Persistence = field(default_factory=Persistence)
    settings: Settings = field(default_factory=Settings)
    strategy: str = "auto"
    watchers: Sequence[Callback] = ()
    watch: ModelWatch | None = None  # the user's callbacks
    called_off: threading.Event = field(default_factory=threading.Event)  # by a callback that returned True
    recorder: Recorder = field(default_factory=Recorder)
    deadline: Deadline = field(default_factory=lambda: Deadline(Clock()))
    decisions: Decisions = field(default_factory=Decisions)
    fallbacks: dict[int, Fallback] = field(default_factory=dict)  # the best models of the sample, by problem
    stages: int = 0  # driven so far
    holdout: Holdout | None = None  # examples out of the training set that judge the models
    journal: Journal | None = None  # of a fit with a checkpoint, once it has begun
    earlier: EarlierModel | None = None  # the model that this fit goes on from,
    warm: WarmStart | None = None  # and its dual point, once the fit has begun
    choice: Choice | None = None  # of a tolerance, by a sample
    keeps_responses: bool = False  # for a later fit to go on from
    spare_memory: SpareMemory = field(default_factory=SpareMemory)  # for the fits of several pairs of classes

    def __post_init__(self) -> None:
        if isinstance(self.solver, DualBlocks):  # whose steps can be long
            self.solver = replace(self.solver, deadline=self.deadline)

    @property
    def clock(self) -> Clock:
        return self.deadline.clock

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        """Ctrl-C brings the fit to an early end, with a model, also between its stages."""
        with INTERRUPTS.raising(self.deadline.interrupted):
            yield

    @cached_property
    def rng(self) -> np.random.Generator:
        """For choices that strategies make; the problems have streams of their own."""
        return np.random.default_rng(self.seed)

    @property
    def callbacks(self) -> list[Callback]:
        return [self.recorder, *self.watchers]

    @property
    def forced(self) -> bool:
        return self.strategy != "auto"

    def hindrance(self) -> str | None:
        """Why no strategy is possible but the exact one by kernel rows, and what to change."""
        training_set = self.training_set
        if not training_set.certified:
            return "the kernel is not positive semi-definite. Use one that is"
        if training_set.features is None:
            return "it needs feature vectors, got kernel='precomputed'. Pass features"
        if self.persistence.keep:
            return "it keeps no state to continue from. Leave warm_start=False"
        if training_set.ledger.limit is not None:
            return "it does not count kernel evaluations in advance. Leave max_kernel_evals=None"
        return None

    def decide(self, strategy: str, measured: str, value: float, relation: str, limit: float) -> bool:
        """Record a measurement; whether the strategy is still possible. A forced one is, whatever was measured."""
        forced = self.strategy == strategy
        decision = decide(strategy, measured, value, relation, limit, forced, self.clock.seconds())
        self.note(decision)
        return decision.positive

    def has_room(self, strategy: str, what: str, needed: float, room: float) -> bool:
        """Record whether so many bytes are there. Memory is kept to: a forced strategy is declined as well."""
        MB = 2.0**20
        decision = decide(strategy, f"memory for {what}, MB", needed / MB, "<=", room / MB, False, self.clock.seconds())
        self.note(decision)
        return decision.positive

    def show(self, row: Snapshot, progress: Progress) -> None:
        """An assessment, to everybody who watches but the recorder."""
        if self.watchers:
            with self.clock.paused():
                for callback in self.watchers:
                    callback.assessed(row)
                    callback.tick(progress)

    def stage(self, name: str) -> None:
        """Tell everybody who watches what the fit does from now on."""
        with self.clock.paused():
            for callback in self.watchers:
                if isinstance(callback, StageWatcher):
                    callback.staged(name)

    def done(self) -> None:
        """Tell everybody who watches that the fit is over."""
        for callback in self.watchers:
            if isinstance(callback, StageWatcher):
                callback.done()

    def show_models(
        self, step: int, expansions: Callable[[], list[Expansion]], kept: NDArray[np.intp] | None = None
    ) -> bool:
        """Show models on the way, off the clock; whether training is to end.

        ``kept`` has the row numbers of the examples by which the expansions number them, if these are not all.
        """
        if self.watch is not None and not self.called_off.is_set():
            seconds, evaluations = self.clock.seconds(), self.training_set.ledger.train
            with self.clock.paused():
                if self.watch(step, evaluations, seconds, lambda: self._in_whole(expansions(), kept)):
                    self.called_off.set()
        return self.called_off.is_set()

    def _in_whole(self, expansions: list[Expansion], kept: NDArray[np.intp] | None) -> list[Expansion]:
        """The same models, with the numbers that examples have in the training set of the fit."""
        if kept is None or kept is self.training_set.kept:
            return expansions
        places = np.searchsorted(self.training_set.kept, kept)
        return [replace(each, support=places[each.support]) for each in expansions]

    def note(self, decision: Decision) -> None:
        self.decisions.append(decision)
        with self.clock.paused():
            for callback in self.watchers:
                if isinstance(callback, DecisionWatcher):
                    callback.decided(decision)

    def tasks(self, training_set: TrainingSet, tol: float) -> list[Task]:
        """The problems of a training set, from scratch."""
        # Every problem draws from the same stream: two classes that lack the same example ask for one row.
        tasks = []
        for number, problem in enumerate(training_set.problems(self.n_classes)):
            state = self.solver.start(problem, np.random.default_rng(self.seed))
            tasks.append(Task(number, problem, state, self.stopping.rules(tol)))
        return tasks

    def cut_short(self) -> StopReason | None:
        """Ctrl-C, a callback or the limit of time, if it asks for an end."""
        reason = reason_of(self.deadline)
        return StopReason.CALLBACK if reason is None and self.called_off.is_set() else reason

    def solve_stage(self, tasks: Sequence[Task], training_set: TrainingSet) -> bool:
        """One stage of a fit that has several: solve; whether all problems came to their tolerance.

        If not, they are at the best points on the way.
        """
        whole = training_set.n == self.training_set.n
        for task in tasks:
            self.solver.forget_best(task.state, by_objective=self.stages > 0 or whole)
        self.stages += 1
        features = training_set.features
        self.run_loop(tasks, training_set, None if features is None else features.workers)
        for task in tasks:
            if task.state.best.exists() and not task.state.best.by_objective:
                self.fallbacks[task.number] = Fallback.of(task.state.best, task.problem.labels, training_set.kept)
        for task in tasks:
            if task.reason is not StopReason.TOLERANCE and task.assessment is not None:
                task.assessment = self.solver.restore_best(task.problem, task.state, task.assessment)
        if self.deadline.interrupted.is_set():  # a stage that has come to its end is not the end of the fit
            for task in tasks:
                task.reason = StopReason.INTERRUPT
        # A stage whose hold-out error has stalled is as good as solved: the next one has more examples.
        return all(task.reason in (StopReason.TOLERANCE, StopReason.HOLDOUT) for task in tasks)

    def run_loop(
        self,
        tasks: Sequence[Task],
        training_set: TrainingSet,
        workers: Workers | None = None,
    ) -> None:
        """The training loop, with everybody who watches this fit."""
        watch: Watch | None = None
        if self.watch is not None:
            watch = lambda step, evaluations, seconds, expansions: self.show_models(  # noqa: E731
                step, expansions, training_set.kept
            )

        def advance(keeper: Keeper | None = None) -> None:
            kept = [] if keeper is None else [keeper]
            drive(
                self.solver,
                tasks,
                training_set.rows,
                training_set.ledger,
                self.clock,
                [*self.callbacks, *kept],
                workers,
                self.deadline,
                watch,
                keeper,
                None if self.holdout is None else self.holdout.judge(training_set.kept),
                torn=not self.persistence.used,
            )

        if self.journal is None:
            advance()
        else:
            held = [each for each in (training_set.rows, self.holdout) if isinstance(each, Forgetful)]
            self.journal.run(self.solver, tasks, held, self.clock, advance)
        if self.holdout is not None:
            for task in tasks:
                self.holdout.consider(task, training_set.kept)

    def open_journal(self) -> None:
        """Resume from the checkpoint, if there is one, and keep it from now on."""
        path = self.persistence.checkpoint
        if path is not None and self.journal is None:
            owner = f"{identity(self.solver, self.training_set)} {self.solver!r} {self.seed} {self.strategy}"
            self.journal = Journal(path, owner, self.training_set.ledger, self.recorder)


def identity(solver: Solver, training_set: TrainingSet) -> str:
    """What a state belongs to; a state of the paired form is of no use to the single one."""
    return f"{training_set.identify()} {type(solver).__name__} {solver.rows_a_step}"
