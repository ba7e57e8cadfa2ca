"""Rows of a narrow kernel as sparse rows: values too small to matter are neither computed nor kept.

Where the Gaussian is narrow compared with the spread of the data, most pairs of points have next to nothing to do with
each other (on Forest with its raw features 0.13 % of the kernel values exceed 1e-3). Points are sorted into leaves by
splitting at medians; two leaves whose bounding boxes are far apart are never looked at again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from slackwater.deadline import Deadline
from slackwater.gram.features import Features
from slackwater.gram.ledger import EvaluationLedger
from slackwater.gram.source import Ahead, IndexArray, Mask, as_indices, read_only
from slackwater.kernels.base import Kernel
from slackwater.memory import untouched
from slackwater.points import Floats
from slackwater.points.leaves import Leaves
from slackwater.workers import Workers

NEGLIGIBLE = 1e-4  # kernel values below this are taken for zero
_PROBES, _FIRST_PROBES = 4096, 512  # points by which the share of other values is estimated, at first by few
_LEAVES_AT_A_TIME = 16
_BYTES_PER_VALUE = 8  # with the number of its column
_MOVED_TOGETHER = 2**22  # values


@dataclass(frozen=True)
class SparseRows:
    """Rows of a sparse matrix, by number; read-only."""

    matrix: NarrowRows
    places: IndexArray

    def __len__(self) -> int:
        return len(self.places)

    def among(self, numbers: IndexArray) -> NDArray[np.float64]:
        """The values of the rows with one another, a square; ``numbers`` are those of the rows in the matrix."""
        return self.matrix.gathered(self.places, numbers, np.float64)

    def part(self, positions: IndexArray) -> SparseRows:
        """Some of the rows, by their positions in the block."""
        return SparseRows(self.matrix, self.places[positions])

    def add_to(self, responses: NDArray[np.float64], labels: NDArray[np.int8], amounts: NDArray[np.float64]) -> None:
        """responses += labels ∘ Σ_k amounts_k row_k."""
        from slackwater.gram import _narrow_loops

        rows = self.matrix
        _narrow_loops.add_rows(responses, labels, rows.indptr, rows.columns, rows.values, self.places, amounts)


def share_above_negligible(features: Features, rng: np.random.Generator, clearly: float = 1.0) -> float:
    """The share of kernel values that are not negligible, from a sample; a point's value with itself aside.

    A share above ``clearly`` is known well enough from a small one.
    """
    probes = rng.permutation(features.n)[:_PROBES]
    roughly = _share(features, probes[:_FIRST_PROBES])
    return roughly if roughly > clearly else _share(features, probes)


def _share(features: Features, probes: IndexArray) -> float:
    rows, columns = np.split(probes, [max(1, len(probes) // 8)])
    sample = features.part(np.concatenate([rows, columns]))
    values = sample.columns(np.arange(len(rows)))[len(rows) :]
    return float(np.mean(values > NEGLIGIBLE))


class NoRoomError(MemoryError):
    """The values that are not negligible are more than there is memory for."""

    def __init__(self, n_bytes: int) -> None:
        super().__init__(f"{n_bytes} bytes are too many")
        self.n_bytes = n_bytes


class NarrowRows:
    """The whole matrix of a narrow kernel, sparse, of points in the order of ``leaves``.

    Every distance that is begun counts as one evaluation, in the building; after that rows cost nothing. With a limit
    of memory, ``NoRoomError`` is raised where it does not suffice.
    """

    def __init__(
        self, kernel: Kernel, leaves: Leaves, ledger: EvaluationLedger, workers: Workers, n_bytes: int | None = None
    ) -> None:
        self.ledger = ledger
        self._most = None if n_bytes is None else n_bytes // _BYTES_PER_VALUE
        self.n = int(leaves.starts[-1])
        at_zero = np.zeros(1)
        kernel.from_squared_distances(at_zero)
        self._diagonal = np.repeat(at_zero, self.n)
        self.indptr = np.zeros(self.n + 1, np.int64)
        self.columns = np.empty(0, np.int32)
        self.values = np.empty(0, np.float32)
        self._build(kernel, leaves, workers)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the values."""
        return self.values.dtype

    @property
    def row_bytes(self) -> int:
        """Memory of a row, on average."""
        return int(8 * self.indptr[-1] // self.n)

    @property
    def slots(self) -> int:
        """All rows are at hand."""
        return self.n

    def rows(self, indices: ArrayLike, columns: ArrayLike | None = None, ahead: Ahead | None = None) -> Floats:
        """Deliver rows with their zeros."""
        wanted = as_indices(indices, self.n)
        chosen = np.arange(self.n) if columns is None else as_indices(columns, self.n, "columns")
        return read_only(self.gathered(wanted, chosen, np.float32))

    def fetch(self, indices: ArrayLike, ahead: Ahead | None = None, transient: Mask | None = None) -> SparseRows:
        """Point at the rows."""
        return SparseRows(self, as_indices(indices, self.n))

    def fill_rows(self, indices: ArrayLike, out: Floats) -> None:
        """Write rows, with their zeros, into ``out``."""
        out[...] = self.rows(indices)

    def square(self, indices: IndexArray) -> Floats:
        """Gather the values of some points with one another."""
        values: Floats = self.gathered(indices, indices, np.float32)
        return values

    def diagonal(self) -> NDArray[np.float64]:
        """The value at distance 0."""
        return self._diagonal.copy()

    def gathered(self, rows: IndexArray, columns: IndexArray, dtype: Any) -> NDArray[Any]:
        """Some columns of some rows as a dense array."""
        from slackwater.gram import _narrow_loops

        position = np.full(self.n, -1, np.int32)
        position[columns] = np.arange(len(columns), dtype=np.int32)
        out = np.zeros((len(rows), len(columns)), dtype)
        _narrow_loops.gather(self.indptr, self.columns, self.values, rows, position, out)
        if len(columns) > 1 and (position[columns] != np.arange(len(columns))).any():  # some are asked for twice
            out = out[:, position[columns]]
        return out

    def release(self) -> None:
        """Give back the memory; the rows are of no use any more."""
        self.columns, self.values = self.columns[:0].copy(), self.values[:0].copy()

    def _build(self, kernel: Kernel, leaves: Leaves, workers: Workers) -> None:
        limit = kernel.squared_cutoff(NEGLIGIBLE)

        def compute(leaf: int) -> tuple[NDArray[np.int32], NDArray[np.float32], NDArray[np.int64], int]:
            workers.deadline.check()
            size = int(leaves.starts[leaf + 1] - leaves.starts[leaf])
            found = leaves.pairs_within(leaf, np.arange(size), leaves.near(leaf, limit), limit)
            kernel.from_squared_distances(found[1])
            return found

        filled = 0
        for first in range(0, len(leaves), _LEAVES_AT_A_TIME):
            batch = range(first, min(first + _LEAVES_AT_A_TIME, len(leaves)))
            for leaf, (columns, values, lengths, computed) in zip(batch, workers.run(compute, batch), strict=True):
                self._reserve(filled, filled + len(values), (leaf + 1) / len(leaves), workers.deadline)
                self.columns[filled : filled + len(values)] = columns
                self.values[filled : filled + len(values)] = values
                begin = int(leaves.starts[leaf])
                self.indptr[begin + 1 : begin + 1 + len(lengths)] = filled + np.cumsum(lengths)
                filled += len(values)
                self.ledger.charge(self.ledger.account, computed)
        self.columns, self.values = self.columns[:filled], self.values[:filled]

    def _reserve(self, filled: int, needed: int, done: float, deadline: Deadline) -> None:
        """Make room, for as much as is likely to be needed in all; memory that is not written to is not taken."""
        if self._most is not None and needed > self._most:
            raise NoRoomError(_BYTES_PER_VALUE * needed)
        if needed > len(self.values):
            room = min(self._most, self.n**2) if self._most else int(max(needed * 1.5, needed / done * 1.25))
            self.columns = _moved(self.columns[:filled], room, deadline)
            self.values = _moved(self.values[:filled], room, deadline)


def _moved(values: NDArray[Any], room: int, deadline: Deadline) -> NDArray[Any]:
    """The values, at the beginning of larger memory."""
    larger = untouched(room, values.dtype)
    for first in range(0, len(values), _MOVED_TOGETHER):
        deadline.check()
        part = slice(first, min(first + _MOVED_TOGETHER, len(values)))
        larger[part] = values[part]
    return larger
