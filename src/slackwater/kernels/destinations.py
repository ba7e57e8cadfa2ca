"""Where rows of kernel values are written to: places in one stretch of memory, as floats or in two bytes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slackwater.kernels.products import flatten
from slackwater.points.base import Floats

TWO_BYTE_STEPS = 2**16 - 1  # to which values between 0 and 1 are rounded where they are kept in two bytes


class Destinations(NamedTuple):
    """Value j of row i goes to ``base[starts[i] + j]``, times ``steps`` and rounded unless ``steps`` is 0."""

    base: NDArray[Any]
    starts: NDArray[np.intp]
    steps: np.float32 = np.float32(0)

    @classmethod
    def of_block(cls, block: Floats) -> Destinations:
        """The rows of an array."""
        base, stride = flatten(block)
        return cls(base, stride * np.arange(len(block)))

    @classmethod
    def of_slots(cls, slab: NDArray[Any], slots: NDArray[np.intp]) -> Destinations:
        """Some rows of a contiguous array, of floats or of two-byte integers."""
        if not slab.flags.c_contiguous:
            raise ValueError("rows are written to the array itself, not to a copy of it: pass a C-ordered one.")
        steps = TWO_BYTE_STEPS if slab.dtype == np.uint16 else 0
        return cls(slab.reshape(-1), slab.shape[1] * slots, np.float32(steps))

    def part(self, first: int, last: int, column: int) -> Destinations:
        """Some of the rows, from a column on."""
        return self._replace(starts=self.starts[first:last] + column)
