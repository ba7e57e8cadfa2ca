"""Kernel rows with values from 0 to 1, kept as sixteen-bit fractions: half the memory of floats, to within 8e-6.

For kernel values that are no more exact anyway. Memory that is used for the first time costs about as much as the
kernel values written to it, and rows are added to responses as fast as they can be read.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from slackwater.gram.cached import CachedRows
from slackwater.gram.direct import DirectRows
from slackwater.gram.ledger import EvaluationLedger
from slackwater.gram.source import Ahead, DenseRows, as_indices, read_only
from slackwater.kernels.points import Floats
from slackwater.workers import Workers

_ONE = 2**16 - 1  # the whole number that stands for 1
_ROWS = 256  # computed together before they are rounded


class FractionRows:
    """The rows last used, kept as fractions under a byte budget; computed by another source."""

    def __init__(self, source: DirectRows, budget_bytes: int) -> None:
        self.source = source
        self._kept = CachedRows(_Rounded(source), budget_bytes)

    @property
    def n(self) -> int:
        """Number of training points."""
        return self.source.n

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the values delivered."""
        return self.source.dtype

    @property
    def row_bytes(self) -> int:
        """Memory that a row takes."""
        return self._kept.row_bytes

    @property
    def ledger(self) -> EvaluationLedger:
        """The source's ledger: this class computes nothing."""
        return self.source.ledger

    def rows(self, indices: ArrayLike, columns: ArrayLike | None = None, ahead: Ahead | None = None) -> Floats:
        """Deliver rows as floats, in memory of their own."""
        return read_only((self._kept.rows(indices, columns, ahead) / _ONE).astype(self.dtype))

    def fetch(self, indices: ArrayLike, ahead: Ahead | None = None) -> DenseRows:
        """Deliver rows where they are kept."""
        kept = self._kept.fetch(indices, ahead)
        return DenseRows(kept.base, kept.places, 1.0 / _ONE)

    def fill_rows(self, indices: ArrayLike, out: Floats) -> None:
        """Write rows into ``out``."""
        np.copyto(out, self.rows(indices))

    def diagonal(self) -> NDArray[np.float64]:
        """Deliver the diagonal."""
        return self.source.diagonal()


class _Rounded:
    """A source of rows in sixteen-bit fractions, for ``CachedRows`` to keep."""

    def __init__(self, source: DirectRows) -> None:
        self.source = source
        self.dtype: np.dtype[Any] = np.dtype(np.uint16)
        self.n = source.n
        self.row_bytes = source.n * self.dtype.itemsize
        self.ledger = source.ledger
        self._scratch = np.empty((0, source.n), source.dtype)

    def rows(self, indices: ArrayLike, columns: ArrayLike | None = None, ahead: Ahead | None = None) -> Any:
        values = self.source.rows(indices, columns)
        out = np.empty(values.shape, self.dtype)
        self._round(values, out)
        return out

    def fetch(self, indices: ArrayLike, ahead: Ahead | None = None) -> DenseRows:
        values = self.rows(indices)
        return DenseRows(values, np.arange(len(values)))

    def fill_rows(self, indices: ArrayLike, out: Any) -> None:
        wanted = as_indices(indices, self.n)
        if len(self._scratch) < min(len(wanted), _ROWS):
            self._scratch = np.empty((min(len(wanted), _ROWS), self.n), self.source.dtype)
        for start in range(0, len(wanted), _ROWS):
            some = wanted[start : start + _ROWS]
            values = self._scratch[: len(some)]
            self.source.fill_rows(some, values)
            self._round(values, out[start : start + len(some)])

    def diagonal(self) -> NDArray[np.float64]:
        return self.source.diagonal()

    def _round(self, values: Floats, out: Any) -> None:
        from slackwater.gram import _loops

        step = 16  # rows: a few for each thread
        workers = self.source.workers or Workers()
        workers.run(
            lambda start: _loops.to_fractions(values[start : start + step], out[start : start + step]),
            range(0, len(values), step),
        )
