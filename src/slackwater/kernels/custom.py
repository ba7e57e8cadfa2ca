"""Any callable as a kernel, watched closely."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slackwater.errors import KernelError
from slackwater.kernels.base import Kernel
from slackwater.points import Floats, Points

_DECLARABLE = ("unit_diagonal", "positive_semidefinite", "bounded_by_one", "shift_invariant")


@dataclass(frozen=True)
class Custom(Kernel):
    """A user's own kernel.

    .. math:: K(A_i, B_j) = k(A, B)_{ij}

    Parameters
    ----------
    function : callable
        ``k(A, B)`` returning an array of shape (len(A), len(B)). A and B are parts of what the user passed to
        ``fit``: arrays, CSR matrices, or lists of objects. It must be symmetric and positive semi-definite.
        Where it has a method ``diag``, as scikit-learn's Gaussian process kernels have, the diagonal is taken
        from it.
    reentrant : bool, default=False
        Whether the function may be called from several threads at once.

    Notes
    -----
    The function may declare what it can do by attributes of its own: ``unit_diagonal``, ``positive_semidefinite``,
    ``bounded_by_one`` and ``shift_invariant``, as ``Kernel`` has them. For more, derive a class from ``Kernel``.
    """

    function: Callable[[Any, Any], Any]
    reentrant: bool = False
    name = "custom"

    def __post_init__(self) -> None:
        for capability in _DECLARABLE:
            object.__setattr__(self, capability, bool(getattr(self.function, capability, False)))

    def fill(self, left: Points, right: Points, out: Floats) -> None:
        """Write :math:`K(left_i, right_j)` into ``out[i, j]``."""
        values = self.function(_protected(left.raw), _protected(right.raw))
        out[...] = _checked(values, (len(left), len(right)), self.label)

    def diagonal(self, points: Points) -> NDArray[np.float64]:
        """Call the function on one point at a time: n evaluations, no more."""
        n = len(points)
        if callable(getattr(self.function, "diag", None)):
            values = self.function.diag(points.raw)  # type: ignore[attr-defined]
            return _checked(values, (n,), f"{self.label}.diag").astype(np.float64)
        diagonal = np.empty(n)
        for i in range(n):
            point = points.slice(i, i + 1).raw
            diagonal[i] = _checked(self.function(point, point), (1, 1), self.label)[0, 0]
        return diagonal

    @property
    def label(self) -> str:
        """The function's name."""
        return str(getattr(self.function, "__name__", type(self.function).__name__))


def _protected(raw: Any) -> Any:
    """An array that a function cannot change: it is the user's own data."""
    if not isinstance(raw, np.ndarray):
        return raw
    view = raw.view()
    view.flags.writeable = False
    return view


def _checked(values: Any, shape: tuple[int, ...], label: str) -> NDArray[Any]:
    """Refuse what is not an array of finite real numbers of that shape, and say what it is instead."""
    expected = f"an array of finite real numbers of shape {shape}"
    if hasattr(values, "toarray"):
        raise KernelError(f"kernel {label} returned a sparse matrix, expected {expected}. Return .toarray() of it.")
    try:
        array = np.asarray(values)
    except ValueError as error:  # rows of different lengths
        raise KernelError(f"kernel {label} returned {type(values).__name__} ({error}), expected {expected}.") from error
    if array.dtype.kind not in "fiub":
        raise KernelError(f"kernel {label} returned {type(values).__name__} of {array.dtype}, expected {expected}.")
    if array.shape != shape:
        raise KernelError(
            f"kernel {label} returned an array of shape {array.shape}, expected {expected}. "
            "It is called as k(A, B) and must return one row for each element of A, one column for each of B."
        )
    finite = np.isfinite(array)
    if not finite.all():
        where = tuple(int(axis[0]) for axis in np.nonzero(~finite))
        raise KernelError(f"kernel {label} returned {array[where]} at {where}, expected {expected}.")
    return array
