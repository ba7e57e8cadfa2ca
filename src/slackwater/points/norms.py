"""Squared norms of rows: computed once, in double precision, and handed on to parts of the data."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

Indices = NDArray[np.integer[Any]]


class SquaredNorms:
    """:math:`\\|x_i\\|^2` of one set of rows, computed when first asked for.

    Sums are taken and kept in float64: the Gaussian kernel subtracts these numbers from one another. ``compute`` should
    know the rows' arrays, not the points that these norms are part of: a cycle of references would keep the rows of a
    large set in memory until the garbage collector comes by.

    Attributes
    ----------
    largest : float
        Largest norm of the set these rows were cut from. Slices answer for the whole set, so that a choice of
        precision made by this number is the same for every tile.
    """

    def __init__(self, compute: Callable[[], NDArray[np.float64]], whole: SquaredNorms | None = None) -> None:
        self._compute = compute
        self._whole = whole

    @staticmethod
    def of(values: NDArray[np.float64]) -> SquaredNorms:
        """Norms that are known."""
        norms = SquaredNorms(lambda: values)
        norms.__dict__["values"] = values
        return norms

    @cached_property
    def values(self) -> NDArray[np.float64]:
        return self._compute()

    @cached_property
    def largest(self) -> float:
        return self._whole.largest if self._whole is not None else float(np.max(self.values, initial=0.0))

    def slice(self, start: int, stop: int) -> SquaredNorms:
        return SquaredNorms(lambda: self.values[start:stop], self._whole or self)

    def take(self, indices: Indices, anew: SquaredNorms) -> SquaredNorms:
        """Select norms already known; else they are computed ``anew``, so as not to keep the whole set in memory."""
        if "values" not in self.__dict__:
            return anew
        selected = SquaredNorms.of(self.values[indices])
        selected.__dict__["largest"] = self.largest
        return selected
