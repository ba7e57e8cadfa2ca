"""Refusals: every input of a level is checked here, once, before the compiled search trusts it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.floating[Any]]


def checked_responses(responses: ArrayLike) -> Floats:
    """The responses as a contiguous array of float32 or float64, copied only if they are not one already."""
    array = _as_floats("responses", responses)
    if array.size == 0:
        raise ValueError("responses must not be empty, got an array of size 0. Give at least one response.")
    return array


def checked_weights(weights: ArrayLike | None, size: int) -> Floats | None:
    """The weights likewise, or None for equal weights."""
    if weights is None:
        return None
    array = _as_floats("weights", weights)
    _require_size("weights", array, size)
    lowest = float(array.min())
    if lowest < 0:
        raise ValueError(
            f"weights must be >= 0, got {lowest!r}. Remove the example or give it weight 0 to leave it out."
        )
    if not array.any():
        raise ValueError("weights must hold a positive value, got zeros only. With weight 0 an example is left out.")
    least, total = float(array[array > 0].min()), float(array.sum(dtype=np.float64))
    if least < 1e-15 * total:
        raise ValueError(
            f"weights must be at least 1e-15 of their sum, or 0, got {least!r} of {total!r}. "
            "A double cannot add them; give the least weights 0."
        )
    return array


def checked_labels(labels: ArrayLike, weights: Floats | None, size: int) -> NDArray[np.int8]:
    """The labels as int8, both classes present with positive weight."""
    from slackwater.water import _scan_loops

    array = np.asarray(labels)
    _require_size("labels", array, size)
    signs = array if array.dtype == np.int8 else _as_signs(array)
    signs = np.ascontiguousarray(signs)
    positives, negatives = _scan_loops.count_labels(signs)
    if positives + negatives != size:
        odd = array[(signs != 1) & (signs != -1)][0]
        raise ValueError(f"labels must be +1 or -1, got {odd!r}. Encode the two classes as +1 and -1.")
    if weights is not None:
        positives, negatives = int(weights[signs == 1].any()), int(weights[signs == -1].any())
    for name, count in (("+1", positives), ("-1", negatives)):
        if count == 0:
            raise ValueError(
                f"labels must show both classes with positive weight, got none of {name}. "
                "With one class the bias is unbounded: use the level without bias."
            )
    return signs


def checked_volume(volume: float) -> float:
    """The volume of water, finite and >= 0."""
    if not (math.isfinite(volume) and volume >= 0):
        raise ValueError(f"volume must be finite and >= 0, got {volume!r}. It is the total slack n nu; 0: hard margin.")
    return float(volume)


def checked_cost(C: float) -> float:
    """The cost of slack, finite and > 0."""
    if not (math.isfinite(C) and C > 0):
        raise ValueError(f"C must be finite and > 0, got {C!r}. For a hard margin use a level with volume 0.")
    return float(C)


def checked_level(gamma: float) -> float:
    """A level that came out finite."""
    if not math.isfinite(gamma):
        raise ValueError(
            f"responses must have sums that float64 can hold, got a level of {gamma!r}. Rescale responses and volume."
        )
    return gamma


def _as_signs(labels: NDArray[Any]) -> NDArray[np.int8]:
    """+1 and -1 as themselves, anything else as 0."""
    return np.where(labels == 1, 1, np.where(labels == -1, -1, 0)).astype(np.int8)


def _as_floats(name: str, values: ArrayLike) -> Floats:
    from slackwater.water import _scan_loops

    array = np.asarray(values)
    if array.ndim != 1:
        raise ValueError(f"{name} must be one-dimensional, got shape {array.shape}. Flatten or index it first.")
    if array.dtype.kind not in "fiub":
        raise ValueError(f"{name} must be real numbers, got dtype {array.dtype}. Convert to float64 first.")
    if array.dtype not in (np.float32, np.float64):
        array = array.astype(np.float64)
    array = np.ascontiguousarray(array)
    if not _scan_loops.all_finite(array):
        odd = int(np.flatnonzero(~np.isfinite(array))[0])
        raise ValueError(
            f"{name} must be finite, got {array[odd]} at index {odd}. Look for overflow or missing data upstream."
        )
    return array


def _require_size(name: str, array: NDArray[Any], size: int) -> None:
    if array.shape != (size,):
        raise ValueError(f"{name} must have shape ({size},) as responses do, got {array.shape}.")
