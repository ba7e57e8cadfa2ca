"""Newton's method for the best function in a span, the corner of the hinge rounded."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve

from slackwater.memory import Buffers
from slackwater.points import Floats
from slackwater.training.span import CHUNK, Doubles, SpanModel, SpanProblem, rising

_CHUNKS_AT_ONCE = 16  # whose matrices of second derivatives are in memory together
_FEWEST_TOGETHER = 256  # examples, for their products to be worth a thread
_MOST_STEPS = 30
_NEARLY_WHOLE = 0.5  # of Newton's step
_LEVEL = 0.01  # of the slope at the beginning of a step: where it ends
_MOST_TRIALS = 12


def minimise(
    problem: SpanProblem,
    start: SpanModel,
    width: float,
    accuracy: float,
    over: Callable[[], bool] = lambda: False,
) -> SpanModel:
    """Newton's method, the hinge's corner rounded over ``width``, until a step gains less than ``accuracy``.

    Or until it is ``over``, which is asked before each step. A short step does not count: while few examples are at the
    corner, steps are short and gain little, but bring others there.
    """
    model, values, corner = start, problem.values(start), _Corner(problem)
    cost = _rounded_cost(problem, model, values, width)
    for _ in range(_MOST_STEPS):
        if over():
            break
        direction = _newton_direction(problem, model, values, corner, width)
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


def losses_of_parts(
    problem: SpanProblem, model: SpanModel, width: float, shares: Sequence[float]
) -> NDArray[np.float64]:
    """About how much more the best functions in the spans of the first points would cost, of these shares of them.

    By the second derivatives at a model near the optimum: with the other weights forced to zero, and the first free.
    """
    corner = _Corner(problem)
    corner.move_to(_slopes(problem, problem.values(model), width))
    hessian = corner.hessian(width)
    losses = []
    for share in shares:
        part = int(share * len(hessian))
        dropped = model.weights[part:]
        pull = hessian[part:, :part].T @ dropped
        kept = pull @ np.linalg.solve(hessian[:part, :part], pull)
        losses.append(0.5 * float(dropped @ hessian[part:, part:] @ dropped - kept))
    return np.array(losses)


class _Corner:
    """The examples where the rounded hinge is curved, and Σ cap_i z_i z_iᵀ and Σ cap_i z_i over them.

    From one step to the next few examples come and go, and only theirs are added and taken away.
    """

    def __init__(self, problem: SpanProblem) -> None:
        self._problem = problem
        self._buffers = Buffers(problem.features.dtype)
        self.clear()

    def clear(self) -> None:
        m = self._problem.features.shape[1]
        self._inside = np.zeros(len(self._problem.labels), dtype=bool)
        self._squares, self._sum = np.zeros((m, m)), np.zeros(m)

    def move_to(self, slopes: Doubles) -> None:
        """To the examples whose slopes are between those of the two sides."""
        inside = (slopes > 0.0) & (slopes < 1.0)
        if np.count_nonzero(inside != self._inside) >= np.count_nonzero(inside):
            self.clear()
        self._add(np.flatnonzero(inside & ~self._inside), 1.0)
        self._add(np.flatnonzero(self._inside & ~inside), -1.0)
        self._inside = inside

    def hessian(self, width: float) -> Doubles:
        """The second derivatives by the weights."""
        hessian: Doubles = self._squares / width
        hessian[np.diag_indices_from(hessian)] += 1.0
        return hessian

    def cross(self, width: float) -> Doubles:
        """The second derivatives by the weights and the bias."""
        return self._sum / width

    def stiffness(self, width: float) -> float:
        """The second derivative by the bias."""
        return float(self._problem.caps @ self._inside) / width

    def _add(self, examples: NDArray[np.intp], times: float) -> None:
        """Add the examples' products, chunks of them on several threads."""
        features, caps = self._problem.features, self._problem.caps
        size = min(CHUNK, max(_FEWEST_TOGETHER, math.ceil(len(examples) / 4)))

        def products(start: int) -> tuple[Floats, Floats]:
            chunk = examples[start : start + size]
            roots = np.sqrt(caps[chunk]).astype(features.dtype)
            with self._buffers.lent(len(chunk), features.shape[1]) as scaled:
                np.take(features, chunk, axis=0, out=scaled, mode="clip")  # "raise" would copy
                scaled *= roots[:, None]
                return scaled.T @ scaled, roots @ scaled

        for first in range(0, len(examples), _CHUNKS_AT_ONCE * size):
            chunks = range(first, min(first + _CHUNKS_AT_ONCE * size, len(examples)), size)
            for squares, along in self._problem.workers.run(products, chunks):
                self._squares += times * squares
                self._sum += times * along


def _slopes(problem: SpanProblem, values: Doubles, width: float) -> Doubles:
    """The slope of the rounded hinge: 0 beyond the margin, 1 for violators, between them rising over ``width``."""
    return rising(1.0 - problem.labels * values, width)


def _rounded_cost(problem: SpanProblem, model: SpanModel, values: Doubles, width: float) -> float:
    slopes = _slopes(problem, values, width)
    beyond = np.maximum(1.0 - problem.labels * values - 0.5 * width, 0.0)
    loss = float(problem.caps @ (0.5 * width * slopes**2 + beyond))
    return 0.5 * float(model.weights @ model.weights) + loss


def _newton_direction(
    problem: SpanProblem, model: SpanModel, values: Doubles, corner: _Corner, width: float
) -> SpanModel:
    slopes = _slopes(problem, values, width)
    pulls = problem.labels * problem.caps * slopes
    gradient = problem.pulled(pulls) - model.weights
    corner.move_to(slopes)
    try:
        factor = np.linalg.cholesky(corner.hessian(width))  # half of the time of SciPy's
    except np.linalg.LinAlgError:  # what was added and taken away again may have left too much of its rounding errors
        corner.clear()
        corner.move_to(slopes)
        factor = np.linalg.cholesky(corner.hessian(width))
    stiffness = corner.stiffness(width)
    if not problem.free_bias or stiffness == 0.0:
        return SpanModel(cho_solve((factor, True), gradient, check_finite=False), 0.0)
    cross = corner.cross(width)
    step, shift = cho_solve((factor, True), np.stack([gradient, cross], axis=1), check_finite=False).T
    remaining = max(stiffness - float(cross @ shift), 1e-9 * stiffness)
    bias = (float(pulls.sum()) - float(cross @ step)) / remaining
    return SpanModel(step - bias * shift, bias)


def _search(
    problem: SpanProblem, here: tuple[SpanModel, Doubles], way: tuple[SpanModel, Doubles], width: float
) -> float:
    """How far to go: to where the cost is nearly level. Its slope rises with the length, linearly between corners."""
    (model, values), (direction, change) = here, way
    shortfall, gain = 1.0 - problem.labels * values, problem.labels * change
    weighted = problem.caps * gain
    norm, rise = float(model.weights @ direction.weights), float(direction.weights @ direction.weights)

    def slope(length: float) -> float:
        return norm + length * rise - float(weighted @ rising(shortfall - length * gain, width))

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
