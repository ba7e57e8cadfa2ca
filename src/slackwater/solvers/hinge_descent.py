"""Stochastic subgradient descent on the hinge loss: what Pegasos and descent in a norm ball have in common.

    w <- Π(decay·w + size·y_i Φ(x_i))  if y_i <w, Φ(x_i)> < 1,  else  w <- decay·w,   i drawn from all examples,

Π the projection on a ball (arXiv:1204.0566, Section 4.2). Responses are kept for all examples, so whether an example
violates its margin is known before its kernel row is asked for.

**An iteration costs** n kernel evaluations if the example drawn violates its margin, and none otherwise.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slackwater.expansion import Expansion
from slackwater.gram.source import RowBlock
from slackwater.objectives import feasible_scale, mean_hinge, weighted_error
from slackwater.problem import Problem
from slackwater.solvers.averaging import (
    AVERAGES,
    Iterate,
    LazyCoefficients,
    LazyResponses,
    Totals,
    restart_average,
)
from slackwater.solvers.base import Assessment, due_ever_further_apart
from slackwater.solvers.urn import Urn

_REFRESH_EVERY = 1024  # steps between two computations of ‖w‖ from scratch, which keep rounding from piling up


class Pace(NamedTuple):
    """What a step multiplies w by, and how much of the example it adds."""

    decay: float
    size: float


@dataclass
class DescentState:
    """Everything the next step needs; mutated in place."""

    step: int
    unit: float  # largest K(x, x)^1/2, where step sizes depend on it
    coefficients: LazyCoefficients
    responses: LazyResponses
    squared_norm: float
    urn: Urn
    origin: Totals
    marker: Totals
    bound: float = 0.0  # the best lower bound on the optimum so far; losses are not negative

    def latest(self) -> Iterate:
        return Iterate(self.coefficients.current(), self.responses.current())

    def totals(self) -> Totals:
        return Totals(self.step, self.coefficients.total(), self.responses.total())


@dataclass(frozen=True)
class HingeDescent(ABC):
    """The common part; a subclass has the objective, its dual bound and the step sizes."""

    average: str

    @property
    def rows_a_step(self) -> int:
        return 1

    @property
    @abstractmethod
    def radius(self) -> float:
        """Of the ball that w is projected on; infinite without projection."""

    @abstractmethod
    def unit(self, problem: Problem) -> float:
        """Largest K(x, x)^1/2 of the examples if the pace depends on it, else 1."""

    @abstractmethod
    def pace(self, step: int, unit: float) -> Pace:
        """Of step 1, 2, …"""

    @abstractmethod
    def objective(self, squared_norm: float, loss: float) -> float:
        """From ‖w‖² and the mean hinge loss."""

    @abstractmethod
    def lower_bound(self, total: float, squared_norm: float, scale: float) -> float:
        """Best bound on the optimum by the dual points β·a, 0 <= β <= scale, with Σ a_i and ‖Σ a_i y_i Φ(x_i)‖²."""

    def due(self, step: int) -> bool:
        return due_ever_further_apart(step)

    def start(self, problem: Problem, rng: np.random.Generator) -> DescentState:
        return DescentState(
            step=0,
            unit=self.unit(problem),
            coefficients=LazyCoefficients.zeros(problem.n),
            responses=LazyResponses.zeros(problem.n),
            squared_norm=0.0,
            urn=Urn.filled_by(rng),
            origin=Totals(0),
            marker=Totals(0),
        )

    def draw(self, problem: Problem, state: DescentState) -> NDArray[np.intp]:
        """An example, with probability proportional to its weight; its row is needed only if it violates its margin."""
        index = state.urn.draw(problem.all_examples, state.responses.values, math.inf)
        violated = state.responses.at(index) < 1.0
        return np.array([index] if violated else [], dtype=np.intp)

    def foresee(self, problem: Problem, state: DescentState, most: int) -> NDArray[np.intp]:
        margin = 1.0 / state.responses.scale
        return state.urn.foresee(problem.all_examples, state.responses.values, margin, most)

    def apply(self, problem: Problem, state: DescentState, indices: NDArray[np.intp], rows: RowBlock) -> None:
        decay, size = self.pace(state.step + 1, state.unit)
        squared_norm = decay**2 * state.squared_norm
        if len(indices):
            (index,) = indices.tolist()
            own = float(rows.among(indices)[0, 0])
            squared_norm += 2.0 * decay * size * state.responses.at(index) + size**2 * own
            state.coefficients.add(index, size / decay)
            state.responses.add_rows(problem.labels, rows, problem.labels[indices].astype(np.float64) * (size / decay))
        norm = math.sqrt(max(squared_norm, 0.0))
        shrink = min(1.0, self.radius / norm) if norm > 0.0 else 1.0
        state.coefficients.end_step(decay * shrink)
        state.responses.end_step(decay * shrink)
        state.squared_norm = squared_norm * shrink**2
        state.step += 1
        if state.step % _REFRESH_EVERY == 0:
            state.squared_norm = float(state.coefficients.current() @ state.responses.current())
        AVERAGES[self.average].after_step(state)

    def assess(self, problem: Problem, state: DescentState) -> Assessment:
        iterate = AVERAGES[self.average].iterate(state)
        squared_norm = max(float(iterate.coefficients @ iterate.responses), 0.0)
        norm = math.sqrt(squared_norm)
        loss = mean_hinge(iterate.responses, problem.weights)
        objective = self.objective(squared_norm, loss)
        bound = max(state.bound, self._bound(problem, iterate), self._bound(problem, state.latest()))
        holdout = problem.holdout
        return Assessment(
            objective=objective,
            bound=bound,
            gap=max(0.0, 1.0 - bound / objective) if objective > 0.0 else 0.0,
            margin=1.0 / norm if norm > 0.0 else math.inf,
            slack_nu=loss / norm if norm > 0.0 else math.nan,
            n_support=int(np.count_nonzero(iterate.coefficients)),
            holdout_error=None if holdout is None else weighted_error(iterate.responses, problem.labels, 0.0, holdout),
        )

    def remember(self, state: DescentState, assessment: Assessment) -> None:
        state.bound = assessment.bound

    def expansion(self, problem: Problem, state: DescentState) -> Expansion:
        coefficients = AVERAGES[self.average].iterate(state).coefficients
        return Expansion.from_dense(coefficients * problem.labels, 0.0)

    def continued(self, state: DescentState) -> DescentState:
        """Carry on from the last iterate towards another optimum: start the average and the bound afresh."""
        restart_average(state)
        state.bound = 0.0
        return state

    def _bound(self, problem: Problem, iterate: Iterate) -> float:
        """The coefficients point in the dual's direction; scaled until none exceeds its share they are feasible."""
        coefficients, responses = iterate
        squared_norm = max(float(coefficients @ responses), 0.0)
        scale = feasible_scale(coefficients, problem.weights)
        return self.lower_bound(float(coefficients.sum()), squared_norm, scale)
