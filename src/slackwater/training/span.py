r"""The best function in the span of a few points, for the losses of all examples.

.. math:: \min_{w \in \mathrm{span}\{\Phi(x_p)\},\, b}
    \tfrac12 \|w\|^2 + \sum_i \mathrm{cap}_i \max(0, 1 - y_i (\langle w, \Phi(x_i)\rangle + b))

A fully corrective form of the paper's step: the violators say which points join the span, and then all of its
coefficients, of either sign, are optimised together. In coordinates in which the span has an orthonormal basis this is
a linear SVM with as many features as points, and Newton's method solves it in a few passes over the examples once the
corner of the hinge is rounded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack, solve_triangular

from slackwater.points import Floats
from slackwater.workers import Workers

CHUNK = 2048  # examples whose features are worked on by one thread at a time
_TOGETHER = 64  # coordinates
_INDEPENDENT = 1e-5  # of K(x, x): what a point must add to the span to join it
_NEARLY_ALL = 1e-3  # of K(x, x): what a smooth kernel may have outside of the span, on the average,
_FADING = 16.0  # and so many times less than outside of the span of half the points
_FADES = 14.0  # times less of 512 points is outside of the span of 384 than of 256: 22 to 28 on rings, checkers and
# spirals, 7 to 12 on waves and Forest, which 1024 points do not span

Doubles = NDArray[np.float64]


class Basis(NamedTuple):
    """Points that span a space, and the Cholesky factor of their kernel matrix."""

    members: NDArray[np.intp]  # positions among the points offered
    factor: Doubles

    def coefficients(self, weights: Doubles) -> Doubles:
        """The coefficients of the points, for weights in orthonormal coordinates."""
        solved: Doubles = solve_triangular(self.factor, weights, lower=True, trans="T", check_finite=False)
        return solved


def independent_basis(gram: Doubles) -> Basis:
    """The points that add something to the span of those before them, by Cholesky's method with pivots."""
    factor, members = _pivoted(gram)
    return Basis(members, factor[: len(members)])


class SmoothBasis(NamedTuple):
    """Points that span nearly everything, and how many times more would be left out by half of them."""

    basis: Basis
    fading: float


