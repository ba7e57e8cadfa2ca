"""Warm starts of ``SVC``: from a model fitted earlier, perhaps on other rows, to a feasible dual point of this fit.

Rows that are there again are known by content and class. Their dual variables are taken over, scaled and clipped to
the new box; those of new rows begin at zero. A wrong match, or a model that has become a bad one, costs time only:
where training ends is decided by the same tests as from scratch.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slackwater.fitting.training_set import TrainingSet
from slackwater.kernels.base import Kernel
from slackwater.kernels.registry import KERNELS
from slackwater.solvers.dual_blocks import DualBlocks
from slackwater.votes import pair_number

Floats = NDArray[np.float64]

_ROWS_TOGETHER = 1024  # of a kernel matrix that was given, summed up at a time
_ROUNDING = 1e-12  # of a dual variable, or of a sum of them
_NEARLY_AT_BOUND = 0.9  # of C: the largest dual variable of a model is at its bound, but for a factor of all


class Span(NamedTuple):
    """How a subspace was chosen."""

    widths: tuple[float, ...]  # over which the hinge is smoothed, one after the other
    max_half_loss: float
    smooth: bool  # whether the landmarks span nearly everything
    gaps: tuple[float, ...]  # of the models to the optima, as estimated then


class Setting(NamedTuple):
    """What a choice was made for."""

    examples: int
    C: float
    kernel: str
    parameters: tuple[tuple[str, float], ...]

    @classmethod
    def of(cls, training_set: TrainingSet, C: float) -> Setting:
        features = training_set.features
        if features is None:
            return cls(training_set.n, C, "precomputed", ())
        parameters = sorted(features.kernel.parameters().items())
        return cls(training_set.n, C, features.kernel.name, tuple((name, float(value)) for name, value in parameters))

    def change(self, other: Setting) -> float:
        """By how much the other one differs, as a factor: the larger of C and the kernel's parameters."""
        own, others = dict(self.parameters), dict(other.parameters)
        if self.kernel != other.kernel or own.keys() != others.keys():
            return math.inf
        return max(_ratio(a, b) for a, b in [(self.C, other.C), *((own[name], others[name]) for name in own)])

    def growth(self, other: Setting) -> float:
        """By how much the numbers of examples differ, as a factor."""
        return _ratio(float(self.examples), float(other.examples))


def _ratio(a: float, b: float) -> float:
    return 1.0 if a == b else max(a / b, b / a) if a * b > 0.0 else math.inf


class Choice(NamedTuple):
    """What the measurements of a fit have decided, and for what."""

    strategy: str
    tol: float  # the relative gap that the sample chose
    setting: Setting
    span: Span | None = None


class Seen(NamedTuple):
    """The examples of an earlier fit: whoever is not among the support vectors had a dual variable of zero."""

    keys: Floats
    codes: NDArray[np.intp]
    kernel: Kernel | None
    lower: Floats | None = None  # what their responses are at least, in the layout of the dual variables

    def of_pair(self, first: int, second: int) -> Seen:
        """Those of two classes."""
        both = np.flatnonzero((self.codes == first) | (self.codes == second))
        codes, lower = self.codes[both], self.lower
        if lower is not None:
            lower = lower[np.where(codes == first, second - 1, first), both][None]
        return Seen(self.keys[both], (codes == second).astype(np.intp), self.kernel, lower)

    def lower_of(self, training_set: TrainingSet) -> tuple[NDArray[np.intp], Floats | None]:
        """Where its examples are among others, and what the responses of these are at least with the same kernel."""
        again = matched(self.keys, self.codes, training_set)
        if self.lower is None or not _same_responses(self.kernel, training_set):
            return again[again >= 0], None
        lower = np.full((len(self.lower), training_set.n), -np.inf)
        lower[:, again[again >= 0]] = self.lower[:, again >= 0]
        return again[again >= 0], lower


def _same_responses(kernel: Kernel | None, training_set: TrainingSet) -> bool:
    """Whether responses of an earlier fit tell something: the same formula, with K(x, x) = 1 of rows that are gone."""
    if kernel is None or training_set.features is None:
        return False
    now = training_set.features.kernel
    return now.name in KERNELS and now.unit_diagonal and _description(now) == _description(kernel)


