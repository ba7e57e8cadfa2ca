"""From a kernel matrix in memory to a dual point by an interior-point method, for a method of single steps to end with.

What an interior-point method returns is inside of the box, by a little. ``Factor.optimum`` puts each dual variable at
the bound that its multipliers say it tends to; what is left to do is little for steps on pairs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from slackwater.solvers.interior_point import Interior, solve_interior

Floats = NDArray[np.float64]

MAX_FACTORISED = 4096  # examples: a matrix of 128 MB, factorised in place
_ROUNDING = 4.0  # times the relative precision of a number: what a value of the kernel may be off by


@dataclass(frozen=True)
class Factor:
    """K ≈ G Gᵀ but for ``noise``, the rounding of its values; with a free bias K is centred.

    Σ α_i y_i = 0 leaves the dual as it is when K(x, z) becomes <Φ(x) - m, Φ(z) - m>, m being the mean of all Φ(x).
    Of points far from the origin values are then smaller by orders of magnitude, and responses have more right digits.
    """

    values: Floats  # G: (m, rank)
    noise: float
    free_bias: bool

    @property
    def rank(self) -> int:
        return int(self.values.shape[1])

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
        values = self.values if len(free) == len(upper) else self.values[free]
        own = float(np.einsum("ij,ij->i", values, values).mean()) if values.size else 0.0
        if not own > 0.0:
            return None
        signed = labels[free, None] * (values / np.sqrt(own))
        y = labels[free].astype(np.float64) if self.free_bias else None
        found = solve_interior(signed, self.noise / own, own * upper[free], y, cut_short)
        alpha = np.zeros(len(upper))
        alpha[free] = _at_bounds(found, upper[free], own)
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
    return Factor(out, noise, free_bias)


def _at_bounds(found: Interior, upper: Floats, own: float) -> Floats:
    """Dual variables in the scale of the problem, each at its bound where that is what its multipliers say."""
    alpha = np.clip(found.alpha / own, 0.0, upper)
    alpha[~found.inside_lower] = 0.0
    alpha[~found.inside_upper & found.inside_lower] = upper[~found.inside_upper & found.inside_lower]
    return alpha


def _balanced(alpha: Floats, labels: NDArray[np.int8], upper: Floats) -> Floats:
    """Σ α_i y_i = 0: what is too much of one class is taken from its free variables first, then from all of it."""
    alpha = alpha.copy()
    heavier = 1 if float(labels @ alpha) > 0.0 else -1
    of_class = labels == heavier
    for group in (of_class & (alpha > 0.0) & (alpha < upper), of_class):
        total, excess = float(alpha[group].sum()), heavier * float(labels @ alpha)
        if total > 0.0 and excess > 0.0:
            alpha[group] *= max(0.0, 1.0 - excess / total)
    return alpha
