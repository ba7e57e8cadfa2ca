"""From a kernel matrix in memory to a dual point by an interior-point method, for a method of single steps to end with.

What an interior-point method returns is inside of the box, by a little. ``Factor.optimum`` puts each dual variable at
the bound that its multipliers say it tends to; what is left to do is little for steps on pairs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from slackwater.solvers import interior_point
from slackwater.solvers.interior_point import Interior, solve_interior

Floats = NDArray[np.float64]

MAX_FACTORISED = 4096  # examples: a matrix of 128 MB, factorised in place
_BALANCED = 1e-13  # Σ α_i y_i, relative to Σ α_i: what rounding leaves
_NEAR = 1e-2  # error of an interior point from which on its multipliers tell which variables are at their bounds
_CORRECTIONS = 2  # of the free dual variables: the second one of the rounding of the first
_ROUNDING = 4.0  # times the relative precision of a number: what a value of the kernel may be off by


class Divisible(interior_point.Factor, Protocol):
    """A factor of which some rows can stand alone."""

    def part(self, examples: NDArray[np.intp]) -> Divisible: ...


@dataclass(frozen=True)
class Rows:
    """A factor in memory as it is."""

    values: Floats  # (m, r)

    @property
    def rank(self) -> int:
        return int(self.values.shape[1])

    def part(self, examples: NDArray[np.intp]) -> Rows:
        return Rows(self.values[examples])

    @property
    def mean_square(self) -> float:
        return float(np.einsum("ij,ij->i", self.values, self.values).mean())

    def times(self, weights: Floats) -> Floats:
        return self.values @ weights

    def transposed_times(self, alpha: Floats) -> Floats:
        return self.values.T @ alpha

    def weighted_square(self, weights: Floats) -> Floats:
        return self.values.T @ (self.values * weights[:, None])


@dataclass(frozen=True)
class _Signed:
    """Z of the dual: the rows of a factor of K, times labels and a scale."""

    rows: interior_point.Factor
    labels: NDArray[np.int8]
    scale: float

    @property
    def rank(self) -> int:
        return self.rows.rank

    @property
    def mean_square(self) -> float:
        return self.scale**2 * self.rows.mean_square

    def times(self, weights: Floats) -> Floats:
        return self.labels * self.rows.times(self.scale * weights)

    def transposed_times(self, alpha: Floats) -> Floats:
        return self.scale * self.rows.transposed_times(self.labels * alpha)

    def weighted_square(self, weights: Floats) -> Floats:
        return self.scale**2 * self.rows.weighted_square(weights)


@dataclass(frozen=True)
class Factor:
    """K ≈ G Gᵀ but for ``noise``, the rounding of its values; with a free bias K is centred.

    Σ α_i y_i = 0 leaves the dual as it is when K(x, z) becomes <Φ(x) - m, Φ(z) - m>, m being the mean of all Φ(x).
    Of points far from the origin values are then smaller by orders of magnitude, and responses have more right digits.
    """

    rows: Divisible  # G: (m, rank)
    noise: float
    free_bias: bool

    @property
    def rank(self) -> int:
        return self.rows.rank

    def optimum(
        self,
        labels: NDArray[np.int8],
        upper: Floats,
        cut_short: Callable[[], bool] = lambda: False,
    ) -> Floats | None:
        """A feasible dual point, near the optimum as a rule; None where rounding leaves nothing to factorise.

        A box of no width, as held-out examples have, has no inside: such dual variables are 0 from the beginning.
        """
        free = np.flatnonzero(upper > 0.0)
        rows = self.rows if len(free) == len(upper) else self.rows.part(free)
        own = rows.mean_square if rows.rank and len(free) else 0.0
        if not own > 0.0:
            return None
        box, signed = own * upper[free], _Signed(rows, labels[free], 1.0 / math.sqrt(own))
        y = labels[free].astype(np.float64) if self.free_bias else None
        found = solve_interior(signed, self.noise / own, box, y, cut_short)
        scaled = found.alpha  # of a method cut short, all inside of the box
        if found.error < _NEAR:
            scaled = _with_weights(_at_bounds(found, box), found.weights, box, signed, y)
        alpha = np.zeros(len(upper))
        alpha[free] = np.where(scaled < box, np.minimum(scaled / own, upper[free]), upper[free])  # at the bound itself
        return _balanced(alpha, labels, upper) if self.free_bias else alpha


def factorised(gram: NDArray[np.floating], free_bias: bool) -> Factor:
    """The pivoted Cholesky factor of a kernel matrix, as far as its values are not rounding."""
    from scipy.linalg.lapack import dpstrf

    noise = _ROUNDING * float(np.finfo(gram.dtype).eps) * float(np.abs(gram.diagonal()).max(initial=0.0))
    values = gram.astype(np.float64)
    if free_bias:
        means = values.mean(axis=0)
        values -= means
        values -= (means - means.mean())[:, None]
    triangle, pivots, rank, _ = dpstrf(values.T, tol=noise, lower=1, overwrite_a=1)
    out = np.empty((len(gram), rank))
    out[pivots - 1] = np.tril(triangle[:, :rank])
    return Factor(Rows(out), noise, free_bias)


def _at_bounds(found: Interior, upper: Floats) -> Floats:
    """Each dual variable at its bound where that is what its multipliers say."""
    alpha = found.alpha.copy()
    alpha[~found.inside_lower] = 0.0
    alpha[~found.inside_upper & found.inside_lower] = upper[~found.inside_upper & found.inside_lower]
    return alpha


def _with_weights(
    alpha: Floats, weights: Floats, upper: Floats, factor: interior_point.Factor, labels: Floats | None
) -> Floats:
    """Free dual variables such that Zᵀ α = w and Σ α_i y_i = 0: the method knows w better, whose terms cancel in α."""
    for _ in range(_CORRECTIONS):
        excess = 0.0 if labels is None else float(labels @ alpha)
        missing = weights - factor.transposed_times(alpha)
        alpha = np.clip(alpha + moves_of_free(factor, labels, alpha, upper, missing, -excess), 0.0, upper)
    return alpha


def moves_of_free(
    factor: interior_point.Factor, signs: Floats | None, alpha: Floats, upper: Floats, weights: Floats, balance: float
) -> Floats:
    """The least changes δ of free variables, in proportion to their room, with Zᵀ δ = ``weights``, Σ δ_i s_i = balance.

    Without ``signs`` there is no balance.
    """
    room = np.where((alpha > 0.0) & (alpha < upper), alpha * (upper - alpha), 0.0)
    matrix, wanted = factor.weighted_square(room), weights
    if signs is not None:
        border = factor.transposed_times(room * signs)[:, None]
        matrix = np.block([[matrix, border], [border.T, np.array([[room.sum()]])]])
        wanted = np.append(weights, balance)
    scale = np.sqrt(np.maximum(matrix.diagonal(), np.finfo(float).tiny))  # features may be of very different scales
    found = np.linalg.lstsq(matrix / np.outer(scale, scale), wanted / scale, rcond=None)[0] / scale
    moves = factor.times(found[: factor.rank])
    return room * (moves if signs is None else moves + found[-1] * signs)


def _balanced(alpha: Floats, labels: NDArray[np.int8], upper: Floats) -> Floats:
    """Σ α_i y_i = 0: what is too much of one class is taken from its free variables first, then from all of it."""
    alpha = alpha.copy()
    heavier = 1 if float(labels @ alpha) > 0.0 else -1
    of_class = labels == heavier
    for group in (of_class & (alpha > 0.0) & (alpha < upper), of_class):
        total, excess = float(alpha[group].sum()), heavier * float(labels @ alpha)
        if total > 0.0 and excess > _BALANCED * float(alpha.sum()):
            alpha[group] *= max(0.0, 1.0 - excess / total)
    return alpha
