"""The rounds of a search: candidates scored on rows, gamma by gamma, on shared kernel values where that is possible."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property, partial
from inspect import signature
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from slackwater.deadline import CutShort, Deadline, working_until
from slackwater.estimators.layout import length
from slackwater.estimators.svc import SVC
from slackwater.estimators.validation import check_targets, take
from slackwater.path.checks import checked_score
from slackwater.path.folds import FoldValues, SharedFolds
from slackwater.path.halving import (
    CandidateScores,
    Rounds,
    from_the_middle,
    middle,
    scouts,
    sizes_of,
    stratified_rows,
    survivors,
)
from slackwater.path.scored import ScoredModel
from slackwater.path.separate import fitted_until
from slackwater.workers import Workers

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]

_FEW_FOLDS = 20  # in which one candidate is scored however little time there is


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
    numbers: Sequence[int] | None = None  # of the folds; None: all of them

    @property
    def n(self) -> int:
        return int(length(self.X))

    @cached_property
    def codes(self) -> NDArray[np.intp]:
        """Class numbers."""
        return np.searchsorted(self.classes, self.y).astype(np.intp)

    def part(self, rows: Rows) -> SearchRows:
        """Some of the rows, in the folds that they are in.

        A fold whose test rows of a class are all missing is left out: many scores need every class.
        """
        place = np.full(self.n, -1)
        place[rows] = np.arange(len(rows))
        every = [(_present(place[train]), _present(place[test])) for train, test in self.folds]
        numbers = [
            number
            for number, ((_, some), (_, test)) in enumerate(zip(every, self.folds, strict=True))
            if len(np.unique(self.codes[rows[some]])) == len(np.unique(self.codes[test]))
        ]
        folds = [every[number] for number in numbers]
        weights = None if self.sample_weight is None else self.sample_weight[rows]
        X = self.X[np.ix_(rows, rows)] if self.pairwise else take(self.X, rows)
        return SearchRows(X, self.y[rows], self.classes, weights, self.class_weight, folds, self.pairwise, numbers)

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
        """Whether there are folds, and every one has rows of every class to train on."""
        return len(self.folds) > 0 and all(each is not None for each in self.weights)

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


@dataclass
class Search:
    """Candidates (C, gamma) scored by cross-validation, until a deadline."""

    template: SVC
    rows: SearchRows
    Cs: Floats  # of each candidate
    gammas: NDArray[Any]  # of each candidate, as a number; 0 for kernels without
    scorer: Callable[..., Any] | None  # None: accuracy
    workers: Workers
    seed: int
    deadline: Deadline
    progress: Callable[[int, int], None] = lambda done, total: None
    scored: int = field(default=0, init=False)  # candidates, in all rounds

    def run(self, halve: bool) -> Rounds:
        """All candidates on all rows; or by successive halving, until time is up."""
        found = Rounds.none(len(self.Cs), len(self.rows.folds))
        if halve:
            self._halve(found)
        else:
            self._round(self.rows, np.arange(len(self.Cs)), found, self.deadline)
        return found

    def _halve(self, found: Rounds) -> None:
        sizes, few = sizes_of(self.rows.n), scouts(len(self.rows.classes))
        active = from_the_middle(self.gammas)
        if 2 * few <= sizes[0]:
            sizes.insert(0, few)
        for place, size in enumerate(sizes):
            rows = self._part(size)
            if rows is None:
                continue
            begun = self.deadline.clock.seconds()
            self._round(rows, active, found, self.deadline)
            if self.deadline.passed() or size == sizes[-1]:
                break
            if size == few:  # it shows the order, and is too few to drop anybody by
                active = found.ranked()
                continue
            took = self.deadline.clock.seconds() - begun
            active = survivors(found.means_of(active), took, sizes[place + 1] / size, self.deadline.left)
        if not self.scored:
            self._score_middle(found, few)

    def _score_middle(self, found: Rounds, few: int) -> None:
        """One candidate on a few rows, however little time there was."""
        rows = self._part(few)
        if rows is not None and len(rows.folds) <= _FEW_FOLDS:
            unlimited = Deadline(self.deadline.clock, interrupted=self.deadline.interrupted)
            self._round(rows, np.array([middle(self.Cs, self.gammas)]), found, unlimited)

    def _part(self, size: int) -> SearchRows | None:
        """So many of the rows; None if they are too few to train every fold."""
        if size >= self.rows.n:
            return self.rows
        rows = self.rows.part(stratified_rows(self.rows.codes, size, self.seed))
        return rows if rows.complete else None

    def _round(self, rows: SearchRows, active: NDArray[np.intp], found: Rounds, until: Deadline) -> None:
        shared, iteration = self._shared_folds(rows), found.iteration.max() + (self.scored > 0)
        done, columns = 0, slice(None) if rows.numbers is None else rows.numbers
        for gamma in dict.fromkeys(self.gammas[active].tolist()):  # the best first
            if until.passed():
                return
            members = np.array([number for number in active if self.gammas[number] == gamma])
            members = members[np.argsort(self.Cs[members])]
            with working_until(until):
                scores = self._of_gamma(rows, shared, gamma, self.Cs[members], until)
            if found.n_rows[active[0]] not in (0, rows.n) and active[0] not in members[: len(scores)]:
                return  # no time for the best so far: more rows alone would have others chosen in its place
            for number, each in zip(members, scores, strict=False):
                found.keep(number, columns, each, rows.n, iteration)
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

    def _of_gamma(
        self, rows: SearchRows, shared: SharedFolds | None, gamma: float, Cs: Floats, until: Deadline
    ) -> list[CandidateScores]:
        """The scores of rising C, as many as there is time for."""
        estimator, found = clone(self.template), list[CandidateScores]()
        if gamma > 0.0:
            estimator.set_params(gamma=gamma)
        with suppress(CutShort):
            values = None if shared is None else shared.values(estimator, Cs.tolist(), until)
            if values is None:
                for C in Cs:
                    found.append(self._separate(rows, clone(estimator).set_params(C=float(C)), until))
                return found
            for k in range(min(len(of_fold) for of_fold in values)):
                model = clone(estimator).set_params(C=float(Cs[k]))
                found.append(self._scores(rows, model, [of_fold[k] for of_fold in values], until))
        return found

    def _scores(self, rows: SearchRows, model: SVC, values: Sequence[FoldValues], until: Deadline) -> CandidateScores:
        """By the decision values of each fold, from shared kernel values."""
        found = CandidateScores([], [], [])
        for fold, (known, seconds) in enumerate(values):
            begun = time.perf_counter()
            fit = partial(self._fitted, rows, model, fold, until)
            scored = ScoredModel.of(model, rows.classes, rows.tests[fold], known, fit)
            found.scores.append(self._score(scored, rows, fold))
            found.fit_times.append(seconds)
            found.score_times.append(time.perf_counter() - begun)
        return found

    def _separate(self, rows: SearchRows, model: SVC, until: Deadline) -> CandidateScores:
        """By a fit for each fold; CutShort if time is up before the last."""
        found = CandidateScores([], [], [])
        for fold in range(len(rows.folds)):
            begun = time.perf_counter()
            fitted = self._fitted(rows, model, fold, until)
            middle = time.perf_counter()
            found.scores.append(self._score(fitted, rows, fold))
            found.fit_times.append(middle - begun)
            found.score_times.append(time.perf_counter() - middle)
        return found

    def _fitted(self, rows: SearchRows, model: SVC, fold: int, until: Deadline) -> SVC:
        return fitted_until(clone(model), *rows.training(fold), until)

    def _score(self, model: SVC, rows: SearchRows, fold: int) -> float:
        test = rows.folds[fold][1]
        X, y = rows.tests[fold], rows.y[test]
        weights = None if rows.sample_weight is None else rows.sample_weight[test]
        if self.scorer is None:
            return float(np.average(model.predict(X) == y, weights=weights))
        extra = {"sample_weight": weights} if weights is not None and accepts_weights(self.scorer) else {}
        gamma = model.gamma if isinstance(model.gamma, Real) else 0.0
        number = fold if rows.numbers is None else rows.numbers[fold]
        return checked_score(self.scorer(model, X, y, **extra), float(model.C), float(gamma), number)


def require_suited(scorer: Callable[..., Any], scoring: Any, template: SVC, rows: SearchRows) -> None:
    """Refuse a score of scikit-learn that labels like these have not, even where every prediction is right."""
    if not hasattr(scorer, "_score_func"):
        return  # a function of the user's own: it is called as often as there are models
    test = rows.folds[0][1]
    ideal = ScoredModel.of(template, rows.classes, rows.tests[0], _ideal_values(rows.codes[test], len(rows.classes)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            scorer(ideal, rows.tests[0], rows.y[test])
        except (TypeError, ValueError) as error:
            some = ", ".join(map(str, rows.classes[:4])) + (", …" if len(rows.classes) > 4 else "")
            raise ValueError(
                f"scoring must suit the classes {some}, got {scoring!r}, which would fail even if all predictions were "
                f"right: {str(error).rstrip('.')}. For several classes there are f1_macro and balanced_accuracy; "
                "make_scorer(…, pos_label=…) says which of two is meant."
            ) from error


def _ideal_values(codes: NDArray[np.intp], n_classes: int) -> Floats:
    """Decision values that are right for every row: of the second class, or of each pair of classes."""
    if n_classes == 2:
        return np.where(codes == 1, 1.0, -1.0)
    pairs = [(first, second) for first in range(n_classes) for second in range(first + 1, n_classes)]
    return np.array([np.where(codes == first, 1.0, np.where(codes == second, -1.0, 0.0)) for first, second in pairs]).T


def accepts_weights(scorer: Callable[..., Any]) -> bool:
    """Whether a score can be weighted: that of one of scikit-learn's scorers if its measure can."""
    return "sample_weight" in signature(getattr(scorer, "_score_func", scorer)).parameters
