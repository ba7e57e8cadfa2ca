"""Kernels of the distance between two points: Gaussian and Laplacian."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from slackwater.kernels.base import require_positive, vector_pair
from slackwater.kernels.grid import GridPoints, on_grid
from slackwater.kernels.lines import Lines
from slackwater.kernels.points import DensePoints, Floats, Points, Vectors, quicker_form
from slackwater.kernels.products import flatten, inner_products, l1_distances
from slackwater.workers import Workers

# Largest error of gamma |z - x|² that single precision may cause; where it is larger, distances are computed by the
# differences of few coordinates, or in double.
SINGLE_PRECISION_ERROR = 1e-5
_FEW_COORDINATES = 64  # with which a product of our own is quicker than BLAS
_MOST_TWICE = 0.3  # of the values, that are worth computing in single precision first


@dataclass(frozen=True)
class Gaussian:
    """The Gaussian kernel, also called RBF.

    .. math:: K(x, z) = \\exp(-\\gamma \\|x - z\\|_2^2)

    Squared distances come from inner products, :math:`\\|x\\|^2 + \\|z\\|^2 - 2\\langle x, z\\rangle`. In
    float32 that difference is off by about :math:`\\varepsilon\\max\\|x\\|^2`; where :math:`\\gamma` makes
    this matter (raw features in the thousands) distances are sums of squared differences, if the points have
    few coordinates, and else those of two points so far from the origin are computed in double precision.

    Parameters
    ----------
    gamma : float
        Inverse squared width, > 0.
    """

    gamma: float
    name: ClassVar[str] = "rbf"
    unit_diagonal: ClassVar[bool] = True
    positive_semidefinite: ClassVar[bool] = True
    reentrant: ClassVar[bool] = True

    def __post_init__(self) -> None:
        require_positive("gamma", self.gamma, "It is the inverse squared width of the Gaussian.")

    def prepared(self, points: Points) -> Points:
        """Dense rows where that is quicker."""
        return quicker_form(points)

    def fill(self, left: Points, right: Points, out: Floats) -> None:
        """Write :math:`K(left_i, right_j)` into ``out[i, j]``."""
        first, second = vector_pair(left, right, self.name)
        if self._in_one_pass(first, second) and out.dtype == np.float32:
            self.write(first, second, Lines.of_block(out))
        elif out.dtype == np.float32 and self.needs_double(first, second):
            self._fill_by_norms(first, second, out)
        else:
            self._fill(first, second, out)

    def writes(self, points: Points) -> bool:
        """Whether ``write`` can do with these points."""
        return isinstance(points, Vectors) and points.dtype == np.float32 and self._in_one_pass(points, points)

    def write(self, left: Vectors, right: Vectors, lines: Lines) -> None:
        """Write :math:`K(left_i, right_j)` as value j of line i, in single precision or rounded.

        Points are on one grid or have few coordinates, so that no value can be other than finite: nobody looks.
        """
        if isinstance(left, GridPoints) and isinstance(right, GridPoints):
            left.write_gaussian(right, self.gamma, lines)
        else:
            self._write_few(left, right, lines, apart=self.needs_double(left, right))

    def _in_one_pass(self, left: Vectors, right: Vectors) -> bool:
        """Whether there is a compiled loop from coordinates to values, all of which are finite."""
        if isinstance(left, GridPoints) and isinstance(right, GridPoints):
            return left.grid is right.grid  # one object
        if not (_few_coordinates(left) and _few_coordinates(right)):
            return False
        if self.needs_double(left, right):
            within = _all_in_few_coordinates(left) and _all_in_few_coordinates(right) and _in_single(self.gamma)
        else:
            within = _in_single(math.sqrt(2.0 * self.gamma))
        largest = math.sqrt(max(left.largest_squared_norm, right.largest_squared_norm))
        return within and largest <= float(np.finfo(np.float32).max)  # nor are the coordinates infinite then

    def diagonal(self, points: Points) -> NDArray[np.float64]:
        """Return ones: a point has distance 0 to itself."""
        return np.ones(len(points))

    def parameters(self) -> dict[str, Any]:
        """Return gamma."""
        return asdict(self)

    def needs_double(self, left: Vectors, right: Vectors) -> bool:
        """Whether single precision would show in the kernel values."""
        largest = max(left.largest_squared_norm, right.largest_squared_norm)
        return bool(largest > self._largest_in_single)

    def feels_rounding(self, points: DensePoints) -> bool:
        """Whether values would change if the coordinates were rounded to single precision.

        By differences of few coordinates they change by at most ε √γ |x| (the largest of t exp(-t²) is 0.43); else
        squared distances come from norms, which lose more.
        """
        if points.n_features > _FEW_COORDINATES:
            return self.needs_double(points, points)
        error = float(np.finfo(np.float32).eps) * math.sqrt(self.gamma * points.largest_squared_norm)
        return error > SINGLE_PRECISION_ERROR

    def seen_from_middle(self, points: DensePoints, *others: DensePoints) -> list[DensePoints]:
        """Sets of points, moved to the middle of the first if fewer of it are too far for single precision from there.

        Distances stay as they are.
        """
        origin = points.middle()
        moved = [each.moved(origin) for each in (points, *others)]
        there = [each for each in moved if each is not None]
        if len(there) == len(moved) and self._too_far(there[0]) < self._too_far(points):
            return there
        return [points, *others]

    def on_grid(self, workers: Workers, *sets: DensePoints) -> list[GridPoints] | None:
        """Sets of points in single precision on one grid, if they are on one but for their rounding.

        Where single precision would show in the values, they must be exactly there.
        """
        exactly = any(self.needs_double(each, each) for each in sets)
        return on_grid(workers, 0.0 if exactly else 2.0 * float(np.finfo(np.float32).eps), *sets)

    def _too_far(self, points: Vectors) -> int:
        return int(np.count_nonzero(points.squared_norms > self._largest_in_single))

    @property
    def _largest_in_single(self) -> float:
        """The largest squared norm of a point whose values single precision does not show in."""
        return SINGLE_PRECISION_ERROR / (self.gamma * float(np.finfo(np.float32).eps))

    def _fill_by_norms(self, left: Vectors, right: Vectors, out: Floats) -> None:
        """In single precision, but for two points both far from the origin, who often are few: scaled counts, say.

        A far and a near point have a value close to 0, however wrong their distance; or one is at the very limit.
        """
        limit = 0.5 * self._largest_in_single
        left_far, right_far = (np.flatnonzero(each.squared_norms > limit) for each in (left, right))
        if len(left_far) * len(right_far) > _MOST_TWICE * out.size:
            out[...] = self._in_double(left, right)
            return
        self._fill(left, right, out)
        if len(left_far) and len(right_far):
            far = self._in_double(cast("Vectors", left.take(left_far)), cast("Vectors", right.take(right_far)))
            out[np.ix_(left_far, right_far)] = far

    def _in_double(self, left: Vectors, right: Vectors) -> Floats:
        """The distances in double; of an exponential single precision is enough."""
        from slackwater.kernels import _loops

        products = np.empty((len(left), len(right)))
        inner_products(left, right, products)
        left_terms, right_terms = self.gamma * left.squared_norms, self.gamma * right.squared_norms
        out = np.empty(products.shape, np.float32)
        _loops.gaussian_finish_into32(products, left_terms, right_terms, 2 * self.gamma, *flatten(out))
        return out

    def _fill(self, left: Vectors, right: Vectors, out: Floats) -> None:
        from slackwater.kernels import _loops

        single = out.dtype == np.float32
        if single and _few_coordinates(left) and _few_coordinates(right) and _in_single(math.sqrt(2.0 * self.gamma)):
            self._write_few(left, right, Lines.of_block(out), apart=False)
            return
        if single and not _in_single(2.0 * self.gamma):
            out[...] = self._in_double(left, right)
            return
        inner_products(left, right, out)
        finish = _loops.gaussian_finish32 if single else _loops.gaussian_finish64
        finish(*flatten(out), *self._terms(left, right, out.dtype), out.dtype.type(2 * self.gamma))

    def _write_few(self, left: Vectors, right: Vectors, lines: Lines, apart: bool) -> None:
        """Of points with few coordinates, by products or by their differences."""
        from slackwater.kernels import _few_loops

        single = np.dtype(np.float32)
        if apart:  # norms have no part in it
            own, others, times, scale = np.zeros(len(left), single), np.zeros(len(right), single), 1.0, -self.gamma
        else:
            (own, others), times, scale = self._terms(left, right, single), math.sqrt(2.0 * self.gamma), 1.0
        factors = np.float32(times), np.float32(scale)
        points = left.dense(single), right.dense(single)
        _few_loops.gaussian32(*points, *factors, own, others, apart, lines.base, lines.starts, lines.steps)

    def _terms(self, left: Vectors, right: Vectors, dtype: np.dtype[Any]) -> tuple[Floats, Floats]:
        """What the points' own norms have to do with a distance."""
        with np.errstate(over="ignore"):  # looked for by whoever asked for the block
            left_terms = (self.gamma * left.squared_norms).astype(dtype)
            right_terms = (self.gamma * right.squared_norms).astype(dtype)
        return left_terms, right_terms


