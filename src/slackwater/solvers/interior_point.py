"""The dual of the C-form by a primal-dual interior-point method, out of a factor of the kernel matrix.

    min over α of  ½ ‖Zᵀα‖² + ½ ρ ‖α‖² - Σ α_i   subject to  0 <= α_i <= u_i  (with a bias also Σ α_i y_i = 0)

Row i of Z is y_i times that of a factor G of the kernel matrix, K ≈ G Gᵀ (Fine and Scheinberg 2001). The number of
steps on pairs that it takes grows with the condition of K; that of these iterations hardly does: ten to eighty, each of
O(m r²) for m examples and rank r. The search directions are Mehrotra's (1992): a predictor, then a corrector.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_MAX_ITERATIONS = 150
_NEAR, _PATIENCE = 1e-2, 15  # error from which on so many iterations without progress are the effect of rounding
_LEAST_PROGRESS = 0.9  # of the error, that is left by an iteration that counts as progress
_TO_BOUNDARY = 0.995  # of the way to where a variable would be zero
_ACCURATE = 1e-9  # error that ends the method


class Direction(NamedTuple):
    """Changes of all variables."""

    alpha: Floats
    multiplier: float
    at_zero: Floats
    at_upper: Floats


@dataclass
class InteriorPoint:
    """A point inside of the box: all but ``multiplier`` and the residuals are positive; mutated in place."""

    factor: Floats  # Z
    ridge: float  # ρ
    upper: Floats
    labels: Floats | None  # None: no bias
    alpha: Floats
    room: Floats  # u - α, kept by itself: where it is small, a difference would have no digits left
    at_zero: Floats  # multipliers of α >= 0
    at_upper: Floats  # and of α <= u
    multiplier: float = 0.0  # of Σ α_i y_i = 0: the bias

    @classmethod
    def start(cls, factor: Floats, ridge: float, upper: Floats, labels: Floats | None) -> InteriorPoint:
        """Between u and 1 / K(x, x), of which α is nearer to one or the other; with equal products of complements."""
        own = float(np.einsum("ij,ij->i", factor, factor).mean()) + ridge
        alpha = np.minimum(0.5 * upper, np.sqrt(upper / own) if own > 0.0 else np.inf)
        room = upper - alpha
        return cls(factor, ridge, upper, labels, alpha, room, np.ones(len(upper)), alpha / room)

    @property
    def complementarity(self) -> float:
        """Σ of the products that are zero at the optimum: the gap, where the residuals vanish."""
        return float(self.alpha @ self.at_zero + self.room @ self.at_upper)

    def residuals(self) -> tuple[Floats, float, float]:
        """Of the gradient and of the balance; and ½ ‖w‖²."""
        weights = self.factor.T @ self.alpha
        gradient = self.factor @ weights + self.ridge * self.alpha - 1.0 - self.at_zero + self.at_upper
        balance = 0.0
        if self.labels is not None:
            gradient += self.multiplier * self.labels
            balance = float(self.labels @ self.alpha)
        return gradient, balance, 0.5 * float(weights @ weights + self.ridge * self.alpha @ self.alpha)

    def step(self, change: Direction) -> float:
        """Go as far as all stay positive; returns how far."""
        length = min(1.0, _TO_BOUNDARY * self.reach(change))
        self.alpha += length * change.alpha
        self.room -= length * change.alpha
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


class _NewtonSystem:
    """(Z Zᵀ + D) x + y λ = b, Σ x_i y_i = c, by the r × r matrix I + Zᵀ D⁻¹ Z (Sherman, Morrison, Woodbury)."""

    def __init__(self, point: InteriorPoint) -> None:
        from scipy.linalg import cho_factor

        self._labels = point.labels
        self._diagonal = point.at_zero / point.alpha + point.at_upper / point.room + point.ridge
        self._scaled = point.factor / self._diagonal[:, None]
        inner = point.factor.T @ self._scaled
        inner[np.diag_indices(len(inner))] += 1.0
        self._cholesky = cho_factor(inner, lower=True, overwrite_a=True)
        if point.labels is not None:
            self._of_labels = self._solved(point.labels)
            self._curvature = float(point.labels @ self._of_labels)

    def _solved(self, right: Floats) -> Floats:
        from scipy.linalg import cho_solve

        return np.asarray(right / self._diagonal - self._scaled @ cho_solve(self._cholesky, self._scaled.T @ right))

    def solve(self, right: Floats, balance: float) -> tuple[Floats, float]:
        """x and λ."""
        found = self._solved(right)
        if self._labels is None:
            return found, 0.0
        multiplier = (float(self._labels @ found) - balance) / self._curvature
        return found - multiplier * self._of_labels, multiplier


def _mehrotra(point: InteriorPoint, gradient: Floats, balance: float) -> Direction:
    """The predictor aims at products of zero; the corrector at what it leaves of them, its second order counted."""
    system = _NewtonSystem(point)

    def towards(zero: Floats, upper: Floats) -> Direction:
        right = -gradient + zero / point.alpha - upper / point.room
        alpha, multiplier = system.solve(right, -balance)
        return Direction(
            alpha,
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
    inside_lower: NDArray[np.bool_]  # whether α is clear of zero,
    inside_upper: NDArray[np.bool_]  # and of its upper bound, by the multipliers of the two
    error: float  # of the optimality conditions, in margins, and of the gap, relative to the objective


def solve_interior(
    factor: Floats,
    ridge: float,
    upper: Floats,
    labels: Floats | None,
    cut_short: Callable[[], bool] = lambda: False,
) -> Interior:
    """The best point on the way to the optimum; as near to it as rounding allows, unless it is cut short.

    Parameters
    ----------
    factor : (m, r) array
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
            gradient, balance, half_norm = point.residuals()
            objective = half_norm + float(upper @ np.maximum(0.0, gradient_shortfall(point, gradient)))
            error = float(np.abs(gradient).max()) + point.complementarity / max(objective, 1e-300)
            if not np.isfinite(error):
                break
            waited = 0 if error < _LEAST_PROGRESS * best.error else waited + 1
            if error < best.error:
                best = _reached(point, error)
            if error <= _ACCURATE or (waited > _PATIENCE and best.error < _NEAR) or length == 0.0 or cut_short():
                break
            try:
                length = point.step(_mehrotra(point, gradient, balance))
            except (np.linalg.LinAlgError, ValueError):  # rounding has the matrix lose its definiteness
                break
    return best


def gradient_shortfall(point: InteriorPoint, gradient: Floats) -> Floats:
    """1 - y_i (<w, Φ(x_i)> + b): the hinge loss where it is positive."""
    return point.at_upper - point.at_zero - gradient


def _reached(point: InteriorPoint, error: float) -> Interior:
    """Of two complements that multiply to next to nothing, the smaller one is zero at the optimum."""
    return Interior(point.alpha.copy(), point.alpha > point.at_zero, point.room > point.at_upper, error)
