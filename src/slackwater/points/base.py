"""What kernels compute with: a sequence of points, with coordinates or without.

Rows can be selected (``take``, a copy) and cut out (``slice``, a view). Squared norms, once computed, go along.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slackwater.points.norms import SquaredNorms

Floats = NDArray[np.floating[Any]]
Indices = NDArray[np.integer[Any]]
ALIGNMENT = 32  # points: what loops pack side by side divides it (kernels/_register_tiles.py)


class Points(ABC):
    """A sequence of points, each an argument for a kernel.

    Attributes
    ----------
    dtype : numpy dtype
        Type of the kernel values of these points: float32 if the data are float32, else float64.
    """

    dtype: np.dtype[Any] = np.dtype(np.float64)

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def take(self, indices: Indices) -> Points:
        """Copy the points at ``indices``, in that order."""

    @abstractmethod
    def slice(self, start: int, stop: int) -> Points:
        """Cut out points ``start`` to ``stop`` without copying data."""

    def forget(self) -> None:  # noqa: B027  # most forms keep nothing
        """Free what is kept for further products and can be made again."""

    @property
    @abstractmethod
    def raw(self) -> Any:
        """The points as a user's callable expects them: an array, a CSR matrix, a list."""


class Vectors(Points):
    """Points with coordinates."""

    n_features: int
    tile_rows: int  # how many of these rows, as the left side of a product, make good use of the cache
    rows_together: int = 1  # left points that are multiplied in about the time of one
    tile_alignment: int = 1  # tiles of the right side had best begin at multiples of this
    _norms: SquaredNorms

    @abstractmethod
    def take(self, indices: Indices) -> Vectors: ...

    @abstractmethod
    def slice(self, start: int, stop: int) -> Vectors: ...

    @property
    def squared_norms(self) -> NDArray[np.float64]:
        """:math:`\\|x_i\\|^2` of every row; float64 whatever the data are."""
        return self._norms.values

    @property
    def largest_squared_norm(self) -> float:
        """Largest squared norm of the set these rows were cut from."""
        return self._norms.largest

    @property
    def effort(self) -> int:
        """As long as so many coordinates in single precision take, a product takes."""
        return self.n_features

    @abstractmethod
    def dense(self, dtype: np.dtype[Any]) -> Floats:
        """The rows as a dense array of that type; not copied where they are one already."""


class ObjectPoints(Points):
    """Any objects in a sequence: strings, graphs, trees. Only a callable kernel can compare them."""

    def __init__(self, items: Sequence[Any] | NDArray[Any]) -> None:
        self.items = items

    def __len__(self) -> int:
        return len(self.items)

    def take(self, indices: Indices) -> ObjectPoints:
        if isinstance(self.items, np.ndarray):
            return ObjectPoints(self.items[indices])
        return ObjectPoints([self.items[int(i)] for i in indices])

    def slice(self, start: int, stop: int) -> ObjectPoints:
        return ObjectPoints(self.items[start:stop])

    @property
    def raw(self) -> Any:
        return self.items
