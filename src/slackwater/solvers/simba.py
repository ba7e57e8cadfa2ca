"""SIMBA (Hazan, Koren, Srebro: Beating SGD: Learning SVMs in Sublinear Time, NIPS 2011), for linear SVMs.

The slack-constrained problem (arXiv:1204.0566, eq. 2.3) as a game between w and a distribution p over the examples.
Where the SBP optimises p fully, which needs all responses, SIMBA makes a stochastic mirror step on it, which needs one
feature of every example (Section 4.1). With labels folded into the examples, x_i for y_i x_i, r = max ‖x_i‖, step t is

    draw i from p;  u <- Σ of the examples drawn / (r √2t);  w <- u / max(1, ‖u‖);
    ξ <- argmax of <p, ξ> over 0 <= ξ_i <= 2r, Σ ω_i ξ_i <= Wν:  the slack goes to the examples of largest p_i/ω_i;
    draw a feature j with probability w_j²/‖w‖²:  x_ij ‖w‖²/w_j is <w, x_i> in expectation;
    v_i <- (x_ij ‖w‖²/w_j + ξ_i)/r, clipped at ±1/η;  p_i <- p_i (1 - ηv_i + η²v_i²), normalised.

Returned is the mean of the w, scaled to a margin of one.

Departs from the publication: its step sizes are made for a number of steps known beforehand, √(log n / T) and 1/√2T;
here t stands for T, and p is computed from the sum of its past steps at the present η, so that training can go on for
as long as one likes. For a constant η that is the publication's p.

**An iteration costs** the values of one example and one feature, d + n: 1 + n/d inner products, the latter rounded up.
Judging the model takes n inner products, in the account of looking on; r costs n once.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from slackwater.expansion import Expansion
from slackwater.gram.source import RowBlock
from slackwater.gram.table import FeatureTable
from slackwater.objectives import margin_upper_bound, relative_gap, weighted_error
from slackwater.problem import Problem
from slackwater.solvers.averaging import LazyCoefficients
from slackwater.solvers.base import Assessment, Outlook, due_ever_further_apart
from slackwater.solvers.basins import OneBasin

Floats = NDArray[np.float64]
_NONE = np.empty(0, dtype=np.intp)
_LARGEST_SLACK = 2.0  # in units of r: responses lie between -r and r, so more would be wasted


@dataclass
class SIMBAState:
    """Everything the next step needs; mutated in place."""

    step: int
    radius: float  # r
    scale: float  # w is this times the sum of the examples drawn
    coefficients: LazyCoefficients  # w as a combination of examples: how often each was drawn, scaled
    direction: LazyCoefficients  # w itself
    past: Floats  # Σ_s -log(1 - η_s v + η_s² v²)/η_s, about the sum of v: p is ω exp(-η_t past), normalised
    examples: np.random.Generator
    features: np.random.Generator
    upper: float = math.inf  # the best upper bound on the optimum so far


@dataclass(frozen=True)
class SIMBA:
    nu: float

    @property
    def rows_a_step(self) -> int:
        return 0  # whole kernel rows are never needed

    def outlook(self, problem: Problem, state: SIMBAState) -> Outlook:
        return Outlook(1 + _table(problem).column_cost)

    def due(self, step: int) -> bool:
        return due_ever_further_apart(step)

    def start(self, problem: Problem, rng: np.random.Generator) -> SIMBAState:
        table = _table(problem)
        largest = float(table.diagonal().max())
        examples, features, lots = rng.spawn(3)
        past = np.empty(problem.n)
        past[problem.order] = 1e-9 * lots.random(problem.n)  # drawn by content, they decide ties
        return SIMBAState(
            step=0,
            radius=math.sqrt(largest) if largest > 0.0 else 1.0,
            scale=1.0,
            coefficients=LazyCoefficients.zeros(problem.n),
            direction=LazyCoefficients.zeros(table.n_features),
            past=past,
            examples=examples,
            features=features,
        )

    def draw(self, problem: Problem, state: SIMBAState) -> NDArray[np.intp]:
        return _NONE

    def foresee(self, problem: Problem, state: SIMBAState, most: int) -> NDArray[np.intp]:
        return _NONE

    def apply(self, problem: Problem, state: SIMBAState, indices: NDArray[np.intp], rows: RowBlock) -> None:
        rate = math.sqrt(math.log(max(problem.n, 2)) / (state.step + 1))  # η
        probabilities = _probabilities(state.past, problem.weights, rate)
        self._move_direction(problem, state, _drawn(problem, probabilities, state.examples.random()))
        slack = best_slack(state.past, problem.weights, self._volume(problem) / state.radius, _LARGEST_SLACK)
        values = self._estimated_responses(problem, state) / state.radius + slack
        values = np.clip(values, -1.0 / rate, 1.0 / rate)
        state.past -= np.log1p(rate * values * (rate * values - 1.0)) / rate
        state.step += 1

    def assess(self, problem: Problem, state: SIMBAState) -> Assessment:
        coefficients, direction = _mean(state.coefficients, state.step), _mean(state.direction, state.step)
        responses = self._responses(problem, direction)
        squared_norm = float(direction @ direction)
        margin = self._level(problem, responses)
        bound = margin_upper_bound(coefficients, squared_norm, self._volume(problem), problem.weights)
        upper = min(state.upper, bound)
        norm = math.sqrt(squared_norm)
        holdout = problem.holdout
        return Assessment(
            objective=margin,
            bound=upper,
            gap=relative_gap(margin, upper),
            margin=margin,
            slack_nu=self.nu / norm if norm > 0.0 and margin > 0.0 else math.nan,
            n_support=int(np.count_nonzero(coefficients)),
            holdout_error=None if holdout is None else weighted_error(responses, problem.labels, 0.0, holdout),
        )

    def remember(self, state: SIMBAState, assessment: Assessment) -> None:
        state.upper = assessment.bound

    def expansion(self, problem: Problem, state: SIMBAState) -> Expansion:
        """Scaled so that the margin is one; unscaled while there is no positive margin."""
        return self.scaled(problem, state, self.assess(problem, state))

    def scaled(self, problem: Problem, state: SIMBAState, assessment: Assessment) -> Expansion:
        """The same, without another look at all examples."""
        coefficients, margin = _mean(state.coefficients, state.step), assessment.margin
        return Expansion.from_dense(coefficients * problem.labels / (margin if margin > 0.0 else 1.0), 0.0)

    def continued(self, state: SIMBAState) -> SIMBAState:
        """Carry on towards another nu; what was a bound for the former is none for this one."""
        state.upper = math.inf
        return state

    def _volume(self, problem: Problem) -> float:
        return self.nu * problem.total_weight

    def _move_direction(self, problem: Problem, state: SIMBAState, index: int) -> None:
        """Add the example drawn and scale w to 1/(r√2t) of the sum, or to the unit ball."""
        state.coefficients.add(index, state.scale)
        state.direction.add_all(state.scale * problem.labels[index] * _table(problem).example(index))
        length = float(np.linalg.norm(state.direction.current())) / state.scale
        scale = 1.0 / max(state.radius * math.sqrt(2.0 * (state.step + 1)), length)
        state.coefficients.end_step(scale / state.scale)
        state.direction.end_step(scale / state.scale)
        state.scale = scale

    def _estimated_responses(self, problem: Problem, state: SIMBAState) -> Floats:
        """Unbiased estimates of y_i <w, x_i> from one feature, drawn with probability w_j²/‖w‖²."""
        direction = state.direction.current()
        cumulative = np.cumsum(direction**2)
        uniform = state.features.random()
        if not cumulative[-1] > 0.0:
            return np.zeros(problem.n)
        column = int(np.searchsorted(cumulative, uniform * cumulative[-1], side="right"))
        column = min(column, len(direction) - 1)
        estimates: Floats = problem.labels * _table(problem).feature(column) * (cumulative[-1] / direction[column])
        return estimates

    def _responses(self, problem: Problem, direction: Floats) -> Floats:
        table = _table(problem)
        with table.ledger.charging("score"):
            return problem.labels * table.products(direction)

    def _level(self, problem: Problem, responses: Floats) -> float:
        (level,) = OneBasin().levels(problem, responses, self._volume(problem), (math.nan,), 0.0)
        return level


def best_slack(past: Floats, weights: Floats | None, volume: float, largest: float) -> Floats:
    """ξ that maximises <p, ξ> over 0 <= ξ_i <= ``largest``, Σ ω_i ξ_i <= ``volume``; p_i/ω_i falls with ``past``."""
    omega = np.ones(len(past)) if weights is None else weights
    used = omega > 0.0
    enough = min(len(past), int(volume / (largest * omega[used].min())) + 1)
    order = np.where(used, past, np.inf)
    lowest = np.argpartition(order, enough - 1)[:enough]
    lowest = lowest[np.argsort(order[lowest], kind="stable")]
    lowest = lowest[used[lowest]]
    before = np.cumsum(omega[lowest]) - omega[lowest]
    slack = np.zeros(len(past))
    slack[lowest] = np.clip((volume - largest * before) / omega[lowest], 0.0, largest)
    return slack


def _probabilities(past: Floats, weights: Floats | None, rate: float) -> Floats:
    """p, not normalised."""
    relative = np.exp(-rate * (past - past.min()))
    return np.asarray(relative if weights is None else weights * relative)


def _drawn(problem: Problem, probabilities: Floats, uniform: float) -> int:
    members = problem.all_examples.members
    cumulative = np.cumsum(probabilities[members])
    place = int(np.searchsorted(cumulative, uniform * cumulative[-1], side="right"))
    return int(members[min(place, len(members) - 1)])


def _mean(lazy: LazyCoefficients, steps: int) -> Floats:
    return lazy.total() / steps if steps > 0 else lazy.current()


def _table(problem: Problem) -> FeatureTable:
    if not isinstance(problem.rows, FeatureTable):
        raise TypeError("SIMBA needs the features of its examples, got kernel rows. Use the SBP for kernels.")
    return problem.rows
