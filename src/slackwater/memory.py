"""Large stretches of memory, of which perhaps not all is ever used, and smaller ones that threads use by turns."""

from __future__ import annotations

import math
import mmap
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from slackwater.deadline import pieces

_LARGE = 2**24  # bytes, for pages to be asked for one by one,
_PIECE = 2**24  # and that are filled between two looks at the clock: 5 to 20 ms


def untouched(shape: int | tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
    """An array of any values, as ``np.empty`` makes it, but of small pages if it is large.

    NumPy asks for huge pages. Where a virtual machine has to take them from its host first, a GB written to for the
    first time takes 2.8 to 3.7 s in huge pages and 0.6 to 0.7 s in small ones (bench/pages.py); walking along rows is
    as quick in both.
    """
    size = math.prod(shape) if isinstance(shape, tuple) else shape
    n_bytes = size * np.dtype(dtype).itemsize
    if n_bytes < _LARGE or not hasattr(mmap, "MADV_NOHUGEPAGE"):
        return np.empty(shape, dtype)
    try:
        pages = mmap.mmap(-1, n_bytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        pages.madvise(mmap.MADV_NOHUGEPAGE)
    except OSError:  # no such memory, or a kernel without huge pages: NumPy will say which
        return np.empty(shape, dtype)
    return np.frombuffer(pages, dtype, size).reshape(shape)


def rows_of(values: NDArray[Any], indices: NDArray[np.integer[Any]]) -> NDArray[Any]:
    """``values[indices]`` for indices counted from 0, in small pages if that is large."""
    shape = (len(indices), *values.shape[1:])
    if math.prod(shape) * values.itemsize < _LARGE:
        rows: NDArray[Any] = values[indices]
        return rows
    if indices.min() < 0 or indices.max() >= len(values):
        raise IndexError(f"indices must lie between 0 and {len(values) - 1}, got {indices.min()} to {indices.max()}.")
    out = untouched(shape, values.dtype)
    for part in pieces(len(indices), _rows_in(_PIECE, out)):
        np.take(values, indices[part], axis=0, out=out[part], mode="clip")  # as it was checked
    return out


def converted(values: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    """The same numbers in an array of another type, or the array itself if it has that type."""
    if values.dtype == dtype:
        return values
    out = untouched(values.shape, dtype)
    for part in pieces(len(values), _rows_in(_PIECE, out)):
        out[part] = values[part]
    return out


def _rows_in(n_bytes: int, values: NDArray[Any]) -> int:
    """How many rows of an array so many bytes hold, at least one."""
    return max(1, n_bytes * len(values) // max(values.nbytes, 1))


class Buffers:
    """Memory for the work of a task, used again by the next one: as many stretches as there are threads."""

    def __init__(self, dtype: np.dtype[Any]) -> None:
        self._dtype = dtype
        self._spare: list[NDArray[Any]] = []

    @contextmanager
    def lent(self, *shape: int) -> Iterator[NDArray[Any]]:
        """An array of any values, for the time being."""
        size = math.prod(shape)
        try:
            buffer = self._spare.pop()  # atomic
        except IndexError:
            buffer = np.empty(0, self._dtype)
        if len(buffer) < size:
            buffer = np.empty(size, self._dtype)
        yield buffer[:size].reshape(shape)
        self._spare.append(buffer)


class SpareMemory:
    """Large stretches that several fits use one after the other: fresh pages take longer than values to fill them."""

    def __init__(self) -> None:
        self._spare: list[NDArray[np.uint8]] = []
        self._lock = threading.Lock()

    def take(self, n_bytes: int) -> NDArray[np.uint8]:
        """Memory of any content, at least so much: a stretch that was given back, or a new one."""
        with self._lock:
            fitting = [number for number, spare in enumerate(self._spare) if len(spare) >= n_bytes]
            if fitting:
                return self._spare.pop(min(fitting, key=lambda number: len(self._spare[number])))
        return untouched(n_bytes, np.uint8)

    def clear(self) -> None:
        """Keep nothing for others: what comes next needs the room."""
        with self._lock:
            self._spare.clear()

    def give_back(self, memory: NDArray[np.uint8]) -> None:
        """For others to take."""
        if len(memory):
            with self._lock:
                self._spare.append(memory)
