"""What a report is about: a fitted classifier, seen at examples with labels.

A classifier is known here by its public attributes, so that estimators can call this package: it is below them.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from sklearn.utils.validation import column_or_1d

from slackwater.evaluation import Evaluation, evaluate_predictions
from slackwater.votes import pair_number, scores

_ROWS_AT_ONCE = 8192
_MAX_VALUES = 2**24  # decision values of pairs held at a time

Values = NDArray[np.float64]
Codes = NDArray[np.intp]
Report = Callable[[float, float | None], None]  # (done, in all)


class ProblemSlack(NamedTuple):
    """How the examples of one binary problem lie to its margin."""

    name: str
    n: int
    wrong: int  # on the wrong side of the boundary
    wet: int  # below the margin one, that is under water
    slack: float  # sum of max(0, 1 - margin): the volume of water


class Scheme(Protocol):
    """How several classes are made of binary problems."""

    words: str  # for the reader
    margin_words: str  # what the margin of an example is
    problem_names: list[str]

    def class_scores(self, values: Values) -> Values:
        """One column a class, or none for two classes; the larger, the more it is that class."""

    def problem_margins(self, values: Values, codes: Codes) -> tuple[Codes, Values]:
        """The problems that each example is part of, and its margins y f(x) there: (n, problems of an example)."""

    def margins(self, values: Values, codes: Codes) -> Values:
        """One margin for each example."""

    def concerned(self, problem: int, codes: Codes) -> NDArray[np.bool_]:
        """Which examples a problem is about."""


class _AllExamples:
    """Problems that are about all examples, and whose values are the scores of the classes."""

    def class_scores(self, values: Values) -> Values:
        return values

    def concerned(self, problem: int, codes: Codes) -> NDArray[np.bool_]:
        return np.ones(len(codes), dtype=bool)


class TwoClasses(_AllExamples):
    """One problem, in which the second class is positive."""

    words = "two classes"
    margin_words = (
        "The margin of an example is its decision value, taken positive on the side of its own class: below 0 the "
        "label is wrong, from 1 on training has nothing to complain of."
    )

    def __init__(self, names: list[str]) -> None:
        self.problem_names = [f"{names[1]} against {names[0]}"]

    def problem_margins(self, values: Values, codes: Codes) -> tuple[Codes, Values]:
        own = np.where(codes == 1, values, -values)[:, None]
        return np.zeros_like(own, dtype=np.intp), own

    def margins(self, values: Values, codes: Codes) -> Values:
        return self.problem_margins(values, codes)[1][:, 0]


class OneVsRest(_AllExamples):
    """A problem for each class."""

    words = "one-vs-rest"
    margin_words = (
        "The margin of an example is the decision value of its own class less the largest one of the others: below 0 "
        "the label is wrong."
    )

    def __init__(self, names: list[str]) -> None:
        self.problem_names = [f"{name} against the rest" for name in names]

    def problem_margins(self, values: Values, codes: Codes) -> tuple[Codes, Values]:
        signs = np.full(values.shape, -1.0)
        signs[np.arange(len(codes)), codes] = 1.0
        return np.broadcast_to(np.arange(values.shape[1]), values.shape), signs * values

    def margins(self, values: Values, codes: Codes) -> Values:
        rows = np.arange(len(codes))
        others = values.copy()
        others[rows, codes] = -np.inf
        return np.asarray(values[rows, codes] - others.max(axis=1))


class OneVsOne:
    """A problem for each pair of classes, about the examples of these two."""

    words = "one-vs-one"
    margin_words = (
        "The margin of an example is the smallest decision value among the pairs of its own class with another one, "
        "taken positive on its own side: above 0 its class wins all of its pairs, and the label is right. Below 0 it "
        "loses a pair, and may still win the vote."
    )

    def __init__(self, names: list[str]) -> None:
        k = self.n_classes = len(names)
        self.problem_names = [f"{names[a]} against {names[b]}" for a in range(k) for b in range(a + 1, k)]
        others = np.array([[b for b in range(k) if b != a] for a in range(k)])
        own = np.arange(k)[:, None]
        self._pairs = pair_number(np.minimum(own, others), np.maximum(own, others), k)
        self._signs = np.where(own < others, 1.0, -1.0)  # of a pair the first class is positive

    def class_scores(self, values: Values) -> Values:
        return scores(values, self.n_classes)

    def problem_margins(self, values: Values, codes: Codes) -> tuple[Codes, Values]:
        pairs = self._pairs[codes]
        return pairs, np.take_along_axis(values, pairs, axis=1) * self._signs[codes]

    def margins(self, values: Values, codes: Codes) -> Values:
        return np.asarray(self.problem_margins(values, codes)[1].min(axis=1))

    def concerned(self, problem: int, codes: Codes) -> NDArray[np.bool_]:
        return np.asarray((self._pairs[codes] == problem).any(axis=1))


@dataclass(frozen=True)
class Subject:
    """A model at examples with labels: everything that sections are written from."""

    model: Any
    names: list[str]  # of the classes
    codes: Codes  # the true class of each example, by number
    scores: Values  # (n,) for two classes, else (n, classes)
    margins: Values  # (n,)
    scheme: Scheme
    problems: list[ProblemSlack]
    worst: Values  # margins in the problem with the most slack an example
    evaluation: Evaluation
    about: dict[str, str] = field(default_factory=dict)  # where model and data come from

    @property
    def n(self) -> int:
        return len(self.codes)

    @property
    def worst_problem(self) -> int:
        return worst_of(self.problems)

    def at(self, name: str, default: Any = None) -> Any:
        """A fitted attribute, if the model has it."""
        return getattr(self.model, name, default)


def worst_of(problems: list[ProblemSlack]) -> int:
    """The problem with the most slack an example."""
    return int(np.argmax([each.slack / each.n if each.n else -1.0 for each in problems]))


def see(model: Any, X: Any, y: Any, confidence: float, progress: Report | None = None) -> Subject:
    """Predict, and compare with the labels.

    Complexity: three passes of predictions over X, some thousand rows at a time (with one-vs-one the third one over
    the examples of two classes only): the values of all pairs are not kept, because they may not fit in memory.
    """
    codes = _codes(model, X, y)
    names = [str(label) for label in model.classes_.tolist()]
    scheme, values_of = _scheme(model, names)
    sliceable = X.tocsr() if scipy.sparse.issparse(X) else X
    totals = np.zeros((4, len(scheme.problem_names)))
    found: list[tuple[Any, Values, Values]] = []
    size = max(1, min(_ROWS_AT_ONCE, _MAX_VALUES // len(scheme.problem_names)))
    for start in range(0, len(codes), size):
        part, own = _rows(sliceable, start, start + size), codes[start : start + size]
        values = values_of(part)
        found.append((model.predict(part), scheme.class_scores(values), scheme.margins(values, own)))
        totals += _totals(*scheme.problem_margins(values, own), totals.shape[1])
        if progress is not None:
            progress(min(start + size, len(codes)), len(codes))
    predicted, class_scores, margins = (np.concatenate(each) for each in zip(*found, strict=True))
    problems = [
        ProblemSlack(name, int(n), int(wrong), int(wet), float(slack))
        for name, n, wrong, wet, slack in zip(scheme.problem_names, *totals.tolist(), strict=True)
    ]
    return Subject(
        model, names, codes, class_scores, margins, scheme, problems,
        _margins_of(worst_of(problems), scheme, values_of, sliceable, codes),
        evaluate_predictions(
            model.classes_[codes], predicted, model.classes_, class_scores if len(names) == 2 else None, confidence
        ),
    )  # fmt: skip


def _codes(model: Any, X: Any, y: Any) -> Codes:
    """Labels by the numbers of the model's classes, which need not be sorted."""
    labels = column_or_1d(y)
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    if len(labels) != n or n == 0:
        raise ValueError(f"y must have one label for each row of X, and X one row at least, got {len(labels)} for {n}.")
    position = {label: k for k, label in enumerate(model.classes_.tolist())}
    unknown = [label for label in dict.fromkeys(labels.tolist()) if label not in position]
    if unknown:
        raise ValueError(
            f"y must have labels of the model's classes ({', '.join(map(str, list(position)[:10]))}), got "
            f"{', '.join(map(str, unknown[:3]))}."
        )
    return np.array([position[label] for label in labels.tolist()], dtype=np.intp)