def _description(kernel: Kernel) -> tuple[Any, ...]:
    return kernel.name, *sorted(kernel.parameters().items())


@dataclass(frozen=True)
class EarlierModel:
    """The dual variables of a fitted model, by the content of their examples; classes are numbered as in the new fit.

    ``table`` is (k - 1, support) for pairs of classes, in the layout of ``PairModels``, else (problems, support).
    """

    keys: Floats
    codes: NDArray[np.intp]  # -1: a class that the new fit does not have
    table: Floats
    C: float
    biases: Floats  # of each problem
    norms: Floats | None  # ‖w‖ of each problem; None: not known
    steps: NDArray[np.integer] | None  # made for each problem so far
    seen: Seen | None = None
    choices: Mapping[int, Choice] = field(default_factory=dict)  # by the number of the problem

    def of_pair(self, first: int, second: int, n_classes: int) -> EarlierModel:
        """The model of a pair of classes, as that of a problem of two."""
        mine = np.flatnonzero((self.codes == first) | (self.codes == second))
        own = np.where(self.codes[mine] == first, self.table[second - 1, mine], self.table[first, mine])
        number, seen = int(pair_number(first, second, n_classes)), self.seen
        if seen is not None:
            seen = seen.of_pair(first, second)
        return replace(
            self,
            keys=self.keys[mine],
            codes=(self.codes[mine] == second).astype(np.intp),
            table=own[None],
            biases=-self.biases[number : number + 1],  # of two classes the second is positive, of a pair the first
            norms=None if self.norms is None else self.norms[number : number + 1],
            steps=None if self.steps is None else self.steps[number : number + 1],
            seen=seen,
            choices={0: self.choices[number]} if number in self.choices else {},
        )

    def start(self, training_set: TrainingSet, n_classes: int, solver: DualBlocks) -> WarmStart | None:
        """The dual point from which a fit of these examples goes on; None if it has nothing in common with them."""
        places = matched(self.keys, self.codes, training_set)
        found, problems = np.flatnonzero(places >= 0), training_set.problems(n_classes)
        if len(found) == 0 or len(self.table) != len(problems):
            return None
        alpha = np.zeros((len(problems), training_set.n))
        for number, problem in enumerate(problems):
            alpha[number, places[found]] = self._factor(number, solver.C) * self.table[number, found]
            upper = solver.upper_bounds(problem)
            alpha[number] = feasible(alpha[number], problem.labels, upper, solver.coupling.free_bias)
        if not alpha.any():
            return None
        known, lower = self._known(training_set, alpha)
        kept, labels = np.zeros(self.table.shape), np.stack([problem.labels for problem in problems])
        kept[:, found] = alpha[:, places[found]]
        return WarmStart(
            alpha=alpha,
            labels=labels,
            known=known,
            steps=np.ones(len(problems), dtype=np.intp) if self.steps is None else np.maximum(self.steps, 1),
            choice=self.choices.get(0),
            places=places[found],
            coefficients=labels[:, places[found]] * self.table[:, found],
            biases=self.biases,
            lower=lower,
            moved=np.abs(kept - self.table).sum(axis=1),
        )

    def _known(self, training_set: TrainingSet, alpha: Floats) -> tuple[NDArray[np.bool_], Floats | None]:
        """Which examples the earlier fit had, as far as that was kept, and what their responses were at least."""
        known, lower = np.zeros(training_set.n, dtype=bool), None
        known[(alpha > 0.0).any(axis=0)] = True
        if self.seen is not None:
            again, lower = self.seen.lower_of(training_set)
            known[again] = True
        return known, lower

    def _factor(self, number: int, C: float) -> float:
        """By which the dual variables of a problem are multiplied: within the box of another C.

        Those at the bound are a little below it where the model is a multiple of a dual point, below one.
        """
        norm = 0.0 if self.norms is None else float(self.norms[number])
        top = float(self.table[number].max(initial=0.0)) / self.C
        at_bound = top if _NEARLY_AT_BOUND <= top < 1.0 else 1.0
        return best_factor(float(self.table[number].sum()), norm**2, C / self.C / at_bound)


