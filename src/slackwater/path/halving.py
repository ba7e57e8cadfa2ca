"""Successive halving: all candidates on few rows, the better ones on more, as long as there is time.

Jamieson and Talwalkar (2016).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_SCOUTS = 100  # rows of each class that show in which order candidates are scored
_FACTOR = 3  # by which rows grow and candidates become fewer
_MIN_ROWS = 500  # of the first round
_GROWTH = 2.0  # exponent by which the time of a round grows with its rows

Floats = NDArray[np.float64]


class CandidateScores(NamedTuple):
    """Of one candidate, an entry for each fold."""

    scores: list[float]
    fit_times: list[float]
    score_times: list[float]


@dataclass
class Rounds:
    """What is known of each candidate: scores of the largest number of rows for which all of its folds were scored."""

    scores: Floats  # (candidates, folds); nan for a fold without any of these rows
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

    def keep(
        self, candidate: int, folds: slice | Sequence[int], found: CandidateScores, n_rows: int, iteration: int
    ) -> None:
        """Note the scores of a candidate, in place of those of fewer rows."""
        for values, new in zip((self.scores, self.fit_times, self.score_times), found, strict=True):
            values[candidate] = np.nan
            values[candidate, folds] = new
        self.n_rows[candidate], self.iteration[candidate] = n_rows, iteration

    def means_of(self, candidates: NDArray[np.intp]) -> Floats:
        """Mean scores of these candidates; nan for others."""
        means = np.full(len(self.scores), np.nan)
        means[candidates] = means_over_folds(self.scores[candidates])
        return means

    def ranked(self) -> NDArray[np.intp]:
        """Those with a score, the best first."""
        return _ranked(means_over_folds(self.scores))

    def finalists(self) -> NDArray[np.intp]:
        """The candidates evaluated with the most rows: the others lost against them, or were not reached."""
        return np.flatnonzero((self.n_rows == self.n_rows.max()) & (self.n_rows > 0))


def sizes_of(n: int) -> list[int]:
    """Rows of each round, up to all of them."""
    sizes = [n]
    while sizes[0] // _FACTOR >= _MIN_ROWS and len(sizes) < 4:
        sizes.insert(0, sizes[0] // _FACTOR)
    return sizes


def means_over_folds(scores: Floats) -> Floats:
    """Of each candidate, over the folds that were scored; nan if none was."""
    known = ~np.isnan(scores)
    counts = known.sum(axis=1)
    totals = np.where(known, scores, 0.0).sum(axis=1)
    return np.where(counts > 0, totals / np.maximum(counts, 1), np.nan)


def _ranked(means: Floats) -> NDArray[np.intp]:
    known = np.flatnonzero(~np.isnan(means))
    return known[np.argsort(-means[known], kind="stable")]


def survivors(means: Floats, seconds: float, growth: float, left: float) -> NDArray[np.intp]:
    """Candidates of the next round, the best first.

    As many as are expected to take half of what is left of the time, but at least a third. Those that were not reached
    are not among them.
    """
    ranked = _ranked(means)
    expected = 2.0 * seconds * growth**_GROWTH
    if expected <= left:
        return ranked
    return ranked[: max(1, -(-len(ranked) // _FACTOR), int(len(ranked) * left / expected))]


def scouts(n_classes: int) -> int:
    """Rows of the round before the first."""
    return _SCOUTS * n_classes


def from_the_middle(gammas: NDArray[np.floating]) -> NDArray[np.intp]:
    """Candidates in the order in which they are scored where nothing is known: the ends of a grid are seldom best."""
    return np.argsort(_off_the_middle(gammas), kind="stable").astype(np.intp)


def middle(Cs: NDArray[np.floating], gammas: NDArray[np.floating]) -> int:
    """The candidate of the middle gamma and C."""
    return int(np.lexsort((_off_the_middle(Cs), _off_the_middle(gammas)))[0])


def _off_the_middle(values: NDArray[np.floating]) -> NDArray[np.intp]:
    place: NDArray[np.intp] = np.searchsorted(np.unique(values), values)
    return np.abs(place - int(place.max()) // 2, dtype=np.intp)


def stratified_rows(codes: NDArray[np.intp], size: int, seed: int) -> NDArray[np.intp]:
    """Some of the rows, each class in proportion, but not fewer than it has or ten of it."""
    chance, chosen = np.random.default_rng(seed), []
    for code in np.unique(codes):
        rows = np.flatnonzero(codes == code)
        count = min(len(rows), max(10, round(size * len(rows) / len(codes))))
        chosen.append(chance.choice(rows, count, replace=False))
    return np.sort(np.concatenate(chosen))