def _scheme(model: Any, names: list[str]) -> tuple[Scheme, Callable[[Any], Values]]:
    """How the model's classes are made of problems, and what gives the problems' values."""
    if len(names) == 2:
        return TwoClasses(names), model.decision_function
    if not getattr(model, "_in_pairs", False):
        return OneVsRest(names), model.decision_function
    by_pairs = copy.copy(model).set_params(decision_function_shape="ovo", break_ties=False)
    return OneVsOne(names), by_pairs.decision_function


def _rows(X: Any, start: int, stop: int) -> Any:
    return X.iloc[start:stop] if hasattr(X, "iloc") else X[start:stop]


def _totals(problems: Codes, margins: Values, n_problems: int) -> Values:
    """For each problem: examples, wrong ones, wet ones, slack."""
    columns = (np.ones_like(margins), margins < 0.0, margins < 1.0, np.maximum(0.0, 1.0 - margins))
    numbers = problems.ravel()
    return np.stack([np.bincount(numbers, each.ravel().astype(np.float64), n_problems) for each in columns])


def _margins_of(problem: int, scheme: Scheme, values_of: Callable[[Any], Values], X: Any, codes: Codes) -> Values:
    """The margins in one problem, of the examples it is about."""
    rows = np.flatnonzero(scheme.concerned(problem, codes))
    size = max(1, _MAX_VALUES // len(scheme.problem_names))
    found = [np.empty(0)]
    for start in range(0, len(rows), size):
        chosen = rows[start : start + size]
        numbers, margins = scheme.problem_margins(values_of(_taken(X, chosen)), codes[chosen])
        found.append(margins[numbers == problem])
    return np.concatenate(found)


def _taken(X: Any, rows: Codes) -> Any:
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    return X[rows] if hasattr(X, "shape") else [X[int(row)] for row in rows]
