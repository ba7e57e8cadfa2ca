"""``compress``: a fitted estimator with fewer support vectors."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from slackwater.estimators.parameters import is_real, is_whole
from slackwater.estimators.validation import Targets, check_rows, check_targets, same_rows, take
from slackwater.fitting.reduced_set import GreedyBasis, HingeProblem, InSpan, projection, solved_in_span
from slackwater.points import Points, as_points, in_double
from slackwater.prediction import PairCoefficients, PreparedSupport
from slackwater.votes import pair_number
from slackwater.workers import Workers, thread_count

_FIRST_SIZE = 8  # tried with max_loss, then twice as many, and so on
_SINGLE_FROM = 2**26  # kernel values of examples and members, from which on they are kept in single precision
_MAX_PAIR_VALUES = 2**28  # decision values of pairs at the support vectors: 2 GB
_RIDGE = 1e-9  # of the largest K(x, x); members have more than a tenth of that outside of the span of the others

Doubles = NDArray[np.float64]


def check_request(max_support: Any, max_loss: Any, X: Any) -> None:
    """Raise unless one of both limits is given, with what it needs."""
    if (max_support is None) == (max_loss is None):
        raise ValueError(
            f"compress takes one of max_support and max_loss, got {max_support!r} and {max_loss!r}. "
            "Say how many support vectors there may be, or how much may be lost."
        )
    if max_support is not None and not (is_whole(max_support) and max_support >= 1):
        raise ValueError(f"max_support must be a whole number >= 1, got {max_support!r}. It limits support vectors.")
    if max_loss is not None and not (is_real(max_loss) and 0 <= max_loss <= 1):
        raise ValueError(f"max_loss must be a number from 0 to 1, got {max_loss!r}. It is a share of the rows of X.")
    if max_loss is not None and X is None:
        raise ValueError("max_loss needs X, and y if there are labels: the loss is measured on them. Pass X=..., y=...")


@dataclass(frozen=True)
class _Data:
    """Rows to measure the loss on; those of the training data are trained on, too."""

    given: Any  # X as it was passed, perhaps with names of its columns
    X: Any
    y: Any
    weights: Doubles
    targets: Targets | None  # of training data
    labels: NDArray[Any]  # predicted by the model before
    values: Doubles


class _Problem(NamedTuple):
    """A binary problem of the model: its function, whose members it may use, its classes."""

    number: int
    members: NDArray[np.intp]  # positions among those chosen
    positive: int
    negative: int | None  # None: all other classes


def compressed(
    estimator: Any, max_support: int | None, max_loss: float | None, X: Any, y: Any, sample_weight: Any
) -> Any:
    """See ``PortableClassifier.compress``."""
    check_request(max_support, max_loss, X)
    with Workers(thread_count(estimator.n_jobs)) as workers:
        data = None if X is None else _data(estimator, X, y, sample_weight)
        reduction = _Reduction(estimator, data, workers)
        if max_support is not None:
            return reduction.model(min(int(max_support), reduction.n))
        assert max_loss is not None
        return _smallest(reduction, float(max_loss))


def _smallest(reduction: _Reduction, max_loss: float) -> Any:
    """The model with the fewest members, of those tried, that loses no more than this: doubling, then bisection."""
    low, size, found = 0, min(_FIRST_SIZE, reduction.n), reduction.model(reduction.n)
    while size < reduction.n:
        model = reduction.model(size)
        if model.compression_["loss"] <= max_loss:
            found = model
            break
        low, size = size, 2 * size
    high = min(size, reduction.n)
    while high - low > max(1, high // 16):
        middle = (low + high) // 2
        model = reduction.model(middle)
        if model.compression_["loss"] <= max_loss:
            found, high = model, middle
        else:
            low = middle
    return found


def _data(estimator: Any, given: Any, y: Any, sample_weight: Any) -> _Data:
    X = check_rows(estimator, given, reset=False)
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    targets = None
    if y is not None:
        y = np.asarray(y)
        found = check_targets(y, n, sample_weight, getattr(estimator, "class_weight", None))
        unknown = sorted(set(found.classes.tolist()) - set(estimator.classes_.tolist()))
        if unknown:
            raise ValueError(f"y must have classes of the model, {estimator.classes_.tolist()}, got {unknown[0]!r}.")
        same = np.array_equal(found.classes, estimator.classes_)
        targets = found if same and _holds_support(estimator, X, n) else None
    weights = np.ones(n) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    return _Data(given, X, y, weights, targets, estimator.predict(given), estimator.decision_function(given))


def _holds_support(estimator: Any, X: Any, n: int) -> bool:
    """Whether X has the training rows: at ``support_`` are the support vectors."""
    if n <= int(estimator.support_.max(initial=0)):
        return False
    if estimator._kernel is None:
        return bool(X.shape == (estimator.n_features_in_, estimator.n_features_in_))
    return same_rows(as_points(take(X, estimator.support_)).raw, estimator.support_vectors_)


class _Reduction:
    """A model, its support vectors in the order in which they are chosen, and models of the first of them."""

    def __init__(self, estimator: Any, data: _Data | None, workers: Workers) -> None:
        self.estimator, self.data, self.workers = estimator, data, workers
        self.n = len(estimator.support_)
        self._classes = _classes_of_support(estimator, data)
        dense = estimator._coefficients
        in_pairs = getattr(estimator, "_in_pairs", False)
        if in_pairs and self.n * len(estimator.intercept_) > _MAX_PAIR_VALUES:
            raise ValueError(
                f"compress holds the values of {len(estimator.intercept_)} pairs of classes at {self.n} support "
                f"vectors in memory, at most {_MAX_PAIR_VALUES} numbers. Use multi_class='ovr' for so many classes."
            )
        self._functions = PairCoefficients(dense, estimator.n_support_).dense if in_pairs else dense
        self._columns = _KernelColumns(estimator, None if data is None else data.X)
        self._values = self._columns.sums(self._functions, workers)
        self._basis = GreedyBasis(self._columns.column, self._columns.diagonal(), self._values)

    def model(self, size: int) -> Any:
        """The model with so many members, or fewer where they span all functions; the original with all of them."""
        if size >= self.n:
            return self._finished(copy.copy(self.estimator), "none")
        self._basis.extend(size)
        members, rows = self._basis.members[:size], self._basis.factor[:size, :size]
        order = np.argsort(members)  # as they are among all: grouped by class where those are
        chosen = members[order]
        gram = rows[order] @ rows[order].T
        solved = [(each, self._solved(each, chosen, gram)) for each in self._problems(chosen)]
        return self._finished(self._estimator_of(chosen, solved), "projection" if self._training is None else "hinge")

    @property
    def _training(self) -> Targets | None:
        return self.data.targets if self.data is not None and hasattr(self.estimator, "C") else None

    def _problems(self, chosen: NDArray[np.intp]) -> Iterator[_Problem]:
        k, everything = len(self.estimator.classes_), np.arange(len(chosen))
        if k == 2:
            yield _Problem(0, everything, 1, None)
        elif not getattr(self.estimator, "_in_pairs", False):
            yield from (_Problem(code, everything, code, None) for code in range(k))
        else:
            own = self._classes[chosen]
            for first, second in zip(*np.triu_indices(k, 1), strict=True):
                members = np.flatnonzero((own == first) | (own == second))
                yield _Problem(int(pair_number(first, second, k)), members, int(first), int(second))

    def _solved(self, problem: _Problem, chosen: NDArray[np.intp], gram: Doubles) -> InSpan:
        members = chosen[problem.members]
        factor = _factor(gram[np.ix_(problem.members, problem.members)])
        bias = float(self.estimator._biases[problem.number])
        start = projection(factor, self._values[members, problem.number], bias)
        targets = self._training
        if targets is None or len(members) == 0:
            return start
        rows = np.flatnonzero(targets.weights > 0)
        if problem.negative is not None:
            rows = rows[np.isin(targets.codes[rows], (problem.positive, problem.negative))]
        assert self.data is not None
        hinge = HingeProblem(
            self._columns.at(self.data.X, rows, members, self.workers),
            np.where(targets.codes[rows] == problem.positive, 1, -1).astype(np.int8),
            float(self.estimator.C) * targets.weights[rows],
            bool(getattr(self.estimator, "fit_intercept", False)),
        )
        return solved_in_span(factor, hinge, start, self.workers)

    def _estimator_of(self, chosen: NDArray[np.intp], solved: list[tuple[_Problem, InSpan]]) -> Any:
        old = self.estimator
        new = copy.copy(old)
        new.__dict__.pop("_prediction", None)
        new._previous = new._kept = new._rows_seen = None
        new.dual_coef_ = np.zeros((old.dual_coef_.shape[0], len(chosen)))
        new.intercept_ = np.array([found.bias for _, found in solved])
        own = self._classes[chosen]
        for problem, found in solved:
            if problem.negative is None:
                new.dual_coef_[problem.number] = found.coefficients
            else:  # LIBSVM's layout: ``prediction.PairCoefficients``
                table_rows = np.where(own[problem.members] == problem.positive, problem.negative - 1, problem.positive)
                new.dual_coef_[table_rows, problem.members] = found.coefficients
        if scipy.sparse.issparse(old.dual_coef_):
            new.dual_coef_ = type(old.dual_coef_)(new.dual_coef_)
        new.support_ = old.support_[chosen]
        new.n_support_ = np.bincount(own, minlength=len(old.classes_)).astype(old.n_support_.dtype)
        if old._kernel is not None:
            new.support_vectors_ = as_points(old.support_vectors_).take(chosen).raw
        for name in ("gap_", "margin_", "slack_nu_"):  # of the model that this one approximates
            if hasattr(old, name):
                setattr(new, name, np.full_like(getattr(old, name), np.nan, dtype=np.float64)[()])
        if hasattr(old, "certified_"):
            new.certified_ = False
        if hasattr(old, "scale_"):
            new.scale_ = np.ones_like(old.scale_)
        return new

    def _finished(self, new: Any, method: str) -> Any:
        new.compression_ = {
            "method": method,
            "n_support_before": self.n,
            "n_support": len(new.support_),
            **({} if self.data is None else _losses(new, self.data)),
        }
        return new


def _losses(new: Any, data: _Data) -> dict[str, Any]:
    """What the model has lost on the given rows. Without labels the loss is the share of rows that change theirs."""
    labels, change = new.predict(data.given), np.abs(new.decision_function(data.given) - data.values)
    changed = float(np.average(labels != data.labels, weights=data.weights))
    found = {
        "loss": changed,
        "changed_labels": changed,
        "mean_change": float(change.mean()),
        "max_change": float(change.max(initial=0.0)),
    }
    if data.y is not None:
        before, after = (float(np.average(each == data.y, weights=data.weights)) for each in (data.labels, labels))
        found |= {"loss": before - after, "accuracy_before": before, "accuracy": after}
    return found


def _classes_of_support(estimator: Any, data: _Data | None) -> NDArray[np.intp]:
    """The class of each support vector."""
    if hasattr(estimator, "_in_pairs"):
        return np.asarray(np.repeat(np.arange(len(estimator.classes_)), estimator.n_support_))
    if data is not None and data.targets is not None:
        return np.asarray(data.targets.codes[estimator.support_])
    if len(estimator.classes_) == 2:  # coefficients have the sign of their label
        return np.asarray(estimator._coefficients[0] > 0, dtype=np.intp)
    raise ValueError(
        f"compress needs the training data of a {type(estimator).__name__} with several classes: it does not keep the "
        "classes of its support vectors. Pass X=..., y=..."
    )


class _KernelColumns:
    """Kernel values of the support vectors, in double precision."""

    def __init__(self, estimator: Any, X: Any) -> None:
        self._kernel = estimator._kernel
        if self._kernel is None:
            self._matrix, self._support = _precomputed(estimator, X), estimator.support_
            return
        if self._kernel.known_indefinite:
            raise ValueError(
                f"kernel must be positive semi-definite to compress a model, got {self._kernel.name!r}: distances "
                "between functions are not defined else."
            )
        self._points: Points = in_double(as_points(estimator.support_vectors_))

    def column(self, number: int) -> Doubles:
        if self._kernel is None:
            return np.asarray(self._matrix[:, number], dtype=np.float64)
        values = np.empty((len(self._points), 1))
        self._kernel.fill(self._points, self._points.take(np.array([number])), values)
        return values[:, 0]

    def diagonal(self) -> Doubles:
        if self._kernel is None:
            return np.asarray(self._matrix.diagonal(), dtype=np.float64)
        return np.asarray(self._kernel.diagonal(self._points))

    def sums(self, functions: Doubles, workers: Workers) -> Doubles:
        """The functions, without biases, at the support vectors."""
        if self._kernel is None:
            return np.asarray(self._matrix @ functions.T)
        none = np.zeros(len(functions))
        return PreparedSupport(self._kernel, self._points).decision_values(self._points, functions, none, workers)

    def at(self, X: Any, rows: NDArray[np.intp], members: NDArray[np.intp], workers: Workers) -> Any:
        """Kernel values of some rows of X with some support vectors."""
        if self._kernel is None:
            return np.asarray(X[np.ix_(rows, self._support[members])], dtype=np.float64)
        dtype = np.float32 if len(rows) * len(members) > _SINGLE_FROM else np.float64
        values = np.empty((len(rows), len(members)), dtype=dtype)
        left, right = in_double(as_points(take(X, rows))), self._points.take(members)
        chunk = 2048

        def fill(start: int) -> None:
            part = np.empty((min(chunk, len(rows) - start), len(members)))
            self._kernel.fill(left.slice(start, start + len(part)), right, part)
            values[start : start + len(part)] = part

        shared = workers if self._kernel.reentrant else Workers()
        shared.run(fill, range(0, len(rows), chunk))
        return values


def _precomputed(estimator: Any, X: Any) -> Any:
    """The kernel matrix of the support vectors, out of that of the training data."""
    n = estimator.n_features_in_
    if X is None or X.shape != (n, n):
        got = "None" if X is None else f"the shape {X.shape}"
        raise ValueError(
            f"X must be the {n} × {n} kernel values of the training rows to compress a model with a precomputed "
            f"kernel, got {got}. The model does not keep them."
        )
    return X[np.ix_(estimator.support_, estimator.support_)]


def _factor(gram: Doubles) -> Doubles:
    """The Cholesky factor; of members that are nearly dependent, with a trace of the diagonal added."""
    try:
        found = np.linalg.cholesky(gram)
    except np.linalg.LinAlgError:
        found = np.linalg.cholesky(gram + _RIDGE * float(gram.diagonal().max()) * np.eye(len(gram)))
    return np.asarray(found, dtype=np.float64)
