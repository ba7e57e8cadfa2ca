"""Is this kernel positive semi-definite? A sample of points can show that it is not."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from slackwater.errors import IndefiniteKernelError, KernelError
from slackwater.gram.source import RowSource

# What rounding of the values can do to the smallest eigenvalue, relative to the largest. For float64 as well
# not finer than 1e-6: such values are often float32 by origin.
TOLERANCE = {np.dtype(np.float32): 1e-5, np.dtype(np.float64): 1e-6}
ASYMMETRY = 1e-4


def smallest_relative_eigenvalue(source: RowSource, rng: np.random.Generator, sample: int = 64) -> float:
    """Find the smallest eigenvalue of the kernel matrix of a random sample, relative to the largest.

    .. math:: \\min(0, \\lambda_{\\min}) / \\max_k |\\lambda_k|

    Parameters
    ----------
    source : RowSource
    rng : numpy Generator
        Draws the sample.
    sample : int, default=64
        Number of points; all of them if there are fewer.

    Returns
    -------
    float
        From -1 to 0. Rounding alone gives values of about -1e-7 (float32) and -1e-16 (float64).

    Notes ----- Costs sample² evaluations, charged to the account "check". Raises KernelError if the sample is
    not symmetric.
    """
    size = min(sample, source.n)
    points = np.sort(rng.choice(source.n, size=size, replace=False))
    with source.ledger.charging("check"):
        values = np.array(source.rows(points, columns=points), dtype=np.float64)
    _require_symmetric(values, points)
    eigenvalues = np.linalg.eigvalsh((values + values.T) / 2)
    largest = float(np.abs(eigenvalues).max(initial=0.0))
    return min(0.0, float(eigenvalues[0])) / largest if largest > 0 else 0.0


def check_positive_semidefinite(source: RowSource, rng: np.random.Generator, sample: int = 64) -> None:
    """Raise IndefiniteKernelError if a random sample of points shows the kernel to be indefinite.

    Passing is no proof. Parameters and costs as of ``smallest_relative_eigenvalue``.
    """
    smallest = smallest_relative_eigenvalue(source, rng, sample)
    tolerance = TOLERANCE[source.dtype]
    if smallest < -tolerance:
        raise IndefiniteKernelError(
            f"the kernel must be positive semi-definite: on {min(sample, source.n)} training points its "
            f"smallest eigenvalue is {smallest:.3g} times the largest, allowed is {-tolerance:g}. "
            "Use another kernel, other parameters (poly: coef0 >= 0), or clip the negative eigenvalues of a "
            "precomputed matrix."
        )


def _require_symmetric(values: NDArray[np.float64], points: NDArray[np.intp]) -> None:
    difference = np.abs(values - values.T)
    if difference.max(initial=0.0) > ASYMMETRY * np.abs(values).max():
        i, j = (int(axis) for axis in np.unravel_index(int(difference.argmax()), difference.shape))
        raise KernelError(
            f"a kernel must be symmetric, got K(x_{points[i]}, x_{points[j]}) = {values[i, j]:.6g} "
            f"but K(x_{points[j]}, x_{points[i]}) = {values[j, i]:.6g}. Check the kernel function."
        )
