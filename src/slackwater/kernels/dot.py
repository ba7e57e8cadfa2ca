"""Kernels of the inner product of two points: linear, polynomial, sigmoid."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slackwater.kernels.base import Kernel, as_vectors, require_finite, require_not_negative, vector_pair
from slackwater.kernels.products import inner_products
from slackwater.points import Floats, Points, quicker_form


@dataclass(frozen=True)
class Linear(Kernel):
    """The linear kernel.

    .. math:: K(x, z) = \\langle x, z\\rangle
    """

    name = "linear"
    positive_semidefinite = True
    is_inner_product = True
    reentrant = True

    def prepared(self, points: Points) -> Points:
        """Dense rows where that is quicker."""
        return quicker_form(points)

    def fill(self, left: Points, right: Points, out: Floats) -> None:
        """Write :math:`K(left_i, right_j)` into ``out[i, j]``."""
        inner_products(*vector_pair(left, right, self.name), out)

    def diagonal(self, points: Points) -> NDArray[np.float64]:
        """Compute the squared norms."""
        return as_vectors(points, self.name).squared_norms.copy()

    def largest_value(self, points: Points) -> float:
        """Return the largest squared norm: |<x, z>| is at most that."""
        return float(self.diagonal(points).max(initial=0.0))


@dataclass(frozen=True)
class Polynomial(Kernel):
    """The polynomial kernel.

    .. math:: K(x, z) = (\\gamma\\langle x, z\\rangle + c_0)^{degree}

    Parameters
    ----------
    degree : int
        Degree, >= 0.
    gamma : float
        Scale of the inner product, >= 0.
    coef0 : float
        The constant :math:`c_0`. Below 0 the kernel is indefinite in general.
    """

    degree: int
    gamma: float
    coef0: float
    name = "poly"
    reentrant = True

    def __post_init__(self) -> None:
        if not isinstance(self.degree, int | np.integer) or self.degree < 0:
            raise ValueError(f"degree must be an integer >= 0, got {self.degree!r}. 3 is the usual choice.")
        require_not_negative("gamma", self.gamma, "It scales the inner product.")
        require_finite("coef0", self.coef0, "It is added to the scaled inner product.")

    @property
    def positive_semidefinite(self) -> bool:  # type: ignore[override]
        """Whether all coefficients of the power series in the inner product are >= 0."""
        return self.coef0 >= 0

    def prepared(self, points: Points) -> Points:
        """Dense rows where that is quicker."""
        return quicker_form(points)

    def fill(self, left: Points, right: Points, out: Floats) -> None:
        """Write :math:`K(left_i, right_j)` into ``out[i, j]``."""
        inner_products(*vector_pair(left, right, self.name), out)
        out *= out.dtype.type(self.gamma)
        out += out.dtype.type(self.coef0)
        # Values that are not finite are found and named by whoever asked for the block.
        with np.errstate(over="ignore", invalid="ignore"):
            raise_to_power(out, int(self.degree))

    def diagonal(self, points: Points) -> NDArray[np.float64]:
        """Compute the kernel of each point with itself from its squared norm."""
        norms = as_vectors(points, self.name).squared_norms
        return np.asarray((self.gamma * norms + self.coef0) ** int(self.degree), dtype=np.float64)

    def largest_value(self, points: Points) -> float:
        """Return the largest K(x, x); no |K(x, z)| is larger where the kernel is positive semi-definite."""
        return float(np.abs(self.diagonal(points)).max(initial=0.0))

    def parameters(self) -> dict[str, Any]:
        """Return degree, gamma and coef0."""
        return {**asdict(self), "degree": int(self.degree)}


@dataclass(frozen=True)
class Sigmoid(Kernel):
    """The sigmoid kernel; indefinite for most parameters.

    .. math:: K(x, z) = \\tanh(\\gamma\\langle x, z\\rangle + c_0)

    Parameters
    ----------
    gamma : float
        Scale of the inner product, >= 0.
    coef0 : float
        The constant :math:`c_0`.
    """

    gamma: float
    coef0: float
    name = "sigmoid"
    known_indefinite = True
    indefinite_remedy = "Smaller gamma and coef0 help."
    reentrant = True

    def __post_init__(self) -> None:
        require_not_negative("gamma", self.gamma, "It scales the inner product.")
        require_finite("coef0", self.coef0, "It is added to the scaled inner product.")

    def prepared(self, points: Points) -> Points:
        """Dense rows where that is quicker."""
        return quicker_form(points)

    def fill(self, left: Points, right: Points, out: Floats) -> None:
        """Write :math:`K(left_i, right_j)` into ``out[i, j]``."""
        inner_products(*vector_pair(left, right, self.name), out)
        out *= out.dtype.type(self.gamma)
        out += out.dtype.type(self.coef0)
        np.tanh(out, out=out)

    def diagonal(self, points: Points) -> NDArray[np.float64]:
        """Compute the kernel of each point with itself from its squared norm."""
        norms = as_vectors(points, self.name).squared_norms
        return np.asarray(np.tanh(self.gamma * norms + self.coef0), dtype=np.float64)

    def parameters(self) -> dict[str, Any]:
        """Return gamma and coef0."""
        return asdict(self)


def raise_to_power(values: Floats, exponent: int) -> None:
    """In place: v becomes v^exponent, by squaring; np.power, made for any exponent, is far slower."""
    if exponent == 0:
        values[...] = 1.0
        return
    power = values.copy()
    for bit in bin(exponent)[3:]:
        np.square(values, out=values)
        if bit == "1":
            values *= power
