"""Landmarks whose images span a subspace of the feature space, and coordinates in it."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack, solve_triangular

from slackwater.fitting.subspace.problem import CHUNK, Doubles
from slackwater.points import Floats
from slackwater.workers import Workers

_COLUMNS_TOGETHER = 64
_MIN_RESIDUAL = 1e-5  # of K(x, x): what a candidate must have outside of the subspace to join it


class Basis(NamedTuple):
    """Landmarks, and the Cholesky factor of their kernel matrix."""

    members: NDArray[np.intp]  # positions among the candidates
    factor: Doubles

    def coefficients(self, weights: Doubles) -> Doubles:
        """The coefficients of the landmarks, for weights in orthonormal coordinates."""
        solved: Doubles = solve_triangular(self.factor, weights, lower=True, trans="T", check_finite=False)
        return solved


def independent_basis(gram: Doubles) -> Basis:
    """The candidates that are linearly independent of those before them, by the pivoted Cholesky decomposition."""
    factor, members = _pivoted(gram)
    return Basis(members, factor[: len(members)])


class SmoothBasis(NamedTuple):
    """Leading pivots, and how quickly the residual decays as landmarks are added."""

    basis: Basis
    needed: int  # landmarks that leave at most the residual asked for; all candidates, if they do not suffice
    decay: float  # how many times larger the residual of half of the landmarks is


def smooth_basis(gram: Doubles, most: int, max_residual: float) -> SmoothBasis:
    """As many leading pivots as leave at most a residual, of the trace; at least half of ``most``, at most that many.

    For a smooth kernel in few dimensions the residual decays quickly. Else there is detail without end, and the optimum
    may well consist of it.
    """
    factor, members = _pivoted(gram)
    residuals = _mean_residuals(gram, factor)
    needed = int(np.count_nonzero(residuals > max_residual)) + 1
    size = min(max(needed, most // 2), most, len(members))
    decay = residuals[max(size // 2, 1) - 1] / max(residuals[size - 1], _MIN_RESIDUAL)
    return SmoothBasis(
        Basis(members[:size], factor[:size, :size]), needed if needed <= len(members) else len(gram), float(decay)
    )


def early_decay(gram: Doubles) -> float:
    """How many times larger the residual of half of the candidates is than that of three quarters of them."""
    factor, members = _pivoted(gram)
    half, three_quarters = len(gram) // 2, 3 * len(gram) // 4
    if len(members) < three_quarters:
        return math.inf
    residuals = _mean_residuals(gram, factor)
    return float(residuals[half - 1] / max(residuals[three_quarters - 1], 1e-300))


def _pivoted(gram: Doubles) -> tuple[Doubles, NDArray[np.intp]]:
    """The pivoted Cholesky decomposition: the lower factor (candidates in pivot order, members), and the members."""
    factor, pivots, rank, _ = lapack.dpstrf(gram, lower=1, tol=_MIN_RESIDUAL * float(gram.diagonal().max()))
    return np.tril(factor[:, :rank]), pivots[:rank] - 1


def _mean_residuals(gram: Doubles, factor: Doubles) -> Doubles:
    """The share of the trace outside of the subspace of the first member, the first two, and so on."""
    shares: Doubles = 1.0 - np.cumsum(np.einsum("ij,ij->j", factor, factor)) / float(gram.diagonal().sum())
    return shares


def make_orthonormal(columns: Floats, basis: Basis, workers: Workers) -> None:
    """Turn kernel values with the landmarks, (n, m), into orthonormal coordinates: in place.

    The triangular system is solved a few columns at a time, by products: SciPy's solver would let no other thread work.
    """
    factor, inverses = basis.factor.astype(columns.dtype), []
    for first in range(0, len(factor), _COLUMNS_TOGETHER):
        own = basis.factor[first : first + _COLUMNS_TOGETHER, first : first + _COLUMNS_TOGETHER]
        inverse = solve_triangular(own, np.eye(len(own)), lower=True, check_finite=False)
        inverses.append((first, inverse.astype(columns.dtype)))

    def turn(start: int) -> None:
        workers.deadline.check()
        part = columns[start : start + CHUNK]
        for first, inverse in inverses:
            own = slice(first, first + len(inverse))
            rest = part[:, own] - part[:, :first] @ factor[own, :first].T
            np.matmul(rest, inverse.T, out=part[:, own])

    workers.run(turn, range(0, len(columns), CHUNK))
