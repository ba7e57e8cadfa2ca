"""A usable model at any moment: where time is limited, samples are fitted before all rows are.

A fit of 512 rows takes some hundredths of a second. From the time that it took, larger ones are planned: where all rows
cannot be done with in what is left, samples grow fourfold, and the best model is there when time is up. Whatever ends
before it has a model, by the clock or by Ctrl-C, is replaced by such a sample, too; at the worst by the class means.
"""

from __future__ import annotations

import copy
import math
import warnings
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from slackwater.deadline import CutShort, Deadline
from slackwater.estimators.class_means import keep_class_means
from slackwater.estimators.validation import GivenHoldout, Targets, take
from slackwater.fitting.result import AnyBinaryResult
from slackwater.kernels.base import Kernel
from slackwater.solvers.base import Redrawable
from slackwater.stopping import StopReason, reason_of_cut
from slackwater.tracing import unwatched

if TYPE_CHECKING:
    from slackwater.estimators.base import KernelClassifier
    from slackwater.estimators.callback_support import FitTasks

_FIRST_SAMPLE, _GROWTH = 512, 4  # rows of the first sample, and the factor to the next
_MIN_PER_CLASS = 2
_MAX_SHARE = 0.25  # of the time that is left, for one sample
_ORDER = 1.5  # in which time grows with the rows, as planned: between those of predictions and of exact solutions
_RESERVED_SHARE, _RESERVED_SECONDS = 0.05, 0.1  # of the limit: for a comparison with the best sample
_FEW_STEPS = 64  # of a method whose steps are single rows: a model of no use
_GRACE = 0.1  # seconds, for a sample where time is up and there is no model
_COMPARED = 4000  # rows by which two models are compared,
_COMPARED_PRODUCTS = 2**30  # or as many as take so many products of numbers
_CUT_SHORT = (str(StopReason.SECONDS), str(StopReason.INTERRUPT))


def anytime_fit(
    estimator: KernelClassifier,
    X: Any,
    targets: Targets,
    deadline: Deadline,
    given: GivenHoldout | None,
    tasks: FitTasks,
) -> list[AnyBinaryResult]:
    """Fit an estimator to rows that were checked, to the best model that the deadline allows."""
    kernel = estimator._make_kernel(X)
    samples = _Samples(estimator, X, targets, kernel, deadline)
    limited = math.isfinite(deadline.limit) and estimator.max_kernel_evals is None and kernel is not None
    if limited and not estimator._goes_on(len(targets.codes)):
        samples.grow()
    try:
        reserve = 0.0 if samples.best is None else min(_RESERVED_SHARE * deadline.limit, _RESERVED_SECONDS)
        results = estimator._fit_rows(X, targets, kernel, deadline.within(deadline.limit - reserve), given, tasks)
    except CutShort as cut:
        return samples.adopted(reason_of_cut(cut))
    if estimator.stop_reason_ in _CUT_SHORT and samples.better(_hardly_begun(estimator, targets)):
        return samples.adopted(StopReason(estimator.stop_reason_))
    estimator.n_kernel_evals_ += samples.evaluations
    return results


def _hardly_begun(estimator: KernelClassifier, targets: Targets) -> bool:
    """Whether a method whose steps are single rows has made a few of them only."""
    single = not isinstance(estimator._solver(len(targets.classes)), Redrawable)
    return single and estimator.n_iter_ < _FEW_STEPS


@dataclass
class _Sample:
    """A fitted estimator, the rows that it was fitted to, and what it was left with."""

    estimator: Any
    rows: NDArray[np.intp]
    results: list[AnyBinaryResult]


