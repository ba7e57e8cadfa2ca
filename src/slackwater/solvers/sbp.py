"""The Stochastic Batch Perceptron, step for step (arXiv:1204.0566, Alg. 1; with a bias, Section 3.6 and Alg. 3).

    max over ‖w‖ <= 1 of f(w),   f(w) = the water level of the responses c_i = y_i <w, Φ(x_i)>.

A step draws an example under water, moves w towards it and projects w back on the unit ball. It needs one kernel
row; with a bias, two: one example of each class, half a step each. That is an unbiased supergradient too, of
smaller variance than one example drawn from both classes, and it keeps Σ α_i y_i = 0, without which the dual
bound would not hold.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from slackwater.errors import IndefiniteKernelError
from slackwater.expansion import Expansion
from slackwater.gram.source import RowBlock
from slackwater.objectives import margin_upper_bound, relative_gap, weighted_error
from slackwater.problem import Problem
from slackwater.solvers.averaging import AVERAGES, Iterate, LazyCoefficients, LazyResponses, Totals, restart_average
from slackwater.solvers.base import Assessment, due_ever_further_apart
from slackwater.solvers.basins import Basins, Levels
from slackwater.solvers.urn import Urn

_ROUNDING = 1e-4  # of float32 kernel values: two nearly equal examples can seem to be at a negative distance
_REFRESH_EVERY = 1024  # steps between two computations of ‖w‖ from scratch, which keep rounding from piling up


@dataclass
class SBPState:
    """Everything the next step needs; mutated in place.

    Responses are scaled as a whole by one number, so that a step touches only those that its rows have values for.
    Levels are found among the values before that scaling, for a volume that is scaled instead.
    """

    step: int
    first_step_size: float  # η_0
    coefficients: LazyCoefficients  # α
    lazy_responses: LazyResponses  # c, and Σ_t c(t)
    squared_norm: float  # r² = ‖w‖²
    unscaled_levels: Levels  # when they were last searched; guesses for the next search
    spread: float  # how far the unscaled levels moved
    urns: list[Urn]
    origin: Totals  # the average runs over the steps after this one
    marker: Totals  # at the last power of two: the next origin of a suffix average
    upper: float = math.inf  # the best upper bound on the optimum so far

    @property
    def responses(self) -> NDArray[np.float64]:
        """c: a copy, n long."""
        return self.lazy_responses.current()

    @property
    def levels(self) -> Levels:
        """In units of the responses."""
        return tuple(self.lazy_responses.scale * level for level in self.unscaled_levels)

    def latest(self) -> Iterate:
        return Iterate(self.coefficients.current(), self.responses)

    def totals(self) -> Totals:
        return Totals(self.step, self.coefficients.total(), self.lazy_responses.total())


@dataclass(frozen=True)
class StochasticBatchPerceptron:
    """Alg. 1. ``nu`` is the slack allowed per unit of weight; ``basins`` says whether the bias is free."""

    nu: float
    basins: Basins
    average: str = "uniform"

    @property
    def rows_a_step(self) -> int:
        return self.basins.count

    def due(self, step: int) -> bool:
        return due_ever_further_apart(step)

    def coefficient_norm(self, weights: NDArray[np.float64], steps: int | None) -> float:
        """On average at most; in units of the margin, which is at least nu (the level of w = 0).

        Responses lie between -1 and 1, so water of volume nu W covers a weight of nu W / 2 or more, and no example of
        weight ω is drawn with a probability above 2ω / nu W. Steps 1/√t add up to 2√T; the last term is their variance.
        """
        if self.nu == 0.0 or steps is None:
            return math.inf
        likeliest = min(1.0, 2.0 * float(weights.max() / weights.sum()) / self.nu)
        return (2.0 * math.sqrt(steps * likeliest) + math.sqrt(1.0 + math.log(max(steps, 1)))) / self.nu

    def start(self, problem: Problem, rng: np.random.Generator) -> SBPState:
        nothing = Totals(0)
        unknown = (math.nan,) * self.basins.count
        return SBPState(
            step=0,
            first_step_size=1.0 / math.sqrt(_largest(problem.rows.diagonal())),
            coefficients=LazyCoefficients.zeros(problem.n),
            lazy_responses=LazyResponses.zeros(problem.n),
            squared_norm=0.0,
            unscaled_levels=unknown,
            spread=0.0,
            urns=[Urn.filled_by(generator) for generator in rng.spawn(self.basins.count)],
            origin=nothing,
            marker=nothing,
        )

    def draw(self, problem: Problem, state: SBPState) -> NDArray[np.intp]:
        """Lines 5-6: find the level and draw from p*, one example from each basin."""
        self._find_levels(problem, state)
        drawn = [
            self._draw_from(urn)(basin, state.lazy_responses.values, level)
            for urn, basin, level in zip(state.urns, self.basins.of(problem), state.unscaled_levels, strict=True)
        ]
        return np.array(drawn, dtype=np.intp)

    def foresee(self, problem: Problem, state: SBPState, most: int) -> NDArray[np.intp]:
        """Rows the coming steps will probably ask for, soonest first."""
        share = max(1, most // len(state.urns))
        foreseen = [
            urn.foresee(basin, state.lazy_responses.values, level, share)
            for urn, basin, level in zip(state.urns, self.basins.of(problem), state.unscaled_levels, strict=True)
        ]
        shortest = min(len(each) for each in foreseen)
        interleaved = np.stack([each[:shortest] for each in foreseen], axis=1).ravel()
        return np.concatenate([interleaved, *(each[shortest:] for each in foreseen)])

    def apply(self, problem: Problem, state: SBPState, indices: NDArray[np.intp], rows: RowBlock) -> None:
        """Lines 4 and 7-12: add the examples to w, project on the unit ball."""
        step_size = state.first_step_size / math.sqrt(state.step + 1) / len(indices)
        amounts = step_size * problem.labels[indices].astype(np.float64)
        responses = state.lazy_responses
        drawn = responses.scale * responses.values[indices]
        squared_norm = state.squared_norm + _growth(drawn, indices, rows, amounts, step_size)
        shrink = 1.0 / math.sqrt(squared_norm) if squared_norm > 1.0 else 1.0
        for index in indices:
            state.coefficients.add(index, step_size)
        state.coefficients.end_step(shrink)
        responses.add_rows(problem.labels, rows, amounts)
        scale = responses.scale * shrink
        responses.end_step(shrink)
        if responses.scale != scale:  # the scale was multiplied into the values
            state.unscaled_levels = tuple(scale * level for level in state.unscaled_levels)
            state.spread *= scale
        state.squared_norm = min(squared_norm, 1.0)
        state.step += 1
        if state.step % _REFRESH_EVERY == 0:
            state.squared_norm = float(state.coefficients.current() @ state.responses)
        AVERAGES[self.average].after_step(state)

    def assess(self, problem: Problem, state: SBPState) -> Assessment:
        coefficients, responses = AVERAGES[self.average].iterate(state)
        margin, bias = self._margin_and_bias(problem, state, responses)
        norm = math.sqrt(max(float(coefficients @ responses), 0.0))
        upper = min(
            state.upper,
            self._upper(problem, coefficients, responses),
            self._upper(problem, *state.latest()),
        )
        holdout = problem.holdout
        return Assessment(
            objective=margin,
            bound=upper,
            gap=relative_gap(margin, upper),
            margin=margin,
            slack_nu=self.nu / norm if norm > 0.0 and margin > 0.0 else math.nan,
            n_support=int(np.count_nonzero(coefficients)),
            holdout_error=None if holdout is None else weighted_error(responses, problem.labels, bias, holdout),
        )

    def remember(self, state: SBPState, assessment: Assessment) -> None:
        state.upper = assessment.bound

    def expansion(self, problem: Problem, state: SBPState) -> Expansion:
        """Line 14: ᾱ/γ, so that the margin is one; unscaled while there is no positive margin."""
        coefficients, responses = AVERAGES[self.average].iterate(state)
        margin, bias = self._margin_and_bias(problem, state, responses)
        scale = 1.0 / margin if margin > 0.0 else 1.0
        return Expansion.from_dense(coefficients * problem.labels * scale, bias * scale)

    def continued(self, state: SBPState) -> SBPState:
        """Carry on from the last iterate towards another nu: start the average and the bound afresh."""
        restart_average(state)
        state.upper = math.inf
        return state

    def _volume(self, problem: Problem) -> float:
        return self.nu * problem.total_weight

    def _draw_from(self, urn: Urn) -> Callable[..., int]:
        # Without slack only the lowest examples are at the level (erratum to line 6: <=, not <).
        return urn.search if self.nu == 0.0 else urn.draw

    def _find_levels(self, problem: Problem, state: SBPState) -> None:
        responses, before = state.lazy_responses, state.unscaled_levels
        volume = self._volume(problem) / responses.scale
        levels = self.basins.levels(problem, responses.values, volume, before, state.spread)
        moved = max(abs(new - old) for new, old in zip(levels, before, strict=True))
        state.spread = moved if moved > 0.0 else 0.0  # NaN at the first search
        state.unscaled_levels = levels

    def _margin_and_bias(
        self, problem: Problem, state: SBPState, responses: NDArray[np.float64]
    ) -> tuple[float, float]:
        spread = state.lazy_responses.scale * state.spread
        levels = self.basins.levels(problem, responses, self._volume(problem), state.levels, spread)
        return self.basins.margin_and_bias(levels)

    def _upper(self, problem: Problem, coefficients: NDArray[np.float64], responses: NDArray[np.float64]) -> float:
        squared_norm = float(coefficients @ responses)
        return margin_upper_bound(coefficients, squared_norm, self._volume(problem), problem.weights)


def _largest(diagonal: NDArray[np.float64]) -> float:
    """max K(x, x), for η_0 (line 1)."""
    largest = float(diagonal.max())
    if largest <= 0.0:
        raise IndefiniteKernelError(
            f"kernel must have K(x, x) > 0 for some x, got at most {largest:g}. "
            "With a linear or polynomial kernel, check that X is not all zero."
        )
    return largest


def _growth(
    drawn: NDArray[np.float64],
    indices: NDArray[np.intp],
    rows: RowBlock,
    amounts: NDArray[np.float64],
    step_size: float,
) -> float:
    """By how much ‖w‖² grows when Σ_k amounts_k Φ(x_k) is added (line 8, for one example or a pair).

    ``drawn`` are the responses of these examples.
    """
    gram = rows.among(indices)
    cross = float(amounts @ gram @ amounts)
    longest = float(amounts**2 @ np.abs(gram.diagonal()))
    if cross < -_ROUNDING * longest:
        raise IndefiniteKernelError(
            f"kernel must be positive semi-definite, but a step has the squared length {cross:g}. "
            "Use another kernel or other kernel parameters."
        )
    return 2.0 * step_size * float(drawn.sum()) + max(cross, 0.0)
