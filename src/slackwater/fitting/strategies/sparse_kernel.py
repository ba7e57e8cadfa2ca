"""Sparse kernel: the dual on sparse rows of a kernel that is narrow, and corrections for the values they leave out.

Each value left out is negligible; what a hundred thousand support vectors leave out together need not be. So responses
are computed anew now and then, with all values that tell. From there on the rows have to say only how responses
*change*, and each round leaves an error many times smaller than the one before (iterative refinement).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from slackwater.expansion import Expansion
from slackwater.fitting.context import FitContext
from slackwater.fitting.estimate import estimated_sum
from slackwater.fitting.result import BinaryResult, result_of, with_losses
from slackwater.fitting.sample import Start
from slackwater.fitting.training_set import TrainingSet
from slackwater.gram.features import Features, room_for_matrix
from slackwater.gram.narrow import NEGLIGIBLE, NarrowRows, NoRoomError, share_above_negligible
from slackwater.gram.source import IndexArray
from slackwater.points import DensePoints
from slackwater.points.leaves import Leaves
from slackwater.solvers.drive import Task
from slackwater.stopping import Progress, StopReason, first_reason

NAME = "sparse_kernel"
_CLEARLY = 5.0  # times the largest share: more than the estimate from few points can be off by


def attempt(start: Start) -> list[BinaryResult] | None:
    """Models on sparse rows, to the tolerance stated or to that which the sample chooses; None if they do not pay."""
    context = start.context
    training = _prepared(context, start.features)
    if training is None:
        return None
    if context.stopping.tol is not None:
        return training.exact(context.stopping.tol)
    if context.choice is not None:
        return training.approximate(context.choice.tol)
    return training.approximate(start.sample.tol) if start.sample.reached else None


def _prepared(context: FitContext, features: Features) -> SparseKernelTraining | None:
    """Sparse rows of all points, where the kernel is so narrow that they pay."""
    settings, kernel, points = context.settings.sparse_kernel, features.kernel, features.points
    cutoff = kernel.squared_cutoff(NEGLIGIBLE)
    if not math.isfinite(cutoff) or not isinstance(points, DensePoints):
        return None
    share = share_above_negligible(features, context.rng, clearly=_CLEARLY * settings.max_share)
    if not context.decide(NAME, f"kernel values above {NEGLIGIBLE:g}, share", share, "<=", settings.max_share):
        return None
    problems = 1 if context.n_classes == 2 else context.n_classes
    sampled = context.stopping.tol is None  # whose rows are in memory as well
    room = room_for_matrix(features, problems) if sampled else features.matrix_bytes
    if not context.has_room(NAME, "sparse rows", 8.0 * share * features.n**2, room):
        return None
    context.stage(f"sparse_kernel, {features.n:,} examples")
    leaves = Leaves(points, features.workers.deadline)
    near = leaves.share_near(cutoff)
    if not context.decide(NAME, "pairs of leaves that are near, share", near, "<=", settings.max_near):
        return None
    try:
        rows = NarrowRows(kernel, leaves, features.ledger, features.workers, room)
    except NoRoomError as error:
        context.has_room(NAME, "sparse rows", error.n_bytes, room)
        return None
    whole = context.training_set
    narrow = whole.arranged(leaves.order, rows, None)
    return SparseKernelTraining(context, whole, narrow, rows, features, leaves.order, room)


@dataclass
class SparseKernelTraining:
    """The problems of a training set on the sparse rows of a narrow kernel, which have an order of their own."""

    context: FitContext
    whole: TrainingSet
    narrow: TrainingSet
    matrix: NarrowRows
    features: Features
    order: IndexArray
    room: int  # bytes, for the matrix or what takes its place

    def approximate(self, tol: float) -> list[BinaryResult]:
        """Models with a gap of ``tol``, estimated from some of the examples."""
        settings = self.context.settings.sparse_kernel
        limit = (1.0 + self.context.settings.tolerance.max_unknown) * tol
        examples = self.context.rng.permutation(self.narrow.n)[: settings.audit_examples]
        tasks = self.context.tasks(self.narrow, tol)
        if self.context.choice is not None:
            self._begin_warm(tasks)
        for _ in range(settings.max_corrections):
            reached = self.context.solve_stage(tasks, self.narrow)
            if self.context.cut_short():
                return [self._unaudited(task) for task in tasks]
            results = [self._audited(task, examples) for task in tasks]
            gap = float(np.mean([each.assessment.gap for each in results]))
            if (
                not reached
                or _stalled(tasks)
                or self.context.decide(NAME, "relative gap with all kernel values", gap, "<=", limit)
            ):
                return results
            self._correct(tasks)
            self._go_on(tasks, tol)
        return self._on_whole_rows(tasks, tol)

    def exact(self, tol: float) -> list[BinaryResult]:
        """Models whose gap, with all values, is ``tol``."""
        settings = self.context.settings.sparse_kernel
        refinement = settings.refinement
        finest = refinement * tol
        aim = max(self.context.settings.tolerance.gaps[0], finest)
        tasks = self.context.tasks(self.narrow, aim)
        before = np.inf
        while True:
            reached = self.context.solve_stage(tasks, self.narrow)
            if self.context.cut_short():
                return [self._unaudited(task) for task in tasks]
            self._correct(tasks)
            self.context.solve_stage(tasks, self.narrow)  # all have ended: it assesses them as they are now
            if not reached or _stalled(tasks) or all(self._is_within(task, tol) for task in tasks):
                return [_renumbered(result_of(self.context.solver, task), self.order) for task in tasks]
            gap = max(task.assessment.gap for task in tasks if task.assessment is not None)
            if aim == finest and gap > settings.min_progress * before:  # a tolerance near the rounding of the rows
                return self._on_whole_rows(tasks, tol)
            before, aim = gap, max(refinement * min(aim, gap), finest)
            self._go_on(tasks, aim)

    def _begin_warm(self, tasks: Sequence[Task]) -> None:
        """Begin at the dual point of an earlier model, if this fit goes on from one."""
        warm = self.context.warm
        if warm is None:
            return
        for number, task in enumerate(tasks):
            task.state.alpha[:], task.state.turn = warm.alpha[number, self.order], math.inf
            task.state.step = task.first_step = task.resumed_at = int(warm.steps[number])
        self._correct(tasks)

    def _correct(self, tasks: Sequence[Task]) -> None:
        """Compute the responses anew, with the values that the rows leave out."""
        alpha = np.stack([task.state.alpha for task in tasks])
        labels = np.stack([task.problem.labels for task in tasks])
        support = np.flatnonzero(alpha.any(axis=0))
        signed: NDArray[np.float64] = alpha[:, support] * labels[:, support]
        values = self.features.values_without_far(self.order, self.order[support], signed)
        for task, own in zip(tasks, values.T, strict=True):
            task.state.responses[:] = task.problem.labels * own

    def _go_on(self, tasks: Sequence[Task], tol: float) -> None:
        for task in tasks:
            task.rules, task.reason, task.resumed_at = self.context.stopping.rules(tol), None, task.state.step

    def _is_within(self, task: Task, tol: float) -> bool:
        if task.assessment is None:
            raise RuntimeError("the training loop ended without assessing a model")
        progress = Progress(0, 0, 0.0, gap=task.assessment.gap, violation=task.assessment.violation)
        return first_reason(self.context.stopping.make_goals(tol), progress) is StopReason.TOLERANCE

    def _on_whole_rows(self, tasks: Sequence[Task], tol: float) -> list[BinaryResult]:
        """From where the narrow rows have come to, the usual way."""
        self.matrix.release()
        given = self.whole.features or self.features
        whole = replace(self.whole, rows=given.rows(given.row_memory(self.room)))
        finer = self.context.tasks(whole, tol)
        for task, done in zip(finer, tasks, strict=True):
            task.state.step = done.state.step
            task.state.alpha[self.order] = done.state.alpha
            task.state.responses[self.order] = done.state.responses
        self.context.solve_stage(finer, whole)
        return [result_of(self.context.solver, task) for task in finer]

    def _unaudited(self, task: Task) -> BinaryResult:
        """The result with the values of the rows alone: time is up."""
        return _renumbered(result_of(self.context.solver, task)._replace(certified=False), self.order)

    def _audited(self, task: Task, examples: IndexArray) -> BinaryResult:
        """The result with all kernel values, estimated from some of the examples."""
        found = result_of(self.context.solver, task)
        support, coefficients, bias = found.expansion.support, found.expansion.coefficients, found.expansion.bias
        scale = self.context.solver.scaling(task.problem, task.state).scale
        labels = task.problem.labels[examples]
        upper = task.state.upper[examples]
        values = self.features.values(self.order[examples], self.order[support], coefficients[None, :])[:, 0]
        shown = scale * task.state.responses[examples] + labels * bias
        losses = np.maximum(0.0, 1.0 - labels * (values + bias)) - np.maximum(0.0, 1.0 - shown)
        hidden = estimated_sum(upper * losses, task.problem.n, 0.0)
        cost = self.context.solver.C * task.problem.total_weight
        assessment, complete = with_losses(found.assessment, hidden, cost), len(examples) == task.problem.n
        return _renumbered(found._replace(assessment=assessment, certified=complete), self.order)


def _stalled(tasks: Sequence[Task]) -> bool:
    """Whether the error on hold-out examples does not improve any more."""
    return any(task.reason is StopReason.HOLDOUT for task in tasks)


def _renumbered(found: BinaryResult, numbers: IndexArray) -> BinaryResult:
    """The same, with the numbers that the examples have in the whole."""
    coefficients = np.zeros(len(numbers))
    coefficients[numbers[found.expansion.support]] = found.expansion.coefficients
    return found._replace(expansion=Expansion.from_dense(coefficients, found.expansion.bias))