def smooth_basis(gram: Doubles, most: int) -> SmoothBasis | None:
    """The leading points of a kernel so smooth, for these data, that few of them span nearly everything.

    What is left out must fade quickly as points are added, as it does in few dimensions. Else there is detail without
    end, and a function may well consist of it.
    """
    factor, members = _pivoted(gram)
    left_out = _left_out(gram, factor)
    enough = int(np.count_nonzero(left_out > _NEARLY_ALL)) + 1
    if enough > min(most, len(members)):
        return None
    size = max(enough, min(len(members), most // 2))
    fading = left_out[max(size // 2, 1) - 1] / max(left_out[size - 1], _INDEPENDENT)
    return SmoothBasis(Basis(members[:size], factor[:size, :size]), fading) if fading >= _FADING else None


def fades(gram: Doubles) -> bool:
    """Whether points seem worth a try as a smooth basis, judged by a few of them."""
    factor, members = _pivoted(gram)
    if len(members) < len(gram) // 2:
        return True
    left_out = _left_out(gram, factor)
    three_quarters = 3 * len(gram) // 4
    return len(members) < three_quarters or bool(_FADES * left_out[three_quarters - 1] <= left_out[len(gram) // 2 - 1])


def _pivoted(gram: Doubles) -> tuple[Doubles, NDArray[np.intp]]:
    """Cholesky's method with pivots: the lower factor (points in their order, members), and the members."""
    factor, pivots, rank, _ = lapack.dpstrf(gram, lower=1, tol=_INDEPENDENT * float(gram.diagonal().max()))
    return np.tril(factor[:, :rank]), pivots[:rank] - 1


def _left_out(gram: Doubles, factor: Doubles) -> Doubles:
    """What K(x, x) has outside of the span of the first members, as a share: of the first one, two, and so on."""
    shares: Doubles = 1.0 - np.cumsum(np.einsum("ij,ij->j", factor, factor)) / float(gram.diagonal().sum())
    return shares


def make_orthonormal(columns: Floats, basis: Basis, workers: Workers) -> None:
    """Turn kernel values with the points of the basis, (n, m), into coordinates: in place.

    The triangular system is solved a few columns at a time, by products: SciPy's solver would let no other thread work.
    """
    factor, inverses = basis.factor.astype(columns.dtype), []
    for first in range(0, len(factor), _TOGETHER):
        own = basis.factor[first : first + _TOGETHER, first : first + _TOGETHER]
        inverse = solve_triangular(own, np.eye(len(own)), lower=True, check_finite=False)
        inverses.append((first, inverse.astype(columns.dtype)))

    def turn(start: int) -> None:
        part = columns[start : start + CHUNK]
        for first, inverse in inverses:
            own = slice(first, first + len(inverse))
            rest = part[:, own] - part[:, :first] @ factor[own, :first].T
            np.matmul(rest, inverse.T, out=part[:, own])

    workers.run(turn, range(0, len(columns), CHUNK))


class SpanModel(NamedTuple):
    """A function in the span: its weights in orthonormal coordinates, and the bias."""

    weights: Doubles
    bias: float


@dataclass(frozen=True)
class SpanProblem:
    """The examples in orthonormal coordinates of the span."""

    features: Floats  # (n, m)
    labels: NDArray[np.int8]
    caps: Doubles
    free_bias: bool
    workers: Workers

    def values(self, model: SpanModel) -> Doubles:
        """The model's values at all examples."""
        out = np.empty(len(self.labels))
        weights = model.weights.astype(self.features.dtype)

        def evaluate(start: int) -> None:
            out[start : start + CHUNK] = self.features[start : start + CHUNK] @ weights

        self.workers.run(evaluate, range(0, len(out), CHUNK))
        return out + model.bias

    def cost(self, model: SpanModel, values: Doubles | None = None) -> float:
        """The objective, with the hinge as it is; ``values`` are the model's, if they are known."""
        shortfall = 1.0 - self.labels * (self.values(model) if values is None else values)
        return 0.5 * float(model.weights @ model.weights) + float(self.caps @ np.maximum(0.0, shortfall))

    def lost_by_rounding(self, values: Doubles, width: float) -> float:
        """How much less the best function may cost than one that is best with the hinge rounded and has these values.

        The slopes are a feasible dual point then, and this is what its value is below the cost.
        """
        shortfall = 1.0 - self.labels * values
        return float(self.caps @ (np.maximum(0.0, shortfall) - rising(shortfall, width) * shortfall))

    def pulled(self, pulls: Doubles) -> Doubles:
        """Σ pull_i z_i."""

        def pull(start: int) -> Floats:
            chunk = slice(start, start + CHUNK)
            values: Floats = pulls[chunk].astype(self.features.dtype) @ self.features[chunk]
            return values

        sums = np.zeros(self.features.shape[1])
        for part in self.workers.run(pull, range(0, len(pulls), CHUNK)):
            sums += part
        return sums


def thinned(problems: Sequence[SpanProblem], kept: NDArray[np.intp]) -> list[SpanProblem]:
    """Some of the examples of problems that share their coordinates; they stand for those left out."""
    features, factor = problems[0].features[kept], len(problems[0].labels) / len(kept)
    return [
        replace(problem, features=features, labels=problem.labels[kept], caps=factor * problem.caps[kept])
        for problem in problems
    ]


def rising(shortfall: Doubles, width: float) -> Doubles:
    """The slope of the hinge with its corner rounded: 0 beyond the margin, 1 for violators, between them rising."""
    slopes: Doubles = np.clip(shortfall / width + 0.5, 0.0, 1.0)
    return slopes
