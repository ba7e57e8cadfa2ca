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

_TESTED = 8  # points, to see whether blocks that are not square are right
_DECLARABLE = ("unit_diagonal", "positive_semidefinite", "bounded_by_one")


@dataclass(frozen=True)
class Custom(Kernel):
    """A user's own kernel.

    .. math:: K(A_i, B_j) = k(A, B)_{ij}

    Parameters
    ----------
    function : callable
        ``k(A, B)`` returning an array or sparse matrix of shape (len(A), len(B)). A and B are parts of what the user
        passed to ``fit``: arrays, CSR matrices, or lists of objects. It must be symmetric and positive semi-definite.
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
        out[...] = self._block(left, right)

    def require_blocks(self, points: Points) -> None:
        """Raise KernelError unless the function computes any block of kernel values, not only k(X, X).

        Tested with up to eight of the points: blocks of some by all of them and of all by some against the whole.
        """
        few = points.take(np.unique(np.linspace(0, len(points) - 1, _TESTED).astype(np.intp)))
        whole, some = self._block(few, few), max(1, len(few) // 3)
        for left, right, part in ((few.slice(0, some), few, whole[:some]), (few, few.slice(0, some), whole[:, :some])):
            try:
                values = self._block(left, right)
            except Exception as error:
                raise self._only_square(left, right, f"raises {type(error).__name__} ({error})") from error
            scale = float(np.abs(whole).max())
            if not np.allclose(values, part, rtol=1e-3, atol=1e-3 * scale):
                raise self._only_square(left, right, "gives other values than within that of all by all")

    def _only_square(self, left: Points, right: Points, what: str) -> KernelError:
        return KernelError(
            f"kernel {self.label} must compute k(A, B) for any examples A and B, but for a block of {len(left)} by "
            f"{len(right)} examples it {what}. If it can only do all training examples at once, compute the matrix and "
            "pass kernel='precomputed'."
        )

    def _block(self, left: Points, right: Points) -> NDArray[Any]:
        """What the function returns, given read-only arrays, or copies where it needs to write to them.

        Compiled functions such as scikit-learn's chi2_kernel refuse read-only arrays, though they do not change them.
        """
        try:
            values = self.function(_protected(left.raw), _protected(right.raw))
        except ValueError as error:
            if "read-only" not in str(error):
                raise
            values = self.function(_copied(left.raw), _copied(right.raw))
        return _checked(values, (len(left), len(right)), self.label)

    def diagonal(self, points: Points) -> NDArray[np.float64]:
        """Call the function on one point at a time: n evaluations, no more."""
        n = len(points)
        if callable(getattr(self.function, "diag", None)):
            values = self.function.diag(_protected(points.raw))  # type: ignore[attr-defined]
            return _checked(values, (n,), f"{self.label}.diag").astype(np.float64)
        diagonal = np.empty(n)
        for i in range(n):
            point = points.slice(i, i + 1)
            diagonal[i] = self._block(point, point)[0, 0]
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


def _copied(raw: Any) -> Any:
    return raw.copy() if isinstance(raw, np.ndarray) else raw


def _checked(values: Any, shape: tuple[int, ...], label: str) -> NDArray[Any]:
    """Refuse what is not an array of finite real numbers of that shape, and say what it is instead."""
    expected = f"an array of finite real numbers of shape {shape}"
    if hasattr(values, "toarray"):  # as the product of two sparse matrices is
        values = values.toarray()
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
