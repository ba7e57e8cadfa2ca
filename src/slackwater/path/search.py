"""SVCCV: C and gamma by cross-validation, with the work of all fits shared."""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import ParameterGrid
from sklearn.utils.validation import check_is_fitted

from slackwater.deadline import INTERRUPTS, Clock, Deadline
from slackwater.estimators.documented import Documented
from slackwater.estimators.layout import length
from slackwater.estimators.parameters import (
    COMMON,
    Rule,
    check_parameters,
    flag,
    one_of,
    optional,
    optional_positive,
)
from slackwater.estimators.svc import SVC
from slackwater.estimators.validation import check_rows, check_targets, seed_of
from slackwater.kernels.registry import resolve_gamma
from slackwater.path.checks import checked_cs, checked_folds, checked_gammas, checked_scorer
from slackwater.path.grid import default_gammas
from slackwater.path.halving import Rounds, means_over_folds, middle
from slackwater.path.results import best, cv_results, one_standard_error, standard_error
from slackwater.path.rounds import Search, SearchRows, require_suited
from slackwater.points import as_points
from slackwater.progress import spelled
from slackwater.workers import Workers, thread_count

_WITHOUT_GAMMA = ("linear", "precomputed")
_SEARCH_SHARE = 0.8  # of max_time; the rest is for the final fit
Floats = NDArray[np.float64]


