"""What all stages of a quick training run share."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np

from slackwater.solvers.drive import Task, drive, interrupt_flag
from slackwater.solvers.dual_blocks import DualBlocks
from slackwater.stopping import Progress, StopReason
from slackwater.tracing import Callback, Clock, Recorder
from slackwater.training.fallback import Fallback
from slackwater.training.run import Plan
from slackwater.training.training_set import TrainingSet

# Relative gaps to which problems are solved: the coarsest one that a test on unseen examples accepts.
GAPS = (0.03, 0.01, 0.003)
HIDDEN = 2.0 / 3.0  # of the tolerance: what examples and values that a stage did not see may cost on top


@dataclass
class Course:
    """A solver, a seed and a plan, and the account of the run so far."""

    solver: DualBlocks
    seed: int
    plan: Plan
    recorder: Recorder = field(default_factory=Recorder)
    clock: Clock = field(default_factory=Clock)
    interrupted: threading.Event = field(default_factory=threading.Event)
    stages: int = 0  # so far

    @classmethod
    @contextmanager
    def of(cls, solver: DualBlocks, seed: int, plan: Plan) -> Iterator[Course]:
        """A course that Ctrl-C brings to an early end, with a model, also between its stages."""
        with interrupt_flag() as interrupted:
            yield cls(solver, seed, plan, interrupted=interrupted)

    def rng(self) -> np.random.Generator:
        """For choices that a stage makes; the problems have streams of their own."""
        return np.random.default_rng(self.seed)

    def tasks(self, training_set: TrainingSet, n_classes: int, tol: float) -> list[Task]:
        """The problems of a training set, from scratch."""
        return [
            Task(number, problem, self.solver.start(problem, np.random.default_rng(self.seed)), self.plan.rules(tol))
            for number, problem in enumerate(training_set.problems(n_classes))
        ]

    def cut_short(self) -> StopReason | None:
        """Ctrl-C or a limit of time, if it asks for an end."""
        if self.interrupted.is_set():
            return StopReason.INTERRUPT
        progress = Progress(steps=1, evaluations=0, seconds=self.clock.seconds(), next_cost=0)
        late = any(rule(progress) is StopReason.SECONDS for rule in self.plan.make_limits())
        return StopReason.SECONDS if late else None

    def drive(self, tasks: Sequence[Task], training_set: TrainingSet) -> bool:
        """Solve; whether all problems came to their tolerance. If not, they are at the best points on the way."""
        for task in tasks:
            self.solver.forget_best(task.state, by_objective=self.stages > 0 or training_set.n == self.plan.n_examples)
        self.stages += 1
        callbacks: list[Callback] = [self.recorder, *self.plan.watchers()]
        workers = None if training_set.features is None else training_set.features.workers
        drive(
            self.solver,
            tasks,
            training_set.rows,
            training_set.ledger,
            self.clock,
            callbacks,
            workers,
            self.interrupted,
        )
        for task in tasks:
            if task.state.best.exists() and not task.state.best.by_objective:
                fallback = Fallback.of(task.state.best, task.problem.labels, training_set.kept)
                self.plan.fallbacks[task.number] = fallback
        for task in tasks:
            if task.reason is not StopReason.TOLERANCE and task.assessment is not None:
                task.assessment = self.solver.restore_best(task.problem, task.state, task.assessment)
        if self.interrupted.is_set():  # a stage that has come to its end is not the end of the course
            for task in tasks:
                task.reason = StopReason.INTERRUPT
        return all(task.reason is StopReason.TOLERANCE for task in tasks)
