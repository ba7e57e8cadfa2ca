"""Compiled sums of kernel rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from slackwater._jit import compiled, compiled_reordering

CHUNK = 2048  # doubles: a chunk of the responses stays in the first-level cache while every row is added to it


@compiled_reordering  # elementwise: there is no sum whose order could matter, only fused multiply-adds
def add_row(responses: NDArray[np.float64], labels: NDArray[np.int8], row: NDArray[np.floating], amount: float) -> None:
    """c <- c + amount·y ∘ row."""
    for i in range(responses.size):
        responses[i] += amount * np.float64(labels[i]) * np.float64(row[i])


@compiled
def add_combination(
    responses: NDArray[np.float64],
    labels: NDArray[np.int8],
    base: NDArray[np.floating],
    places: NDArray[np.intp],
    amounts: NDArray[np.float64],
) -> None:
    """c <- c + y ∘ Σ_k amounts_k row_k, row k being ``base[places[k]]``: each row is read once, none is copied."""
    for start in range(0, responses.size, CHUNK):
        stop = min(start + CHUNK, responses.size)
        for k in range(amounts.size):
            add_row(responses[start:stop], labels[start:stop], base[places[k], start:stop], amounts[k])


@compiled
def keep_coarsely(values: NDArray[np.floating], slab: NDArray[np.uint16], slots: NDArray[np.intp], first: int) -> None:
    """Write values between 0 and 1, rounded to whole numbers of 1/65535, into rows of the slab from a column on."""
    for k in range(slots.size):
        for j in range(values.shape[1]):
            slab[slots[k], first + j] = np.uint16(values[k, j] * np.float32(65535.0) + np.float32(0.5))


@compiled
def move_rows(
    memory: NDArray[np.generic],
    sources: NDArray[np.intp],
    columns: NDArray[np.intp],
    first: int,
    width: int,
) -> None:
    """Copy some columns of the rows that begin at ``sources`` to rows of another width, from row ``first`` on.

    Backwards or forwards, so that a row which overlaps its own old place survives.
    """
    for k in range(sources.size):
        begin, target = sources[k], (first + k) * width
        if target <= begin:
            for j in range(columns.size):
                memory[target + j] = memory[begin + columns[j]]
        else:
            for j in range(columns.size - 1, -1, -1):
                memory[target + j] = memory[begin + columns[j]]


@compiled
def gather(
    base: NDArray[np.floating], places: NDArray[np.intp], columns: NDArray[np.intp], out: NDArray[np.float64]
) -> None:
    """out[k, j] <- base[places[k], columns[j]]."""
    for k in range(places.size):
        for j in range(columns.size):
            out[k, j] = base[places[k], columns[j]]