@dataclass(frozen=True)
class WarmStart:
    """A feasible dual point of each problem, aligned with the examples of a fit."""

    alpha: Floats  # (problems, n)
    labels: NDArray[np.int8]  # (problems, n)
    known: NDArray[np.bool_]  # examples of the earlier fit
    steps: NDArray[np.integer]  # made for each problem so far
    choice: Choice | None
    places: NDArray[np.intp]  # of the earlier support vectors
    coefficients: Floats  # theirs, as they were: (problems, places)
    biases: Floats
    lower: Floats | None  # what responses were at least in the earlier fit: (problems, n)
    moved: Floats  # Σ |Δα_i| since, of each problem

    def of_problem(self, number: int) -> tuple[Floats, Floats | None, float]:
        """A dual point, what responses were at least, and by how much dual variables have moved since."""
        lower = None if self.lower is None else self.lower[number]
        return self.alpha[number], lower, float(self.moved[number])

    def responses(self, training_set: TrainingSet) -> Floats:
        """c_i = y_i <w, Φ(x_i)> of all examples: (problems, n)."""
        support = self.support
        signed = self.alpha[:, support] * self.labels[:, support]
        if training_set.features is not None:
            values = training_set.features.values(np.arange(training_set.n), support, signed).T
        else:
            values = np.zeros(self.alpha.shape)
            for begin in range(0, len(support), _ROWS_TOGETHER):
                part = slice(begin, begin + _ROWS_TOGETHER)
                values += signed[:, part] @ training_set.rows.rows(support[part])
        return np.asarray(self.labels * values)

    @property
    def support(self) -> NDArray[np.intp]:
        return np.flatnonzero((self.alpha > 0.0).any(axis=0))


def best_factor(total: float, squared_norm: float, largest: float) -> float:
    """The multiple of a dual point that is largest in the dual objective, up to ``largest``.

    s Σ α_i - ½ s² ‖w‖² is largest at s = Σ α_i / ‖w‖². Where many dual variables are at their bound, they follow it.
    """
    if squared_norm <= 0.0:
        return min(largest, 1.0)
    return min(largest, total / squared_norm)


def matched(keys: Floats, codes: NDArray[np.intp], training_set: TrainingSet) -> NDArray[np.intp]:
    """Which example of a training set each of some others is: one of the same class and the same key; -1: none."""
    places = np.full(len(keys), -1)
    for code in np.unique(training_set.codes):
        asked, members = np.flatnonzero(codes == code), np.flatnonzero(training_set.codes == code)
        members = members[np.argsort(training_set.keys[members], kind="stable")]
        found = np.minimum(np.searchsorted(training_set.keys[members], keys[asked]), len(members) - 1)
        same = training_set.keys[members[found]] == keys[asked]
        places[asked[same]] = members[found[same]]
    return places


def feasible(alpha: Floats, labels: NDArray[np.int8], upper: Floats, free_bias: bool) -> Floats:
    """The same within the box and, with a bias, with Σ α_i y_i = 0: the heavier class is made lighter.

    Where that is possible by its free dual variables alone, those at a bound stay there.
    """
    within = np.where(alpha >= (1.0 - _ROUNDING) * upper, upper, np.maximum(alpha, 0.0))
    excess = float(within @ labels)
    if not free_bias or abs(excess) <= _ROUNDING * float(within.sum()):
        return within
    heavier = (labels > 0) == (excess > 0.0)
    for movable in (heavier & (within < upper), heavier):
        total = float(within[movable].sum())
        removed = min(abs(excess), total)
        if removed > 0.0:
            within[movable] *= 1.0 - removed / total
        excess = abs(excess) - removed
    return within


def renumbered(table: Floats, counts: NDArray[np.integer], numbers: NDArray[np.intp], n_classes: int) -> Floats:
    """Coefficients in the layout of ``PairModels`` where classes have other numbers; -1 is a class that is gone.

    ``counts`` is how many support vectors each class had; they are grouped by class.
    """
    out, ends = np.zeros((n_classes - 1, table.shape[1])), np.cumsum(counts)
    present = np.flatnonzero(numbers >= 0)
    for a in present:
        own = slice(int(ends[a] - counts[a]), int(ends[a]))
        others = present[present != a]
        rows = np.where(others > a, others - 1, others)
        places = np.where(numbers[others] > numbers[a], numbers[others] - 1, numbers[others])
        out[places, own] = table[rows, own]
    return out
