"""Training on the sparse rows of a narrow kernel, and making up for the values that they leave out.

Each value left out is negligible; what a hundred thousand support vectors leave out together need not be. So responses
are computed anew now and then, with all values that tell. From there on the rows have to say only how responses
*change*, and each round leaves an error many times smaller than the one before (iterative refinement).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from slackwater.expansion import Expansion
from slackwater.gram.features import Features
from slackwater.gram.narrow import worthwhile_narrow_rows
from slackwater.gram.source import IndexArray
from slackwater.solvers.drive import Task
from slackwater.solvers.dual_blocks import DualBlocks
from slackwater.stopping import Progress, StopReason, first_reason
from slackwater.training.course import GAPS, HIDDEN, Course
from slackwater.training.estimate import estimated_sum
from slackwater.training.run import Ending, Outcome, Plan, ending, with_losses
from slackwater.training.training_set import TrainingSet

_LOOKED_AT = 4096  # examples by which a model is judged where an estimate will do
_MOST_CORRECTIONS = 4
_FINER = 0.3  # a round's tolerance, compared with what the round before came to


@dataclass
class NarrowTraining:
    """The problems of a training set on the rows of a narrow kernel, which have an order of their own."""

    course: Course
    whole: TrainingSet
    narrow: TrainingSet
    features: Features
    order: IndexArray
    n_classes: int

    def approximate(self, rng: np.random.Generator) -> list[Ending]:
        """Models as good as the optimum, to judge by some of the examples."""
        sample = rng.permutation(self.narrow.n)[:_LOOKED_AT]
        tasks = self.course.tasks(self.narrow, self.n_classes, GAPS[0])
        for _ in range(_MOST_CORRECTIONS):
            reached = self.course.drive(tasks, self.narrow)
            endings = [self._judged(task, sample) for task in tasks]
            if not reached or np.mean([each.assessment.gap for each in endings]) <= (1.0 + HIDDEN) * GAPS[0]:
                return endings
            self._correct(tasks)
            self._go_on(tasks, GAPS[0])
        return self._on_whole_rows(tasks, GAPS[0])

    def exact(self, tol: float) -> list[Ending]:
        """Models whose gap, with all values, is ``tol``."""
        finest = _FINER * tol
        aim = max(GAPS[0], finest)
        tasks = self.course.tasks(self.narrow, self.n_classes, aim)
        before = np.inf
        while True:
            reached = self.course.drive(tasks, self.narrow)
            self._correct(tasks)
            self.course.drive(tasks, self.narrow)  # all have ended: it assesses them as they are now
            if not reached or all(self._is_within(task, tol) for task in tasks):
                return [_renumbered(ending(self.course.solver, task), self.order) for task in tasks]
            gap = max(task.assessment.gap for task in tasks if task.assessment is not None)
            if aim == finest and gap > 0.5 * before:  # a tolerance near the rounding of the rows
                return self._on_whole_rows(tasks, tol)
            before, aim = gap, max(_FINER * min(aim, gap), finest)
            self._go_on(tasks, aim)

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
            task.rules, task.reason, task.resumed_at = self.course.plan.rules(tol), None, task.state.step

    def _is_within(self, task: Task, tol: float) -> bool:
        if task.assessment is None:
            raise RuntimeError("the training loop ended without assessing a model")
        progress = Progress(0, 0, 0.0, gap=task.assessment.gap, violation=task.assessment.violation)
        return first_reason(self.course.plan.make_goals(tol), progress) is StopReason.TOLERANCE

    def _on_whole_rows(self, tasks: Sequence[Task], tol: float) -> list[Ending]:
        """From where the narrow rows have come to, the usual way."""
        finer = self.course.tasks(self.whole, self.n_classes, tol)
        for task, done in zip(finer, tasks, strict=True):
            task.state.step = done.state.step
            task.state.alpha[self.order] = done.state.alpha
            task.state.responses[self.order] = done.state.responses
        self.course.drive(finer, self.whole)
        return [ending(self.course.solver, task) for task in finer]

    def _judged(self, task: Task, sample: IndexArray) -> Ending:
        """The ending as the kernel itself has it, estimated from a sample."""
        found = ending(self.course.solver, task)
        support, coefficients, bias = found.expansion.support, found.expansion.coefficients, found.expansion.bias
        scale = self.course.solver.scaling(task.problem, task.state).scale
        labels = task.problem.labels[sample]
        caps = task.state.caps[sample]
        values = self.features.values(self.order[sample], self.order[support], coefficients[None, :])[:, 0]
        shown = scale * task.state.responses[sample] + labels * bias
        losses = np.maximum(0.0, 1.0 - labels * (values + bias)) - np.maximum(0.0, 1.0 - shown)
        hidden = estimated_sum(caps * losses, task.problem.n, 0.0)
        cost = self.course.solver.C * task.problem.total_weight
        return _renumbered(found._replace(assessment=with_losses(found.assessment, hidden, cost)), self.order)


def train_on_narrow_rows(
    solver: DualBlocks, training_set: TrainingSet, n_classes: int, seed: int, plan: Plan
) -> Outcome | None:
    """Train one model for each binary problem to the plan's tolerance; None if the kernel is not narrow."""
    if training_set.features is None:
        return None
    with Course.of(solver, seed, plan) as course:
        training = narrow_training(
            course, training_set, training_set.features.to_single_precision(), n_classes, course.rng()
        )
        return None if training is None else Outcome(training.exact(plan.tol), course.recorder)


def narrow_training(
    course: Course, whole: TrainingSet, features: Features, n_classes: int, rng: np.random.Generator
) -> NarrowTraining | None:
    """Prepare it; None if the kernel is not narrow."""
    found = worthwhile_narrow_rows(features, rng)
    if found is None:
        return None
    order, rows = found
    return NarrowTraining(course, whole, whole.arranged(order, rows, None), features, order, n_classes)


def _renumbered(found: Ending, numbers: IndexArray) -> Ending:
    """The same, with the numbers that the examples have in the whole."""
    coefficients = np.zeros(len(numbers))
    coefficients[numbers[found.expansion.support]] = found.expansion.coefficients
    return found._replace(expansion=Expansion.from_dense(coefficients, found.expansion.bias))
