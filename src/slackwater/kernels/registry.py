"""From a name and the usual parameters to a kernel."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slackwater.deadline import pieces
from slackwater.kernels.base import Kernel, as_vectors, require_not_negative
from slackwater.kernels.custom import Custom
from slackwater.kernels.dot import Linear, Polynomial, Sigmoid
from slackwater.kernels.gaussian import Gaussian
from slackwater.kernels.laplacian import Laplacian
from slackwater.points import Points, SparsePoints, Vectors

# Each builder receives gamma (a function: "scale" reads all the data, and linear has no use for it), degree,
# coef0.
KERNELS: dict[str, Callable[[Callable[[], float], int, float], Kernel]] = {
    "linear": lambda gamma, degree, coef0: Linear(),
    "poly": lambda gamma, degree, coef0: Polynomial(degree, gamma(), coef0),
    "rbf": lambda gamma, degree, coef0: Gaussian(gamma()),
    "laplacian": lambda gamma, degree, coef0: Laplacian(gamma()),
    "sigmoid": lambda gamma, degree, coef0: Sigmoid(gamma(), coef0),
}

Sums = NDArray[np.float64]

CHUNK = 2**18  # values of the data looked at together


def make_kernel(
    kernel: str | Kernel | Callable[[Any, Any], Any],
    *,
    gamma: str | float = "scale",
    degree: int = 3,
    coef0: float = 0.0,
    points: Points | None = None,
) -> Kernel:
    """Build a kernel from what a user of an estimator says.

    Parameters
    ----------
    kernel : str, Kernel or callable
        One of the names in ``KERNELS``, a kernel, or a function ``k(A, B)``.
    gamma : {"scale", "auto"} or float, default="scale"
        See ``resolve_gamma``. Only kernels whose formula has a gamma read it.
    degree : int, default=3
        Degree of "poly".
    coef0 : float, default=0.0
        Constant of "poly" and "sigmoid".
    points : Points, optional
        Training points; needed for gamma="scale" and "auto".
    """
    if isinstance(kernel, Kernel):
        return kernel
    if callable(kernel):
        custom = Custom(kernel, reentrant=bool(getattr(kernel, "reentrant", False)))
        if points is not None:
            custom.require_blocks(points)
        return custom
    if kernel not in KERNELS:
        known = ", ".join(sorted(KERNELS))
        raise ValueError(
            f"kernel must be one of {known}, precomputed (X holds kernel values), or a callable k(A, B), "
            f"got {kernel!r}."
        )
    return KERNELS[kernel](lambda: resolve_gamma(gamma, points), degree, coef0)


def kernel_of(name: str, parameters: Mapping[str, Any]) -> Kernel:
    """The kernel of that name with its own parameters, as ``Kernel.parameters`` has them."""
    if name not in KERNELS:
        raise ValueError(f"kernel must be one of {', '.join(sorted(KERNELS))}, got {name!r}.")
    unknown = set(parameters) - {"gamma", "degree", "coef0"}
    if unknown:
        raise ValueError(f"parameters of a kernel must be gamma, degree and coef0, got {', '.join(sorted(unknown))}.")
    gamma = parameters.get("gamma", "scale")
    return KERNELS[name](lambda: resolve_gamma(gamma), parameters.get("degree", 3), float(parameters.get("coef0", 0.0)))


def is_built_in(kernel: Kernel) -> bool:
    """Whether its name and its parameters say all about a kernel."""
    return kernel.name in KERNELS and kernel_of(kernel.name, kernel.parameters()) == kernel


def resolve_gamma(gamma: str | float, points: Points | None = None) -> float:
    """Turn "scale" and "auto" into numbers.

    .. math:: \\text{scale} = \\frac{1}{d\\,\\mathrm{Var}(X)}, \\qquad \\text{auto} = \\frac{1}{d}

    The variance is that of all n·d entries together, whatever weights the rows have, as in scikit-learn. Where it is 0,
    "scale" is 1.
    """
    if not isinstance(gamma, str):
        require_not_negative("gamma", gamma, "Use 'scale' to derive it from the data.")
        return float(gamma)
    if gamma not in ("scale", "auto"):
        raise ValueError(f"gamma must be 'scale', 'auto' or a number >= 0, got {gamma!r}.")
    if points is None:
        raise ValueError(f"gamma={gamma!r} is derived from the training points, which are missing here. Pass a number.")
    vectors = as_vectors(points, f"gamma={gamma!r}")
    if vectors.n_features == 0:
        raise ValueError(f"gamma={gamma!r} needs points of at least one feature, got none.")
    if gamma == "auto":
        return 1.0 / vectors.n_features
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        variance = entry_variance(vectors)
    return gamma_of_variance(variance, vectors.n_features)


def gamma_of_variance(variance: float, n_features: int) -> float:
    """The "scale" of data whose entries have this variance."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        scale = np.float64(1.0) / (n_features * np.float64(variance)) if variance > 0 else np.float64(1.0)
    if not (np.isfinite(variance) and 0.0 < scale < np.inf):
        raise ValueError(
            f"gamma='scale' cannot be derived from X, whose variance is {variance:g}: its values are too large or too "
            "small. Scale the features, or pass gamma as a number."
        )
    return float(scale)


def entry_variance(points: Vectors) -> float:
    """Compute the variance of all entries of the data."""
    return entry_moments(points)[1] / (len(points) * points.n_features)


def entry_moments(points: Vectors) -> tuple[float, float]:
    """Compute the mean of all entries, and the sum of their squared distances from it: two passes, in float64."""
    total = len(points) * points.n_features
    mean = sum(float(sums(rows, 0.0)[0].sum()) for rows in _chunks(points)) / total
    # Entries that a sparse row does not store are zeros, at distance `mean` from the mean.
    squares = 0.0
    for rows in _chunks(points):
        _, squared, counts = sums(rows, mean)
        squares += float((squared + (points.n_features - counts) * np.float64(mean) ** 2).sum())
    return mean, squares


def sums(points: Vectors, centre: float) -> tuple[Sums, Sums, Sums]:
    """For each row, over its stored entries: sum of (v - centre), sum of (v - centre)², number of entries."""
    if isinstance(points, SparsePoints):
        start, stop = points.extent
        rows = np.repeat(np.arange(len(points)), np.diff(points.indptr))
        shifted = points.data[start:stop].astype(np.float64) - centre
        first = np.bincount(rows, shifted, len(points)).astype(np.float64, copy=False)
        second = np.bincount(rows, shifted**2, len(points)).astype(np.float64, copy=False)
        return first, second, np.diff(points.indptr).astype(np.float64)
    differences = points.dense(np.dtype(np.float64)) - centre
    counts = np.full(len(points), float(points.n_features))
    return differences.sum(axis=1), np.einsum("ij,ij->i", differences, differences), counts


def _chunks(points: Vectors) -> Iterator[Vectors]:
    step = max(1, CHUNK // max(1, points.n_features))
    if isinstance(points, SparsePoints):
        start, stop = points.extent
        step = max(1, CHUNK * len(points) // max(1, stop - start))
    for rows in pieces(len(points), step):
        part = points.slice(rows.start, rows.stop)
        assert isinstance(part, Vectors)
        yield part