class SVCCV(Documented, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """``SVC`` with C and gamma chosen by cross-validation, at a fraction of the time of ``GridSearchCV``.

    For each gamma the kernel values are computed once, for all folds and all values of C. A fold is the training set
    with weight zero for its test rows, so that their decision values come with the solution; C rises, and each solution
    starts from the one before. Scores are those of ``GridSearchCV`` with the same folds, to solver tolerance, with one
    exception: gammas given as "scale" or "auto" are derived from all rows once, not from each fold's training rows.

    Where the kernel matrix does not fit (several classes and more than 12,288 distinct rows; two classes and more
    support vectors in all fits together than ``cache_size`` has room for), for precomputed and indefinite kernels, for
    ``multi_class="ovr"`` and for folds that lack a class, each fit is one of ``SVC``.

    Parameters
    ----------
    Cs : sequence of float or int, optional
        Values of C to try, each once. An int is how many, evenly spaced in log C from 0.1 to 1000. By default 0.1, 1,
        10, 100 and 1000.
    gammas : sequence of float, "scale" or "auto", optional
        Values of gamma to try, each once. By default five, from 1/16 to 16 times the inverse of the median squared
        distance of two rows: raw data are met at their scale as standardised ones are. Not for kernels without gamma.
    cv : int, splitter or iterable of (train, test), default=5
        As in ``GridSearchCV``; an int is the number of stratified folds.
    scoring : str or callable, optional
        As in ``GridSearchCV``, one score, a finite number. By default accuracy.
    selection : {"best", "one_standard_error"}, default="best"
        "one_standard_error" takes the least C, and of several the least gamma, whose mean score is within one standard
        error of the best one's.
    refit : bool, default=True
        Fit ``best_estimator_`` to all rows with the parameters chosen.
    max_time : float, optional
        Seconds for the whole search and the final fit, of which a fifth is kept for the latter. All candidates are
        scored on a part of the rows first, the best third on three times as many, and so on (successive halving), or
        as many as there is time for. The search ends in time with the best of those scored with the most rows; with
        more than 20 folds, where no candidate was done with, by the middle of the grid and a ConvergenceWarning.
    kernel, degree, coef0, fit_intercept, class_weight, tol, cache_size, multi_class, decision_function_shape, \
break_ties, n_jobs, random_state
        As in ``SVC``.
    verbose : int, default=0
        1 prints a line for each gamma of each round: candidates done, seconds spent and left.

    Attributes
    ----------
    best_estimator_ : SVC
        Fitted to all rows, with ``refit=True``.
    best_params_ : dict
        ``C`` and, for kernels that have one, ``gamma``.
    C_, gamma_ : float
        The same as numbers; ``gamma_`` is None for kernels without.
    best_score_, best_score_error_ : float
        Mean score over the folds of the candidate chosen, and its standard error.
    best_index_ : int
        Its place in ``cv_results_``.
    cv_results_ : dict of ndarray
        As ``GridSearchCV`` has it. With ``max_time`` also ``n_resources``, the rows that scores come from, and
        ``iter``, the round; candidates that were not reached have nan (and so
        have folds that a part of the rows was too few for). ``mean_fit_time`` is without the kernel values
        that fits share.
    n_splits_, scorer_, refit_time_, search_time_, classes_, n_features_in_
        As in ``GridSearchCV``; ``search_time_`` is the time of the whole search but for the final fit.
    candidate_gammas_ : ndarray
        The gamma of each candidate of ``cv_results_`` as a number; 0 for kernels without.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from slackwater.path import SVCCV
    >>> X, y = make_moons(300, noise=0.2, random_state=0)
    >>> search = SVCCV(Cs=[0.1, 1, 10], gammas=[0.1, 1, 10]).fit(X, y)
    >>> len(search.cv_results_["params"]), bool(search.best_score_ > 0.95)
    (9, True)
    """

    _rules: ClassVar[Mapping[str, Rule]] = {
        "selection": one_of(("best", "one_standard_error"), "It says which candidate is chosen."),
        "refit": flag("True fits a model with the parameters chosen to all rows."),
        "max_time": optional_positive("It limits the seconds of the search; None sets no limit."),
        **{name: COMMON[name] for name in ("kernel", "degree", "coef0", "fit_intercept", "class_weight", "n_jobs")},
        "tol": optional(COMMON["tol"]),
        "cache_size": optional(COMMON["cache_size"]),
        "verbose": COMMON["verbose"],
    }

    _progress: Callable[[int, int], None] | None = None  # of the command

    def __init__(
        self,
        Cs: Any = None,
        gammas: Any = None,
        *,
        cv: Any = 5,
        scoring: Any = None,
        selection: str = "best",
        refit: bool = True,
        max_time: float | None = None,
        kernel: Any = "rbf",
        degree: int = 3,
        coef0: float = 0.0,
        fit_intercept: bool = True,
        class_weight: Any = None,
        tol: float | None = None,
        cache_size: float | None = None,
        multi_class: str = "ovo",
        decision_function_shape: str = "ovr",
        break_ties: bool = False,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        self.Cs = Cs
        self.gammas = gammas
        self.cv = cv
        self.scoring = scoring
        self.selection = selection
        self.refit = refit
        self.max_time = max_time
        self.kernel = kernel
        self.degree = degree
        self.coef0 = coef0
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.tol = tol
        self.cache_size = cache_size
        self.multi_class = multi_class
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> SVCCV:
        """Choose C and gamma, then fit to all rows.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n, d)
            (n, n) kernel values for kernel="precomputed"; with a callable kernel also any sequence of n objects.
        y : array-like of shape (n,)
            Labels of at least two classes.
        sample_weight : array-like of shape (n,), optional
            Weights for training, and for scores where the scorer takes them, as ``GridSearchCV`` has it from
            scikit-learn 1.9 on.
        groups : array-like of shape (n,), optional
            For splitters that need them, such as ``GroupKFold``.

        Returns
        -------
        self

        Raises
        ------
        KeyboardInterrupt
            After Ctrl-C. ``cv_results_`` and ``best_params_`` are those of the candidates scored until then, without a
            model; the final fit leaves the model reached.
        """
        check_parameters(self, self._rules)
        whole = Deadline(Clock(), math.inf if self.max_time is None else float(self.max_time))
        template = self._template()
        check_parameters(template, template._rules)
        grid, scorer = self._grid(), checked_scorer(template, self.scoring)
        X = check_rows(template, X, reset=True)
        targets = check_targets(y, length(X), sample_weight, None)
        y = np.asarray(y).ravel()
        folds = checked_folds(self.cv, X, y, groups, targets.weights)
        candidates, gammas = self._candidates(X, *grid)
        weights = None if sample_weight is None else np.broadcast_to(np.asarray(sample_weight, float), (length(X),))
        rows = SearchRows(X, y, targets.classes, weights, self.class_weight, folds, self.kernel == "precomputed")
        require_suited(scorer, self.scoring, template, rows)
        deadline = whole.within(_SEARCH_SHARE * whole.limit)
        with INTERRUPTS.raising(whole.interrupted), Workers(thread_count(self.n_jobs), deadline) as workers:
            search = Search(
                template,
                rows,
                np.array([each["C"] for each in candidates]),
                np.array(gammas),
                None if self.scoring is None else scorer,
                workers,
                seed_of(self.random_state),
                deadline,
                self._watcher(whole.clock),
            )
            rounds = search.run(halve=self.max_time is not None)
        n_scored = len(rounds.ranked())
        if whole.interrupted.is_set() and not n_scored:
            raise KeyboardInterrupt("no candidate was scored before the interruption.")
        self._forget()
        self._keep_names(template)
        self.scorer_, self.classes_, self.n_splits_ = scorer, targets.classes, len(folds)
        self._keep_choice(rounds, candidates, gammas)
        self.search_time_ = whole.clock.seconds()
        if whole.interrupted.is_set():
            raise KeyboardInterrupt(
                f"{n_scored} of {len(candidates)} candidates were scored (cv_results_), of which best_params_, "
                f"{self.best_params_}, is chosen; there is no model."
            )
        if not n_scored:
            warnings.warn(self._words_without_scores(), ConvergenceWarning, stacklevel=2)
        if self.refit:
            self._refit(template, X, y, sample_weight, whole)
        return self

    def _forget(self) -> None:
        """Whatever an earlier fit has left: the model it chose is not that of the table there is now."""
        for name in [name for name in vars(self) if name.endswith("_") and not name.startswith("_")]:
            delattr(self, name)

    def _words_without_scores(self) -> str:
        return (
            f"max_time={self.max_time!r} was over before any candidate was scored in all {self.n_splits_} folds; "
            f"{self.best_params_} is the middle of the grid. Raise max_time, or pass fewer folds."
        )

    def _template(self) -> SVC:
        """The estimator that is fitted, but for C and gamma."""
        taken = SVC().get_params().keys() & self.get_params(deep=False).keys() - {"max_time", "verbose"}
        return SVC(**{name: getattr(self, name) for name in taken})

    def _watcher(self, clock: Clock) -> Callable[[int, int], None]:
        """What is shown after each gamma of a round."""

        def watch(done: int, total: int) -> None:
            if self._progress is not None:
                self._progress(done, total)
            if self.verbose:
                spent = clock.seconds()
                left = spelled(spent * (total - done) / done)
                print(f"slackwater: {done} of {total} candidates · {spent:.1f} s, about {left} left", file=sys.stderr)

        return watch

    def _keep_names(self, template: SVC) -> None:
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(template, name):
                setattr(self, name, getattr(template, name))

    def _grid(self) -> tuple[list[float], list[Any] | None]:
        """The values of C and gamma that are asked for; None for a default grid of gamma."""
        gammas = checked_gammas(self.gammas)
        if gammas is not None and self._without_gamma:
            raise ValueError(
                f"gammas must be None with kernel={self.kernel!r}, which has no gamma, got {self.gammas!r}."
            )
        return checked_cs(self.Cs), gammas

    @property
    def _without_gamma(self) -> bool:
        return callable(self.kernel) or self.kernel in _WITHOUT_GAMMA

    def _candidates(
        self, X: Any, Cs: list[float], gammas: list[Any] | None
    ) -> tuple[list[dict[str, Any]], list[float]]:
        """All parameters to try, in the order of ``ParameterGrid``, and their gammas as numbers."""
        if self._without_gamma:
            return list(ParameterGrid({"C": Cs})), [0.0] * len(Cs)
        points = as_points(X)
        if gammas is None:
            gammas = default_gammas(points, seed_of(self.random_state))
        candidates = list(ParameterGrid({"C": Cs, "gamma": gammas}))
        number = {gamma: resolve_gamma(gamma, points) for gamma in gammas}
        return candidates, [number[each["gamma"]] for each in candidates]

    def _keep_choice(self, rounds: Rounds, candidates: list[dict[str, Any]], gammas: list[float]) -> None:
        self.cv_results_ = cv_results(candidates, rounds.scores, rounds.fit_times, rounds.score_times)
        if self.max_time is not None:
            self.cv_results_["n_resources"], self.cv_results_["iter"] = rounds.n_rows, rounds.iteration
        self.candidate_gammas_ = np.array(gammas)
        final = rounds.finalists()
        if len(final) == 0:
            Cs = np.array([each["C"] for each in candidates])
            self._keep_candidate(middle(Cs, self.candidate_gammas_), candidates, gammas)
            self.best_score_, self.best_score_error_ = math.nan, math.nan
            return
        scores = rounds.scores[final]
        if self.selection == "best":
            chosen = best(scores)
        else:
            chosen = one_standard_error(scores, [candidates[each] for each in final], [gammas[each] for each in final])
        self._keep_candidate(int(final[chosen]), candidates, gammas)
        self.best_score_ = float(means_over_folds(scores)[chosen])
        self.best_score_error_ = standard_error(scores[chosen])

    def _keep_candidate(self, number: int, candidates: list[dict[str, Any]], gammas: list[float]) -> None:
        self.best_index_ = number
        self.best_params_ = dict(candidates[number])
        self.C_ = self.best_params_["C"]
        self.gamma_ = gammas[number] if "gamma" in self.best_params_ else None

    def _refit(self, template: SVC, X: Any, y: Any, sample_weight: Any, whole: Deadline) -> None:
        model = clone(template).set_params(**self.best_params_)
        start = whole.clock.seconds()
        if self.max_time is not None:
            model.set_params(max_time=max(whole.left, 0.05 * self.max_time))
        try:
            model.fit(X, y, sample_weight)
        finally:
            if hasattr(model, "support_"):  # after Ctrl-C, too
                self.best_estimator_ = model
                if hasattr(self, "feature_names_in_"):
                    model.feature_names_in_ = self.feature_names_in_
            self.refit_time_ = whole.clock.seconds() - start

    # ---- prediction, by the model chosen

    def _model(self) -> SVC:
        check_is_fitted(self)
        if not hasattr(self, "best_estimator_"):
            raise AttributeError(
                "there is no model to predict with: refit was False, or the search was interrupted. Set refit=True and "
                "fit again, or fit SVC(**best_params_)."
            )
        model: SVC = self.best_estimator_
        return model

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of each row of X, by ``best_estimator_``."""
        return self._model().predict(X)

    def decision_function(self, X: Any) -> Floats:
        """Decision values of ``best_estimator_``."""
        return self._model().decision_function(X)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """By ``scoring``; accuracy by default."""
        self._model()
        if self.scoring is None:
            return float(super().score(X, y, sample_weight))
        extra = {} if sample_weight is None else {"sample_weight": sample_weight}
        return float(self.scorer_(self.best_estimator_, X, y, **extra))

    def plot(self, ax: Any = None) -> Any:
        """Draw mean scores over C and gamma, the choice and its uncertainty; returns a ``SearchDisplay``."""
        from slackwater.path.display import SearchDisplay

        check_is_fitted(self)
        return SearchDisplay.from_estimator(self, ax=ax)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.input_tags.sparse = self.kernel != "precomputed"
        return tags
