"""What the training loop asks of a solver."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol, runtime_checkable

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
    scale: float = 1.0  # the multiple of the solver's w that is the model's, and the model's bias, where a solver
    bias: float = 0.0  # says so

    def with_bound(self, bound: float) -> Assessment:
        """The same of a C-form model, for which a better bound is known from another point."""
        gap = max(0.0, (self.objective - bound) / self.objective) if self.objective > 0.0 else 0.0
        return self._replace(bound=bound, gap=gap)


class Solver(Protocol):
    """An algorithm as three phases a step; the training loop fetches rows between the first two.

    ``draw`` chooses the examples whose kernel rows the step needs, ``apply`` performs the step with those rows.
    ``State`` is private to the solver but for ``state.step``, the number of steps done; it is plain data
    (arrays, numbers, generators, dataclasses of those) so that it can be stored and resumed.

    A solver that must see kernel values before it can choose, or needs some columns of a row only, asks
    ``problem.rows`` for them in ``draw``; they are counted there like any others.
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
        """Assess the model that ``expansion`` would return; changes nothing."""

    def remember(self, state: Any, assessment: Assessment) -> None:
        """Keep what a regular assessment found out for the later ones, such as the best bound so far."""

    def continued(self, state: Any) -> Any:
        """The state from which to go on with this solver where one with other parameters left off."""

    def expansion(self, problem: Problem, state: Any) -> Expansion: ...


def model_of(solver: Solver, problem: Problem, state: Any, assessment: Assessment) -> Expansion:
    """The model of a state that was assessed just now."""
    if isinstance(solver, ScaledAsAssessed):
        return solver.scaled(problem, state, assessment)
    return solver.expansion(problem, state)


class Outlook(NamedTuple):
    """What a solver knows before a step at no cost."""

    next_cost: int  # kernel evaluations the step may need
    violation: float = 0.0  # of the optimality conditions, found when the last step was chosen; 0 if not known
    passes: int = 0  # complete passes over the examples


@runtime_checkable
class Foresighted(Protocol):
    """A solver whose steps do not all cost ``rows_a_step`` rows, or that knows itself when it is done."""

    def outlook(self, problem: Problem, state: Any) -> Outlook: ...


@runtime_checkable
class ScaledAsAssessed(Protocol):
    """A solver whose assessment has found what its model is scaled by, which takes a look at all examples."""

    def scaled(self, problem: Problem, state: Any, assessment: Assessment) -> Expansion:
        """What ``expansion`` would return."""


@runtime_checkable
class RowReuseHint(Protocol):
    """A solver that knows, once it has drawn, which of the examples drawn are not likely to be drawn again."""

    def at_bound(self, problem: Problem, state: Any, indices: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Which coefficients the step leaves at a bound of their box."""


@runtime_checkable
class BoundedCoefficients(Protocol):
    """A solver that knows beforehand how large coefficients can become."""

    def coefficient_norm(self, weights: NDArray[np.float64], steps: int | None) -> float:
        """‖a‖₂ of the coefficients of a function with margin one, at most or on average; infinite if unbounded.

        ``steps`` is how many are made at most, None if there is no limit.
        """


@runtime_checkable
class Prudent(Protocol):
    """A solver whose model can become worse from one step to the next, and that keeps the best one."""

    def keep_best(self, problem: Problem, state: Any, assessment: Assessment) -> None:
        """Compare the model of a regular assessment with the best so far."""

    def best(self, problem: Problem, state: Any, assessment: Assessment) -> Any:
        """What ``assess`` and ``expansion`` take for the best model so far: the state itself, or an earlier point."""


@runtime_checkable
class Redrawable(Protocol):
    """A solver whose ``draw`` replaces attributes of the state and changes none in place: a shallow copy undoes it."""

    redrawable: bool


@runtime_checkable
class Paced(Protocol):
    """A solver whose steps are small parts of a pass over the examples."""

    def epochs(self, n: int, step: int) -> float:
        """The passes over n examples to which so many steps amount: a function of the numbers alone."""


def due_ever_further_apart(step: int) -> bool:
    """At steps 16, 32, …, 256 and then at ever wider distances, a sixteenth of the way apart."""
    distance = max(16, 1 << max(0, step.bit_length() - 5))
    return step > 0 and step % distance == 0
