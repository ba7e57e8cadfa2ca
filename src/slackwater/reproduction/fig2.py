"""Fig. 2: test error against kernel evaluations (arXiv:1204.0566, Section 5), without bias, ten epochs a method.

What is charged is what a method would pay that keeps no kernel rows, and the scoring on the test part is not charged:

========== ======================================================= ==================================================
method     an iteration costs                                      the model along the way
========== ======================================================= ==================================================
sbp        n                                                       mean of all iterates (Alg. 1, line 13)
pegasos    n if the example drawn violates its margin, else 0      the last iterate, as published
sdca       n if the coefficient drawn is not at its best, else 0   the last iterate
smo        n (one coefficient moves, as there is no bias)          the last iterate
perceptron support vectors so far                                  mean of all iterates
========== ======================================================= ==================================================

The paper does not say which iterate its curves show; ``alternative`` has the other choice (the last iterate, for
Pegasos the mean), where there is one. SDCA and SMO scale their dual point by the best factor before it is a model.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from slackwater import SVC
from slackwater.gram.ledger import EvaluationLedger
from slackwater.problem import Problem
from slackwater.reproduction.data import selection
from slackwater.reproduction.job import Advance, Job, Mode, Record
from slackwater.reproduction.matrices import Held, KernelMatrix
from slackwater.reproduction.settings import Setting, setting
from slackwater.solvers.base import Solver
from slackwater.solvers.basins import OneBasin
from slackwater.solvers.drive import Task, drive
from slackwater.solvers.pegasos import Pegasos
from slackwater.solvers.sbp import StochasticBatchPerceptron
from slackwater.solvers.sdca import SDCA
from slackwater.solvers.smo import SMOSingles
from slackwater.stopping import MaxSteps, StopReason, ViolationBelow
from slackwater.tracing import Clock
from slackwater.workers import Workers

DATA = ("reuters", "adult", "mnist")
METHODS = ("sbp", "pegasos", "sdca", "smo", "perceptron")
EPOCHS = 10
LONG = {("adult", "perceptron"): 100}  # "to better illustrate its overfitting"
SEEDS = {"quick": {"reuters": 2, "adult": 2, "mnist": 2}, "full": {"reuters": 10, "adult": 10, "mnist": 3}}
POINTS_A_DECADE = 12
SMO_TOLERANCE = 1e-3  # LIBSVM's default: no example violates the optimality conditions by more
_SCORING = 0.1  # about the share of a job's time that is spent on scoring, for the progress shown
_SECONDS = {"reuters": 8.0, "adult": 30.0, "mnist": 150.0}  # of a full run

Floats = NDArray[np.float64]


class Course(Protocol):
    """A method on its way."""

    def advance(self, steps: int) -> bool:
        """Go on until so many steps were made; whether the method has converged before."""

    @property
    def steps(self) -> int: ...

    @property
    def charged(self) -> int: ...

    def models(self) -> list[Floats]:
        """Signed coefficients of the model now, and of the alternative to it."""


class DrivenCourse:
    """A solver, driven from checkpoint to checkpoint."""

    def __init__(self, solver: Solver, alternative: Solver | None, problem: Problem, seed: int) -> None:
        self.solver = solver
        self.readings = [solver] if alternative is None else [solver, alternative]
        self.problem = problem
        # What decides convergence is known before the step that would be the next, so it is looked at all along.
        self.goals = [ViolationBelow(SMO_TOLERANCE)] if isinstance(solver, SMOSingles) else []
        self.clock = Clock()
        self.task = Task(0, problem, solver.start(problem, np.random.default_rng(seed)), [])

    @property
    def steps(self) -> int:
        return self.task.steps()

    @property
    def charged(self) -> int:
        return self.problem.rows.ledger.train

    def advance(self, steps: int) -> bool:
        self.task.rules = [*self.goals, MaxSteps(steps)]
        self.task.reason, self.task.resumed_at = None, self.steps
        drive(self.solver, [self.task], self.problem.rows, self.problem.rows.ledger, self.clock)
        if self.task.reason is StopReason.INTERRUPT:
            raise KeyboardInterrupt
        return self.task.reason is StopReason.TOLERANCE

    def models(self) -> list[Floats]:
        expansions = [each.expansion(self.problem, self.task.state) for each in self.readings]
        dense = np.zeros((len(expansions), self.problem.n))
        for row, each in zip(dense, expansions, strict=True):
            row[each.support] = each.coefficients
        return list(dense)


@dataclass
class PerceptronCourse:
    """The iterates of ``solvers.perceptron``, by one compiled loop: a hundred passes over Adult in seconds.

    That solver computes a response from the support when an example comes up. Here, with the matrix in memory, those of
    all examples are kept, which differs by rounding alone; charged are the evaluations of the former.
    """

    problem: Problem
    matrix: NDArray[np.floating[Any]]
    seed: int
    steps: int = 0
    ledger: EvaluationLedger = field(default_factory=EvaluationLedger)

    def __post_init__(self) -> None:
        # One stream gives the order of the passes, the other would draw a random iterate, not needed here.
        self._orders, _ = np.random.default_rng(self.seed).spawn(2)
        self._order = self._orders.permutation(self.problem.order)
        self._responses, self._values, self._offset = np.zeros((3, self.problem.n))

    @property
    def charged(self) -> int:
        return self.ledger.train

    def advance(self, steps: int) -> bool:
        from slackwater.reproduction import _loops

        n = self.problem.n
        while self.steps < steps:
            if self.steps > 0 and self.steps % n == 0:
                self._order = self._orders.permutation(self.problem.order)
            begin = self.steps % n
            shown = self._order[begin : min(n, begin + steps - self.steps)]
            state = (self._responses, self._values, self._offset)
            _, charged = _loops.pass_on(self.matrix, self.problem.labels, shown, self.steps, *state)
            self.ledger.charge("train", charged)
            self.steps += len(shown)
        return False

    def models(self) -> list[Floats]:
        return [self._values - self._offset / max(self.steps, 1), self._values.copy()]


class Curve(NamedTuple):
    """What was looked at on the way."""

    steps: list[int]
    evaluations: list[int]
    models: list[list[Floats]]
    converged: bool


def course(method: str, held: Held, nu: float, C: float, seed: int) -> Course:
    """A method at its beginning; λ = 1/(C n)."""
    problem = held.problem()
    if method == "perceptron":
        return PerceptronCourse(problem, held.matrix, seed)
    make = _SOLVERS[method]
    solver = make(nu, C, held.n)
    other = _ALTERNATIVES.get(method)
    return DrivenCourse(solver, None if other is None else replace(solver, average=other), problem, seed)


_SOLVERS: dict[str, Callable[[float, float, int], Any]] = {
    "sbp": lambda nu, C, n: StochasticBatchPerceptron(nu, OneBasin(), "uniform"),
    "pegasos": lambda nu, C, n: Pegasos(average="last", regularisation=1.0 / (C * n)),
    "sdca": lambda nu, C, n: SDCA(C),
    "smo": lambda nu, C, n: SMOSingles(C, tol=SMO_TOLERANCE),
}
_ALTERNATIVES = {"sbp": "last", "pegasos": "uniform", "perceptron": "last"}


def checkpoints(n: int, epochs: int) -> list[int]:
    """Steps after which a model is kept: evenly spaced in their logarithm, and the end of each epoch."""
    last = n * epochs
    spaced = 10.0 ** (np.arange(int(np.log10(last) * POINTS_A_DECADE) + 1) / POINTS_A_DECADE)
    ends = n * np.arange(1, epochs + 1)
    return [int(step) for step in np.unique(np.concatenate([np.rint(spaced).astype(np.int64), ends])) if step <= last]


def follow(on_its_way: Course, stops: list[int], advance: Advance) -> Curve:
    """Drive the method from one checkpoint to the next and keep its models."""
    curve = Curve([], [], [], False)
    for stop in stops:
        converged = on_its_way.advance(stop)
        curve.steps.append(on_its_way.steps)
        curve.evaluations.append(on_its_way.charged)
        curve.models.append(on_its_way.models())
        advance((1.0 - _SCORING) * on_its_way.steps / stops[-1])
        if converged:
            return curve._replace(converged=True)
    return curve


@dataclass(frozen=True)
class Run:
    """One method, one data set, one seed."""

    matrix: KernelMatrix
    method: str
    seed: int
    epochs: int
    C: float
    nu: float | None  # None: of the optimum of the rows selected

    def __call__(self, advance: Advance) -> Record:
        with self.matrix() as held:
            nu = self._nu(held) if self.method == "sbp" else 0.0
            began = time.perf_counter()
            on_its_way = course(self.method, held, nu, self.C, self.seed)
            with (
                Workers()
            ):  # keeps BLAS to one thread: on n numbers others gain nothing, and wait where cores are shared
                curve = follow(on_its_way, checkpoints(held.n, self.epochs), advance)
            seconds = time.perf_counter() - began
            errors = held.test_errors(np.array([model for models in curve.models for model in models]))
        readings = len(curve.models[0])
        at = dict(zip(curve.steps, curve.evaluations, strict=True))
        record = {
            "data": self.matrix.selection.name,
            "method": self.method,
            "seed": self.seed,
            "n": held.n,
            "steps": curve.steps,
            "evaluations": curve.evaluations,
            "test_error": errors[::readings],
            "computed_evaluations": held.n**2,  # the matrix, once for all runs on this data
            "seconds": seconds,
            "first_epoch_evaluations": at.get(held.n),
            "ended": "converged" if curve.converged else "epochs",
        }
        if self.method == "sbp":
            record["nu"] = nu
        if readings == 2:
            record["alternative"] = {"model": _ALTERNATIVES[self.method], "test_error": errors[1::2]}
        advance(1.0)
        return record

    def _nu(self, held: Held) -> float:
        """ν = L̂(w*)/‖w*‖, derived as in the paper's Section 5."""
        if self.nu is not None:
            return self.nu
        optimum = SVC(self.C, gamma=self.matrix.gamma, fit_intercept=False, tol=1e-3, random_state=0)
        return float(optimum.fit(held.data.X_train, held.data.y_train).slack_nu_)


def jobs(mode: Mode) -> list[Job]:
    """All runs, those on one data set together."""
    return [
        _job(setting(data, bias=False), method, seed, mode)
        for data in DATA
        for method in METHODS
        for seed in range(SEEDS[mode][data])
    ]


def _job(used: Setting, method: str, seed: int, mode: Mode) -> Job:
    matrix = KernelMatrix(selection(used.data, mode), used.gamma)
    # A part of the data has an optimum of its own: the printed ν belongs to the whole.
    nu = used.nu if mode == "full" else None
    epochs = LONG.get((used.data, method), EPOCHS)
    run = Run(matrix, method, seed, epochs, used.C, nu)
    settings = {
        "selection": matrix.selection.as_settings(),
        "gamma": used.gamma,
        "C": used.C,
        "epochs": epochs,
        "points_a_decade": POINTS_A_DECADE,
        **({"nu": "of the selection's optimum" if nu is None else nu} if method == "sbp" else {}),
        **({"tolerance": SMO_TOLERANCE} if method == "smo" else {}),
    }
    seconds = _SECONDS[used.data] if mode == "full" else 3.0
    return Job(f"fig2/{used.data}/{method}/{seed}", settings, run, seconds, shared=matrix)
