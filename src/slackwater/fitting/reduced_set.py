r"""Fewer support vectors: the functions of a model in the span of some of them (reduced set methods).

The members are chosen greedily (orthogonal matching pursuit in the feature space): the next one is that by which the
projections of all functions gain most. Then the functions are projected,

.. math:: \min_{g \in \mathrm{span}\{\Phi(x_s)\}} \|f - g\|^2,

or, where the training data are at hand, the SVM is solved anew in that span (``subspace/``).

References
----------
C. Burges: Simplified Support Vector Decision Rules. ICML 1996.
P. Vincent, Y. Bengio: Kernel Matching Pursuit. Machine Learning 48, 2002.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve

from slackwater.fitting.subspace.basis import Basis, make_orthonormal
from slackwater.fitting.subspace.newton import minimise
from slackwater.fitting.subspace.problem import Doubles, SubspaceModel, SubspaceProblem
from slackwater.points import Floats
from slackwater.workers import Workers

_MIN_RESIDUAL = 1e-10  # of the largest K(x, x): with less outside of the span, a candidate adds nothing but rounding
_INDEFINITE = 1e-6  # of the same: a residual further below 0 than rounding makes it
_MAX_FUNCTIONS = 64  # that the choice looks at; of more, random combinations, whose squares sum up to the same
_WIDTHS = (0.5, 0.1, 0.02)  # of the hinge's smoothed corner, one after the other
_NEWTON_ACCURACY = 1e-4


class GreedyBasis:
    """Candidates chosen one by one, and the Cholesky factor of their kernel matrix.

    Parameters
    ----------
    column : callable
        The kernel values of all n candidates with one of them.
    diagonal : ndarray of shape (n,)
        K(x, x) of each candidate.
    values : ndarray of shape (n, functions)
        The functions to be approximated, at the candidates.
    """

    def __init__(self, column: Callable[[int], Doubles], diagonal: Doubles, values: Doubles) -> None:
        self._column = column
        self._residual_norms, self._residuals = diagonal.copy(), _few_functions(values)
        self._scale = float(diagonal.max(initial=0.0))
        self._rows = np.empty((len(diagonal), 0))  # of the factor, for all candidates
        self.members = np.empty(0, dtype=np.intp)

    @property
    def factor(self) -> Doubles:
        """The lower triangular factor of the kernel matrix of the members."""
        return np.tril(self._rows[self.members, : len(self.members)])

    def extend(self, size: int) -> bool:
        """Choose members until there are so many; False where no other candidate adds anything."""
        self._reserve(size)
        while len(self.members) < size:
            if not self._add_one():
                return False
        return True

    def _reserve(self, size: int) -> None:
        if size > self._rows.shape[1]:
            grown = np.empty((len(self._rows), size))
            grown[:, : len(self.members)] = self._rows[:, : len(self.members)]
            self._rows = grown

    def _add_one(self) -> bool:
        norms = self._residual_norms
        if norms.min(initial=0.0) < -_INDEFINITE * self._scale:
            raise ValueError("kernel must be positive semi-definite: there is no projection on support vectors else.")
        usable = norms > _MIN_RESIDUAL * self._scale
        usable[self.members] = False
        if not usable.any():
            return False
        gains = np.full(len(norms), -1.0)
        gains[usable] = (self._residuals[usable] ** 2).sum(axis=1) / norms[usable]
        best, known = int(gains.argmax()), len(self.members)
        length = np.sqrt(norms[best])
        direction = (self._column(best) - self._rows[:, :known] @ self._rows[best, :known]) / length
        self._rows[:, known] = direction
        self._residuals -= direction[:, None] * (self._residuals[best] / length)
        self._residual_norms = norms - direction**2
        self.members = np.append(self.members, best)
        return True


def _few_functions(values: Doubles) -> Doubles:
    if values.shape[1] <= _MAX_FUNCTIONS:
        return values.copy()
    mixing = np.random.default_rng(0).standard_normal((values.shape[1], _MAX_FUNCTIONS))
    return np.asarray(values @ mixing / np.sqrt(_MAX_FUNCTIONS))


class InSpan(NamedTuple):
    """A function in the span of some members: its coefficients and its bias."""

    coefficients: Doubles
    bias: float


def projection(factor: Doubles, values: Doubles, bias: float) -> InSpan:
    """The function of the span that is nearest to one with these values (without the bias) at the members."""
    if len(values) == 0:
        return InSpan(values, bias)
    return InSpan(np.asarray(cho_solve((factor, True), values, check_finite=False)), bias)


class HingeProblem(NamedTuple):
    """Examples to solve the SVM for: kernel values with the members, (examples, members), labels ±1, u_i = C ω_i."""

    columns: Floats
    labels: NDArray[np.int8]
    upper: Doubles
    free_bias: bool


def solved_in_span(factor: Doubles, problem: HingeProblem, start: InSpan, workers: Workers) -> InSpan:
    """The SVM in the span, from a function in it. ``problem.columns`` are overwritten."""
    basis = Basis(np.arange(len(factor)), factor)
    make_orthonormal(problem.columns, basis, workers)
    solving = SubspaceProblem(problem.columns, problem.labels, problem.upper, problem.free_bias, workers)
    model = best = SubspaceModel(factor.T @ start.coefficients, start.bias)
    for width in _WIDTHS:
        model = minimise(solving, model, width, _NEWTON_ACCURACY)
        best = min(best, model, key=solving.objective)
    return InSpan(basis.coefficients(best.weights), best.bias)
