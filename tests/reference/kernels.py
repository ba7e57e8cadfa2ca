"""Kernels as their formulas say, one pair of points at a time; twins of the compiled loops."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Vector = Sequence[float]


def pairwise(kernel: Callable[[Any, Any], float], left: Any, right: Any) -> np.ndarray:
    """The matrix kernel(left_i, right_j), by a double loop in double precision."""
    return np.array([[kernel(z, x) for x in right] for z in left], dtype=np.float64)


def inner(x: Vector, z: Vector) -> float:
    return math.fsum(float(a) * float(b) for a, b in zip(x, z, strict=True))


def gaussian(gamma: float) -> Callable[[Vector, Vector], float]:
    return lambda x, z: math.exp(-gamma * math.fsum((float(a) - float(b)) ** 2 for a, b in zip(x, z, strict=True)))


def laplacian(gamma: float) -> Callable[[Vector, Vector], float]:
    return lambda x, z: math.exp(-gamma * math.fsum(abs(float(a) - float(b)) for a, b in zip(x, z, strict=True)))


def polynomial(degree: int, gamma: float, coef0: float) -> Callable[[Vector, Vector], float]:
    return lambda x, z: (gamma * inner(x, z) + coef0) ** degree


def sigmoid(gamma: float, coef0: float) -> Callable[[Vector, Vector], float]:
    return lambda x, z: math.tanh(gamma * inner(x, z) + coef0)


def common_prefix(first: str, second: str) -> float:
    """Share of letters up to which two words agree, a kernel: an inner product of indicators of prefixes."""
    agreeing = 0
    while agreeing < min(len(first), len(second)) and first[agreeing] == second[agreeing]:
        agreeing += 1
    return (1 + agreeing) / math.sqrt((1 + len(first)) * (1 + len(second)))


def clipped_exponential(values: np.ndarray) -> np.ndarray:
    """exp(min(v, 0)) in extended precision: twin of exp32 and exp64."""
    return np.exp(np.minimum(values.astype(np.longdouble), 0))


def gaussian_finish(block: np.ndarray, left: np.ndarray, right: np.ndarray, twice: float) -> np.ndarray:
    """Twin of gaussian_finish32, gaussian_finish64 and gaussian_finish_into32."""
    exponent = twice * block.astype(np.float64) - (left[:, None].astype(np.float64) + right)
    return np.exp(np.minimum(exponent, 0))


def l1_distances(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Twin of dense_l1_distances and sparse_l1_distances."""
    return np.abs(left[:, None, :].astype(np.float64) - right[None, :, :].astype(np.float64)).sum(axis=2)


def packed_side_by_side(rows: np.ndarray, width: int) -> np.ndarray:
    """Words of ``width`` rows side by side, word by word, then those of the next ones; zeros make up their number."""
    missing = -len(rows) % width
    padded = np.pad(rows, ((0, missing), (0, 0)))
    return np.concatenate([block.T.ravel() for block in np.split(padded, len(padded) // width)])
