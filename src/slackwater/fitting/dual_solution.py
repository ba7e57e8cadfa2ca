"""Dual points of all binary problems of a training set, and the models they stand for."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from slackwater.fitting.training_set import TrainingSet
from slackwater.gram.features import Features
from slackwater.gram.source import IndexArray
from slackwater.solvers.coupling import Scaling
from slackwater.solvers.dual_blocks import DualBlocks


class DualSolution:
    """A dual variable and a response of each example in each problem: ``alpha`` and ``responses``, (problems, n).

    Responses are up to date for the examples of the active set; the others' dual variables are zero. A model is a dual
    point's function times its optimal scale, plus its bias (``scalings``).
    """

    def __init__(self, solver: DualBlocks, whole: TrainingSet, n_classes: int) -> None:
        self.solver, self.whole = solver, whole
        self.problems = whole.problems(n_classes)
        self.labels = np.stack([problem.labels for problem in self.problems])
        self.alpha = np.zeros(self.labels.shape)
        self.responses = np.zeros(self.labels.shape)
        self.scalings: list[Scaling] = []
        self.steps = [0] * len(self.problems)
        self.last_margins = np.full(whole.n, np.inf)  # the least of each example when it was last computed

    @property
    def features(self) -> Features:
        """The points of all examples."""
        if self.whole.features is None:
            raise ValueError("only examples given by features have decision values of their own")
        return self.whole.features

    def support(self) -> IndexArray:
        return np.flatnonzero((self.alpha > 0.0).any(axis=0))

    def signed(self, examples: IndexArray) -> NDArray[np.float64]:
        """Their coefficients: (problems, examples)."""
        return np.asarray(self.alpha[:, examples] * self.labels[:, examples])

    def bounded(self, examples: IndexArray) -> NDArray[np.bool_]:
        """Whose dual variables are at their upper bound: (problems, examples)."""
        upper = np.stack([self.solver.upper_bounds(problem)[examples] for problem in self.problems])
        return np.asarray(self.alpha[:, examples] >= upper)

    def responses_at(self, examples: IndexArray, features: Features) -> NDArray[np.float64]:
        """Responses from the coefficients and the kernel values of ``features``: (problems, examples)."""
        support = self.support()
        values = features.values(examples, support, self.signed(support))
        return np.asarray(self.labels[:, examples] * values.T)

    def margins(self, examples: IndexArray, responses: NDArray[np.float64]) -> NDArray[np.float64]:
        """Margins of the models, from responses: (problems, examples). The least of each is remembered."""
        scale = np.array([[each.scale] for each in self.scalings])
        bias = np.array([[each.bias] for each in self.scalings])
        margins = np.asarray(scale * responses + bias * self.labels[:, examples])
        self.last_margins[examples] = margins.min(axis=0)
        return margins

    def values(self, examples: IndexArray) -> NDArray[np.float64]:
        """Decision values of the models: (problems, examples)."""
        responses = self.responses_at(examples, self.features)
        return np.asarray(self.labels[:, examples] * self.margins(examples, responses))

    def wrong(self, examples: IndexArray, values: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Which examples decision values (problems, examples) put in a wrong class."""
        classes = values[0] > 0.0 if len(values) == 1 else values.argmax(axis=0)
        return np.asarray(self.whole.codes[examples] != classes)

    def within(
        self, examples: IndexArray, responses: NDArray[np.float64], margin: float | NDArray[np.float64]
    ) -> NDArray[np.bool_]:
        """Which examples are support vectors of a problem, or within its screening margin."""
        margins = self.margins(examples, responses)
        return np.asarray(((margins < margin) | (self.alpha[:, examples] > 0.0)).any(axis=0))
