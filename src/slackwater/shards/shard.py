"""A part of the data, and what it answers: its examples' responses are kept up to date with what the driver decides.

A shard owns nothing that could not be made again: its responses follow from the support vectors, which the driver has.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slackwater.fitting.subspace.basis import Basis
from slackwater.gram.source import IndexArray
from slackwater.kernels.base import Kernel
from slackwater.objectives import hinge_total
from slackwater.points import Points
from slackwater.shards.basins import join_basins, seen_through
from slackwater.shards.examples import Examples
from slackwater.shards.form import Form, Packed, packed
from slackwater.shards.messages import Doubles, Move, Offers, Query, Reply, Report, Request, Windows
from slackwater.shards.offers import in_turn, worst
from slackwater.shards.rows import ClassRows, Summand
from slackwater.shards.span import Position, Question, Span
from slackwater.solvers.coupling import Coupling
from slackwater.water._scan_loops import Basin
from slackwater.workers import Workers

_LEAST_DRAWN = 64  # of each class, for a sample


class OutOfStepError(RuntimeError):
    """A shard has missed rounds, or has made some that the driver knows nothing of."""


@dataclass(frozen=True)
class Plan:
    """What all shards of a fit have in common."""

    kernel: Kernel
    form: Form
    coupling: Coupling
    C: float
    problems: tuple[tuple[tuple[int, int], ...], ...]  # of each: class numbers with their labels, +1 or -1
    n_classes: int
    seed: int
    held_out: float  # share of the examples that training does not see
    two_bytes: bool  # whether kernel rows are kept in two bytes a value


class Restored(NamedTuple):
    """One problem's coefficients, from which a shard can make its responses again."""

    problem: int
    places: IndexArray  # among the rows sent with it
    amounts: Doubles  # y_i α_i
    own: IndexArray
    alpha: Doubles


class Size(NamedTuple):
    """How much of a problem a shard has."""

    n: int
    weight: float  # in training
    held_out: float  # weight of the others


class Described(NamedTuple):
    """Some examples of a shard."""

    row_numbers: IndexArray  # in the user's data
    codes: NDArray[np.intp]
    weights: Doubles


class Verdict(NamedTuple):
    """On a model, by examples that it was not fitted to."""

    wrong: float  # weight of those on the wrong side
    weight: float
    examples: int


class Drawn(NamedTuple):
    """A random sample of a problem's examples."""

    numbers: IndexArray
    positive: NDArray[np.bool_]
    weights: Doubles
    lots: Doubles
    points: Packed


class _Part(NamedTuple):
    """A class within a problem."""

    code: int
    positions: slice  # in the problem
    sign: int


@dataclass
class _Problem:
    """One binary problem over the shard's examples of its classes."""

    parts: list[_Part]
    labels: NDArray[np.int8]
    upper: Doubles
    held_out: Doubles | None  # weight in the hold-out error
    lots: Doubles
    alpha: Doubles
    responses: Doubles
    numbers: IndexArray  # of its examples in the shard; ascending

    def positions(self, examples: IndexArray) -> IndexArray:
        return np.searchsorted(self.numbers, examples)


