"""Wall-clock time beside LIBSVM, with an unregularised bias (arXiv:1204.0566, Section 5).

The parameters are Table 2's "with bias". LIBSVM runs to its own stopping rule under a budget; it has one thread, and
its two copies run side by side, a core each.

The exact single-step SBP runs for a stated time and is judged on the way, off the clock. Its ν follows from λ as in the
paper, ν = L̂(w*)/‖w*‖, w* being the optimum for the same rows; finding it is not counted, as it was not in the paper.
``SVC`` finds it with a certified gap (what it finds by default on Adult, in a span of 512 points, has half as much ν
again), but for 25,000 rows of Forest, on which its default works with nearly the whole kernel matrix.

Points of ``SVC``'s curve are fits of their own, each with a limit of time twice the one before, up to the one that did
not need it: what a user gets who allows so many seconds. Times are those of ``fit`` as a whole, after a shorter run
that compiles and loads what is needed.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from slackwater import SVC, SBPClassifier
from slackwater.callbacks import Model, Moment
from slackwater.datasets import Dataset

from sbp_paper.experiments.data import Selection, selection
from sbp_paper.experiments.job import Advance, Job, Mode, Record
from sbp_paper.experiments.libsvm import NOT_INSTALLED, sklearn_svc, svm_train
from sbp_paper.experiments.machine import thread_count
from sbp_paper.experiments.settings import Setting, setting
from sbp_paper.experiments.training import TrainingClock, error_of, fitted, model_error

CACHE_MB = 2000  # LIBSVM's and the SBP's; SVC decides by itself
_FIRST_LIMIT = 0.05  # seconds, of SVC's curve
_MOST_ROWS_TO_WARM_UP = 20_000
_STEPS_TO_WARM_UP = 200
_LOOKS_RATIO = math.sqrt(2.0)  # of the times at which the SBP's curve has points
_FIRST_LOOK = 1.0 / 1024.0  # of the time allowed
_SECONDS_BETWEEN_REPORTS = 0.2
_QUICK_BUDGET, _QUICK_SBP_SECONDS = 60.0, 5.0


@dataclass(frozen=True)
class Race:
    """One data set, or part of it, and how long whom."""

    name: str
    rows: Selection
    parameters: Setting
    budget: float  # seconds for LIBSVM
    sbp_seconds: float
    optimum_gap: float | None = 1e-3  # of the solution that ν is taken from; None: SVC's default

    def as_settings(self) -> Record:
        p = self.parameters
        return {
            **self.rows.as_settings(),
            "C": p.C,
            "gamma": p.gamma,
            "paper_nu": p.nu,
            "cache_mb": CACHE_MB,
        }


def races(mode: Mode) -> list[Race]:
    if mode == "quick":
        return [
            Race(name, selection(name, mode), setting(name, bias=True), _QUICK_BUDGET, _QUICK_SBP_SECONDS)
            for name in ("adult", "mnist", "forest")
        ]
    return [
        Race("adult", Selection("adult"), setting("adult", bias=True), 900.0, 120.0),
        Race("mnist", Selection("mnist"), setting("mnist", bias=True), 1500.0, 300.0),
        Race("forest", Selection("forest", 25_000), setting("forest", bias=True), 900.0, 200.0, None),
    ]


# ---- the contestants


def _record(race: Race, method: str, data: Dataset, **found: Any) -> Record:
    return {
        "data": race.name,
        "method": method,
        "n": len(data.y_train),
        "n_test": len(data.y_test),
        "C": race.parameters.C,
        "gamma": race.parameters.gamma,
        **found,
    }


def run_svm_train(race: Race, advance: Advance) -> Record:
    data, p = race.rows.load(), race.parameters
    found = svm_train(data, p.C, p.gamma, CACHE_MB, race.budget)
    budget = None if found.remark == NOT_INSTALLED else race.budget  # it did not run out where nothing ran
    return _record(race, "svm-train", data, budget=budget, threads=1, **found._asdict())


def run_sklearn(race: Race, advance: Advance) -> Record:
    data, p = race.rows.load(), race.parameters
    found = sklearn_svc(race.rows, p.C, p.gamma, CACHE_MB, race.budget)
    return _record(race, "sklearn", data, budget=race.budget, threads=1, **found._asdict())


@dataclass
class ErrorCurve:
    """A callback that judges the model at times that grow geometrically, off the clock, and ends training."""

    data: Dataset
    gamma: float
    limit: float  # seconds of training
    advance: Advance
    seconds: list[float] = field(default_factory=list)
    test_error: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._clock = TrainingClock()
        self._next_look, self._next_report = self.limit * _FIRST_LOOK, 0.0

    def __call__(self, moment: Moment) -> bool:
        seconds = self._clock.at(moment)
        if seconds >= self._next_report:
            self.advance(min(1.0, seconds / self.limit))
            self._next_report = seconds + _SECONDS_BETWEEN_REPORTS
        if seconds >= min(self._next_look, self.limit):
            self.seconds.append(seconds)
            self.test_error.append(self.judged(moment.model()))
            self._next_look = seconds * _LOOKS_RATIO
        return seconds >= self.limit

    def judged(self, model: Model) -> float:
        """The test error of the model that Alg. 1 would return now."""
        return model_error(model, self.data, self.gamma)


def run_sbp(race: Race, advance: Advance) -> Record:
    data, p = race.rows.load(), race.parameters
    optimum = _fitted(data.X_train, data.y_train, p, tol=race.optimum_gap)
    nu = float(optimum.slack_nu_)
    model = SBPClassifier(nu, gamma=p.gamma, fit_intercept=True, tol=0.0, cache_size=CACHE_MB, random_state=0)
    fitted(model.set_params(max_iter=_STEPS_TO_WARM_UP), data.X_train, data.y_train)  # the same rows, the same loops
    curve = ErrorCurve(data, p.gamma, race.sbp_seconds, advance)
    fitted(model.set_params(max_iter=-1, callback=curve), data.X_train, data.y_train)
    remark = (
        f"ν = {nu:.3g} from SVC's solution for the same rows (gap {optimum.gap_:.1g}), not counted; the paper prints "
        f"{p.nu:.3g}. It runs for the time it is given; its error is that at the end."
    )
    return _record(
        race,
        "sbp",
        data,
        nu=nu,
        paper_nu=p.nu,
        seconds=curve.seconds[-1],
        budget=race.sbp_seconds,
        test_error=curve.test_error[-1],
        support=len(model.support_),
        steps=model.n_iter_,
        threads=thread_count(),
        curve={"seconds": curve.seconds, "test_error": curve.test_error},
        remark=remark,
    )


def run_svc(race: Race, with_limits: bool, advance: Advance) -> Record:
    data, p = race.rows.load(), race.parameters
    warm = slice(0, _MOST_ROWS_TO_WARM_UP)
    _fitted(data.X_train[warm], data.y_train[warm], p).predict(data.X_test[:10])
    curve: dict[str, list[float]] = {"seconds": [], "test_error": []}
    limit = _FIRST_LIMIT if with_limits else None
    while True:
        began = time.perf_counter()
        model = _fitted(data.X_train, data.y_train, p, max_time=limit)
        seconds = time.perf_counter() - began
        curve["seconds"].append(seconds)
        curve["test_error"].append(error_of(model, data))
        if limit is None or model.stop_reason_ != "max_time":
            break
        limit *= 2.0
    how = "Each point is a fit of its own under a limit of time." if with_limits else "One fit without a limit."
    return _record(
        race,
        "svc",
        data,
        seconds=seconds,
        budget=None,
        test_error=curve["test_error"][-1],
        support=len(model.support_),
        nu=float(model.slack_nu_),
        gap=float(model.gap_),
        threads=thread_count(),
        curve=curve,
        remark=how,
    )


def _fitted(X: Any, y: NDArray[np.int8], p: Setting, **options: Any) -> SVC:
    return fitted(SVC(C=p.C, gamma=p.gamma, random_state=0, **options), X, y)


# ---- jobs


def jobs(mode: Mode) -> list[Job]:
    """LIBSVM twice, the SBP and SVC on each data set; SVC also on all of Forest."""
    made = []
    for race in races(mode):
        settings = race.as_settings()
        for method, run in (("svm-train", run_svm_train), ("sklearn", run_sklearn)):
            timed = {**settings, "budget": race.budget}
            seconds = 0.5 * race.budget if mode == "full" else 8.0
            made.append(_job(race, method, timed, partial(run, race), seconds, alone=False))
        timed = {**settings, "seconds": race.sbp_seconds, "optimum_gap": race.optimum_gap}
        made.append(_job(race, "sbp", timed, partial(run_sbp, race), 1.2 * race.sbp_seconds))
        made.append(_job(race, "svc", settings, partial(run_svc, race, True), 60.0 if mode == "full" else 5.0))
    if mode == "full":
        whole = Race("forest-all", Selection("forest"), setting("forest", bias=True), 0.0, 0.0)
        made.append(_job(whole, "svc", whole.as_settings(), partial(run_svc, whole, False), 900.0))
    return made


def _job(
    race: Race,
    method: str,
    settings: Record,
    run: Callable[[Advance], Record],
    seconds: float,
    alone: bool = True,
) -> Job:
    return Job(f"runtime/{race.name}/{method}", settings, run, seconds, alone=alone, shared=race.rows)
