"""One-vs-one: a binary problem for each pair of classes, as scikit-learn's and LIBSVM's SVC have it.

Pairs come in the order (0, 1), (0, 2), …, (1, 2), …; the first class is the positive one. Pairs of small classes are
solved together out of shared kernel values, by a compiled loop on all threads. Any other pair is a fit of two classes
of its own, which picks its own strategy. What is left of a budget is shared among the pairs to come, by their sizes.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from slackwater.deadline import CutShort, Deadline, working_until
from slackwater.expansion import Expansion
from slackwater.fitting import small_pairs
from slackwater.fitting.context import FitContext, ModelWatch, Persistence
from slackwater.fitting.decisions import Decisions
from slackwater.fitting.fit import fit
from slackwater.fitting.result import BinaryResult, Models, PairModels, PairResult, PairsResult, Previous
from slackwater.fitting.sample import NAME as SAMPLE
from slackwater.fitting.strategies import exact
from slackwater.fitting.training_set import TrainingSet
from slackwater.fitting.warm_start import Choice
from slackwater.fitting.working_set import bytes_for
from slackwater.stopping import MaxEvaluations, Progress, StoppingRule
from slackwater.tracing import Recorder
from slackwater.workers import Workers


class Pair(NamedTuple):
    """Two classes, and the number of their problem."""

    number: int
    first: int
    second: int


def pairs_of(n_classes: int) -> list[Pair]:
    """All pairs of classes, in order."""
    both = [(a, b) for a in range(n_classes) for b in range(a + 1, n_classes)]
    return [Pair(number, *classes) for number, classes in enumerate(both)]


def fit_pairs(context: FitContext) -> PairsResult:
    """Train a model for each pair of classes."""
    if context.hindrance() is None:  # points in their final form once, not for every pair
        context.training_set = replace(context.training_set, features=exact.features_for(context))
    joint = _Joint(context)
    together = small_pairs.classes_solved_together(context)
    solved = small_pairs.solve(context, together, joint.models)
    solved = {number: result for number, result in solved.items() if result.reason.reached}
    joint.results.update(solved)
    if solved:
        joint.strategies.append(small_pairs.NAME)
        joint.show_solved_together(len(solved))
    joint.fit_others([pair for pair in pairs_of(context.n_classes) if pair.number not in solved])
    joint.fill_up([pair for pair in pairs_of(context.n_classes) if pair.number not in joint.results])
    return joint.result()


@dataclass
class _Joint:
    """The fits of all pairs, and what they leave behind together."""

    context: FitContext
    results: dict[int, PairResult] = field(default_factory=dict)
    recorders: dict[int, Recorder] = field(default_factory=dict)
    decisions: dict[int, Decisions] = field(default_factory=dict)
    previous: dict[int, Previous] = field(default_factory=dict)
    strategies: list[str] = field(default_factory=list)
    choices: dict[int, Choice] = field(default_factory=dict)

    def __post_init__(self) -> None:
        training_set = self.context.training_set
        self.models = PairModels.none(self.context.n_classes, training_set.n)
        self.lower: NDArray[np.float64] | None = None
        self.sizes = np.bincount(training_set.codes, minlength=self.context.n_classes)
        self.budget = _Budget(self.context)
        self._one_at_a_time = threading.Lock()

    def fit_others(self, pairs: Sequence[Pair]) -> None:
        """Fit each pair by itself: side by side where that is possible and none is large, else one after the other."""
        if not pairs:
            return
        features, threads = self.context.training_set.features, self._threads(pairs)
        self.budget.plan({pair.number: int(self._size(pair)) for pair in pairs}, threads)
        ordered = sorted(pairs, key=self._size, reverse=True)  # the longest first, so that none is waited for
        if threads == 1 or features is None:
            for pair in ordered:
                self._fit(pair, None)
        else:
            side_by_side = Workers(threads, self.context.deadline)
            side_by_side.run(lambda pair: self._fit(pair, Workers()), ordered)

    def fill_up(self, pairs: Sequence[Pair]) -> None:
        """Pairs that the deadline left without a model have that of some examples of each class."""
        if not pairs:
            return
        reason, most = self.context.cut_short(), self.context.settings.pairs.max_filled_up
        if reason is None or len(pairs) > most:
            raise CutShort(self.context.deadline.interrupted.is_set())
        found, chosen, models = small_pairs.of_few_examples(self.context)
        if len(found) < len(self.models.biases):
            raise CutShort(self.context.deadline.interrupted.is_set())
        codes = self.context.training_set.codes
        for pair in pairs:
            support, coefficients = models.of(pair.first, pair.second, codes[chosen])
            bias = float(models.biases[pair.number])
            self.models.put(pair.first, pair.second, codes, chosen[support], coefficients, bias)
            assessment = found[pair.number].assessment.with_bound(0.0)
            self.results[pair.number] = PairResult(assessment, reason, 1, certified=False)
        self.strategies.append(SAMPLE)

    def _size(self, pair: Pair) -> int:
        return int(self.sizes[pair.first] + self.sizes[pair.second])

    def _threads(self, pairs: Sequence[Pair]) -> int:
        """How many pairs are fitted at once."""
        context = self.context
        features = context.training_set.features
        most = context.settings.pairs.max_chunked
        if features is None or not features.kernel.reentrant or context.hindrance() is not None:
            return 1
        # The meter that all pairs share is part of their states, and has one account at a time.
        if context.training_set.held_out.any() or context.persistence.checkpoint is not None:
            return 1
        largest = max(self._size(pair) for pair in pairs)
        if largest > most:
            return 1
        in_working_set = bytes_for(min(largest, context.settings.chunking.max_working_set), features.points.dtype)
        at_once = features.cache_bytes // max(in_working_set, features.points.dtype.itemsize * largest**2)
        return int(min(features.workers.n_threads, max(at_once, 1)))

    def show_solved_together(self, count: int) -> None:
        """Show the models of the pairs that were solved together to everybody who watches."""
        context, row = self.context, self.context.recorder.rows[-1]
        context.show(row, Progress(count, row.evaluations, row.seconds))
        if context.watch is not None and context.watch(row.step, row.evaluations, row.seconds, self.models.copy):
            context.called_off.set()

    def _watch_of(self, pair: Pair, indices: NDArray[np.intp]) -> ModelWatch | None:
        """Show the models of all pairs: those that are done, and that of the pair at work."""
        watch, codes = self.context.watch, self.context.training_set.codes
        if watch is None:
            return None

        def watch_pair(step: int, evaluations: int, seconds: float, models: Callable[[], Models]) -> bool:
            def all_models() -> Models:
                (own,) = cast(list[Expansion], models())
                together = self.models.copy()
                support = indices[own.support]
                together.put(pair.first, pair.second, codes, support, -own.coefficients, -own.bias)
                return together

            with self._one_at_a_time:
                return watch(step, evaluations, seconds, all_models)

        return watch_pair

    def _indices_of(self, pair: Pair) -> NDArray[np.intp]:
        return np.flatnonzero(np.isin(self.context.training_set.codes, (pair.first, pair.second)))

    def _fit(self, pair: Pair, workers: Workers | None) -> None:
        if self.context.cut_short():
            return
        count = self.context.n_classes * (self.context.n_classes - 1) // 2
        self.context.stage(f"classes {pair.first} and {pair.second}, pair {len(self.results) + 1} of {count}")
        context = self._context_of(pair, workers)
        try:
            with working_until(context.deadline):
                found = fit(context)
        except CutShort:  # before there was a model
            return
        (result,) = found.binary_results
        indices = self._indices_of(pair)
        with self._one_at_a_time:
            self._keep(pair, result, indices)
            self.recorders[pair.number] = found.recorder
            self.decisions[pair.number] = found.decisions or Decisions()
            self.strategies.append(found.strategy)
            if found.previous is not None:
                self.previous[pair.number] = found.previous
            if found.choice is not None:
                self.choices[pair.number] = found.choice

    def _keep(self, pair: Pair, result: BinaryResult, indices: NDArray[np.intp]) -> None:
        expansion = result.expansion
        support = indices[expansion.support]
        codes = self.context.training_set.codes
        # Of two classes the second is positive, of a pair the first.
        self.models.put(pair.first, pair.second, codes, support, -expansion.coefficients, -expansion.bias)
        self.results[pair.number] = PairResult(result.assessment, result.reason, result.steps, result.certified)
        if self.context.keeps_responses and result.lower is not None:
            if self.lower is None:
                self.lower = np.full(self.models.coefficients.shape, -np.inf)
            rows = np.where(codes[indices] == pair.first, pair.second - 1, pair.first)
            self.lower[rows, indices] = result.lower

    def _context_of(self, pair: Pair, workers: Workers | None) -> FitContext:
        context, settings = self.context, self.context.settings
        limits, deadline = self.budget.limits_of(pair.number)
        features = context.training_set.features
        if features is not None:
            workers = (workers or features.workers).until(deadline)
        chunking = replace(settings.chunking, max_examples=settings.pairs.max_chunked)
        return replace(
            context,
            training_set=training_set_of(context.training_set, pair, workers),
            n_classes=2,
            stopping=replace(context.stopping, make_limits=limits),
            deadline=deadline,
            persistence=self._persistence_of(pair),
            earlier=None if context.earlier is None else context.earlier.of_pair(*pair[1:], context.n_classes),
            watch=self._watch_of(pair, self._indices_of(pair)),
            settings=replace(settings, chunking=chunking),
            recorder=Recorder(),
            journal=None,
            decisions=Decisions(),
            fallbacks={},
            stages=0,
        )

    def _persistence_of(self, pair: Pair) -> Persistence:
        """A checkpoint of its own for each pair, and where an earlier fit left this pair."""
        kept = self.context.persistence
        path = kept.checkpoint
        earlier = None if kept.previous is None else kept.previous.states[pair.number]
        return Persistence(
            checkpoint=None if path is None else Path(f"{path}.{pair.first}-{pair.second}"),
            previous=earlier,
            keep=kept.keep,
        )

    def result(self) -> PairsResult:
        context = self.context
        numbers = sorted(self.results)
        recorder = context.recorder
        for number, of_pair in self.recorders.items():
            recorder.rows.extend(row._replace(problem=number) for row in of_pair.rows)
        recorder.rows.sort(key=lambda row: row.seconds)
        for number in sorted(self.decisions):
            for decision in self.decisions[number]:
                context.decisions.append(decision._replace(problem=number))
        previous = None
        if context.persistence.keep and len(self.previous) == len(numbers):
            states = [self.previous[number] for number in numbers]
            previous = Previous(" ".join(each.data for each in states), states[0].solver, context.seed, states)
        strategy = ", ".join(dict.fromkeys(sorted(self.strategies)))
        results = [self.results[number] for number in numbers]
        return PairsResult(
            results, self.models, recorder, previous, strategy, context.decisions, self.choices, self.lower
        )


class _Budget:
    """What is left of time and kernel evaluations, shared among the pairs that remain."""

    def __init__(self, context: FitContext) -> None:
        self._context = context
        self._ledger = context.training_set.ledger
        self._evaluations = self._ledger.limit
        self._waiting: dict[int, int] = {}
        self._threads = 1

    def plan(self, sizes: dict[int, int], threads: int) -> None:
        """The pairs to come, by number, with their sizes; so many of them at a time."""
        self._waiting, self._threads = dict(sizes), threads

    def limits_of(self, number: int) -> tuple[Callable[[], list[StoppingRule]], Deadline]:
        """What makes the limits of a pair, which begins now, and its deadline."""
        share = self._waiting[number] / sum(self._waiting.values())
        del self._waiting[number]
        deadline, spent = self._context.deadline, self._context.clock.seconds()
        own = deadline.within(spent + max(deadline.limit - spent, 0.0) * min(1.0, share * self._threads))
        given = self._context.stopping.make_limits
        limit = None
        if self._evaluations is not None:
            limit = self._ledger.limit = self._ledger.train + int((self._evaluations - self._ledger.train) * share)

        def limits() -> list[StoppingRule]:
            rules = given()
            if limit is None:
                return rules
            return [MaxEvaluations(limit) if isinstance(rule, MaxEvaluations) else rule for rule in rules]

        return limits, own


def training_set_of(training_set: TrainingSet, pair: Pair, workers: Workers | None = None) -> TrainingSet:
    """The examples of two classes, numbered 0 and 1 as in any problem of two."""
    codes = training_set.codes
    indices = np.flatnonzero((codes == pair.first) | (codes == pair.second))
    part = training_set.part(indices, workers)
    two = (part.codes == pair.second).astype(np.intp)
    return replace(part, codes=two, identify=lambda: f"{training_set.identify()} {pair.first} {pair.second}")
