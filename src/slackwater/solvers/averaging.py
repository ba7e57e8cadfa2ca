"""Coefficients that are scaled as a whole every step, and their average over the steps, in O(1) a step.

Also which iterates the returned model is the mean of: every stochastic method has the same three choices.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from slackwater.gram.source import RowBlock

Lazy = TypeVar("Lazy", bound="LazyCoefficients")

_FOLD_BELOW = 2.0**-10  # the sum below cancels by a factor of at most 1/scale: three of sixteen digits


@dataclass
class LazyCoefficients:
    """α(t) = scale·values, and Σ_{s<=t} α(s) = past + scale_sum·values - offset. Mutated in place.

    Projecting on the unit ball multiplies every coefficient; here it multiplies one number. A coefficient that
    grows by d at step t was zero that much longer than ``scale_sum·values`` pretends; ``offset`` takes that back.
    """

    values: NDArray[np.float64]
    offset: NDArray[np.float64]
    past: NDArray[np.float64]
    scale: float = 1.0
    scale_sum: float = 0.0

    @classmethod
    def zeros(cls: type[Lazy], n: int) -> Lazy:
        return cls(np.zeros(n), np.zeros(n), np.zeros(n))

    def add(self, index: int, amount: float) -> None:
        increment = amount / self.scale
        self.values[index] += increment
        self.offset[index] += self.scale_sum * increment

    def add_all(self, amounts: NDArray[np.float64]) -> None:
        increments = amounts / self.scale
        self.values += increments
        self.offset += self.scale_sum * increments

    def end_step(self, shrink: float) -> None:
        """Multiply all coefficients by ``shrink`` and count them into the sum."""
        self.scale *= shrink
        self.scale_sum += self.scale
        if self.scale < _FOLD_BELOW:
            self._fold()

    def current(self) -> NDArray[np.float64]:
        return self.scale * self.values

    def total(self) -> NDArray[np.float64]:
        """The sum of the coefficients after each step so far."""
        return self.past + (self.scale_sum * self.values - self.offset)

    def _fold(self) -> None:
        self.past = self.total()
        self.values *= self.scale
        self.offset[:] = 0.0
        self.scale = 1.0
        self.scale_sum = 0.0


@dataclass
class LazyResponses(LazyCoefficients):
    """Responses are linear in the coefficients, so the same trick serves: a step that only scales costs O(1)."""

    def add_rows(self, labels: NDArray[np.int8], rows: RowBlock, amounts: NDArray[np.float64]) -> None:
        """c <- c + y ∘ Σ_k amounts_k row_k."""
        increments = amounts / self.scale
        rows.add_to(self.values, labels, increments)
        if self.scale_sum != 0.0:
            rows.add_to(self.offset, labels, self.scale_sum * increments)

    def at(self, index: int) -> float:
        return float(self.scale * self.values[index])


class Iterate(NamedTuple):
    """A candidate for the model: coefficients and the responses that belong to them."""

    coefficients: NDArray[np.float64]
    responses: NDArray[np.float64]


@dataclass
class Totals:
    """Sums of the coefficients and of the responses over the first ``step`` steps."""

    step: int
    coefficients: NDArray[np.float64] | float = 0.0
    responses: NDArray[np.float64] | float = 0.0


class Averageable(Protocol):
    """A state that keeps the sums of its iterates."""

    step: int
    origin: Totals  # the average runs over the steps after this one
    marker: Totals  # at the last power of two: the next origin of a suffix average

    def latest(self) -> Iterate: ...

    def totals(self) -> Totals: ...


def last_iterate(state: Averageable) -> Iterate:
    return state.latest()


def mean_iterate(state: Averageable) -> Iterate:
    """The mean of the iterates since the origin of the average (Alg. 1, line 13)."""
    steps = state.step - state.origin.step
    if steps <= 0:
        return state.latest()
    totals = state.totals()
    # Differences of long sums can leave -1e-18 where nothing is; the bounds need coefficients >= 0.
    coefficients = np.maximum((totals.coefficients - state.origin.coefficients) / steps, 0.0)
    return Iterate(coefficients, np.asarray((totals.responses - state.origin.responses) / steps))


def advance_suffix(state: Averageable) -> None:
    """At each power of two move the origin to the previous one: the average covers half to three quarters."""
    if state.step & (state.step - 1) == 0:
        state.origin = state.marker
        state.marker = state.totals()


def keep_origin(state: Averageable) -> None:
    """The average runs over all steps: nothing to move."""


def restart_average(state: Averageable) -> None:
    """Forget the iterates so far, as when the problem has changed."""
    state.origin = state.marker = state.totals()


class Averaging(NamedTuple):
    """How the returned model is made of the iterates."""

    iterate: Callable[[Averageable], Iterate]
    after_step: Callable[[Averageable], None]


AVERAGES: dict[str, Averaging] = {
    "uniform": Averaging(mean_iterate, keep_origin),
    "suffix": Averaging(mean_iterate, advance_suffix),
    "last": Averaging(last_iterate, keep_origin),
}
