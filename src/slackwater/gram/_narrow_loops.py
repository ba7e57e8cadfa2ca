"""Compiled sums of sparse kernel rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from slackwater._jit import compiled

Places = NDArray[np.int64]
Singles = NDArray[np.float32]


@compiled
def gather(
    indptr: Places,
    columns: NDArray[np.int32],
    values: Singles,
    rows: NDArray[np.intp],
    position: NDArray[np.int32],
    out: NDArray[np.floating],
) -> None:
    """Fill ``out[k, position[j]]`` with the values of row ``rows[k]``; columns of position -1 are left out."""
    for k in range(rows.size):
        for entry in range(indptr[rows[k]], indptr[rows[k] + 1]):
            place = position[columns[entry]]
            if place >= 0:
                out[k, place] = values[entry]


@compiled
def add_rows(
    responses: NDArray[np.float64],
    labels: NDArray[np.int8],
    indptr: Places,
    columns: NDArray[np.int32],
    values: Singles,
    rows: NDArray[np.intp],
    amounts: NDArray[np.float64],
) -> None:
    """c <- c + y ∘ Σ_k amounts_k row_k."""
    for k in range(rows.size):
        for entry in range(indptr[rows[k]], indptr[rows[k] + 1]):
            j = columns[entry]
            responses[j] += amounts[k] * labels[j] * values[entry]


@compiled
def add_sparse_row(
    responses: NDArray[np.float64],
    labels: NDArray[np.int8],
    columns: NDArray[np.intp],
    values: Singles,
    amount: float,
) -> None:
    """c <- c + amount·y ∘ row."""
    for entry in range(columns.size):
        j = columns[entry]
        responses[j] += amount * labels[j] * values[entry]
