"""The Gaussian kernel."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from slackwater.kernels.base import Kernel, require_not_negative, vector_pair
from slackwater.kernels.destinations import Destinations
from slackwater.kernels.products import flatten, inner_products
from slackwater.points import DensePoints, Floats, GridPoints, Points, Vectors, on_grid, quicker_form
from slackwater.workers import Workers

if TYPE_CHECKING:
    from slackwater.points.leaves import Leaves

# Largest error of gamma |z - x|² that single precision may cause; where it is larger, distances are computed by the
# differences of coordinates, or, of very many, in double.
SINGLE_PRECISION_ERROR = 1e-5
_DOUBLE_PRECISION_ERROR = 1e-10  # the same in double precision
_EPSILON = float(np.finfo(np.float32).eps)
_MAX_COORDINATES = 1024  # up to which a product of our own is known to be quicker than BLAS
_MIN_LEFT_TO_PACK_AGAIN = 1024  # left points, with which packing the right ones takes a small part of the time
_MAX_REPEATED_SHARE = 0.3  # of values computed in single precision first and then again in double


@dataclass(frozen=True)
class Gaussian(Kernel):
    """The Gaussian kernel, also called RBF.

    .. math:: K(x, z) = \\exp(-\\gamma \\|x - z\\|_2^2)

    Squared distances come from inner products, :math:`\\|x\\|^2 + \\|z\\|^2 - 2\\langle x, z\\rangle`. In
    float32 that difference is off by about :math:`\\varepsilon\\max\\|x\\|^2`. Where :math:`\\gamma` makes this matter
    (raw features in the thousands), distances are sums of squared differences; with more than 1024 coordinates those
    of two points so far from the origin are computed in double precision. Where norms cancel in float64, too,
    distances are sums of squared differences as well.

    Parameters
    ----------
    gamma : float
        Inverse squared width, >= 0; with 0 the kernel is constant.
    """

    gamma: float
    name = "rbf"
    unit_diagonal = True
    positive_semidefinite = True
    reentrant = True
    bounded_by_one = True
    accepts_projected = True
    sums_over_leaves = True

    def __post_init__(self) -> None:
        require_not_negative("gamma", self.gamma, "It is the inverse squared width of the Gaussian.")

    def prepared(self, points: Points) -> Points:
        """Dense rows where that is quicker."""
        return quicker_form(points)

    def fill(self, left: Points, right: Points, out: Floats) -> None:
        """Write :math:`K(left_i, right_j)` into ``out[i, j]``."""
        first, second = vector_pair(left, right, self.name)
        if self._in_one_pass(first, second) and out.dtype == np.float32:
            self.write(first, second, Destinations.of_block(out))
        elif out.dtype == np.float32 and self.needs_double(first, second):
            self._fill_by_norms(first, second, out)
        elif out.dtype == np.float64 and self._cancels_in_double(first, second):
            out[...] = self._by_differences(first, second)
        else:
            self._fill(first, second, out)

    def diagonal(self, points: Points) -> NDArray[np.float64]:
        """Return ones: a point has distance 0 to itself."""
        return np.ones(len(points))

    def parameters(self) -> dict[str, Any]:
        """Return gamma."""
        return asdict(self)

    def effort(self, points: Points) -> int | None:
        """As many coordinates as are multiplied."""
        return points.effort if isinstance(points, DensePoints | GridPoints) else None

    # ---- precision

    def needs_double(self, left: Vectors, right: Vectors) -> bool:
        """Whether squared distances from norms in single precision would be off by more than the tolerance."""
        largest = max(left.largest_squared_norm, right.largest_squared_norm)
        return bool(largest > self._largest_in_single)

    def to_single_precision(self, points: Points) -> Points | None:
        """Values in single precision, and coordinates, too, unless rounding them would show; centred if need be."""
        single = np.dtype(np.float32)
        if not isinstance(points, DensePoints):
            return None
        origin = self.better_origin(points) if self.needs_double(points, points) else None
        if origin is not None:
            points = points.shifted(origin) or points
        if points.dtype == single:
            return points
        return DensePoints(points.values if self._rounding_shows(points) else points.dense(single), dtype=single)

    def single_precision_error(self, points: Points) -> float | None:
        """Of gamma |x - z|²: on a grid, only the exponential's; beyond the limit, distances are more precise."""
        if isinstance(points, GridPoints):
            return _EPSILON
        if not isinstance(points, Vectors):
            return None
        errors = np.minimum(_EPSILON * self.gamma * points.squared_norms, SINGLE_PRECISION_ERROR)
        return max(_EPSILON, float(np.sqrt(np.mean(errors**2))))

    def better_origin(self, points: DensePoints) -> NDArray[np.float64] | None:
        """The centre, if fewer points are too far from there for single precision, and none loses digits."""
        too_far = self._count_too_far(points)
        if too_far == 0:
            return None
        origin = points.centre()
        shifted = points.shifted(origin)
        return origin if shifted is not None and self._count_too_far(shifted) < too_far else None

    def squared_distance_tolerance(self, error: float) -> float:
        """Values change by at most gamma times the change of a squared distance."""
        return _ratio(error, self.gamma)

    def _rounding_shows(self, points: DensePoints) -> bool:
        """Whether values would change if the coordinates were rounded to single precision.

        By differences of coordinates they change by at most ε √γ |x| (the largest of t exp(-t²) is 0.43); else
        squared distances come from norms, which lose more.
        """
        if points.n_features > _MAX_COORDINATES:
            return self.needs_double(points, points)
        return _EPSILON * math.sqrt(self.gamma * points.largest_squared_norm) > SINGLE_PRECISION_ERROR

    def _count_too_far(self, points: Vectors) -> int:
        return int(np.count_nonzero(points.squared_norms > self._largest_in_single))

    @property
    def _largest_in_single(self) -> float:
        """The largest squared norm of a point whose distances single precision computes within the tolerance."""
        return _ratio(SINGLE_PRECISION_ERROR, self.gamma * _EPSILON)

    # ---- integers

    def multiplies_integers(self) -> bool:
        """Whether the processor has the instruction for two bytes a coordinate and it could be compiled."""
        from slackwater.kernels import _grid_loops

        return _grid_loops.available(np.int16)

    def on_grid(self, workers: Workers, *sets: DensePoints) -> list[GridPoints] | None:
        """Sets of points in single precision as codes on one grid, if they are on one within their rounding.

        Where single precision would show in the values, they must be exactly there.
        """
        from slackwater.kernels import _grid_loops

        if not _grid_loops.supported():
            return None
        found = on_grid(workers, self.grid_rounding(*sets), *sets)
        return found if found is not None and _grid_loops.available() else None  # asked last: it loads the loop

    def grid_rounding(self, *sets: DensePoints) -> float:
        """By how much coordinates may be off a grid, relative to the largest."""
        return 0.0 if any(self.needs_double(each, each) for each in sets) else 2.0 * _EPSILON

    # ---- fused writing

    def writes(self, points: Points) -> bool:
        """Points on a grid or dense, of at most 1024 coordinates, in single precision."""
        return isinstance(points, Vectors) and points.dtype == np.float32 and self._in_one_pass(points, points)

    def write(self, left: Vectors, right: Vectors, to: Destinations) -> None:
        """Write :math:`K(left_i, right_j)` as value j of destination i.

        Points are on one grid or are dense, so that every value is finite: nobody looks.
        """
        if isinstance(left, GridPoints) and isinstance(right, GridPoints):
            self._write_on_grid(left, right, to)
        else:
            self._write_dense(left, right, to, apart=self.needs_double(left, right))

    def _in_one_pass(self, left: Vectors, right: Vectors) -> bool:
        """Whether there is a compiled loop from coordinates to values, all of which are finite."""
        if isinstance(left, GridPoints) and isinstance(right, GridPoints):
            return left.grid is right.grid  # one object
        if not (_fits_one_pass(left) and _fits_one_pass(right)):
            return False
        if self.needs_double(left, right):
            within = _exactly_in_single(left) and _exactly_in_single(right) and _in_single(self.gamma)
        else:
            within = _well_within_single(self.gamma)
        largest = math.sqrt(max(left.largest_squared_norm, right.largest_squared_norm))
        return within and largest <= float(np.finfo(np.float32).max)  # nor are the coordinates infinite then

    def _write_on_grid(self, left: GridPoints, right: GridPoints, to: Destinations) -> None:
        from slackwater.kernels import _grid_loops
        from slackwater.kernels._register_tiles import WIDTH

        packed = right.packed(WIDTH, few=len(left) <= _MIN_LEFT_TO_PACK_AGAIN)
        code, flip = left.codes.dtype.type(0), np.uint32(0x80808080 if left.codes.itemsize == 1 else 0)
        factor = np.float32(max(-self.gamma * left.grid.step**2, -1e38))  # infinite, it would make nought NaN
        norms = left.own, right.others
        _grid_loops.gaussian32(left.words, packed, code, flip, *norms, factor, to.base, to.starts, to.steps)

    def _write_dense(self, left: Vectors, right: Vectors, to: Destinations, apart: bool) -> None:
        """Of dense points, by products or by their differences."""
        from slackwater.kernels import _tile_loops
        from slackwater.kernels._register_tiles import WIDTH

        single = np.dtype(np.float32)
        if apart:  # norms have no part in it
            own, others, scale = np.zeros(len(left), single), np.zeros(len(right), single), -self.gamma
        else:
            (own, others), scale = self._terms(left, right, single), 2.0 * self.gamma
        packed = cast("DensePoints", right).packed(WIDTH, few=len(left) <= _MIN_LEFT_TO_PACK_AGAIN)
        points = left.dense(single), packed.view(single)
        _tile_loops.gaussian32(*points, np.float32(scale), own, others, apart, to.base, to.starts, to.steps)

    # ---- blocks

    def _fill(self, left: Vectors, right: Vectors, out: Floats) -> None:
        from slackwater.kernels import _loops

        single = out.dtype == np.float32
        if single and _fits_one_pass(left) and _fits_one_pass(right) and _well_within_single(self.gamma):
            self._write_dense(left, right, Destinations.of_block(out), apart=False)
            return
        if single and not _in_single(2.0 * self.gamma):
            out[...] = self._in_double(left, right)
            return
        inner_products(left, right, out)
        finish = _loops.gaussian_finish32 if single else _loops.gaussian_finish64
        finish(*flatten(out), *self._terms(left, right, out.dtype), out.dtype.type(2 * self.gamma))

    def _fill_by_norms(self, left: Vectors, right: Vectors, out: Floats) -> None:
        """In single precision, but for pairs of points both far from the origin, which often are few.

        A far and a near point have a value close to 0, however wrong their distance; or one is at the very limit.
        """
        limit = 0.5 * self._largest_in_single
        left_far, right_far = (np.flatnonzero(each.squared_norms > limit) for each in (left, right))
        if len(left_far) * len(right_far) > _MAX_REPEATED_SHARE * out.size:
            out[...] = self._in_double(left, right)
            return
        self._fill(left, right, out)
        if len(left_far) and len(right_far):
            far = self._in_double(left.take(left_far), right.take(right_far))
            out[np.ix_(left_far, right_far)] = far

    def _cancels_in_double(self, left: Vectors, right: Vectors) -> bool:
        """Whether squared distances from norms would lose too many digits even in double precision."""
        dense = isinstance(left, DensePoints) and isinstance(right, DensePoints)
        largest = max(left.largest_squared_norm, right.largest_squared_norm)
        return dense and self.gamma * largest * float(np.finfo(np.float64).eps) > _DOUBLE_PRECISION_ERROR

    def _by_differences(self, left: Vectors, right: Vectors) -> Floats:
        """From differences of coordinates: no digit is lost, however far from the origin the points are."""
        from scipy.spatial.distance import cdist

        double = np.dtype(np.float64)
        with np.errstate(over="ignore"):  # an infinite distance has the value 0
            return np.asarray(np.exp(-self.gamma * cdist(left.dense(double), right.dense(double), "sqeuclidean")))

    def _in_double(self, left: Vectors, right: Vectors) -> Floats:
        """The distances in double; of an exponential single precision is enough."""
        from slackwater.kernels import _loops

        products = np.empty((len(left), len(right)))
        inner_products(left, right, products)
        left_terms, right_terms = self.gamma * left.squared_norms, self.gamma * right.squared_norms
        out = np.empty(products.shape, np.float32)
        _loops.gaussian_finish_into32(products, left_terms, right_terms, 2 * self.gamma, *flatten(out))
        return out

    def _terms(self, left: Vectors, right: Vectors, dtype: np.dtype[Any]) -> tuple[Floats, Floats]:
        """gamma |x|², the share of each point's own norm in a distance."""
        with np.errstate(over="ignore"):  # looked for by whoever asked for the block
            left_terms = (self.gamma * left.squared_norms).astype(dtype)
            right_terms = (self.gamma * right.squared_norms).astype(dtype)
        return left_terms, right_terms

    # ---- decay

    def squared_cutoff(self, value: float) -> float:
        """-log(value) / gamma."""
        return _ratio(-math.log(value), self.gamma)

    def from_squared_distances(self, squared: Floats) -> None:
        """In place: d² becomes exp(-gamma d²)."""
        from slackwater.kernels import _loops

        _loops.gaussian_of_squared_distances(squared, self.gamma)

    def sum_near(
        self, points: Floats, leaves: Leaves, limit: float, coefficients: NDArray[np.float64], out: NDArray[np.float64]
    ) -> int:
        """By a compiled loop, in double precision."""
        from slackwater.kernels import _leaf_loops

        boxes = leaves.packed, leaves.starts, leaves.lower, leaves.upper
        return int(_leaf_loops.gaussian_sums(points, *boxes, self.gamma, limit, coefficients, out))


def _ratio(distance: float, gamma: float) -> float:
    """A squared distance in units of the width, which gamma = 0, a constant kernel, makes infinite."""
    return distance / gamma if gamma > 0.0 else math.inf


def _in_single(factor: float) -> bool:
    """Whether single precision has this number, with all its digits and twice."""
    numbers = np.finfo(np.float32)
    return float(numbers.tiny) <= factor <= 0.5 * float(numbers.max)


def _well_within_single(gamma: float) -> bool:
    """Whether inner products of points about a width apart are numbers of single precision, with all their digits."""
    return 1e-30 <= gamma <= 1e30


def _fits_one_pass(points: Vectors) -> bool:
    return isinstance(points, DensePoints) and points.n_features <= _MAX_COORDINATES


def _exactly_in_single(points: Vectors) -> bool:
    """Whether distances are those of the coordinates in single precision, and of nothing else."""
    return _fits_one_pass(points) and points.raw.dtype == np.float32 and not cast("DensePoints", points).projected
