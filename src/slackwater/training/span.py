r"""The best function in the span of a few points, for the losses of all examples.

.. math:: \min_{w \in \mathrm{span}\{\Phi(x_p)\},\, b}
    \tfrac12 \|w\|^2 + \sum_i \mathrm{cap}_i \max(0, 1 - y_i (\langle w, \Phi(x_i)\rangle + b))

A fully corrective form of the paper's step: the violators say which points join the span, and then all of its
coefficients, of either sign, are optimised together. In coordinates in which the span has an orthonormal basis this is
a linear SVM with as many features as points, and Newton's method solves it in a few passes over the examples once the
corner of the hinge is rounded.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas, cho_factor, cho_solve, lapack, solve_triangular

from slackwater.kernels.points import Floats
from slackwater.memory import Buffers
from slackwater.workers import Workers

_CHUNK = 2048  # examples whose features are worked on by one thread at a time
_CHUNKS_AT_ONCE = 16  # whose matrices of second derivatives are in memory together
_FEWEST_TOGETHER = 256  # of them, for their products to be worth a thread
_INDEPENDENT = 1e-5  # of K(x, x): what a point must add to the span to join it
_MOST_STEPS = 30
_NEARLY_WHOLE = 0.5  # of Newton's step
_LEVEL = 0.01  # of the slope at the beginning of a step: where it ends
_MOST_TRIALS = 12
_NEARLY_ALL = 1e-3  # of K(x, x): what a smooth kernel may have outside of the span, on the average,
_FADING = 16.0  # and so many times less than outside of the span of half the points

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
    return bool(left_out[len(gram) // 2 - 1] * _FADING / 4 <= left_out[len(gram) // 4 - 1])


def _pivoted(gram: Doubles) -> tuple[Doubles, NDArray[np.intp]]:
    """Cholesky's method with pivots: the lower factor (points in their order, members), and the members."""
    factor, pivots, rank, _ = lapack.dpstrf(gram, lower=1, tol=_INDEPENDENT * float(gram.diagonal().max()))
    return np.tril(factor[:, :rank]), pivots[:rank] - 1


def _left_out(gram: Doubles, factor: Doubles) -> Doubles:
    """What K(x, x) has outside of the span of the first members, as a share: of the first one, two, and so on."""
    shares: Doubles = 1.0 - np.cumsum(np.einsum("ij,ij->j", factor, factor)) / float(gram.diagonal().sum())
    return shares


def make_orthonormal(columns: Floats, basis: Basis, workers: Workers) -> None:
    """Turn kernel values with the points of the basis, (n, m), into coordinates: in place."""
    factor = np.asfortranarray(basis.factor.astype(columns.dtype))
    solve = blas.strsm if columns.dtype == np.float32 else blas.dtrsm

    def turn(start: int) -> None:
        part = columns[start : start + _CHUNK].T
        part[...] = solve(1.0, factor, part, lower=1, overwrite_b=1)

    workers.run(turn, range(0, len(columns), _CHUNK))


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
            out[start : start + _CHUNK] = self.features[start : start + _CHUNK] @ weights

        self.workers.run(evaluate, range(0, len(out), _CHUNK))
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
        return float(self.caps @ (np.maximum(0.0, shortfall) - _rising(shortfall, width) * shortfall))

    def pulled(self, pulls: Doubles) -> Doubles:
        """Σ pull_i z_i."""

        def pull(start: int) -> Floats:
            chunk = slice(start, start + _CHUNK)
            values: Floats = pulls[chunk].astype(self.features.dtype) @ self.features[chunk]
            return values

        sums = np.zeros(self.features.shape[1])
        for part in self.workers.run(pull, range(0, len(pulls), _CHUNK)):
            sums += part
        return sums


def thinned(problems: Sequence[SpanProblem], kept: NDArray[np.intp]) -> list[SpanProblem]:
    """Some of the examples of problems that share their coordinates; they stand for those left out."""
    features, factor = problems[0].features[kept], len(problems[0].labels) / len(kept)
    return [
        replace(problem, features=features, labels=problem.labels[kept], caps=factor * problem.caps[kept])
        for problem in problems
    ]


def minimise(problem: SpanProblem, start: SpanModel, width: float, accuracy: float) -> SpanModel:
    """Newton's method, the hinge's corner rounded over ``width``, until a step gains less than ``accuracy``.

    A short step does not count: while few examples are at the corner, steps are short and gain little, but bring others
    there.
    """
    model, values = start, problem.values(start)
    cost = _rounded_cost(problem, model, values, width)
    for _ in range(_MOST_STEPS):
        direction = _newton_direction(problem, model, values, width)
        change = problem.values(direction)
        length = _search(problem, (model, values), (direction, change), width)
        moved = SpanModel(model.weights + length * direction.weights, model.bias + length * direction.bias)
        moved_values = values + length * change
        lower = _rounded_cost(problem, moved, moved_values, width)
        if lower >= cost:
            break
        gained, cost, model, values = cost - lower, lower, moved, moved_values
        if gained <= accuracy * cost and length >= _NEARLY_WHOLE:
            break
    return model


