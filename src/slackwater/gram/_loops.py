"""Compiled sums of kernel rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from slackwater._jit import compiled, compiled_reordering

CHUNK = 2048  # doubles: a chunk of the responses stays in the first-level cache while every row is added to it


@compiled_reordering  # elementwise: there is no sum whose order could matter, only fused multiply-adds
def add_row(responses: NDArray[np.float64], labels: NDArray[np.int8], row: NDArray[Any], amount: float) -> None:
    """c <- c + amount·y ∘ row."""
    for i in range(responses.size):
        responses[i] += amount * np.float64(labels[i]) * np.float64(row[i])


@compiled
def add_combination(
    responses: NDArray[np.float64],
    labels: NDArray[np.int8],
    base: NDArray[Any],
    places: NDArray[np.intp],
    amounts: NDArray[np.float64],
) -> None:
    """c <- c + y ∘ Σ_k amounts_k row_k, row k being ``base[places[k]]``: each row is read once, none is copied."""
    for start in range(0, responses.size, CHUNK):
        stop = min(start + CHUNK, responses.size)
        for k in range(amounts.size):
            add_row(responses[start:stop], labels[start:stop], base[places[k], start:stop], amounts[k])


@compiled
def gather(
    base: NDArray[Any], places: NDArray[np.intp], columns: NDArray[np.intp], unit: float, out: NDArray[np.float64]
) -> None:
    """out[k, j] <- unit · base[places[k], columns[j]]."""
    for k in range(places.size):
        for j in range(columns.size):
            out[k, j] = unit * np.float64(base[places[k], columns[j]])


@compiled
def to_fractions(values: NDArray[np.floating], out: NDArray[np.uint16]) -> None:
    """out <- values, which are from 0 to 1, as the nearest multiples of 1/65535."""
    for i in range(values.shape[0]):
        for j in range(values.shape[1]):
            out[i, j] = np.uint16(np.int32(min(values[i, j], np.float32(1.0)) * np.float32(65535.0) + np.float32(0.5)))
