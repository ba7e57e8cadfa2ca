"""A problem's examples of a shard in the subspace of some landmarks, and the sums that Newton's method asks for.

Every question says at which model, and along which direction, so that a shard that was made again, or that has answered
already, gives the same answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slackwater.fitting.subspace.basis import Basis, make_orthonormal
from slackwater.fitting.subspace.newton import Derivatives, LocalLosses
from slackwater.fitting.subspace.problem import Doubles, SubspaceModel, SubspaceProblem
from slackwater.kernels.base import Kernel
from slackwater.kernels.blocks import block
from slackwater.memory import untouched
from slackwater.points import Points
from slackwater.shards.pieces import Pieces
from slackwater.workers import Workers


class Position(NamedTuple):
    """Where Newton's method is."""

    step: int  # counted since the fit began
    width: float  # over which the hinge is smoothed
    model: SubspaceModel
    direction: SubspaceModel | None


class Question(NamedTuple):
    """What it wants to know there."""

    kind: str  # "total", "derivatives", "slope" or "hinge"
    argument: float = 0.0


@dataclass
class Span:
    """Coordinates of the examples of each class of one problem."""

    problems: list[SubspaceProblem]

    def __post_init__(self) -> None:
        self._losses: list[LocalLosses] = []
        self._step = self._direction_of = -1
        self._width = 0.0

    @classmethod
    def of(
        cls,
        kernel: Kernel,
        landmarks: Points,
        basis: Basis,
        parts: Sequence[tuple[Pieces, NDArray[np.int8], Doubles]],
        free_bias: bool,
        workers: Workers,
    ) -> Span:
        """Compute the coordinates; ``parts`` have points, labels and upper bounds."""
        problems = []
        for pieces, labels, upper in parts:
            coordinates = untouched((len(labels), len(landmarks)), landmarks.dtype)
            for start, points in pieces:
                own = coordinates[start : start + len(points)]
                block(kernel, points, landmarks, out=own, workers=workers)
                make_orthonormal(own, basis, workers)
            problems.append(SubspaceProblem(coordinates, labels, upper, free_bias, workers))
        return cls(problems)

    @property
    def megabytes(self) -> float:
        return sum(each.coordinates.nbytes for each in self.problems) / 2**20

    def answer(self, position: Position, question: Question) -> Any:
        """A number, or derivatives: summed over the classes."""
        self._go_to(position)
        if question.kind == "derivatives":
            return Derivatives.total([each.derivatives(anew=bool(question.argument)) for each in self._losses])
        if question.kind == "slope":
            return sum(each.slope(question.argument) for each in self._losses)
        if question.kind == "hinge":
            return sum(_hinge(each, position.model) for each in self.problems)
        return sum(each.total() for each in self._losses)

    def _go_to(self, position: Position) -> None:
        if not self._losses or position.width != self._width:
            self._losses = [LocalLosses(each, position.width) for each in self.problems]
            self._width, self._step = position.width, -1
        if position.step != self._step:
            for each in self._losses:
                each.begin(position.model)
            self._step, self._direction_of = position.step, -1
        if position.direction is not None and self._direction_of != position.step:
            for each in self._losses:
                each.look_along(position.direction)
            self._direction_of = position.step


def _hinge(problem: SubspaceProblem, model: SubspaceModel) -> float:
    """Losses with the hinge as it is."""
    return problem.objective(model) - 0.5 * float(model.weights @ model.weights)