@dataclass
class _Samples:
    """Samples of the rows of a fit, each larger than the one before; ``best`` has fewest errors on other rows."""

    estimator: Any
    X: Any
    targets: Targets
    kernel: Kernel | None
    deadline: Deadline
    best: _Sample | None = None
    evaluations: int = 0
    shuffled: NDArray[np.intp] = field(init=False)

    def __post_init__(self) -> None:
        """All rows that count in random order, some of each class in front."""
        codes, weights = self.targets.codes, self.targets.weights
        self.seed = self.estimator._seed()
        order = np.random.default_rng(self.seed).permutation(np.flatnonzero(weights > 0.0))
        by_class = order[np.argsort(codes[order], kind="stable")]
        starts = np.searchsorted(codes[by_class], np.arange(len(self.targets.classes)))
        rank = np.empty(len(codes), dtype=np.intp)
        rank[by_class] = np.arange(len(by_class)) - starts[codes[by_class]]
        first = rank[order] < _MIN_PER_CLASS
        self.shuffled = np.concatenate([order[first], order[~first]])
        self.smallest = max(_FIRST_SAMPLE, int(np.count_nonzero(first)))

    def grow(self) -> None:
        """Fit ever larger samples, until the fit of all rows can be expected to end in time, or the time is up."""
        size, n = self.smallest, len(self.shuffled)
        while 2 * size < n and self.deadline.left > 0.0:
            began, left = self.deadline.clock.seconds(), self.deadline.left
            found = self._fitted(size, self._first_share(left) if size == self.smallest else self._share(left))
            if found is None:
                return
            done = found.estimator.stop_reason_ not in _CUT_SHORT
            # With noisy labels and a large C, the optimum of more rows can be worse, until there are many more.
            if self.best is None or not self._fewer_errors(self.best, found.estimator, found.rows, found.rows):
                self.best = found
            took = self.deadline.clock.seconds() - began
            left -= took
            in_time = took * (n / size) ** _ORDER < left / 2
            if in_time or not done or took * _GROWTH**_ORDER > _MAX_SHARE * left:
                return
            size *= _GROWTH

    def _share(self, left: float) -> Deadline:
        return self.deadline.within(self.deadline.clock.seconds() + _MAX_SHARE * left)

    def _first_share(self, left: float) -> Deadline:
        """At least the grace: a budget too short for any sample would else leave the better model."""
        seconds = max(_MAX_SHARE * left, _GRACE)
        return Deadline(self.deadline.clock, self.deadline.clock.seconds() + seconds, self.deadline.interrupted)

    def better(self, sample_now: bool) -> bool:
        """Whether the best sample's model has fewer errors than the estimator's; one that is fitted now, if need be."""
        if self.best is None and sample_now:
            self.best = self._fitted(self.smallest, self._grace())
        return self.best is not None and self._fewer_errors(self.best, self.estimator, self.estimator.support_)

    def _fewer_errors(
        self, best: _Sample, other: Any, known: NDArray[np.intp], columns: NDArray[np.intp] | None = None
    ) -> bool:
        """Whether a sample's model has fewer errors than another, on rows that neither was fitted to, as is known.

        ``columns`` are the rows that the other was fitted to, if not all: given kernel values have no others.
        """
        products = (len(other.support_) + len(best.estimator.support_)) * getattr(self.estimator, "n_features_in_", 1)
        most = min(_COMPARED, max(64, _COMPARED_PRODUCTS // max(products, 1)))
        others = np.setdiff1d(self.shuffled[len(best.rows) :][-2 * most :], known)[:most]
        if len(others) == 0:
            return False
        classes, rows = self.targets.classes[self.targets.codes[others]], take(self.X, others)
        then = np.count_nonzero(best.estimator.predict(self._as_seen(rows, best.rows)) != classes)
        now = np.count_nonzero(other.predict(self._as_seen(rows, columns)) != classes)
        return bool(then < now)

    def _as_seen(self, rows: Any, columns: NDArray[np.intp] | None) -> Any:
        """Rows as a model expects them that was fitted to these rows of all."""
        return rows if columns is None or self.kernel is not None else rows[:, columns]

    def adopted(self, reason: StopReason) -> list[AnyBinaryResult]:
        """Let the estimator have the model of the best sample, or of one that is fitted now, or that of class means."""
        if self.best is None:
            self.best = self._fitted(self.smallest, self._grace())
        if self.best is None:
            rows = self.shuffled[: self.smallest]
            return keep_class_means(self.estimator, self.X, self.targets, self.kernel, np.sort(rows), reason)
        return self._adopt(self.best, reason)

    def _grace(self) -> Deadline:
        return Deadline(self.deadline.clock, self.deadline.clock.seconds() + _GRACE)

    def _adopt(self, found: _Sample, reason: StopReason) -> list[AnyBinaryResult]:
        own, parameters = self.estimator, found.estimator.get_params(deep=False)
        for name, value in vars(found.estimator).items():
            if name not in parameters and name not in ("n_features_in_", "feature_names_in_", "_previous"):
                setattr(own, name, value)
        own.support_ = found.rows[own.support_].astype(np.int32)
        own.class_weight_ = self.targets.class_weights
        own.shape_fit_ = self.X.shape if hasattr(self.X, "shape") else (len(self.X),)
        own.n_kernel_evals_ = self.evaluations
        own.stop_reason_, own.fit_status_ = str(reason), 1
        results = [_unproven(each, reason) for each in found.results]
        own.gap_ = own.gap_ * 0.0 + max(each.assessment.gap for each in results)
        if hasattr(own, "strategy_"):
            own.strategy_, own.certified_ = "sample", False
        return results

    def _fitted(self, size: int, deadline: Deadline) -> _Sample | None:
        """The estimator fitted to so many rows; None if the deadline passes before there is a model."""
        rows = np.sort(self.shuffled[:size])
        made = type(self.estimator)(**self.estimator.get_params(deep=False))
        made.set_params(**{k: v for k, v in _PLAIN.items() if k in made.get_params(deep=False)}, random_state=self.seed)
        if hasattr(self.estimator, "n_features_in_"):
            made.n_features_in_ = self.estimator.n_features_in_ if self.kernel is not None else size
        X, given = take(self.X, rows), self.targets
        if self.kernel is None:
            X = X[:, rows]
        targets = given._replace(codes=given.codes[rows], weights=given.weights[rows])
        with warnings.catch_warnings(), unwatched():
            warnings.simplefilter("ignore")
            try:
                results = made._fit_rows(X, targets, self.kernel, deadline)
            except CutShort:
                return None
        self.evaluations += int(made.n_kernel_evals_)
        found = _Sample(made, rows, results)
        cut = size == self.smallest and made.stop_reason_ in _CUT_SHORT
        return self._or_class_means(found, X, targets) if cut else found

    def _or_class_means(self, found: _Sample, X: Any, targets: Targets) -> _Sample:
        """A sample's unfinished model or its class means: a solution that was just begun can be worse than chance."""
        means = copy.copy(found.estimator)
        reason, every = StopReason(means.stop_reason_), np.arange(len(found.rows))
        other = _Sample(means, found.rows, keep_class_means(means, X, targets, self.kernel, every, reason))
        self.evaluations += int(means.n_kernel_evals_)
        return other if self._fewer_errors(other, found.estimator, found.rows, found.rows) else found


_PLAIN: dict[str, Any] = {
    "class_weight": None,  # a part of the weights
    "max_time": None,  # a deadline is given
    "early_stopping": False,
    "warm_start": False,
    "checkpoint": None,
    "callback": None,
    "verbose": 0,
}


def _unproven(result: AnyBinaryResult, reason: StopReason) -> AnyBinaryResult:
    """What is known of the same model for all rows: nothing but that no relative gap of the C-form exceeds 1."""
    gap = result.assessment.gap
    unknown = gap if math.isnan(gap) else 1.0 if result.assessment.bound <= result.assessment.objective else math.inf
    return result._replace(reason=reason, assessment=result.assessment._replace(gap=unknown), certified=False)
