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
Pegasos the mean), where there is one: the same run again, whose iterates are the same. SDCA and SMO scale their dual
point by the best factor before it is a model.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from slackwater import SVC, SBPClassifier
from slackwater.baselines import PegasosClassifier, SDCAClassifier, SMOClassifier
from slackwater.callbacks import Model, Moment

from sbp_paper.experiments.data import selection
from sbp_paper.experiments.job import Advance, Job, Mode, Record
from sbp_paper.experiments.matrices import Held, KernelMatrix
from sbp_paper.experiments.perceptron import Perceptron
from sbp_paper.experiments.settings import Setting, setting
from sbp_paper.experiments.training import fitted

DATA = ("reuters", "adult", "mnist")
EPOCHS = 10
LONG = {("adult", "perceptron"): 100}  # "to better illustrate its overfitting"
SEEDS = {"quick": {"reuters": 2, "adult": 2, "mnist": 2}, "full": {"reuters": 10, "adult": 10, "mnist": 3}}
POINTS_A_DECADE = 12
SMO_TOLERANCE = 1e-3  # LIBSVM's default: no example violates the optimality conditions by more
_SCORING = 0.1  # about the share of a job's time that is spent on scoring, for the progress shown
_SECONDS = {"reuters": 12.0, "adult": 60.0, "mnist": 300.0}  # of a full run

Floats = NDArray[np.float64]


class Curve(NamedTuple):
    """What was looked at on the way: steps, evaluations charged, signed coefficients of the models."""

    steps: list[int]
    evaluations: list[int]
    models: list[Floats]
    converged: bool


class Method(NamedTuple):
    """An estimator from ν, C and n; λ = 1/(C n)."""

    make: Callable[[float, float, int], Any]
    averages: tuple[str, ...] = ()  # which iterates the curve shows, and the alternative to it
    asks_diagonal: bool = False  # which is charged n to who is given a matrix: K(x, x) = 1 is not known then


METHODS: dict[str, Method | None] = {
    "sbp": Method(lambda nu, C, n: SBPClassifier(nu, tol=0.0), ("uniform", "last"), asks_diagonal=True),
    "pegasos": Method(lambda nu, C, n: PegasosClassifier(1.0 / (C * n), tol=0.0), ("last", "uniform")),
    "sdca": Method(lambda nu, C, n: SDCAClassifier(C, tol=0.0)),
    "smo": Method(lambda nu, C, n: SMOClassifier(C, fit_intercept=False, tol=SMO_TOLERANCE), asks_diagonal=True),
    "perceptron": None,  # has a loop of its own
}
_PERCEPTRON_MODELS = ("averaged", "last")


def checkpoints(n: int, epochs: int) -> list[int]:
    """Steps after which a model is kept: evenly spaced in their logarithm, and the end of each epoch."""
    last = n * epochs
    spaced = 10.0 ** (np.arange(int(np.log10(last) * POINTS_A_DECADE) + 1) / POINTS_A_DECADE)
    ends = n * np.arange(1, epochs + 1)
    return [int(step) for step in np.unique(np.concatenate([np.rint(spaced).astype(np.int64), ends])) if step <= last]


def estimator_curves(
    method: Method, held: Held, nu: float, C: float, seed: int, stops: Sequence[int], advance: Advance
) -> list[Curve]:
    """A curve for each kind of average."""
    curves = []
    for number, average in enumerate(method.averages or (None,)):
        estimator = method.make(nu, C, held.n)
        options = {} if average is None else {"average": average}
        estimator.set_params(kernel="precomputed", max_iter=stops[-1], random_state=seed, n_jobs=1, **options)
        watch = _Watch(held.n, stops, _part_of(advance, number, max(1, len(method.averages))))
        fitted(estimator.set_params(callback=watch), held.matrix, held.data.y_train)
        curves.append(_without_diagonal(watch.curve(estimator), held.n if method.asks_diagonal else 0))
    return curves


def _part_of(advance: Advance, number: int, count: int) -> Advance:
    """What tells the share done of one of several equal parts."""
    return lambda share: advance((number + share) / count)


class _Watch:
    """A callback that keeps the models at given steps."""

    def __init__(self, n: int, stops: Sequence[int], advance: Advance) -> None:
        self._n, self._last, self._advance = n, stops[-1], advance
        self._stops = set(stops)
        self._found = Curve([], [], [], False)

    def __call__(self, moment: Moment) -> None:
        if moment.step in self._stops:
            self._keep(moment.step, moment.evaluations, moment.model())

    def curve(self, fitted: Any) -> Curve:
        """With its end, which may be anywhere if the method has converged."""
        if fitted.n_iter_ not in self._found.steps:
            model = Model(fitted.support_, fitted.dual_coef_, fitted.intercept_)
            self._keep(fitted.n_iter_, fitted.n_kernel_evals_, model)
        return self._found._replace(converged=fitted.stop_reason_ == "tol")

    def _keep(self, step: int, evaluations: int, model: Model) -> None:
        dense = np.zeros(self._n)
        dense[model.support] = model.dual_coef[0]
        self._found.steps.append(step)
        self._found.evaluations.append(evaluations)
        self._found.models.append(dense)
        self._advance(step / self._last)


def _without_diagonal(curve: Curve, charged: int) -> Curve:
    return curve._replace(evaluations=[count - charged for count in curve.evaluations])


def perceptron_curves(held: Held, seed: int, stops: Sequence[int], advance: Advance) -> list[Curve]:
    """Of the mean of all iterates and of the last one; a single run has both."""
    (orders,) = np.random.default_rng(seed).spawn(1)
    learner = Perceptron(held.matrix, held.data.y_train, orders)
    mean, last = Curve([], [], [], False), Curve([], [], [], False)
    for stop in stops:
        learner.go_on(stop)
        for curve, model in ((mean, learner.mean()), (last, learner.values.copy())):
            curve.steps.append(learner.steps)
            curve.evaluations.append(learner.charged)
            curve.models.append(model)
        advance(stop / stops[-1])
    return [mean, last]


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
            curves = self._curves(held, nu, lambda share: advance((1.0 - _SCORING) * share))
            seconds = time.perf_counter() - began
            errors = held.test_errors(np.array([model for curve in curves for model in curve.models]))
        curve, n = curves[0], held.n
        at = dict(zip(curve.steps, curve.evaluations, strict=True))
        record = {
            "data": self.matrix.selection.name,
            "method": self.method,
            "seed": self.seed,
            "n": n,
            "steps": curve.steps,
            "evaluations": curve.evaluations,
            "test_error": errors[: len(curve.steps)],
            "computed_evaluations": n**2,  # the matrix, once for all runs on this data
            "seconds": seconds,
            "first_epoch_evaluations": at.get(n),
            "ended": "converged" if curve.converged else "epochs",
        }
        if self.method == "sbp":
            record["nu"] = nu
        if len(curves) == 2:
            record["alternative"] = {"model": self._alternative(), "test_error": errors[len(curve.steps) :]}
        advance(1.0)
        return record

    def _curves(self, held: Held, nu: float, advance: Advance) -> list[Curve]:
        stops, method = checkpoints(held.n, self.epochs), METHODS[self.method]
        if method is None:
            return perceptron_curves(held, self.seed, stops, advance)
        return estimator_curves(method, held, nu, self.C, self.seed, stops, advance)

    def _alternative(self) -> str:
        method = METHODS[self.method]
        return (_PERCEPTRON_MODELS if method is None else method.averages)[1]

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
