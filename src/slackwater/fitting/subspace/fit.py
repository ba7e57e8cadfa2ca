"""Models of all problems in one subspace, and what fewer landmarks would lose."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from slackwater.fitting.dual_solution import DualSolution
from slackwater.fitting.subspace.newton import losses_of_fewer_landmarks, minimise
from slackwater.fitting.subspace.problem import SubspaceModel, SubspaceProblem, subsampled
from slackwater.gram.source import IndexArray


class Shortage(NamedTuple):
    """How much more some of the landmarks would cost, as a share."""

    by_half: float
    by_three_quarters: float

    @property
    def remaining(self) -> float:
        """What further landmarks would gain, if each quarter of them gains as much less than the one before."""
        ratio = self.by_three_quarters / max(self.by_half, 1e-300)
        return math.inf if ratio >= 0.5 else self.by_three_quarters * ratio / (1.0 - 2.0 * ratio)


class SubspaceFit(NamedTuple):
    """Models in the subspace, found from some of the examples."""

    problems: list[SubspaceProblem]
    models: list[SubspaceModel]

    def objectives(self) -> list[float]:
        return [problem.objective(model) for problem, model in zip(self.problems, self.models, strict=True)]

    def objectives_without_smoothing(self, width: float) -> list[float]:
        """What the best models would cost at least, if these minimise the smoothed objective."""
        costs = []
        for problem, model in zip(self.problems, self.models, strict=True):
            values = problem.values(model)
            costs.append(problem.objective(model, values) - problem.lost_by_smoothing(values, width))
        return costs

    def shortage(self, width: float, examples: IndexArray) -> Shortage:
        """How much more some of the landmarks would cost, judged by some of the examples."""
        judged = SubspaceFit(subsampled(self.problems, examples), self.models)
        pairs = zip(judged.problems, judged.models, strict=True)
        lost = np.sum([losses_of_fewer_landmarks(*pair, width, (0.5, 0.75)) for pair in pairs], axis=0)
        return Shortage(*(lost / max(sum(judged.objectives()), 1e-300)))


def projected(solution: DualSolution, examples: IndexArray, number: int, problem: SubspaceProblem) -> SubspaceModel:
    """A problem's dual solution for some examples, projected on the subspace."""
    scaling = solution.scalings[number]
    coefficients = scaling.scale * solution.alpha[number, examples] * problem.labels
    return SubspaceModel(problem.rmatvec(coefficients), scaling.bias)


def fitted(
    problems: list[SubspaceProblem],
    starts: Sequence[SubspaceModel],
    widths: Sequence[float],
    accuracies: tuple[float, float],
) -> SubspaceFit:
    """Solve the problems side by side, the hinge smoothed ever less, as far as the deadline allows.

    ``accuracies`` are Newton's on the way and for the last width.
    """

    def solved(number: int) -> SubspaceModel:
        model = starts[number]
        for width in widths:
            model = minimise(problems[number], model, width, accuracies[width == widths[-1]])
        return model

    return SubspaceFit(problems, problems[0].workers.run(solved, range(len(problems))))
