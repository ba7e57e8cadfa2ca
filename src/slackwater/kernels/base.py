"""What a kernel is: a function of two points, computed in blocks, that says what can be done with it."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from slackwater.points import DensePoints, Floats, GridPoints, Points, Vectors
from slackwater.workers import Workers

if TYPE_CHECKING:
    from slackwater.kernels.destinations import Destinations
    from slackwater.points.leaves import Leaves


class Kernel(ABC):
    """A function :math:`K(x, z)` of two points.

    A subclass needs ``name``, ``fill`` and ``diagonal``. The rest are capabilities: what a kernel declares is made use
    of, and nobody asks for its class. What is not declared costs speed, never correctness.

    Attributes
    ----------
    name : str
        The name by which the registry knows the kernel, and by which errors call it.
    unit_diagonal : bool
        :math:`K(x, x) = 1` by formula, so that the diagonal costs no evaluations.
    positive_semidefinite : bool
        The formula guarantees it; else a sample of points is tested.
    known_indefinite : bool
        There are points on which the formula is not positive semi-definite, and it is used all the same: where they
        are among the data, that is a reason to warn, not to refuse.
    indefinite_remedy : str
        A sentence for that warning: how to come nearer to a semi-definite kernel.
    is_inner_product : bool
        :math:`K(x, z) = \\langle x, z\\rangle`, so that :math:`w = \\sum_i a_i x_i` is a vector of the features.
    reentrant : bool
        ``fill`` may run in several threads at once.
    bounded_by_one : bool
        :math:`0 \\le K \\le 1`, so that values can be kept in two bytes.
    accepts_projected : bool
        ``fill`` computes distances from ``squared_norms`` and inner products, so that points projected on principal
        axes (``points/projected.py``) can take the place of the originals.
    sums_over_leaves : bool
        There is a ``sum_near``.
    """

    name: ClassVar[str]
    unit_diagonal: bool = False
    positive_semidefinite: bool = False
    known_indefinite: bool = False
    indefinite_remedy: str = ""
    is_inner_product: bool = False
    reentrant: bool = False
    bounded_by_one: bool = False
    accepts_projected: bool = False
    sums_over_leaves: bool = False

    @abstractmethod
    def fill(self, left: Points, right: Points, out: Floats) -> None:
        """Write :math:`K(left_i, right_j)` into ``out[i, j]``, in the caller's thread.

        ``out`` has shape (len(left), len(right)); its rows may lie apart, each row must be contiguous.
        """

    @abstractmethod
    def diagonal(self, points: Points) -> NDArray[np.float64]:
        """Compute :math:`K(x_i, x_i)` of every point."""

    def parameters(self) -> dict[str, Any]:
        """What ``make_kernel`` needs beside the name to build this kernel again; JSON can hold it."""
        return {}

    @property
    def label(self) -> str:
        """What users call this kernel: of one of their own, its class or function."""
        return type(self).__qualname__

    def prepared(self, points: Points) -> Points:
        """The same points in the form that ``fill`` is quickest with."""
        return points

    def effort(self, points: Points) -> int | None:
        """The time a value takes, in coordinates of a product in single precision; None if it is not known."""
        return None

    # ---- precision

    def to_single_precision(self, points: Points) -> Points | None:
        """The same points in a form whose values in single precision are off by 1e-5 at most; None if there is none."""
        return None

    def single_precision_error(self, points: Points) -> float | None:
        """Root mean square error of values of these points in single precision; None if it is not known."""
        return None

    def largest_value(self, points: Points) -> float:
        """How large values of these points with one another can be, by which their rounding grows; 1 if not known."""
        return 1.0

    def better_origin(self, points: DensePoints) -> NDArray[np.float64] | None:
        """An origin from which values in single precision are more precise; None if there is none.

        Of kernels that no shift of all points changes.
        """
        return None

    def squared_distance_tolerance(self, error: float) -> float:
        """By how much a squared distance may be off for values to be off by at most ``error``."""
        return 0.0

    # ---- integers

    def multiplies_integers(self) -> bool:
        """Whether ``write`` has a faster loop for points on a grid, on this machine."""
        return False

    def on_grid(self, workers: Workers, *sets: DensePoints) -> list[GridPoints] | None:
        """Sets of points as codes on one grid, if they are on one and it pays; else None."""
        return None

    # ---- fused writing

    def writes(self, points: Points) -> bool:
        """Whether ``write`` can be asked for values of these points with one another."""
        return False

    def write(self, left: Vectors, right: Vectors, to: Destinations) -> None:
        """Write :math:`K(left_i, right_j)` as value j of destination i, in single precision or in two bytes."""
        raise NotImplementedError(f"the {self.name} kernel has no fused writing")

    # ---- functions of the squared distance that decay

    def squared_cutoff(self, value: float) -> float:
        """The squared distance beyond which :math:`K(x, z) <` ``value``; infinite if there is none."""
        return math.inf

    def from_squared_distances(self, squared: Floats) -> None:
        """In place: squared Euclidean distances become kernel values. Of kernels with a finite cut-off."""
        raise NotImplementedError(f"the {self.name} kernel is no function of the squared distance")

    def sum_near(
        self, points: Floats, leaves: Leaves, limit: float, coefficients: NDArray[np.float64], out: NDArray[np.float64]
    ) -> int:
        """``out[i] = Σ_j coefficients[j] K(points_i, x_j)`` over leaves within the squared distance ``limit``.

        ``points`` are in the coordinates of the leaves. Returns how many distances were computed.
        """
        raise NotImplementedError(f"the {self.name} kernel has no sums over leaves")


def as_vectors(points: Points, kernel: str) -> Vectors:
    """Refuse points without coordinates: only a callable kernel can compare them."""
    if isinstance(points, Vectors):
        return points
    raise TypeError(
        f"the {kernel} kernel needs a numeric array or sparse matrix of shape (n, d), got other objects. "
        "Pass a callable kernel k(A, B) for them, or encode them as numbers."
    )


def vector_pair(left: Points, right: Points, kernel: str) -> tuple[Vectors, Vectors]:
    """Both sides as vectors of the same number of features."""
    first, second = as_vectors(left, kernel), as_vectors(right, kernel)
    if first.n_features != second.n_features:
        raise ValueError(
            f"both sides of the {kernel} kernel must have the same number of features, "
            f"got {first.n_features} and {second.n_features}."
        )
    return first, second


def require_not_negative(name: str, value: float, meaning: str) -> None:
    """Raise unless ``value`` is a finite number, 0 or above."""
    if not (np.isfinite(value) and value >= 0):
        raise ValueError(f"{name} must be a finite number >= 0, got {value!r}. {meaning}")


def require_finite(name: str, value: float, meaning: str) -> None:
    """Raise unless ``value`` is a finite number."""
    if not np.isfinite(value):
        raise ValueError(f"{name} must be a finite number, got {value!r}. {meaning}")