def loss_of_half(problem: SpanProblem, model: SpanModel, width: float) -> float:
    """About how much more the best function in the span of the first half of the points would cost.

    By the second derivatives at a model near the optimum: with the other half of the weights forced to zero, and the
    first free.
    """
    slopes = _slopes(problem, problem.values(model), width)
    gradient, hessian, _ = _derivatives(problem, np.zeros(len(slopes)), _curvature(problem, slopes, width))
    hessian[np.diag_indices_from(hessian)] += 1.0
    half = len(gradient) // 2
    coupled = np.linalg.solve(hessian[:half, :half], hessian[:half, half:])
    remaining = hessian[half:, half:] - hessian[half:, :half] @ coupled
    dropped = model.weights[half:]
    return 0.5 * float(dropped @ remaining @ dropped)


def _curvature(problem: SpanProblem, slopes: Doubles, width: float) -> Doubles:
    return np.where((slopes > 0.0) & (slopes < 1.0), problem.caps / width, 0.0)


def _slopes(problem: SpanProblem, values: Doubles, width: float) -> Doubles:
    """The slope of the rounded hinge: 0 beyond the margin, 1 for violators, between them rising over ``width``."""
    return _rising(1.0 - problem.labels * values, width)


def _rising(shortfall: Doubles, width: float) -> Doubles:
    slopes: Doubles = np.clip(shortfall / width + 0.5, 0.0, 1.0)
    return slopes


def _rounded_cost(problem: SpanProblem, model: SpanModel, values: Doubles, width: float) -> float:
    slopes = _slopes(problem, values, width)
    beyond = np.maximum(1.0 - problem.labels * values - 0.5 * width, 0.0)
    loss = float(problem.caps @ (0.5 * width * slopes**2 + beyond))
    return 0.5 * float(model.weights @ model.weights) + loss


def _newton_direction(problem: SpanProblem, model: SpanModel, values: Doubles, width: float) -> SpanModel:
    slopes = _slopes(problem, values, width)
    pulls = problem.labels * problem.caps * slopes
    curvature = _curvature(problem, slopes, width)
    gradient, hessian, cross = _derivatives(problem, pulls, curvature)
    gradient -= model.weights
    hessian[np.diag_indices_from(hessian)] += 1.0
    factor = cho_factor(hessian, lower=True, overwrite_a=True, check_finite=False)
    total = float(curvature.sum())
    if not problem.free_bias or total == 0.0:
        return SpanModel(cho_solve(factor, gradient, check_finite=False), 0.0)
    step, shift = cho_solve(factor, np.stack([gradient, cross], axis=1), check_finite=False).T
    remaining = max(total - float(cross @ shift), 1e-9 * total)
    bias = (float(pulls.sum()) - float(cross @ step)) / remaining
    return SpanModel(step - bias * shift, bias)


def _derivatives(problem: SpanProblem, pulls: Doubles, curvature: Doubles) -> tuple[Doubles, Doubles, Doubles]:
    """Σ pull_i z_i, Σ curvature_i z_i z_iᵀ and Σ curvature_i z_i, chunks of the examples z on several threads."""
    features, dtype = problem.features, problem.features.dtype
    curved = np.flatnonzero(curvature)
    size = min(_CHUNK, max(_FEWEST_TOGETHER, math.ceil(len(curved) / 4)))
    buffers = Buffers(dtype)

    def bent(start: int) -> tuple[Floats, Floats]:
        chunk = curved[start : start + size]
        roots = np.sqrt(curvature[chunk]).astype(dtype)
        with buffers.lent(len(chunk), features.shape[1]) as scaled:
            np.take(features, chunk, axis=0, out=scaled, mode="clip")  # "raise" would copy
            scaled *= roots[:, None]
            return scaled.T @ scaled, roots @ scaled

    gradient, cross = problem.pulled(pulls), np.zeros(features.shape[1])
    hessian = np.zeros((len(gradient), len(gradient)))
    for first in range(0, len(curved), _CHUNKS_AT_ONCE * size):
        chunks = range(first, min(first + _CHUNKS_AT_ONCE * size, len(curved)), size)
        for part, along in problem.workers.run(bent, chunks):
            hessian += part
            cross += along
    return gradient, hessian, cross


def _search(
    problem: SpanProblem, here: tuple[SpanModel, Doubles], way: tuple[SpanModel, Doubles], width: float
) -> float:
    """How far to go: to where the cost is nearly level. Its slope rises with the length, linearly between corners."""
    (model, values), (direction, change) = here, way
    shortfall, gain = 1.0 - problem.labels * values, problem.labels * change
    weighted = problem.caps * gain
    norm, rise = float(model.weights @ direction.weights), float(direction.weights @ direction.weights)

    def slope(length: float) -> float:
        return norm + length * rise - float(weighted @ _rising(shortfall - length * gain, width))

    low, low_slope = 0.0, slope(0.0)
    level = -_LEVEL * low_slope
    length, here_slope = 1.0, slope(1.0)
    while here_slope < -level and length < 2.0**_MOST_TRIALS:
        low, low_slope, length = length, here_slope, 2.0 * length
        here_slope = slope(length)
    high, high_slope = length, here_slope
    for _ in range(_MOST_TRIALS):
        if low_slope >= 0.0 or high_slope <= low_slope or abs(here_slope) <= level:
            break
        length = low + (high - low) * low_slope / (low_slope - high_slope)
        before, here_slope = here_slope, slope(length)
        # An end that stays twice counts half (the Illinois method), or it would stay for ever.
        stays = 0.5 if before * here_slope > 0.0 else 1.0
        if here_slope < 0.0:
            low, low_slope, high_slope = length, here_slope, stays * high_slope
        else:
            high, high_slope, low_slope = length, here_slope, stays * low_slope
    return length
