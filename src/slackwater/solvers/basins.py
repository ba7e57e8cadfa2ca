"""Where the water stands: one basin for all examples, or one for each class when the bias is free.

Levels are kept in units of the responses, one for each basin: (γ,), or (γ - b, γ + b) for the positive and the
negative examples. An example is under water if its response does not exceed the level of its basin.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from slackwater.problem import Basin, Problem

Levels = tuple[float, ...]


class Basins(Protocol):
    """How examples are divided into basins and how the levels are found."""

    count: ClassVar[int]

    def of(self, problem: Problem) -> tuple[Basin, ...]: ...

    def levels(
        self, problem: Problem, responses: NDArray[np.float64], volume: float, guess: Levels, spread: float
    ) -> Levels: ...

    def margin_and_bias(self, levels: Levels) -> tuple[float, float]: ...


@dataclass(frozen=True)
class OneBasin:
    """No bias: a common level for all examples (Alg. 2)."""

    count: ClassVar[int] = 1

    def of(self, problem: Problem) -> tuple[Basin, ...]:
        return (problem.all_examples,)

    def levels(
        self, problem: Problem, responses: NDArray[np.float64], volume: float, guess: Levels, spread: float
    ) -> Levels:
        from slackwater.water import _loops

        return (_loops.find_level(responses, problem.weights, volume, guess[0], spread),)

    def margin_and_bias(self, levels: Levels) -> tuple[float, float]:
        return levels[0], 0.0


@dataclass(frozen=True)
class TwoBasins:
    """A free bias: equal weight under water in both classes (Alg. 3)."""

    count: ClassVar[int] = 2

    def of(self, problem: Problem) -> tuple[Basin, ...]:
        return (problem.positives, problem.negatives)

    def levels(
        self, problem: Problem, responses: NDArray[np.float64], volume: float, guess: Levels, spread: float
    ) -> Levels:
        from slackwater.water import _loops

        found: Levels = _loops.find_level_and_bias(
            responses, problem.labels, problem.weights, volume, guess[0], guess[1], spread
        )
        return found

    def margin_and_bias(self, levels: Levels) -> tuple[float, float]:
        positive, negative = levels
        return 0.5 * (positive + negative), 0.5 * (negative - positive)
