"""The Laplacian kernel."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slackwater.kernels.base import Kernel, require_not_negative, vector_pair
from slackwater.kernels.products import flatten, l1_distances
from slackwater.points import Floats, Points, quicker_form


@dataclass(frozen=True)
class Laplacian(Kernel):
    """The Laplacian kernel.

    .. math:: K(x, z) = \\exp(-\\gamma \\|x - z\\|_1)

    Parameters
    ----------
    gamma : float
        Inverse width, > 0.
    """

    gamma: float
    name = "laplacian"
    unit_diagonal = True
    positive_semidefinite = True
    reentrant = True
    bounded_by_one = True

    def __post_init__(self) -> None:
        require_not_negative("gamma", self.gamma, "It is the inverse width of the Laplacian.")

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
