"""Compiled sums of kernel rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from slackwater._jit import compiled, compiled_reordering
from slackwater.kernels.destinations import TWO_BYTE_STEPS

CHUNK = 2048  # doubles: a chunk of the sums stays in the first-level cache while every row is added to it


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
    first: int,
    last: int,
) -> None:
    """c <- c + y ∘ Σ_k amounts_k row_k, row k being ``base[places[k]]``: each row is read once, none is copied.

    From column ``first`` to before ``last``, so that threads can share the columns.
    """
    sums = np.empty(CHUNK)
    fours = amounts.size - amounts.size % 4
    for start in range(first, last, CHUNK):
        stop = min(start + CHUNK, last)
        for k in range(fours, amounts.size):
            add_row(responses[start:stop], labels[start:stop], base[places[k], start:stop], amounts[k])
        if fours == 0:  # most steps of most methods
            continue
        part = sums[: stop - start]
        part[:] = 0.0
        for k in range(0, fours, 4):
            _add_four(
                part,
                base[places[k], start:stop],
                base[places[k + 1], start:stop],
                base[places[k + 2], start:stop],
                base[places[k + 3], start:stop],
                amounts[k : k + 4],
            )
        add_row(responses[start:stop], labels[start:stop], part, 1.0)


@compiled_reordering  # as above
def _add_four(
    sums: NDArray[np.float64],
    first: NDArray[np.floating],
    second: NDArray[np.floating],
    third: NDArray[np.floating],
    fourth: NDArray[np.floating],
    amounts: NDArray[np.float64],
) -> None:
    """Four rows at once: the sums are read and written a quarter as often."""
    a, b, c, d = amounts[0], amounts[1], amounts[2], amounts[3]
    for i in range(sums.size):
        sums[i] += (a * np.float64(first[i]) + b * np.float64(second[i])) + (
            c * np.float64(third[i]) + d * np.float64(fourth[i])
        )


@compiled
def keep_in_two_bytes(
    values: NDArray[np.floating], slab: NDArray[np.uint16], slots: NDArray[np.intp], first: int
) -> None:
    """Write values between 0 and 1, rounded to whole numbers of 1/65535, into rows of the slab from a column on."""
    for k in range(slots.size):
        row, target = values[k], slab[slots[k], first : first + values.shape[1]]  # as such, LLVM vectorises the loop
        for j in range(row.size):
            target[j] = np.uint16(row[j] * np.float32(TWO_BYTE_STEPS) + np.float32(0.5))


@compiled
def move_columns(
    slab: NDArray[np.generic], rows: NDArray[np.intp], sources: NDArray[np.intp], targets: NDArray[np.intp]
) -> None:
    """In some rows, overwrite the values of some columns by those of others."""
    for k in range(rows.size):
        row = slab[rows[k]]
        for j in range(targets.size):
            row[targets[j]] = row[sources[j]]


@compiled
def gather(
    base: NDArray[np.generic],
    places: NDArray[np.intp],
    columns: NDArray[np.intp],
    order: NDArray[np.intp],
    step: float,
    out: NDArray[np.floating],
    thread: int,
    threads: int,
) -> None:
    """out[k, j] <- step · base[places[k], columns[j]], a symmetric matrix, and out[j, k]; rows at negative places lack.

    Half of it is read, in ascending columns: each value is a cache line to be fetched from memory, unless its neighbour
    was. Threads take turns.
    """
    for first in range(thread, order.size, threads):
        k = order[first]
        if places[k] < 0:
            continue
        row = base[places[k]]
        for second in range(order.size):
            j = order[second]
            if second >= first or places[j] < 0:
                value = step * np.float64(row[columns[j]])
                out[k, j] = value
                out[j, k] = value


_TILE = 64  # values: a square of them stays in the first-level cache


@compiled
def mirror(values: NDArray[np.floating], first: int, last: int) -> None:
    """Write the columns from ``first`` to before ``last`` of a symmetric matrix, of which these rows are known.

    Their own square is made symmetric, too: products of double precision may be rounded differently on its two sides.
    """
    for top in range(first, last, _TILE):
        for left in range(0, last, _TILE):
            for i in range(top, min(top + _TILE, last)):
                for j in range(left, min(left + _TILE, i)):
                    values[j, i] = values[i, j]


@compiled
def submatrix_rows(
    values: NDArray[np.floating], places: NDArray[np.intp], first: int, last: int, out: NDArray[np.floating]
) -> None:
    """out[k, l] <- values[places[k], places[l]] for k from ``first`` to before ``last``: threads can share the rows."""
    for k in range(first, last):
        row, target = values[places[k]], out[k]
        for m in range(places.size):
            target[m] = row[places[m]]


@compiled
def replace_members(
    values: NDArray[np.floating],
    places: NDArray[np.intp],
    slots: NDArray[np.intp],
    first: int,
    last: int,
    out: NDArray[np.floating],
) -> None:
    """As ``submatrix_rows``, but of rows and columns at some slots alone; slots rise."""
    for m in range(first, last):
        row, target = values[places[m]], out[m]
        for k in slots:
            target[k] = row[places[k]]
    begin, end = np.searchsorted(slots, first), np.searchsorted(slots, last)
    for k in slots[begin:end]:
        row, target = values[places[k]], out[k]
        for m in range(places.size):
            target[m] = row[places[m]]
