"""Pairs of small classes, solved together: every kernel value is computed once, and a compiled loop solves the pairs.

Examples are sorted by class. Some classes at a time, from the last to the first, have their kernel values with those
after them computed, a strip of the matrix; the values of each class with itself are kept for the strips to come. No
Python is between two pairs, and no lock is held, so that they run on all threads. A thousand classes of twenty examples
are half a million pairs, in the memory of a strip.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from slackwater.deadline import CutShort, Deadline, working_until
from slackwater.fitting.context import FitContext
from slackwater.fitting.decisions import Decisions
from slackwater.fitting.result import PairModels, PairResult
from slackwater.fitting.strategies import exact
from slackwater.gram.features import Features
from slackwater.memory import Buffers, untouched
from slackwater.points import Floats
from slackwater.solvers.base import Assessment
from slackwater.stopping import Progress, StopReason
from slackwater.tracing import Recorder, snapshot
from slackwater.votes import pair_number
from slackwater.workers import Workers

NAME = exact.NAME
_STEPS_PER_EXAMPLE = 40  # of a pair: one that takes more is badly conditioned, and solved by itself
_BATCHES_PER_THREAD = 4  # of pairs, so that no thread waits long for another
_GRACE = 0.1  # seconds after the deadline, for few examples
_MAX_VALUES_A_BATCH = 2**21  # kernel values of the pairs solved between two looks at the clock


def classes_solved_together(context: FitContext) -> NDArray[np.intp]:
    """The classes so small that any two of them fit; none where the fit does not allow it."""
    settings, training_set = context.settings.pairs, context.training_set
    sizes = np.bincount(training_set.codes, minlength=context.n_classes)
    none = np.empty(0, dtype=np.intp)
    if context.strategy not in ("auto", exact.NAME) or not context.solver.coupling.free_bias:
        return none
    if context.hindrance() is not None or training_set.held_out.any():
        return none
    small = np.flatnonzero(2 * sizes <= settings.max_examples)
    if len(small) < 2 or not context.decide(
        NAME, "examples of the largest pair", float(2 * sizes[small].max()), "<=", settings.max_examples
    ):
        return none
    features, needed = training_set.features, _bytes_for(context, sizes[small])
    if features is not None and needed > features.cache_bytes:
        context.has_room(NAME, "kernel values of the pairs", needed, features.cache_bytes)
        return none
    return small


def _bytes_for(context: FitContext, sizes: NDArray[np.intp]) -> int:
    """What the largest strip takes, and the values of each class with itself, for classes of these sizes."""
    features = context.training_set.features
    itemsize = 8 if features is None else features.points.dtype.itemsize
    strip = max(context.settings.pairs.strip_values, int((sizes * np.cumsum(sizes[::-1])[::-1]).max()))
    strip = min(strip, int(sizes.sum()) ** 2)
    return itemsize * (strip + int((sizes.astype(np.int64) ** 2).sum()))


def solve(context: FitContext, classes: NDArray[np.intp], models: PairModels) -> dict[int, PairResult]:
    """Solve all pairs of some classes; what each ended with, by the number of the pair among those of all classes."""
    if len(classes) == 0:
        return {}
    results: dict[int, PairResult] = {}
    with suppress(CutShort):  # the others are left to whoever called
        strips = _Strips.of(context, classes, models)
        for pairs, found in strips.solved():
            results.update(_results(context, strips, pairs, found))
    return results


def of_few_examples(context: FitContext) -> tuple[dict[int, PairResult], NDArray[np.intp], PairModels]:
    """All pairs, of so few examples of each class that it takes next to no time; none, if even that is too long.

    Returns what each ended with, the examples, and models of these.
    """
    training_set, k = context.training_set, context.n_classes
    each = max(2, context.settings.pairs.few_examples // k)
    order = np.random.default_rng(context.seed).permutation(training_set.order)
    chosen = np.sort(np.concatenate([order[training_set.codes[order] == code][:each] for code in range(k)]))
    models = PairModels.none(k, len(chosen))
    grace = Deadline(context.clock, context.clock.seconds() + _GRACE)
    few = training_set.part(chosen, Workers(1, grace))
    own = replace(context, training_set=few, deadline=grace, recorder=Recorder(), decisions=Decisions(), watchers=())
    with working_until(grace):
        return solve(own, np.arange(k), models), chosen, models


@dataclass
class _Strips:
    """Examples sorted by class, and their kernel values as they are needed."""

    context: FitContext
    classes: NDArray[np.intp]
    models: PairModels
    features: Features  # of the sorted examples
    examples: NDArray[np.intp]  # their numbers in the training set
    starts: NDArray[np.intp]  # of each class among them
    upper: NDArray[np.float64]

    @classmethod
    def of(cls, context: FitContext, classes: NDArray[np.intp], models: PairModels) -> _Strips:
        training_set = context.training_set
        rank = np.full(context.n_classes, -1)
        rank[classes] = np.arange(len(classes))
        by_content = training_set.order[rank[training_set.codes[training_set.order]] >= 0]
        examples = by_content[np.argsort(training_set.codes[by_content], kind="stable")]
        sizes = np.bincount(training_set.codes[examples], minlength=context.n_classes)[classes]
        starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.intp)
        features = exact.features_for(context)
        if features is None:
            raise RuntimeError("pairs are solved together only where there are points")
        upper = context.solver.C * training_set.weights[examples]
        return cls(context, classes, models, features.part(examples), examples, starts, upper)

    def size(self, k: int) -> int:
        return int(self.starts[k + 1] - self.starts[k])

    def _values_of(self, group: range) -> int:
        """Kernel values of the classes of a group with those from them on."""
        rows = self.starts[group.stop] - self.starts[group.start]
        return int(rows * (len(self.examples) - self.starts[group.start]))

    def groups(self) -> Iterator[range]:
        """Classes whose strip fits in memory together, the last ones first."""
        last, most = len(self.classes), self.context.settings.pairs.strip_values
        while last > 0:
            first = last - 1
            while first > 0 and self._values_of(range(first - 1, last)) <= most:
                first -= 1
            yield range(first, last)
            last = first

    def solved(self) -> Iterator[tuple[NDArray[np.intp], NDArray[np.float64]]]:
        """Pairs, by the positions of their classes among ``classes``, and what was found about each."""
        from slackwater.solvers import _pairs_loops

        squares = np.array([self.size(k) ** 2 for k in range(len(self.classes))])
        square_starts = np.concatenate([[0], np.cumsum(squares)])[:-1].astype(np.intp)
        diagonals = untouched(int(squares.sum()), self.features.points.dtype)
        signed = np.zeros((len(self.classes) - 1, len(self.examples)))
        memory = Buffers(self.features.points.dtype)
        goals, groups = _goals(self.context), list(self.groups())
        room = untouched(max(self._values_of(group) for group in groups), self.features.points.dtype)
        deadline = self.context.deadline
        for group in groups:
            if deadline.passed():
                break
            first, last = int(self.starts[group.start]), int(self.starts[group.stop])
            try:
                strip = self._strip(first, last, room)
            except CutShort:
                break
            for k in group:
                rows = slice(int(self.starts[k]) - first, int(self.starts[k + 1]) - first)
                square = strip[rows, rows]
                diagonals[square_starts[k] : square_starts[k] + square.size].reshape(square.shape)[:] = square

            def solve_batch(
                pairs: NDArray[np.intp], strip: Floats = strip, first: int = first
            ) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
                if deadline.passed():
                    return pairs[:0], np.zeros((0, _pairs_loops.FOUND))
                found = np.zeros((len(pairs), _pairs_loops.FOUND))
                sizes = np.diff(self.starts)
                largest = int((sizes[pairs[:, 0]] + sizes[pairs[:, 1]]).max())
                with memory.lent(largest, largest) as gram:
                    _pairs_loops.solve_class_pairs(
                        strip, first, diagonals, square_starts, self.starts, pairs, self.upper, *goals,
                        _STEPS_PER_EXAMPLE * largest, signed, found, gram,
                    )  # fmt: skip
                return pairs, found

            yield from self.features.workers.run(solve_batch, self._batches(group))
        self._keep(signed)

    def _strip(self, first: int, last: int, room: Floats) -> Floats:
        """The kernel values of some examples with those from them on, in memory that is used again."""
        n = len(self.examples)
        out = room[: (last - first) * (n - first)].reshape(last - first, n - first)
        self.features.fill_block(np.arange(first, last), np.arange(first, n), out)
        return out

    def _batches(self, group: range) -> list[NDArray[np.intp]]:
        """The pairs of which the first class is in the group, in parts for the threads."""
        k = len(self.classes)
        pairs = np.array([(a, b) for a in group for b in range(a + 1, k)], dtype=np.intp).reshape(-1, 2)
        if len(pairs) == 0:
            return []
        sizes = np.diff(self.starts)
        values = np.cumsum((sizes[pairs[:, 0]] + sizes[pairs[:, 1]]) ** 2)
        parts = max(self.features.workers.n_threads * _BATCHES_PER_THREAD, math.ceil(values[-1] / _MAX_VALUES_A_BATCH))
        cuts = np.searchsorted(values, np.linspace(0, values[-1], min(parts, len(pairs)) + 1)[1:-1])
        return [part for part in np.split(pairs, np.unique(cuts)) if len(part)]

    def _keep(self, signed: NDArray[np.float64]) -> None:
        """Coefficients of all pairs, where those of all classes are kept."""
        for k, code in enumerate(self.classes):
            part = slice(int(self.starts[k]), int(self.starts[k + 1]))
            others = np.delete(self.classes, k)
            rows = np.where(others > code, others - 1, others)
            self.models.coefficients[np.ix_(rows, self.examples[part])] = signed[:, part]


def _goals(context: FitContext) -> tuple[float, float, float]:
    """The violation to reach, the relative gap, and the violation with which that is not waited for."""
    stated, default = context.stopping.tol, context.settings.tolerance
    if stated is None:
        return default.exact_violation, default.matrix_gap, default.finest * default.exact_violation
    return 10.0 * stated, stated, 0.0


def _results(
    context: FitContext, strips: _Strips, pairs: NDArray[np.intp], found: NDArray[np.float64]
) -> dict[int, PairResult]:
    """What is known of each pair."""
    from slackwater.solvers import _pairs_loops as columns

    (violation, gap, _), default = _goals(context), context.stopping.tol is None
    weights = np.add.reduceat(strips.upper, strips.starts[:-1])
    results = {}
    squared, loss, total = (found[:, k] for k in (columns.SQUARED_NORM, columns.LOSS, columns.DUAL_SUM))
    primal, dual, norm = 0.5 * squared + loss, total - 0.5 * squared, np.sqrt(squared)
    with np.errstate(divide="ignore", invalid="ignore"):
        gaps = np.where(primal > 0.0, np.maximum(primal - dual, 0.0) / primal, 0.0)
        margins, slack = 1.0 / norm, loss / ((weights[pairs[:, 0]] + weights[pairs[:, 1]]) * norm)
    seconds, evaluations = context.clock.seconds(), context.training_set.ledger.train
    for k, (a, b) in enumerate(strips.classes[pairs].tolist()):
        number = pair_number(a, b, context.n_classes)
        strips.models.biases[number] = found[k, columns.BIAS]
        assessment = Assessment(
            objective=float(primal[k]),
            bound=float(dual[k]),
            gap=float(gaps[k]),
            margin=float(margins[k]),
            slack_nu=float(slack[k]),
            n_support=int(found[k, columns.SUPPORT]),
            holdout_error=None,
            violation=float(found[k, columns.VIOLATION]),
            bias=float(found[k, columns.BIAS]),
        )
        reached = assessment.violation <= violation and (default or assessment.gap <= gap)
        results[number] = PairResult(assessment, StopReason.TOLERANCE if reached else StopReason.STALLED, 1)
        context.recorder.rows.append(snapshot(number, 1, Progress(1, evaluations, seconds), assessment))
    return results