class Shard:
    """The examples of one part, ordered by class, and the state of every problem over them."""

    def __init__(self, examples: Examples, plan: Plan, cache_bytes: int, workers: Workers | None = None) -> None:
        self.plan, self.examples, self.step = plan, examples, 0
        self._span: Span | None = None
        self._workers = workers or Workers()
        sizes = [len(each) for each in examples.classes]
        self._starts = np.concatenate([[0], np.cumsum(sizes)])
        self._rows = [
            ClassRows(
                plan.kernel,
                each,
                examples.dtype,
                _share(cache_bytes, len(each), examples.n),
                plan.two_bytes,
                self._workers,
            )
            for each in examples.classes
        ]
        self._problems = [self._problem(classes) for classes in plan.problems]

    def sizes(self) -> list[Size]:
        """Of each problem."""
        found = []
        for each in self._problems:
            held_out = 0.0 if each.held_out is None else float(each.held_out.sum())
            found.append(Size(len(each.labels), float(each.upper.sum()) / self.plan.C, held_out))
        return found

    def digest(self) -> str:
        """Of everything that a training state belongs to."""
        return self.examples.digest

    def describe(self, examples: IndexArray) -> Described:
        """Some examples, by their numbers in the shard."""
        every, chosen = self.examples, np.asarray(examples, dtype=np.intp)
        return Described(every.row_numbers[chosen], every.codes[chosen].astype(np.intp), every.weights[chosen])

    def points(self, examples: IndexArray) -> Packed:
        """Points of some examples, by their numbers in the shard, as they travel."""
        return packed(self.examples.take(np.asarray(examples, dtype=np.intp)))

    def drawn(self, problem: int, share: float, seed: int) -> Drawn:
        """So large a share of a problem's examples, but some of each class, as far as there are as many."""
        found = self._problems[problem]
        rng, chosen = np.random.default_rng([seed, problem]), [np.empty(0, np.intp)]
        for part in found.parts:
            size = part.positions.stop - part.positions.start
            count = min(size, max(_LEAST_DRAWN, round(share * size)))
            ranked = np.argsort(found.lots[part.positions])  # by content, not by where rows stand
            chosen.append(part.positions.start + np.sort(ranked[rng.permutation(size)[:count]]))
        places = np.concatenate(chosen)
        numbers = found.numbers[places]
        weights = found.upper[places] / self.plan.C
        return Drawn(numbers, found.labels[places] > 0, weights, found.lots[places], self.points(numbers))

    def exchange(self, request: Request) -> Reply:
        """Move, if this round has not been made yet, and answer the queries."""
        evaluations = 0
        if request.step == self.step + 1:
            evaluations = self._move(request)
            self.step += 1
        elif request.step != self.step:
            raise OutOfStepError(f"at round {self.step}, asked for {request.step}")
        return Reply(self.step, evaluations, [self._report(query) for query in request.queries])

    def restore(self, step: int, rows: Packed | None, problems: Sequence[Restored]) -> int:
        """Begin again with coefficients that the driver knows; returns how many kernel values it took."""
        evaluations = 0
        for restored in problems:
            problem = self._problems[restored.problem]
            problem.alpha[:], problem.responses[:] = 0.0, 0.0
            problem.alpha[problem.positions(restored.own)] = restored.alpha
        if rows is not None:
            points = self.plan.form.unpacked(rows)
            for code, of_class in enumerate(self._rows):
                summands = [s for each in problems for s in self._summands(each, code)]
                evaluations += of_class.add_once(points, summands)
        self.step = step
        return evaluations

    def losses(self, problem: int, scale: float, bias: float) -> float:
        """Hinge losses of a model: this multiple of w, and a bias."""
        found = self._problems[problem]
        return hinge_total(scale * found.responses + found.labels * bias, found.upper)

    def holdout_losses(self, models: Sequence[tuple[int, float, float]]) -> list[float]:
        """The weight of the hold-out examples on the wrong side of models: problem, scale and bias of each."""
        found = []
        for number, scale, bias in models:
            problem = self._problems[number]
            wrong = scale * problem.responses + problem.labels * bias <= 0.0
            found.append(0.0 if problem.held_out is None else float(problem.held_out @ wrong))
        return found

    def unseen_error(self, problem: int, turn: float, scale: float, bias: float) -> Verdict:
        """How a model does on the examples that have not had their turn in a block yet."""
        found = self._problems[problem]
        unseen = (found.lots > turn) & (found.alpha == 0.0) & (found.upper > 0.0)
        wrong = scale * found.responses + found.labels * bias <= 0.0
        return Verdict(float(found.upper @ (unseen & wrong)), float(found.upper @ unseen), int(unseen.sum()))

    # ---- a subspace

    def span(self, problem: int, landmarks: Packed, basis: Basis) -> float:
        """Find coordinates of a problem's examples in the subspace of landmarks; the megabytes they take."""
        found = self._problems[problem]
        points = self.plan.form.unpacked(landmarks)
        points_of, at = self.examples.classes, [part.positions for part in found.parts]
        parts = [(points_of[p.code], found.labels[k], found.upper[k]) for p, k in zip(found.parts, at, strict=True)]
        self._span = Span.of(self.plan.kernel, points, basis, parts, self.plan.coupling.free_bias, self._workers)
        return self._span.megabytes

    def newton(self, position: Position, question: Question) -> Any:
        """Sums over the examples in the subspace."""
        if self._span is None:
            raise OutOfStepError("there are no coordinates")
        return self._span.answer(position, question)

    def forget_span(self) -> None:
        """Free the memory of the coordinates."""
        self._span = None

    # ---- a round

    def _move(self, request: Request) -> int:
        evaluations = 0
        if request.rows is not None:
            points = self.plan.form.unpacked(request.rows)
            for code in range(len(self._rows)):
                evaluations += self._add_to_class(code, request, points)
        for move in request.moves:
            problem = self._problems[move.problem]
            problem.alpha[problem.positions(move.own)] = move.alpha
        return evaluations

    def _add_to_class(self, code: int, request: Request, points: Points) -> int:
        """Rows of those examples that move in a problem which has this class."""
        summands = [summand for move in request.moves for summand in self._summands(move, code)]
        if not summands:
            return 0
        used = np.unique(np.concatenate([each.places for each in summands]))
        if len(used) < len(points):
            points = points.take(used)
            summands = [each._replace(places=np.searchsorted(used, each.places)) for each in summands]
        return self._rows[code].add(request.numbers[used], points, request.transient[used], summands)

    def _summands(self, move: Move | Restored, code: int) -> list[Summand]:
        problem = self._problems[move.problem]
        return [
            Summand(problem.responses[part.positions], problem.labels[part.positions], move.places, move.amounts)
            for part in problem.parts
            if part.code == code and len(move.places)
        ]

    def _report(self, query: Query) -> Report:
        problem = self._problems[query.problem]
        wanted = problem.positions(query.wanted)
        basins, exact = self._basins(problem, query.windows)
        if query.offers == 0:  # a look at the level alone
            return Report(0.0, 0.0, -np.inf, -np.inf, basins, exact, problem.responses[wanted], None)
        shortfall = 1.0 - problem.responses
        rising, falling = self.plan.coupling.pulls(problem.labels, problem.upper, problem.alpha, shortfall)
        report = Report(
            coefficient_sum=float(problem.alpha.sum()),
            squared_norm=float(problem.alpha @ problem.responses),
            top=float(rising.max(initial=-np.inf)),
            bottom=float(falling.max(initial=-np.inf)),
            basins=basins,
            exact=exact,
            wanted=problem.responses[wanted],
            offers=None,
        )
        if np.isfinite(query.turn):
            shortfall -= problem.labels * query.centre
            violating = np.where(shortfall > 0.0, problem.alpha < problem.upper, problem.alpha > 0.0)
            violating[wanted] = False
            chosen = in_turn(violating, problem.labels, problem.lots, query.turn, query.offers)
        else:
            rising[wanted] = falling[wanted] = -np.inf
            chosen = worst(rising + problem.lots, falling + problem.lots, query.offers)
        return report._replace(offers=self._offers(problem, *chosen))

    def _offers(self, problem: _Problem, chosen: IndexArray, first: int, more: bool) -> Offers:
        numbers = problem.numbers[chosen]
        return Offers(
            numbers,
            problem.labels[chosen],
            problem.alpha[chosen],
            problem.upper[chosen],
            problem.lots[chosen],
            problem.responses[chosen],
            first,
            more,
            self.points(numbers),
        )

    def _basins(
        self, problem: _Problem, windows: Windows | None
    ) -> tuple[tuple[Basin, Basin] | None, tuple[bool, bool]]:
        """The two classes of a problem through the windows; without a bias both are all of it."""
        if windows is None:
            return None, (False, False)
        found, free_bias = [], self.plan.coupling.free_bias
        for sign, window in zip((1, -1), windows, strict=True):
            of_class = [
                seen_through(problem.responses[part.positions], problem.upper[part.positions], self.plan.C, window)
                for part in problem.parts
                if part.sign == sign or not free_bias
            ]
            found.append(join_basins(of_class, window))
        return (found[0][0], found[1][0]), (found[0][1], found[1][1])

    # ---- what a shard is made of

    def _problem(self, classes: Sequence[tuple[int, int]]) -> _Problem:
        parts, numbers, at = [], [np.empty(0, np.intp)], 0
        for code, sign in sorted(classes):
            first, last = int(self._starts[code]), int(self._starts[code + 1])
            parts.append(_Part(code, slice(at, at + last - first), sign))
            numbers.append(np.arange(first, last))
            at += last - first
        chosen = np.concatenate(numbers)
        views: Any = slice(int(chosen[0]), int(chosen[-1]) + 1) if _is_run(chosen) else chosen  # copies nothing
        labels = np.concatenate([np.full(p.positions.stop - p.positions.start, p.sign, np.int8) for p in parts])
        weights, hold = self.examples.weights[views], self.examples.held_out[views]
        upper = self.plan.C * np.where(hold, 0.0, weights)
        held_out = np.where(hold, weights, 0.0) if hold.any() else None
        zeros = np.zeros(at)
        return _Problem(parts, labels, upper, held_out, self.examples.lots[views], zeros, zeros.copy(), chosen)


def _share(cache_bytes: int, part: int, whole: int) -> int:
    return int(cache_bytes * part / max(whole, 1))


def _is_run(numbers: IndexArray) -> bool:
    """Whether ascending numbers follow one another."""
    return len(numbers) > 0 and int(numbers[-1] - numbers[0]) == len(numbers) - 1
