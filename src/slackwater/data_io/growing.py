"""Arrays that grow while a file is read, without a second copy at the end."""

from __future__ import annotations

from array import array
from typing import Any

import numpy as np
from numpy.typing import NDArray


class GrowingArray:
    """Numbers of one kind in one piece of memory, which is moved by the operating system when it grows.

    Parameters
    ----------
    kind : str
        Type code of the ``array`` module: "d" for doubles, "i" and "q" for integers of 4 and 8 bytes.
    """

    def __init__(self, kind: str) -> None:
        self._numbers: array[Any] = array(kind)
        self._dtype = np.dtype(kind)

    def __len__(self) -> int:
        return len(self._numbers)

    def append(self, values: NDArray[Any]) -> None:
        self._numbers.frombytes(np.ascontiguousarray(values, dtype=self._dtype).reshape(-1).view(np.uint8).data)

    def finished(self) -> NDArray[Any]:
        """All of them, over the same memory. Nothing can be appended afterwards."""
        return np.frombuffer(self._numbers, dtype=self._dtype)
