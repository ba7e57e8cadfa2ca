"""Exact single-step SBP whose inside can be looked at: responses and levels for pictures, errors against the clock."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slackwater.kernels.gaussian import Gaussian
from slackwater.points import as_points
from slackwater.prediction import decision_values
from slackwater.reproduction.job import Advance
from slackwater.solvers.basins import OneBasin, TwoBasins
from slackwater.solvers.drive import Task, drive
from slackwater.solvers.sbp import SBPState, StochasticBatchPerceptron
from slackwater.stopping import MaxSeconds, Progress, StoppingRule
from slackwater.tracing import Callback, Clock, Snapshot
from slackwater.training.training_set import TrainingSet, feature_training_set
from slackwater.workers import Workers, thread_count

_LOOKS_RATIO = math.sqrt(2.0)  # of the times at which a curve has points
_FIRST_LOOK = 1.0 / 1024.0  # of the time allowed


@dataclass
class ExactRun:
    """A binary problem and how far the SBP has come with it. Preparation counts as training time."""

    solver: StochasticBatchPerceptron
    kernel: Gaussian
    X: Any
    training_set: TrainingSet
    task: Task
    clock: Clock
    workers: Workers

    def drive(self, rules: Sequence[StoppingRule], callbacks: Sequence[Callback] = ()) -> None:
        """Go on until a rule is met."""
        self.task.rules, self.task.reason = list(rules), None
        rows, ledger = self.training_set.rows, self.training_set.ledger
        drive(self.solver, [self.task], rows, ledger, self.clock, callbacks)

    def responses(self) -> tuple[NDArray[np.float64], NDArray[np.int8]]:
        """Of the last iterate, and the labels; an example stands there as often as it occurs in the data."""
        state: SBPState = self.task.state
        copies = self.training_set.weights.astype(np.intp)
        return np.repeat(state.responses, copies), np.repeat(self.task.problem.labels, copies)

    def support(self) -> int:
        return len(self.solver.expansion(self.task.problem, self.task.state).support)

    def test_error(self, X: Any, y: NDArray[np.int8]) -> float:
        """Of the model that Alg. 1 would return now."""
        model = self.solver.expansion(self.task.problem, self.task.state)
        support = as_points(self.X).take(self.training_set.kept[model.support])
        values = decision_values(
            self.kernel, as_points(X), support, model.coefficients[None, :], np.array([model.bias]), self.workers
        )
        return float(np.mean(np.where(values[:, 0] > 0.0, 1, -1) != y))


@contextmanager
def exact_sbp(
    X: Any, y: NDArray[np.int8], gamma: float, nu: float, *, bias: bool, cache_mb: float, seed: int
) -> Iterator[ExactRun]:
    """Ready for the first step."""
    solver = StochasticBatchPerceptron(nu, TwoBasins() if bias else OneBasin())
    with Workers(thread_count(None)) as workers:
        began = time.perf_counter()
        kernel, cache = Gaussian(gamma), int(cache_mb * 2**20)
        training_set = feature_training_set(
            as_points(X),
            kernel,
            (y > 0).astype(np.intp),
            np.ones(len(y)),
            0.0,
            cache,
            cache,
            workers,
            np.random.default_rng(seed),
        )
        (problem,) = training_set.problems(2)
        task = Task(0, problem, solver.start(problem, np.random.default_rng(seed)), [])
        clock = Clock(already=time.perf_counter() - began)
        yield ExactRun(solver, kernel, X, training_set, task, clock, workers)


@dataclass
class ErrorCurve:
    """A callback that judges the model at times that grow geometrically; the clock stands still meanwhile."""

    run: ExactRun
    X_test: Any
    y_test: NDArray[np.int8]
    limit: float  # seconds of training
    advance: Advance
    seconds: list[float] = field(default_factory=list)
    test_error: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._next = self.limit * _FIRST_LOOK

    def assessed(self, row: Snapshot) -> None:
        if row.seconds >= min(self._next, self.limit):
            self._look(row.seconds)

    def tick(self, progress: Progress) -> None:
        self.advance(min(1.0, progress.seconds / self.limit))
        if progress.seconds >= self._next:
            self._look(progress.seconds)

    def ended(self) -> None:
        pass

    def _look(self, seconds: float) -> None:
        self.seconds.append(seconds)
        self.test_error.append(self.run.test_error(self.X_test, self.y_test))
        self._next = seconds * _LOOKS_RATIO


def error_curve(run: ExactRun, X_test: Any, y_test: NDArray[np.int8], seconds: float, advance: Advance) -> ErrorCurve:
    """Train for so many seconds; the last point is where training ended."""
    curve = ErrorCurve(run, X_test, y_test, seconds, advance)
    run.drive([MaxSeconds(seconds)], [curve])
    return curve
