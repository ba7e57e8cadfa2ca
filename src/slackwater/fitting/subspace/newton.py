"""Newton's method for the SVM in a subspace, the corner of the hinge smoothed."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve

from slackwater.fitting.subspace.problem import CHUNK, Doubles, SubspaceModel, SubspaceProblem, hinge_slope
from slackwater.memory import Buffers
from slackwater.points import Floats

_CHUNKS_TOGETHER = 16  # whose matrices of second derivatives are in memory together
_MIN_CHUNK = 256  # examples, for their products to be worth a thread
_MAX_STEPS = 30
_NEARLY_FULL_STEP = 0.5  # of Newton's step
_FLAT_SLOPE = 0.01  # of the slope at the beginning of a step: where it ends
_MAX_TRIALS = 12


def minimise(
    problem: SubspaceProblem,
    start: SubspaceModel,
    width: float,
    accuracy: float,
    over: Callable[[], bool] = lambda: False,
) -> SubspaceModel:
    """Newton's method, the hinge's corner smoothed over ``width``, until a step gains less than ``accuracy``.

    Or until it is ``over``, which is asked before each step. A short step does not count: while few examples are at the
    smoothed corner, steps are short and gain little, but bring others there.
    """
    model, values, hessian = start, problem.values(start), SmoothedHingeHessian(problem)
    cost = _smoothed_objective(problem, model, values, width)
    for _ in range(_MAX_STEPS):
        if over():
            break
        direction = _newton_direction(problem, model, values, hessian, width)
        change = problem.values(direction)
        length = _search(problem, (model, values), (direction, change), width)
        moved = SubspaceModel(model.weights + length * direction.weights, model.bias + length * direction.bias)
        moved_values = values + length * change
        lower = _smoothed_objective(problem, moved, moved_values, width)
        if lower >= cost:
            break
        gained, cost, model, values = cost - lower, lower, moved, moved_values
        if gained <= accuracy * cost and length >= _NEARLY_FULL_STEP:
            break
    return model


def losses_of_fewer_landmarks(
    problem: SubspaceProblem, model: SubspaceModel, width: float, shares: Sequence[float]
) -> NDArray[np.float64]:
    """About how much more the optimum in the subspaces of the first landmarks would cost, of these shares of them.

    By the second derivatives at a model near the optimum: with the other weights forced to zero, and the first free.
    """
    hessian = SmoothedHingeHessian(problem)
    hessian.move_to(_slopes(problem, problem.values(model), width))
    matrix = hessian.by_weights(width)
    losses = []
    for share in shares:
        part = int(share * len(matrix))
        dropped = model.weights[part:]
        pull = matrix[part:, :part].T @ dropped
        kept = pull @ np.linalg.solve(matrix[:part, :part], pull)
        losses.append(0.5 * float(dropped @ matrix[part:, part:] @ dropped - kept))
    return np.array(losses)


class SmoothedHingeHessian:
    """The examples where the smoothed hinge is curved, and Σ u_i z_i z_iᵀ and Σ u_i z_i over them.

    From one step to the next few examples come and go, and only theirs are added and taken away.
    """

    def __init__(self, problem: SubspaceProblem) -> None:
        self._problem = problem
        self._buffers = Buffers(problem.coordinates.dtype)
        self.clear()

    def clear(self) -> None:
        m = self._problem.coordinates.shape[1]
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

    def by_weights(self, width: float) -> Doubles:
        """The second derivatives by the weights."""
        matrix: Doubles = self._squares / width
        matrix[np.diag_indices_from(matrix)] += 1.0
        return matrix

    def by_weights_and_bias(self, width: float) -> Doubles:
        """The second derivatives by the weights and the bias."""
        return self._sum / width

    def by_bias(self, width: float) -> float:
        """The second derivative by the bias."""
        return float(self._problem.upper @ self._inside) / width

    def _add(self, examples: NDArray[np.intp], times: float) -> None:
        """Add the examples' products, chunks of them on several threads."""
        coordinates, upper = self._problem.coordinates, self._problem.upper
        size = min(CHUNK, max(_MIN_CHUNK, math.ceil(len(examples) / 4)))

        def products(start: int) -> tuple[Floats, Floats]:
            chunk = examples[start : start + size]
            roots = np.sqrt(upper[chunk]).astype(coordinates.dtype)
            with self._buffers.lent(len(chunk), coordinates.shape[1]) as scaled:
                np.take(coordinates, chunk, axis=0, out=scaled, mode="clip")  # "raise" would copy
                scaled *= roots[:, None]
                return scaled.T @ scaled, roots @ scaled

        for first in range(0, len(examples), _CHUNKS_TOGETHER * size):
            chunks = range(first, min(first + _CHUNKS_TOGETHER * size, len(examples)), size)
            for squares, along in self._problem.workers.run(products, chunks):
                self._squares += times * squares
                self._sum += times * along


