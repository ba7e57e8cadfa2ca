"""The dual of the C-form by a primal-dual interior-point method, out of a factor of the kernel matrix.

    min over α of  ½ ‖Zᵀα‖² + ½ ρ ‖α‖² - Σ α_i   subject to  0 <= α_i <= u_i  (with a bias also Σ α_i y_i = 0)

Row i of Z is y_i times that of a factor G of the kernel matrix, K ≈ G Gᵀ (Fine and Scheinberg 2001). The number of
steps on pairs that it takes grows with the condition of K; that of these iterations hardly does: ten to eighty, each of
O(m r²) for m examples and rank r. The search directions are Mehrotra's (1992): a predictor, then a corrector.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from slackwater.deadline import CutShort

Floats = NDArray[np.float64]

_MAX_ITERATIONS = 150
_NEAR, _PATIENCE = 1e-2, 15  # error from which on so many iterations without progress are the effect of rounding
_LEAST_PROGRESS = 0.9  # of the error, that is left by an iteration that counts as progress
_TO_BOUNDARY = 0.995  # of the way to where a variable would be zero
_ACCURATE = 1e-13  # error that ends the method


class Factor(Protocol):
    """Z, by its products alone: it need not be in memory as it is."""

    @property
    def rank(self) -> int:
        """r."""

    @property
    def mean_square(self) -> float:
        """The mean of the squared norms of its rows."""

    def times(self, weights: Floats) -> Floats:
        """Z w."""

    def transposed_times(self, alpha: Floats) -> Floats:
        """Zᵀ α."""

    def weighted_square(self, weights: Floats) -> Floats:
        """Zᵀ diag(ω) Z."""


class Direction(NamedTuple):
    """Changes of all variables."""

    alpha: Floats
    weights: Floats
    multiplier: float
    at_zero: Floats
    at_upper: Floats


class Residuals(NamedTuple):
    """What is left of the optimality conditions but complementarity; zero at a feasible point."""

    gradient: Floats  # Z w + ρ α - 1 - (multipliers of α >= 0) + (those of α <= u) + y b
    weights: Floats  # Zᵀ α - w
    balance: float  # Σ α_i y_i


@dataclass
class InteriorPoint:
    """A point inside of the box: all but ``weights``, ``multiplier`` and the residuals are positive; mutated in place.

    w is a variable of its own: as a sum over α it would have few digits left where large terms cancel.
    """

    factor: Factor  # Z
    ridge: float  # ρ
    upper: Floats
    labels: Floats | None  # None: no bias
    alpha: Floats
    room: Floats  # u - α, kept by itself: where it is small, a difference would have no digits left
    weights: Floats  # w
    multiplier: float  # of Σ α_i y_i = 0: the bias
    at_zero: Floats  # multipliers of α >= 0
    at_upper: Floats  # and of α <= u

    @classmethod
    def start(cls, factor: Factor, ridge: float, upper: Floats, labels: Floats | None) -> InteriorPoint:
        """A feasible point near the central path: the middle of the box, balanced, and multipliers that are much alike.

        From a point that is not feasible, or near some of the bounds, steps are tiny for long where data are badly
        scaled: the margins of all are to be made up for by the multipliers.
        """
        alpha = 0.5 * upper * balancing(upper, labels)
        weights = factor.transposed_times(alpha)
        margins, bias = factor.times(weights) + ridge * alpha, 0.0
        if labels is not None:
            bias = -0.5 * sum(float((labels * margins)[labels == each].mean()) for each in (1.0, -1.0))
            margins += bias * labels
        shortfall = 1.0 - margins
        inside = float(np.abs(shortfall).max())
        at_zero, at_upper = np.maximum(-shortfall, 0.0) + inside, np.maximum(shortfall, 0.0) + inside
        return cls(factor, ridge, upper, labels, alpha, upper - alpha, weights, bias, at_zero, at_upper)

    @property
    def complementarity(self) -> float:
        """Σ of the products that are zero at the optimum: the gap, where the residuals vanish."""
        return float(self.alpha @ self.at_zero + self.room @ self.at_upper)

    def residuals(self) -> Residuals:
        gradient = self.factor.times(self.weights) + self.ridge * self.alpha - 1.0 - self.at_zero + self.at_upper
        balance = 0.0
        if self.labels is not None:
            gradient += self.multiplier * self.labels
            balance = float(self.labels @ self.alpha)
        return Residuals(gradient, self.factor.transposed_times(self.alpha) - self.weights, balance)

    def objective(self, gradient: Floats) -> float:
        """½ ‖w‖² and the losses."""
        half_norm = 0.5 * float(self.weights @ self.weights + self.ridge * self.alpha @ self.alpha)
        shortfall = self.at_upper - self.at_zero - gradient  # 1 - y_i (<w, Φ(x_i)> + b)
        return half_norm + float(self.upper @ np.maximum(0.0, shortfall))

    def step(self, change: Direction) -> float:
        """Go as far as all stay positive; returns how far."""
        length = min(1.0, _TO_BOUNDARY * self.reach(change))
        self.alpha += length * change.alpha
        self.room -= length * change.alpha
        self.weights += length * change.weights
        self.at_zero += length * change.at_zero
        self.at_upper += length * change.at_upper
        self.multiplier += length * change.multiplier
        return length

    def reach(self, change: Direction) -> float:
        """How far the direction can be gone until a variable is zero."""
        pairs = (
            (self.alpha, change.alpha),
            (self.room, -change.alpha),
            (self.at_zero, change.at_zero),
            (self.at_upper, change.at_upper),
        )
        return min(_until_zero(values, changes) for values, changes in pairs)


def _until_zero(values: Floats, changes: Floats) -> float:
    falling = changes < 0.0
    return float((-values[falling] / changes[falling]).min(initial=np.inf))


def balancing(upper: Floats, labels: NDArray[Any] | None) -> Floats:
    """Factors with which Σ u_i y_i is zero."""
    if labels is None:
        return np.ones(len(upper))
    sums = {each: float(upper[labels == each].sum()) for each in (1.0, -1.0)}
    return np.where(labels > 0.0, min(sums.values()) / sums[1.0], min(sums.values()) / sums[-1.0])


class _NewtonSystem:
    """Z x_w + D x + y λ = b, Zᵀ x - x_w = c, Σ x_i y_i = d, by the r × r matrix I + Zᵀ D⁻¹ Z."""

    def __init__(self, point: InteriorPoint) -> None:
        from scipy.linalg import cho_factor

        self._labels, self._factor = point.labels, point.factor
        self._diagonal = point.at_zero / point.alpha + point.at_upper / point.room + point.ridge
        inner = point.factor.weighted_square(1.0 / self._diagonal)
        inner[np.diag_indices(len(inner))] += 1.0
        self._cholesky = cho_factor(inner, lower=True, overwrite_a=True)
        if point.labels is not None:
            self._of_labels = self._solved(point.labels, np.zeros(point.factor.rank))
            self._curvature = float(point.labels @ self._of_labels[0])

    def _solved(self, right: Floats, of_weights: Floats) -> tuple[Floats, Floats]:
        """Without y λ."""
        from scipy.linalg import cho_solve

        weights = cho_solve(self._cholesky, self._factor.transposed_times(right / self._diagonal) - of_weights)
        return np.asarray((right - self._factor.times(weights)) / self._diagonal), weights

    def solve(self, right: Floats, of_weights: Floats, balance: float) -> tuple[Floats, Floats, float]:
        """x, x_w and λ."""
        found, weights = self._solved(right, of_weights)
        if self._labels is None:
            return found, weights, 0.0
        multiplier = (float(self._labels @ found) - balance) / self._curvature
        alone, weights_alone = self._of_labels
        return found - multiplier * alone, weights - multiplier * weights_alone, multiplier


def _mehrotra(point: InteriorPoint, left_over: Residuals) -> Direction:
    """The predictor aims at products of zero; the corrector at what it leaves of them, its second order counted."""
    system = _NewtonSystem(point)

    def towards(zero: Floats, upper: Floats) -> Direction:
        right = -left_over.gradient + zero / point.alpha - upper / point.room
        alpha, weights, multiplier = system.solve(right, -left_over.weights, -left_over.balance)
        return Direction(
            alpha,
            weights,
            multiplier,
            (zero - point.at_zero * alpha) / point.alpha,
            (upper + point.at_upper * alpha) / point.room,
        )

    to_zero, to_upper = -point.alpha * point.at_zero, -point.room * point.at_upper
    predictor = towards(to_zero, to_upper)
    length = min(1.0, point.reach(predictor))
    left = (point.alpha + length * predictor.alpha) @ (point.at_zero + length * predictor.at_zero)
    left += (point.room - length * predictor.alpha) @ (point.at_upper + length * predictor.at_upper)
    mean = point.complementarity / (2 * len(point.alpha))
    aim = mean * (float(left) / point.complementarity) ** 3
    return towards(
        to_zero + aim - predictor.alpha * predictor.at_zero, to_upper + aim + predictor.alpha * predictor.at_upper
    )


class Interior(NamedTuple):
    """Where the method has ended."""

    alpha: Floats
    weights: Floats  # w; it has more right digits than Zᵀ α
    inside_lower: NDArray[np.bool_]  # whether α is clear of zero,
    inside_upper: NDArray[np.bool_]  # and of its upper bound, by the multipliers of the two
    error: float  # of the optimality conditions, in margins, and of the gap, relative to the objective


def solve_interior(
    factor: Factor,
    ridge: float,
    upper: Floats,
    labels: Floats | None,
    cut_short: Callable[[], bool] = lambda: False,
) -> Interior:
    """The best point on the way to the optimum; as near to it as rounding allows, unless it is cut short.

    Parameters
    ----------
    factor : Factor
        Z, scaled so that its rows have a norm of about one.
    ridge : float
        ρ: what values of the kernel are off by, in the same scale. It keeps α from following their rounding.
    upper, labels : (m,) arrays
        Bounds of α; y, or None where there is no bias.
    cut_short : callable
        Asked between iterations whether to end.
    """
    point = InteriorPoint.start(factor, ridge, upper, labels)
    best, waited, length = _reached(point, np.inf), 0, 1.0
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        for _ in range(_MAX_ITERATIONS):
            try:
                residuals = point.residuals()
                objective = max(point.objective(residuals.gradient), 1e-300)
                error = float(np.abs(residuals.gradient).max()) + point.complementarity / objective
                if not np.isfinite(error):
                    break
                waited = 0 if error < _LEAST_PROGRESS * best.error else waited + 1
                if error < best.error:
                    best = _reached(point, error)
                if error <= _ACCURATE or (waited > _PATIENCE and best.error < _NEAR) or length == 0.0 or cut_short():
                    break
                length = point.step(_mehrotra(point, residuals))
            except (np.linalg.LinAlgError, ValueError):  # rounding has the matrix lose its definiteness
                break
            except CutShort:  # a product of a factor that looks at the clock
                break
    return best


def _reached(point: InteriorPoint, error: float) -> Interior:
    """Of two complements that multiply to next to nothing, the smaller one is zero at the optimum."""
    alpha, weights = point.alpha.copy(), point.weights.copy()
    return Interior(alpha, weights, point.alpha > point.at_zero, point.room > point.at_upper, error)
