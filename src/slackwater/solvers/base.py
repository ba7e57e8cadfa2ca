"""What the training loop asks of a solver."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from slackwater.expansion import Expansion
from slackwater.gram.source import RowBlock
from slackwater.problem import Problem


class Assessment(NamedTuple):
    """How good the model is that a solver would return now."""

    objective: float  # the value of what the solver optimises
    bound: float  # proven bound on the optimal value, the best one known so far
    gap: float  # relative distance of the two; infinite while there is nothing to compare
    margin: float  # by how much examples are separated, in units of K(x, x)^1/2
    slack_nu: float  # the nu for which the model's norm and loss would be optimal: loss / ‖w‖
    n_support: int
    holdout_error: float | None
    violation: float = 0.0  # by how much an example is on the wrong side of where an optimum has it; 0 if not known


class Solver(Protocol):
    """An algorithm as three phases a step; the training loop fetches rows between the first two.

    ``draw`` chooses the examples whose kernel rows the step needs, ``apply`` performs the step with those rows.
    ``State`` is private to the solver but for ``state.step``, the number of steps done; it is plain data
    (arrays, numbers, generators, dataclasses of those) so that it can be stored and resumed.
    """

    @property
    def rows_a_step(self) -> int:
        """Kernel rows a step needs at the least."""

    def due(self, step: int) -> bool:
        """Whether the model is assessed after so many steps: a function of the number alone."""

    def start(self, problem: Problem, rng: np.random.Generator) -> Any: ...

    def draw(self, problem: Problem, state: Any) -> NDArray[np.intp]: ...

    def foresee(self, problem: Problem, state: Any, most: int) -> NDArray[np.intp]: ...

    def apply(self, problem: Problem, state: Any, indices: NDArray[np.intp], rows: RowBlock) -> None: ...

    def assess(self, problem: Problem, state: Any) -> Assessment:
        """Judge the model that ``expansion`` would return; changes nothing."""

    def remember(self, state: Any, assessment: Assessment) -> None:
        """Keep what a regular assessment found out for the later ones, such as the best bound so far."""

    def continued(self, state: Any) -> Any:
        """The state from which to go on with this solver where one with other parameters left off."""

    def expansion(self, problem: Problem, state: Any) -> Expansion: ...
