"""Dual solutions that grow with the examples they know of.

Most examples of a near-separable problem lie beyond the margin and never matter; which, a solution of a part of the
data tells almost as well as the final one. So training begins with a sample and lets in the others in a few rounds.
Newcomers are judged by the support vectors found so far, and those beyond the margin are set aside: kernel rows are
computed for the others alone.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slackwater.expansion import Expansion
from slackwater.gram.features import Features
from slackwater.gram.source import IndexArray
from slackwater.objectives import hinge_total
from slackwater.solvers.coupling import Scaling
from slackwater.solvers.drive import Task
from slackwater.training.course import Course
from slackwater.training.run import Ending, with_losses
from slackwater.training.training_set import TrainingSet

BEYOND = 1.1  # the margin from which on an example is set aside
_NEAREST, _OTHERS = 1024, 512  # of the examples set aside, those that are looked at again in the end


class Look(NamedTuple):
    """Examples set aside that models are judged by in the end."""

    examples: IndexArray
    stands_for: NDArray[np.float64]  # so many examples, each of them
    responses: NDArray[np.float64]  # (problems, examples)


class Growth:
    """Dual points of all problems of a training set, of which only some examples are active so far.

    ``alpha`` and ``responses`` have a row for each problem; the responses are kept up to date for active examples.
    """

    def __init__(self, course: Course, whole: TrainingSet, n_classes: int) -> None:
        self.sketch: Features | None = None  # for a first, cheap judgement of newcomers
        self.course = course
        self.whole = whole
        self.n_classes = n_classes
        self.problems = whole.problems(n_classes)
        self.labels = np.stack([problem.labels for problem in self.problems])
        self.alpha = np.zeros(self.labels.shape)
        self.responses = np.zeros(self.labels.shape)
        self.active: IndexArray = np.empty(0, dtype=np.intp)
        self.judged = np.full(whole.n, np.inf)  # the least margin of each example when it was last looked at
        self.steps = [0] * len(self.problems)
        self.tasks: list[Task] = []

    def solve(self, examples: IndexArray, tol: float) -> bool:
        """Make these examples the active ones and solve; False if something else than the tolerance ended it."""
        part = self.whole.part(examples)
        self.tasks = self.course.tasks(part, self.n_classes, tol)
        for number, task in enumerate(self.tasks):
            task.state.step = self.steps[number]
            task.state.alpha[:] = self.alpha[number, examples]
            task.state.responses[:] = self.responses[number, examples]
        reached = self.course.drive(self.tasks, part)
        for number, task in enumerate(self.tasks):
            self.steps[number] = task.state.step
            self.alpha[number, examples] = task.state.alpha
            self.responses[number, examples] = task.state.responses
        self.active = examples
        return reached

    def let_in(self, newcomers: IndexArray) -> IndexArray:
        """Judge newcomers by the support vectors; the examples to be active next."""
        likely = newcomers if self.sketch is None else self._likely(newcomers, self.sketch)
        self.responses[:, likely] = self._responses(likely, self._features())
        self.active = np.union1d(self.active, likely)
        return self.active[self._matters(self.active, self.responses[:, self.active], BEYOND)]

    def _likely(self, newcomers: IndexArray, sketch: Features) -> IndexArray:
        """Those that a sketch of the data does not place safely beyond the margin."""
        error = self._responses(self.active, sketch) - self.responses[:, self.active]
        safely = BEYOND + 2.0 * float(np.sqrt(np.mean(error**2, axis=1)).max())
        return newcomers[self._matters(newcomers, self._responses(newcomers, sketch), safely)]

    def bounded_share(self) -> float:
        """The share of active examples whose coefficients are as large as they may be, over all problems."""
        caps = np.stack([self.course.solver.caps(problem)[self.active] for problem in self.problems])
        return float(np.mean(self.alpha[:, self.active] >= caps))

    @property
    def aside(self) -> IndexArray:
        """Examples that are not active."""
        return np.setdiff1d(np.arange(self.whole.n), self.active)

    def look_back(self, rng: np.random.Generator) -> Look:
        """Of the examples set aside, those that were nearest to the margin then, and some of the others."""
        aside = self.aside
        aside = aside[np.argsort(self.judged[aside], kind="stable")]
        others = rng.permutation(aside[_NEAREST:])[:_OTHERS]
        stand_for = np.full(len(others), max(len(aside) - _NEAREST, 0) / max(len(others), 1))
        examples = np.concatenate([aside[:_NEAREST], others])
        stands_for = np.concatenate([np.ones(len(examples) - len(others)), stand_for])
        return Look(examples, stands_for, self._responses(examples, self._features()))

    def endings(self, look: Look) -> list[Ending]:
        """The models, with what they cost on all examples, also on those that were set aside."""
        endings = []
        for number, task in enumerate(self.tasks):
            if task.assessment is None or task.reason is None:
                raise RuntimeError("the training loop ended without assessing a model")
            scaling = self.scaling(task)
            problem = self.problems[number]
            margins = scaling.scale * look.responses[number] + problem.labels[look.examples] * scaling.bias
            caps = look.stands_for * self.course.solver.caps(problem)[look.examples]
            assessment = with_losses(task.assessment, hinge_total(margins, caps))
            coefficients = scaling.scale * self.alpha[number] * problem.labels
            expansion = Expansion.from_dense(coefficients, scaling.bias)
            endings.append(Ending(expansion, assessment, task.reason, task.state.step))
        return endings

    def scaling(self, task: Task) -> Scaling:
        return self.course.solver.scaling(task.problem, task.state)

    def _features(self) -> Features:
        if self.whole.features is None:
            raise ValueError("only examples given by features can be judged one by one")
        return self.whole.features

    def _responses(self, examples: IndexArray, features: Features) -> NDArray[np.float64]:
        """Responses of examples, of all problems, from the coefficients: shape (problems, examples)."""
        support = np.flatnonzero((self.alpha > 0.0).any(axis=0))
        signed = self.alpha[:, support] * self.labels[:, support]
        return np.asarray(self.labels[:, examples] * features.values(examples, support, signed).T)

    def _matters(self, examples: IndexArray, responses: NDArray[np.float64], beyond: float) -> NDArray[np.bool_]:
        """Which examples are support vectors of a problem, or not beyond its margin."""
        scalings = [self.scaling(task) for task in self.tasks]
        scale = np.array([[each.scale] for each in scalings])
        bias = np.array([[each.bias] for each in scalings])
        margins = scale * responses + bias * self.labels[:, examples]
        self.judged[examples] = margins.min(axis=0)
        return np.asarray(((margins < beyond) | (self.alpha[:, examples] > 0.0)).any(axis=0))
