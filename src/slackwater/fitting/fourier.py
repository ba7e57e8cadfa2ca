"""The linear SVM over random Fourier features, from the first rows on: a model at any moment.

Features are computed a few hundred rows at a time, in random order, and each example has a step of the dual descent
as soon as its features are there: a pass over all examples is over when all features are known. Further passes follow
until the linear problem is solved. Where there is no time for a step, there are the means of the classes.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slackwater.deadline import CutShort, deadline_of_thread
from slackwater.features.fourier import FourierMap
from slackwater.memory import untouched
from slackwater.progress import ProgressLine
from slackwater.solvers.linear_dual import LinearDual
from slackwater.stopping import Progress, StopReason
from slackwater.tracing import Clock

_FIRST_ROWS, _FIRST_VISITS = 512, 64  # some ten milliseconds
_MOST_ROWS = 2048
_PRODUCTS = 2**28  # of numbers, between two looks at the clock: some hundredths of a second


class FourierDescent:
    """All binary problems of a fit: one for two classes, else each class against the rest.

    Parameters
    ----------
    features : FourierMap
    X : array or CSR matrix
    rows : ndarray of int
        The rows to train on, in random order.
    codes, upper : ndarray
        The class of each of them, and the most that its coefficient may be.
    n_classes : int
    """

    def __init__(
        self,
        features: FourierMap,
        X: Any,
        rows: NDArray[np.intp],
        codes: NDArray[np.intp],
        upper: NDArray[np.float64],
        n_classes: int,
    ) -> None:
        self._map, self._X, self._rows = features, X, rows
        self._features = untouched((len(rows), 2 * features.pairs), X.dtype)
        self._squared = np.empty(len(rows))
        positive = [1] if n_classes == 2 else range(n_classes)
        self._labels = [np.where(codes == code, 1, -1).astype(np.int8) for code in positive]
        self._upper = upper
        self.problems = [LinearDual(labels, upper, 2 * features.pairs) for labels in self._labels]
        self.known = 0  # rows whose features were computed

    def models(self) -> NDArray[np.float64]:
        """One for each problem: shape (problems, features)."""
        return np.stack([problem.w for problem in self.problems])

    @property
    def passes(self) -> int:
        """Over the examples, at most of all problems; the first one included once it has begun."""
        return 1 + max(problem.passes for problem in self.problems)

    def begin(self) -> None:
        """Make a model of the first rows; CutShort if there is no time for a pass over them."""
        self._compute(min(_FIRST_ROWS, len(self._rows)))
        self._visit(0)
        with suppress(CutShort):  # the next to look at the clock will see it, too
            for _ in range(_FIRST_VISITS):
                self._visit(0)

    def class_means(self) -> NDArray[np.float64]:
        """Models without training or compiled code: the mean of each class in feature space, less that of others."""
        some, found = self._map.transform(self._X[self._rows]).astype(np.float64), []
        for labels in self._labels:
            weights = [np.where(labels == sign, self._upper, 0.0) for sign in (1, -1)]
            ours, theirs = (each @ some / max(float(each.sum()), 1e-300) for each in weights)
            found.append(ours - theirs)
        return np.stack(found)

    def finish(
        self, tol: float, max_iter: int, rng: np.random.Generator, clock: Clock, line: ProgressLine | None
    ) -> StopReason:
        """Go through the other rows, then again and again; CutShort leaves the model reached."""
        if line is not None:
            line.staged("computing features")
        most = min(max(_PRODUCTS // max(1, self._X.shape[1] * self._map.pairs), 16), _MOST_ROWS)
        while self.known < len(self._rows):
            before = self.known
            self._compute(min(before + most, len(self._rows)))
            self._visit(before)
            self._tick(line, clock)
        if line is not None:
            line.staged("solving over the features")
        while unsolved := [problem for problem in self.problems if not problem.converged]:
            if self.passes >= max_iter:
                return StopReason.STEPS
            for problem in unsolved:
                problem.go_through(self._features, self._squared, tol, rng)
            self._tick(line, clock)
        return StopReason.TOLERANCE

    def _compute(self, stop: int) -> None:
        """Features of the next rows."""
        deadline_of_thread().check()
        part = slice(self.known, stop)
        found = self._map.transform(self._X[self._rows[part]])
        self._features[part] = found
        self._squared[part] = np.einsum("ij,ij->i", found, found, dtype=np.float64)
        self.known = stop

    def _visit(self, first: int) -> None:
        for problem in self.problems:
            problem.visit(self._features, self._squared, first, self.known)

    def _tick(self, line: ProgressLine | None, clock: Clock) -> None:
        if line is not None:
            line.tick(Progress(self.passes, self._map.pairs * self.known, clock.seconds()))
