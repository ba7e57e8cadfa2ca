"""The examples that a dual solution is solved for, and their kernel rows."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from slackwater.deadline import CutShort
from slackwater.fitting.compression import Compression
from slackwater.fitting.context import FitContext
from slackwater.fitting.dual_solution import DualSolution
from slackwater.fitting.training_set import TrainingSet
from slackwater.gram.features import beside_a_matrix, worth_keeping
from slackwater.gram.source import IndexArray
from slackwater.gram.storage import compacted
from slackwater.solvers.drive import Task


class ActiveSet:
    """Examples at work, with the rows of their kernel matrix; the set changes, and rows are carried over."""

    def __init__(self, context: FitContext, solution: DualSolution, examples: IndexArray) -> None:
        self.context, self.solution = context, solution
        self.examples = examples
        self.tasks: list[Task] = []  # as they were last solved
        self.compression = Compression()
        features = solution.features
        self._memory = features.row_memory(worth_keeping(features, len(solution.problems)))
        self._memory.restrict(beside_a_matrix(features, len(solution.problems)))
        chosen = features.part(examples)
        self.rows = chosen.rows(self._memory)
        self.part: TrainingSet = solution.whole.arranged(examples, self.rows, chosen)

    def solve(self, tol: float, worst_first: bool = True) -> bool:
        """Solve to a relative gap; False if something else ended it.

        Worst violators first, if there are models already; else in random order, which is sooner where most newcomers
        become support vectors.
        """
        solution, before = self.solution, self.tasks
        self.tasks = self.context.tasks(self.part, tol)
        for number, task in enumerate(self.tasks):
            task.state.step = solution.steps[number]
            if worst_first and solution.steps[number] > 0:
                task.state.turn = math.inf
            task.state.alpha[:] = solution.alpha[number, self.examples]
            task.state.responses[:] = solution.responses[number, self.examples]
        try:
            reached = self.context.solve_stage(self.tasks, self.part)
        except CutShort:  # before there were models: those of the stage before are the last ones
            self.tasks = before
            raise
        for number, task in enumerate(self.tasks):
            solution.steps[number] = task.state.step
            solution.alpha[number, self.examples] = task.state.alpha
            solution.responses[number, self.examples] = task.state.responses
        solver, workers = solution.solver, solution.features.workers
        solution.scalings = workers.run(lambda task: solver.scaling(task.problem, task.state), self.tasks)
        return reached

    def admit(self, newcomers: IndexArray, margin: float) -> None:
        """Screen the active examples and the newcomers by their rows; those within the margin are active next."""
        self.change(self._places_within(margin), newcomers)
        self.solution.responses[:, newcomers] = self._responses_by_rows(newcomers)
        self.change(self._places_within(margin), newcomers[:0])

    def use_all_memory(self) -> None:
        """Let rows have the memory that was left to other strategies, from the next change of the set on."""
        self._memory.restrict(len(self._memory))

    def admit_all(self) -> None:
        """Screen none any more."""
        self.admit(self.screened, math.inf)

    def screen(self, margin: float, min_share: float) -> IndexArray:
        """Set aside examples beyond the margin, if they are at least so large a share; returns them."""
        kept = self._places_within(margin)
        if len(kept) > (1.0 - min_share) * len(self.examples):
            return self.examples[:0]
        before = self.examples
        self.change(kept, kept[:0])
        return self.screened_of(before)

    def change(self, kept: IndexArray, newcomers: IndexArray) -> None:
        """Go on with some of the active examples, by their places, and with newcomers."""
        kept = compacted(kept)
        place = np.full(self.solution.whole.n, -1)
        place[self.examples] = np.arange(len(self.examples))
        rows_kept = place[self.solution.support()]
        self.examples = np.concatenate([self.examples[kept], newcomers])
        if self.part.features is not None:
            self.part.features.points.forget()  # copies of the points there were and of those to come are enough
        features = self.compression.part(self.solution.features, self.examples)
        if self.compression.two_byte == self.rows.two_bytes:
            self.rows = self.rows.carried_over(features.direct_rows(), kept, rows_kept)
        else:
            self.rows = features.rows(self._memory, self.compression.two_byte)
        self.part = self.solution.whole.arranged(self.examples, self.rows, features)

    def decompress(self) -> None:
        """From now on rows without rounding."""
        self.compression = Compression()
        self.change(np.arange(len(self.examples)), self.examples[:0])
        self.solution.responses[:, self.examples] = self._responses_by_rows(self.examples)

    @property
    def screened(self) -> IndexArray:
        """Examples that are not active."""
        others = np.ones(self.solution.whole.n, dtype=bool)
        others[self.examples] = False
        return np.flatnonzero(others)

    def screened_of(self, examples: IndexArray) -> IndexArray:
        """Those that are not active, in an order that does not depend on how the examples are numbered."""
        screened = np.setdiff1d(examples, self.examples)
        return screened[self.solution.whole.ranked(screened)]

    def support_fraction(self) -> float:
        """The share of active examples that are support vectors of any problem."""
        return len(self.solution.support()) / len(self.examples)

    def not_supporting(self, at_least: int) -> IndexArray:
        """Active examples other than support vectors, if there are as many.

        Like newcomers, they have no share in their own response, which is what fewer coordinates show worst.
        """
        others = self.examples[~(self.solution.alpha[:, self.examples] > 0.0).any(axis=0)]
        return others if len(others) >= at_least else self.examples

    def _places_within(self, margin: float) -> IndexArray:
        responses = self.solution.responses[:, self.examples]
        return np.flatnonzero(self.solution.within(self.examples, responses, margin))

    def _responses_by_rows(self, last: IndexArray) -> NDArray[np.float64]:
        """Responses of the last of the active examples, by rows that are kept, as far as they are to be."""
        solution, active = self.solution, self.examples
        supporting = solution.alpha[:, active] > 0.0
        free = np.asarray((supporting & ~solution.bounded(active)).any(axis=0))
        lasting = free | self.rows.held | (not self.rows.cheap_to_recompute)
        kept, others = (np.flatnonzero(supporting.any(axis=0) & each) for each in (lasting, ~lasting))
        if len(kept) > self.rows.slots:
            return solution.responses_at(last, solution.features)
        rows = self.rows.fetch(kept, transient=~free[kept])
        values = rows.combinations(solution.signed(active[kept]), len(active) - len(last))
        if len(others):
            values += solution.features.values(last, active[others], solution.signed(active[others])).T
        return np.asarray(solution.labels[:, last] * values)
