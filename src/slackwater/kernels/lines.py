"""Where rows of kernel values go: anywhere in one stretch of memory, as numbers between 0 and 1 or rounded."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slackwater.kernels.points import Floats
from slackwater.kernels.products import flatten

STEPS = 2**16 - 1  # to which values between 0 and 1 are rounded where they are kept in two bytes


class Lines(NamedTuple):
    """Value j of row i goes to ``base[starts[i] + j]``; ``steps`` is how many 1 has, or 0 if values are as they are."""

    base: NDArray[Any]
    starts: NDArray[np.intp]
    steps: np.float32 = np.float32(0)

    @classmethod
    def of_block(cls, block: Floats) -> Lines:
        """The rows of an array."""
        base, stride = flatten(block)
        return cls(base, stride * np.arange(len(block)))

    @classmethod
    def of_slots(cls, slab: NDArray[Any], slots: NDArray[np.intp]) -> Lines:
        """Some rows of a contiguous array, of floats or of whole numbers of two bytes."""
        if not slab.flags.c_contiguous:
            raise ValueError("rows are written to the array itself, not to a copy of it: pass a C-ordered one.")
        steps = STEPS if slab.dtype == np.uint16 else 0
        return cls(slab.reshape(-1), slab.shape[1] * slots, np.float32(steps))

    def part(self, first: int, last: int, column: int) -> Lines:
        """Some of the rows, from a column on."""
        return self._replace(starts=self.starts[first:last] + column)
