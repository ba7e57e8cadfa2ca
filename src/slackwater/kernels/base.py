"""What a kernel is: a function of two points, computed in blocks."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from slackwater.kernels.points import Floats, Points, Vectors


class Kernel(Protocol):
    """A positive semi-definite function :math:`K(x, z)` of two points.

    Attributes
    ----------
    name : str
        The name by which the registry knows the kernel.
    unit_diagonal : bool
        Whether :math:`K(x, x) = 1` by formula, so that the diagonal costs no evaluations.
    positive_semidefinite : bool
        Whether the formula guarantees it; else a sample of points should be tested.
    reentrant : bool
        Whether ``fill`` may run in several threads at once. True of every kernel here; a user's callable must
        say so.
    """

    @property
    def name(self) -> str: ...

    @property
    def unit_diagonal(self) -> bool: ...

    @property
    def positive_semidefinite(self) -> bool: ...

    @property
    def reentrant(self) -> bool: ...

    def prepared(self, points: Points) -> Points:
        """The same points in the form that ``fill`` is quickest with."""

    def fill(self, left: Points, right: Points, out: Floats) -> None:
        """Write :math:`K(left_i, right_j)` into ``out[i, j]``, in the caller's thread.

        ``out`` has shape (len(left), len(right)); its rows may lie apart, each row must be contiguous.
        """

    def diagonal(self, points: Points) -> NDArray[np.float64]:
        """Compute :math:`K(x_i, x_i)` of every point."""

    def parameters(self) -> dict[str, Any]:
        """What ``make_kernel`` needs beside the name to build this kernel again; JSON can hold it."""


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


def require_positive(name: str, value: float, meaning: str) -> None:
    """Raise unless ``value`` is a finite number above 0."""
    if not (np.isfinite(value) and value > 0):
        raise ValueError(f"{name} must be a finite number > 0, got {value!r}. {meaning}")


def require_finite(name: str, value: float, meaning: str) -> None:
    """Raise unless ``value`` is a finite number."""
    if not np.isfinite(value):
        raise ValueError(f"{name} must be a finite number, got {value!r}. {meaning}")
