"""Newton's method for the SVM in a subspace, the corner of the hinge smoothed."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve

from slackwater.deadline import CutShort
from slackwater.fitting.subspace.problem import CHUNK, Doubles, SubspaceModel, SubspaceProblem, hinge_slope
from slackwater.memory import Buffers
from slackwater.points import Floats

_CHUNKS_TOGETHER = 16  # whose matrices of second derivatives are in memory together
_MIN_CHUNK = 256  # examples, for their products to be worth a thread
_MAX_STEPS = 30
_NEARLY_FULL_STEP = 0.5  # of Newton's step
_FLAT_SLOPE = 0.01  # of the slope at the beginning of a step: where it ends
_MAX_TRIALS = 12


class Derivatives(NamedTuple):
    """Of the losses of some examples: what Newton's method needs to know of them. Those of parts add up."""

    pull: Doubles  # where the losses pull the weights: Σ u_i y_i s_i z_i, s_i being the slope of the hinge
    bias_pull: float
    by_weights: Doubles  # second derivatives, (m, m)
    by_weights_and_bias: Doubles
    by_bias: float

    @staticmethod
    def total(parts: Sequence[Derivatives]) -> Derivatives:
        """Of the examples of all parts."""
        return Derivatives(*(sum(each[1:], each[0]) for each in zip(*parts, strict=True)))


class Losses(Protocol):
    """The losses of examples, wherever these are, with the corner of the hinge smoothed; at one model at a time."""

    @property
    def free_bias(self) -> bool: ...

    def begin(self, model: SubspaceModel) -> None:
        """Go to a model."""

    def total(self) -> float:
        """What the losses come to."""

    def derivatives(self, anew: bool) -> Derivatives:
        """Summed up ``anew`` if rounding may have spoilt what is kept from step to step."""

    def look_along(self, direction: SubspaceModel) -> None:
        """Be ready for steps in a direction."""

    def slope(self, length: float) -> float:
        """By how much the losses fall, a unit of length, at so long a step."""

    def advance(self, length: float) -> None:
        """Make the step."""


class LocalLosses:
    """Of examples in memory."""

    def __init__(self, problem: SubspaceProblem, width: float) -> None:
        self._problem, self._width = problem, width
        self._hessian = SmoothedHingeHessian(problem)
        self._values = self._change = np.empty(0)

    @property
    def free_bias(self) -> bool:
        return self._problem.free_bias

    def begin(self, model: SubspaceModel) -> None:
        self._values = self._problem.values(model)

    def total(self) -> float:
        problem, width = self._problem, self._width
        shortfall = 1.0 - problem.labels * self._values
        beyond = np.maximum(shortfall - 0.5 * width, 0.0)
        return float(problem.upper @ (0.5 * width * hinge_slope(shortfall, width) ** 2 + beyond))

    def derivatives(self, anew: bool) -> Derivatives:
        problem, hessian, width = self._problem, self._hessian, self._width
        slopes = _slopes(problem, self._values, width)
        coefficients = problem.labels * problem.upper * slopes
        if anew:
            hessian.clear()
        hessian.move_to(slopes)
        second = hessian.by_weights(width), hessian.by_weights_and_bias(width), hessian.by_bias(width)
        return Derivatives(problem.rmatvec(coefficients), float(coefficients.sum()), *second)

    def look_along(self, direction: SubspaceModel) -> None:
        problem = self._problem
        self._change = problem.values(direction)
        self._shortfall, self._gain = 1.0 - problem.labels * self._values, problem.labels * self._change
        self._weighted = problem.upper * self._gain

    def slope(self, length: float) -> float:
        return float(self._weighted @ hinge_slope(self._shortfall - length * self._gain, self._width))

    def advance(self, length: float) -> None:
        self._values = self._values + length * self._change


def minimise(
    problem: SubspaceProblem,
    start: SubspaceModel,
    width: float,
    accuracy: float,
) -> SubspaceModel:
    """Newton's method for examples in memory, the hinge's corner smoothed over ``width``."""
    return minimise_losses(LocalLosses(problem, width), start, accuracy)


def minimise_losses(
    losses: Losses, start: SubspaceModel, accuracy: float, over: Callable[[], bool] = lambda: False
) -> SubspaceModel:
    """Newton's method, until a step gains less than ``accuracy``.

    Or until it is ``over``, or the deadline of the workers has passed. A short step does not count: while few examples
    are at the smoothed corner, steps are short and gain little, but bring others there.
    """
    model = start
    try:
        losses.begin(model)
    except CutShort:
        return start
    cost = _half_norm(model) + losses.total()
    for _ in range(_MAX_STEPS):
        if over():
            break
        try:
            direction = newton_direction(losses, model)
            losses.look_along(direction)
        except CutShort:
            break
        length = search(losses, model, direction)
        moved = SubspaceModel(model.weights + length * direction.weights, model.bias + length * direction.bias)
        losses.advance(length)
        lower = _half_norm(moved) + losses.total()
        if lower >= cost:
            break
        gained, cost, model = cost - lower, lower, moved
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
    matrix[np.diag_indices_from(matrix)] += 1.0  # of the norm
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
        """The second derivatives of the losses by the weights."""
        matrix: Doubles = self._squares / width
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
            self._problem.workers.deadline.check()
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


def _half_norm(model: SubspaceModel) -> float:
    return 0.5 * float(model.weights @ model.weights)


def newton_direction(losses: Losses, model: SubspaceModel) -> SubspaceModel:
    """Where the quadratic approximation has its minimum, from here."""
    found = losses.derivatives(anew=False)
    try:
        factor = _cholesky(found)
    except np.linalg.LinAlgError:  # what was added and taken away again may have left too much of its rounding errors
        found = losses.derivatives(anew=True)
        factor = _cholesky(found)
    gradient, curvature = found.pull - model.weights, found.by_bias
    if not losses.free_bias or curvature == 0.0:
        return SubspaceModel(cho_solve((factor, True), gradient, check_finite=False), 0.0)
    cross = found.by_weights_and_bias
    step, shift = cho_solve((factor, True), np.stack([gradient, cross], axis=1), check_finite=False).T
    remaining = max(curvature - float(cross @ shift), 1e-9 * curvature)
    bias = (found.bias_pull - float(cross @ step)) / remaining
    return SubspaceModel(step - bias * shift, bias)


def _cholesky(found: Derivatives) -> Doubles:
    """Of the second derivatives by the weights, with those of the norm; half of the time of SciPy's."""
    matrix = found.by_weights.copy()
    matrix[np.diag_indices_from(matrix)] += 1.0
    return np.asarray(np.linalg.cholesky(matrix), dtype=np.float64)


def search(losses: Losses, model: SubspaceModel, direction: SubspaceModel) -> float:
    """How far to go: to where the objective is nearly flat. Its slope rises with the length, linearly between kinks."""
    norm, rise = float(model.weights @ direction.weights), float(direction.weights @ direction.weights)

    def slope(length: float) -> float:
        return norm + length * rise - losses.slope(length)

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