def _slopes(problem: SubspaceProblem, values: Doubles, width: float) -> Doubles:
    """The slope of the smoothed hinge at each example."""
    return hinge_slope(1.0 - problem.labels * values, width)


def _smoothed_objective(problem: SubspaceProblem, model: SubspaceModel, values: Doubles, width: float) -> float:
    slopes = _slopes(problem, values, width)
    beyond = np.maximum(1.0 - problem.labels * values - 0.5 * width, 0.0)
    loss = float(problem.upper @ (0.5 * width * slopes**2 + beyond))
    return 0.5 * float(model.weights @ model.weights) + loss


def _newton_direction(
    problem: SubspaceProblem, model: SubspaceModel, values: Doubles, hessian: SmoothedHingeHessian, width: float
) -> SubspaceModel:
    slopes = _slopes(problem, values, width)
    coefficients = problem.labels * problem.upper * slopes
    gradient = problem.rmatvec(coefficients) - model.weights
    hessian.move_to(slopes)
    try:
        factor = np.linalg.cholesky(hessian.by_weights(width))  # half of the time of SciPy's
    except np.linalg.LinAlgError:  # what was added and taken away again may have left too much of its rounding errors
        hessian.clear()
        hessian.move_to(slopes)
        factor = np.linalg.cholesky(hessian.by_weights(width))
    curvature = hessian.by_bias(width)
    if not problem.free_bias or curvature == 0.0:
        return SubspaceModel(cho_solve((factor, True), gradient, check_finite=False), 0.0)
    cross = hessian.by_weights_and_bias(width)
    step, shift = cho_solve((factor, True), np.stack([gradient, cross], axis=1), check_finite=False).T
    remaining = max(curvature - float(cross @ shift), 1e-9 * curvature)
    bias = (float(coefficients.sum()) - float(cross @ step)) / remaining
    return SubspaceModel(step - bias * shift, bias)


def _search(
    problem: SubspaceProblem, here: tuple[SubspaceModel, Doubles], way: tuple[SubspaceModel, Doubles], width: float
) -> float:
    """How far to go: to where the objective is nearly flat. Its slope rises with the length, linearly between kinks."""
    (model, values), (direction, change) = here, way
    shortfall, gain = 1.0 - problem.labels * values, problem.labels * change
    weighted = problem.upper * gain
    norm, rise = float(model.weights @ direction.weights), float(direction.weights @ direction.weights)

    def slope(length: float) -> float:
        return norm + length * rise - float(weighted @ hinge_slope(shortfall - length * gain, width))

    low, low_slope = 0.0, slope(0.0)
    level = -_FLAT_SLOPE * low_slope
    length, here_slope = 1.0, slope(1.0)
    while here_slope < -level and length < 2.0**_MAX_TRIALS:
        low, low_slope, length = length, here_slope, 2.0 * length
        here_slope = slope(length)
    high, high_slope = length, here_slope
    for _ in range(_MAX_TRIALS):
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
