"""Decision values of a cross-validation, for several values of C, from one kernel matrix for all folds."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slackwater.deadline import Deadline
from slackwater.estimators.svc import SVC
from slackwater.estimators.validation import Targets
from slackwater.examples import distinct_examples
from slackwater.fitting.kept_part import KeptPart
from slackwater.fitting.one_vs_one import Pair, pairs_of
from slackwater.fitting.shared_path import Goal, PathPoint, SharedPath, WorkingSetFullError, own_view, solve_point
from slackwater.fitting.strategies import exact
from slackwater.fitting.working_set import WorkingSet
from slackwater.gram.features import Features
from slackwater.kernels.blocks import in_type_of_values
from slackwater.memory import SpareMemory
from slackwater.points import as_points
from slackwater.workers import Workers

Floats = NDArray[np.float64]

_MAX_COEFFICIENTS = 2**26  # of all pairs of classes, for all C, in memory together


class FoldValues(NamedTuple):
    """Decision values at the test rows of a fold, for one C: (m,) for two classes, (m, pairs) for more."""

    values: Floats
    seconds: float  # of the training


@dataclass
class SharedFolds:
    """The rows of a search, and the folds that they are cut into."""

    X: Any
    codes: NDArray[np.intp]  # class numbers
    n_classes: int
    weights: Sequence[Floats]  # of the rows in the training part of each fold; 0 for all others
    tests: Sequence[NDArray[np.intp]]  # rows to be scored in each fold
    workers: Workers
    seed: int
    memory: SpareMemory = field(default_factory=SpareMemory)

    def __post_init__(self) -> None:
        ones = np.ones(len(self.codes))
        distinct = distinct_examples(as_points(self.X), self.codes, ones)
        self.n = len(distinct.kept)
        self.example_of = distinct.of_rows(len(self.codes))
        self.parts = [np.bincount(self.example_of, each, self.n).astype(np.float64) for each in self.weights]

    def values(self, estimator: SVC, Cs: Sequence[float], deadline: Deadline) -> list[list[FoldValues]] | None:
        """By fold and rising C; fewer where time is up. None if the kernel matrix cannot be shared."""
        targets = Targets(np.arange(self.n_classes), self.codes, np.ones(len(self.codes)), np.ones(self.n_classes))
        kernel = estimator._make_kernel(self.X)
        workers = self.workers.until(deadline)
        training_set = estimator._training_set(self.X, targets, kernel, self.seed, workers)
        if training_set.features is None or not training_set.certified:
            return None
        estimator.set_params(C=max(Cs))
        solver = estimator._solver(self.n_classes)
        context = estimator._context(solver, training_set, self.n_classes, self.seed, deadline)
        features = exact.features_for(context)
        if features is None:
            return None
        goal, coupling = Goal.of(context), context.solver.coupling
        if self.n_classes == 2:
            labels = np.where(training_set.codes == 1, 1, -1).astype(np.int8)
            shared = SharedPath(
                features, labels, self.parts, Cs, training_set.order, coupling, goal, context.settings.path,
                self.seed, self.memory, deadline,
            )  # fmt: skip
            return self._of_two_classes(shared)
        if not self._pairs_fit(features, len(Cs), context.settings.path.max_at_once):
            return None
        pairs = _Pairs(self, features, training_set.codes, training_set.order, Cs, coupling, goal, deadline)
        return pairs.values()

    def _of_two_classes(self, shared: SharedPath) -> list[list[FoldValues]] | None:
        try:
            solved = shared.solve()
        except WorkingSetFullError:
            return None
        finally:
            shared.release()
        found = []
        for test, points in zip(self.tests, solved, strict=True):
            examples = self.example_of[test]
            complete = [point for point in points if point.reason.value != "max_time"]
            found.append([self._scored(shared, examples, point) for point in complete])
        return found

    def _scored(self, shared: SharedPath, examples: NDArray[np.intp], point: PathPoint) -> FoldValues:
        values = shared.labels[examples] * point.responses[examples] + point.assessment.bias
        return FoldValues(values, point.seconds)

    def _pairs_fit(self, features: Features, n_values: int, most: int) -> bool:
        n_bytes = self.n**2 * features.points.dtype.itemsize
        coefficients = n_values * self.n * self.n_classes * (self.n_classes - 1) // 2
        return self.n <= most and n_bytes <= features.matrix_bytes and coefficients <= _MAX_COEFFICIENTS


@dataclass
class _Pairs:
    """One-vs-one: the problem of each pair of classes, in each fold, on its part of the matrix of all examples."""

    folds: SharedFolds
    features: Features
    codes: NDArray[np.intp]
    order: NDArray[np.intp]
    Cs: Sequence[float]
    coupling: Any
    goal: Goal
    deadline: Deadline

    def values(self) -> list[list[FoldValues]]:
        folds = self.folds
        working = WorkingSet(self.features, folds.n, folds.memory)
        working.admit(self.order)
        try:
            return [self._of_fold(working, number) for number in range(len(folds.parts))]
        finally:
            working.release()

    def _of_fold(self, working: WorkingSet, number: int) -> list[FoldValues]:
        """Solve all pairs, then multiply the kernel values of the test rows by all coefficients at once."""
        pairs, n = pairs_of(self.folds.n_classes), self.folds.n
        coefficients = np.zeros((len(self.Cs), len(pairs), n))
        biases, seconds = np.zeros((len(self.Cs), len(pairs))), np.zeros(len(self.Cs))
        weights = self.folds.parts[number]
        solve = partial(self._solve_pair, working, weights, coefficients, biases, seconds)
        complete = min(self.folds.workers.run(solve, pairs))
        place = np.empty(n, dtype=np.intp)
        place[working.indices] = np.arange(n)
        rows = working.values[place[self.folds.example_of[self.folds.tests[number]]], :n]
        found = []
        for k in range(complete):
            factors = in_type_of_values(coefficients[k][:, working.indices], rows.dtype)
            found.append(FoldValues(np.asarray(rows @ factors, np.float64) + biases[k], float(seconds[k])))
        return found

    def _solve_pair(
        self,
        working: WorkingSet,
        weights: Floats,
        coefficients: NDArray[np.float64],
        biases: Floats,
        seconds: Floats,
        pair: Pair,
    ) -> int:
        """Write the models of a pair for all C; how many there was time for."""
        codes = self.codes[working.indices]
        chosen = ((codes == pair.first) | (codes == pair.second)) & (weights[working.indices] > 0.0)
        view = own_view(working, np.flatnonzero(chosen))
        labels = np.where(self.codes[view.indices] == pair.first, 1, -1).astype(np.int8)
        point, kept = (np.zeros(len(labels)), np.zeros(len(labels))), KeptPart(view)
        for k, C in enumerate(self.Cs):
            begun, upper = time.perf_counter(), C * weights[view.indices]
            alpha, responses, _ = solve_point(kept, self.coupling, labels, upper, point, self.goal, self.deadline)
            if self.deadline.passed():
                return k
            point = alpha, responses
            coefficients[k, pair.number, view.indices] = alpha * labels
            biases[k, pair.number] = self.coupling.bias(labels, upper, alpha, 1.0 - responses)
            seconds[k] += time.perf_counter() - begun
        return len(self.Cs)