def _in_single(factor: float) -> bool:
    """Whether single precision has this number, with all its digits and twice."""
    numbers = np.finfo(np.float32)
    return float(numbers.tiny) <= factor <= 0.5 * float(numbers.max)


def _few_coordinates(points: Vectors) -> bool:
    return isinstance(points, DensePoints) and points.n_features <= _FEW_COORDINATES


def _all_in_few_coordinates(points: Vectors) -> bool:
    """Whether distances are those of few coordinates in single precision, and of nothing else."""
    return _few_coordinates(points) and points.raw.dtype == np.float32 and not cast("DensePoints", points).projected


@dataclass(frozen=True)
class Laplacian:
    """The Laplacian kernel.

    .. math:: K(x, z) = \\exp(-\\gamma \\|x - z\\|_1)

    Parameters
    ----------
    gamma : float
        Inverse width, > 0.
    """

    gamma: float
    name: ClassVar[str] = "laplacian"
    unit_diagonal: ClassVar[bool] = True
    positive_semidefinite: ClassVar[bool] = True
    reentrant: ClassVar[bool] = True

    def __post_init__(self) -> None:
        require_positive("gamma", self.gamma, "It is the inverse width of the Laplacian.")

    def prepared(self, points: Points) -> Points:
        """Dense rows where that is quicker."""
        return quicker_form(points)

    def fill(self, left: Points, right: Points, out: Floats) -> None:
        """Write :math:`K(left_i, right_j)` into ``out[i, j]``."""
        from slackwater.kernels import _loops

        l1_distances(*vector_pair(left, right, self.name), out)
        finish = _loops.exponential_finish32 if out.dtype == np.float32 else _loops.exponential_finish64
        finish(*flatten(out), len(left), len(right), out.dtype.type(-self.gamma))

    def diagonal(self, points: Points) -> NDArray[np.float64]:
        """Return ones: a point has distance 0 to itself."""
        return np.ones(len(points))

    def parameters(self) -> dict[str, Any]:
        """Return gamma."""
        return asdict(self)
