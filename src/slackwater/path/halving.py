"""Successive halving: all candidates on few rows, the better ones on more, as long as there is time.

Jamieson and Talwalkar (2016).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_FACTOR = 3  # by which rows grow and candidates become fewer
_MIN_ROWS = 500  # of the first round
_GROWTH = 2.0  # exponent by which the time of a round grows with its rows

Floats = NDArray[np.float64]


@dataclass
class Rounds:
    """What is known of each candidate: scores of the largest number of rows for which all of its folds were scored."""

    scores: Floats  # (candidates, folds)
    fit_times: Floats
    score_times: Floats
    n_rows: NDArray[np.intp]  # 0: not evaluated
    iteration: NDArray[np.intp]

    @classmethod
    def none(cls, n_candidates: int, n_folds: int) -> Rounds:
        shape = n_candidates, n_folds
        return cls(
            np.full(shape, np.nan), np.full(shape, np.nan), np.full(shape, np.nan),
            np.zeros(n_candidates, dtype=np.intp), np.zeros(n_candidates, dtype=np.intp),
        )  # fmt: skip

    def finalists(self) -> NDArray[np.intp]:
        """The candidates evaluated with the most rows: the others lost against them, or were not reached."""
        return np.flatnonzero((self.n_rows == self.n_rows.max()) & (self.n_rows > 0))


def sizes_of(n: int) -> list[int]:
    """Rows of each round, up to all of them."""
    sizes = [n]
    while sizes[0] // _FACTOR >= _MIN_ROWS and len(sizes) < 4:
        sizes.insert(0, sizes[0] // _FACTOR)
    return sizes


def survivors(means: Floats, seconds: float, growth: float, left: float) -> NDArray[np.intp]:
    """Candidates of the next round, the best first.

    A third of them, unless all of them are expected to take less than half of what is left of the time. Those that
    were not reached are not among them.
    """
    known = np.flatnonzero(~np.isnan(means))
    ranked = known[np.argsort(-means[known], kind="stable")]
    if 2.0 * seconds * growth**_GROWTH <= left:
        return ranked
    return ranked[: max(1, -(-len(ranked) // _FACTOR))]


def stratified_rows(codes: NDArray[np.intp], size: int, seed: int) -> NDArray[np.intp]:
    """Some of the rows, each class in proportion, but not fewer than it has or ten of it."""
    chance, chosen = np.random.default_rng(seed), []
    for code in np.unique(codes):
        rows = np.flatnonzero(codes == code)
        count = min(len(rows), max(10, round(size * len(rows) / len(codes))))
        chosen.append(chance.choice(rows, count, replace=False))
    return np.sort(np.concatenate(chosen))
