"""Where a shard keeps the points of a class: in memory, or on disk, of which some are in memory at a time."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from slackwater.gram.source import IndexArray
from slackwater.points import Points
from slackwater.shards.form import Form, Packed, joined, packed

PIECE_BYTES = 2**25  # of points that are in memory together


class Pieces(Protocol):
    """The points of a class, as many at a time as are in memory together."""

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[tuple[int, Points]]:
        """The number of the first point, and the points."""

    def take(self, indices: IndexArray) -> Points: ...


class InMemory:
    """All points, in one piece."""

    def __init__(self, points: Points) -> None:
        self._points = points

    def __len__(self) -> int:
        return len(self._points)

    def __iter__(self) -> Iterator[tuple[int, Points]]:
        if len(self._points):
            yield 0, self._points

    def take(self, indices: IndexArray) -> Points:
        return self._points.take(indices)


class OnDisk:
    """Dense points in files, appended to and read from front to back: pages read count to nobody's memory.

    A memory map would: whoever limits a worker's memory counts the pages of the map as the worker's.
    """

    def __init__(self, folder: Path, name: str, form: Form) -> None:
        self._folder, self._name, self._form, self._n = folder, name, form, 0
        self._shapes: list[tuple[tuple[int, ...], np.dtype[Any]]] = []  # of a row of each array

    def __len__(self) -> int:
        return self._n

    def append(self, points: Points) -> None:
        """Write further points behind the others."""
        arrays = packed(points)
        self._shapes = [(each.shape[1:], each.dtype) for each in arrays]
        for number, each in enumerate(arrays):
            with self._path(number).open("ab") as file:
                np.ascontiguousarray(each).tofile(file)
        self._n += len(points)

    def __iter__(self) -> Iterator[tuple[int, Points]]:
        size = max(1, PIECE_BYTES // max(1, sum(self._row_bytes(k) for k in range(len(self._shapes)))))
        for start in range(0, self._n, size):
            count = min(size, self._n - start)
            yield start, self._form.unpacked(self._read(start, count))

    def take(self, indices: IndexArray) -> Points:
        """Row by row: few are asked for."""
        parts = [self._read(int(each), 1) for each in indices]
        return self._form.unpacked(joined(parts) if parts else self._read(0, 0))

    def _read(self, start: int, count: int) -> Packed:
        return tuple(self._array(number, start, count) for number in range(len(self._shapes)))

    def _array(self, number: int, start: int, count: int) -> NDArray[Any]:
        shape, dtype = self._shapes[number]
        row = self._row_bytes(number)
        values = np.fromfile(self._path(number), dtype, count * row // dtype.itemsize, offset=start * row)
        return values.reshape(count, *shape)

    def _row_bytes(self, number: int) -> int:
        shape, dtype = self._shapes[number]
        return int(np.prod(shape, dtype=np.intp)) * dtype.itemsize

    def _path(self, number: int) -> Path:
        return self._folder / f"{self._name}-{os.getpid()}-{number}.points"
