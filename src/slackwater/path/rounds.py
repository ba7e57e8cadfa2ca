"""The rounds of a search: candidates scored on rows, gamma by gamma, on shared kernel values where that is possible."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from inspect import signature
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from slackwater.deadline import Clock, Deadline
from slackwater.estimators.layout import length
from slackwater.estimators.svc import SVC
from slackwater.estimators.validation import check_targets, take
from slackwater.path.checks import checked_score
from slackwater.path.folds import FoldValues, SharedFolds
from slackwater.path.halving import Rounds, sizes_of, stratified_rows, survivors
from slackwater.path.scored import ScoredModel
from slackwater.workers import Workers

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]


@dataclass(frozen=True)
class SearchRows:
    """Rows, labels, weights and folds of a search, or of one of its rounds."""

    X: Any
    y: NDArray[Any]
    classes: NDArray[Any]
    sample_weight: Floats | None
    class_weight: Any
    folds: Sequence[tuple[Rows, Rows]]  # training and test rows
    pairwise: bool  # whether X are kernel values

    @property
    def n(self) -> int:
        return int(length(self.X))

    @cached_property
    def codes(self) -> NDArray[np.intp]:
        """Class numbers."""
        return np.searchsorted(self.classes, self.y).astype(np.intp)

    def part(self, rows: Rows) -> SearchRows:
        """Some of the rows, in the folds that they are in."""
        place = np.full(self.n, -1)
        place[rows] = np.arange(len(rows))
        folds = [(_present(place[train]), _present(place[test])) for train, test in self.folds]
        weights = None if self.sample_weight is None else self.sample_weight[rows]
        X = self.X[np.ix_(rows, rows)] if self.pairwise else take(self.X, rows)
        return SearchRows(X, self.y[rows], self.classes, weights, self.class_weight, folds, self.pairwise)

    def fold_weights(self, train: Rows) -> Floats | None:
        """What the loss of each row costs when a fold is trained: 0 for others. None if the fold lacks a class.

        Class weights are those of the fold's own rows, as in a fit to them alone.
        """
        chosen = None if self.sample_weight is None else self.sample_weight[train]
        if chosen is not None and not (chosen > 0.0).any():
            return None
        present = self.codes[train] if chosen is None else self.codes[train][chosen > 0.0]
        if len(np.unique(present)) < len(self.classes):
            return None
        weights = np.zeros(self.n)
        np.add.at(weights, train, check_targets(self.y[train], len(train), chosen, self.class_weight).weights)
        return weights

    @cached_property
    def weights(self) -> list[Floats | None]:
        """Those of all folds."""
        return [self.fold_weights(train) for train, _ in self.folds]

    @property
    def complete(self) -> bool:
        """Whether every fold has rows to test, and to train on of every class."""
        return all(each is not None for each in self.weights) and all(len(test) for _, test in self.folds)

    def training(self, fold: int) -> tuple[Any, NDArray[Any], Floats | None]:
        """What a separate fit of a fold is given."""
        train = self.folds[fold][0]
        X = self.X[np.ix_(train, train)] if self.pairwise else take(self.X, train)
        return X, self.y[train], None if self.sample_weight is None else self.sample_weight[train]

    @cached_property
    def tests(self) -> list[Any]:
        """The rows of each fold that are scored."""
        return [self.X[np.ix_(test, train)] if self.pairwise else take(self.X, test) for train, test in self.folds]


def _present(places: Rows) -> Rows:
    return places[places >= 0]


class _Scores(NamedTuple):
    """Of one candidate, an entry for each fold."""

    scores: list[float]
    fit_times: list[float]
    score_times: list[float]


@dataclass
class Search:
    """Candidates (C, gamma) scored by cross-validation."""

    template: SVC
    rows: SearchRows
    Cs: Floats  # of each candidate
    gammas: NDArray[Any]  # of each candidate, as a number; 0 for kernels without
    scorer: Callable[..., Any] | None  # None: accuracy
    workers: Workers
    seed: int
    limit: float  # of time.perf_counter
    progress: Callable[[int, int], None] = lambda done, total: None
    scored: int = field(default=0, init=False)  # candidates, in all rounds

    def run(self, halve: bool) -> Rounds:
        """All candidates on all rows; or by successive halving, until time is up."""
        found = Rounds.none(len(self.Cs), len(self.rows.folds))
        sizes, active = sizes_of(self.rows.n) if halve else [self.rows.n], np.arange(len(self.Cs))
        for iteration, size in enumerate(sizes):
            rows = self.rows
            if size < rows.n:
                rows = rows.part(stratified_rows(rows.codes, size, self.seed))
                if not rows.complete:
                    continue
            begun = time.perf_counter()
            self._round(rows, active, found, iteration)
            now = time.perf_counter()
            if self._late() or size == sizes[-1]:
                break
            means = np.full(len(self.Cs), np.nan)
            means[active] = found.scores[active].mean(axis=1)
            active = survivors(means, now - begun, sizes[iteration + 1] / size, self.limit - now)
        return found

    def _late(self) -> bool:
        """Whether time is up; there is always one candidate that is scored."""
        return self.scored > 0 and time.perf_counter() >= self.limit

    def _deadline(self) -> Deadline:
        return Deadline(Clock(), self.limit - time.perf_counter()) if self.scored > 0 else Deadline(Clock())

    def _round(self, rows: SearchRows, active: NDArray[np.intp], found: Rounds, iteration: int) -> None:
        shared = self._shared_folds(rows)
        done = 0
        for gamma in dict.fromkeys(self.gammas[active].tolist()):  # the best first
            if self._late():
                return
            members = [number for number in active if self.gammas[number] == gamma]
            members.sort(key=lambda number: self.Cs[number])
            for number, scores in zip(members, self._of_gamma(rows, shared, gamma, self.Cs[members]), strict=False):
                found.scores[number], found.fit_times[number], found.score_times[number] = scores
                found.n_rows[number], found.iteration[number] = rows.n, iteration
                self.scored += 1
            done += len(members)
            self.progress(done, len(active))

    def _shared_folds(self, rows: SearchRows) -> SharedFolds | None:
        in_pairs = len(rows.classes) == 2 or self.template.multi_class == "ovo"
        if rows.pairwise or not in_pairs or not rows.complete:
            return None
        weights = [each for each in rows.weights if each is not None]
        tests = [test for _, test in rows.folds]
        return SharedFolds(rows.X, rows.codes, len(rows.classes), weights, tests, self.workers, self.seed)

    def _of_gamma(self, rows: SearchRows, shared: SharedFolds | None, gamma: float, Cs: Floats) -> list[_Scores]:
        """The scores of rising C, as many as there is time for."""
        estimator = clone(self.template)
        if gamma > 0.0:
            estimator.set_params(gamma=gamma)
        if shared is not None:
            values = shared.values(estimator, Cs.tolist(), self._deadline())
            if values is not None:
                complete = min(len(of_fold) for of_fold in values)
                return [self._scores(rows, estimator, C, [f[k] for f in values]) for k, C in enumerate(Cs[:complete])]
        found: list[_Scores] = []
        for C in Cs:
            fitted = self._separate(rows, clone(estimator).set_params(C=float(C)))
            if fitted is None:
                break
            found.append(fitted)
        return found

    def _scores(self, rows: SearchRows, estimator: SVC, C: float, values: Sequence[FoldValues]) -> _Scores:
        found = _Scores([], [], [])
        for fold, (known, seconds) in enumerate(values):
            begun = time.perf_counter()
            model = clone(estimator).set_params(C=float(C))
            fit = _fitting(model, rows, fold)
            scored = ScoredModel.of(model, rows.classes, rows.tests[fold], known, fit)
            found.scores.append(self._score(scored, rows, fold))
            found.fit_times.append(seconds)
            found.score_times.append(time.perf_counter() - begun)
        return found

    def _separate(self, rows: SearchRows, model: SVC) -> _Scores | None:
        """A fit for each fold; None if time is up before the last."""
        found = _Scores([], [], [])
        for fold in range(len(rows.folds)):
            if self._late():
                return None
            begun = time.perf_counter()
            fitted = _fitting(model, rows, fold)()
            middle = time.perf_counter()
            found.scores.append(self._score(fitted, rows, fold))
            found.fit_times.append(middle - begun)
            found.score_times.append(time.perf_counter() - middle)
        return found

    def _score(self, model: SVC, rows: SearchRows, fold: int) -> float:
        test = rows.folds[fold][1]
        X, y = rows.tests[fold], rows.y[test]
        weights = None if rows.sample_weight is None else rows.sample_weight[test]
        if self.scorer is None:
            return float(np.average(model.predict(X) == y, weights=weights))
        extra = {"sample_weight": weights} if weights is not None and accepts_weights(self.scorer) else {}
        gamma = model.gamma if isinstance(model.gamma, Real) else 0.0
        return checked_score(self.scorer(model, X, y, **extra), float(model.C), float(gamma), fold)


def accepts_weights(scorer: Callable[..., Any]) -> bool:
    """Whether a score can be weighted: that of one of scikit-learn's scorers if its measure can."""
    return "sample_weight" in signature(getattr(scorer, "_score_func", scorer)).parameters


def _fitting(model: SVC, rows: SearchRows, fold: int) -> Callable[[], SVC]:
    """What fits a model to the training rows of a fold."""

    def fit() -> SVC:
        X, y, weights = rows.training(fold)
        fitted: SVC = clone(model).fit(X, y, weights)
        return fitted

    return fit
