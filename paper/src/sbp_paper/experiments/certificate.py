r"""How good a fitted model is, computed afresh in double precision from nothing but its coefficients and the data.

.. math::
    P = \tfrac12 \|w\|^2 + C \sum_i \max(0, 1 - y_i f(x_i)), \qquad
    D = \sum_i \alpha_i - \tfrac12 \Big\|\sum_i \alpha_i y_i \Phi(x_i)\Big\|^2 \le P^* \le P

The dual point is the model's own coefficients, scaled to be feasible: 0 <= α_i <= C and, with a bias, as much on the
one class as on the other.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sbp_paper.experiments.gaussian import combinations

Floats = NDArray[np.float64]


class Certificate(NamedTuple):
    """What is proven about a model of the C-form."""

    primal: float
    dual: float
    norm: float  # ‖w‖
    loss: float  # mean hinge loss L̂(w)
    nu_range: tuple[float, float]  # L̂(w*)/‖w*‖ of the optimum lies in it

    @property
    def gap(self) -> float:
        """Relative: (P - D)/P."""
        return max(0.0, (self.primal - self.dual) / self.primal)

    @property
    def nu(self) -> float:
        """ν = L̂(w)/‖w‖ (arXiv:1204.0566, Section 5)."""
        return self.loss / self.norm


def certified_gap(model: Any, X: Any, y: NDArray[np.int8], C: float, gamma: float) -> Certificate:
    """Certify a fitted ``slackwater.SVC`` with the Gaussian kernel on its training data, labels ±1.

    Costs n × support kernel values in double precision; none is left out, however small.
    """
    X = X.astype(np.float64)
    support = np.asarray(model.support_)
    dual_coef = model.dual_coef_.toarray() if sparse.issparse(model.dual_coef_) else model.dual_coef_
    coefficients = model.scale_[0] * np.asarray(dual_coef[0], dtype=np.float64)
    bias = model.scale_[0] * model.intercept_[0]
    signs = y[support].astype(np.float64)
    alpha = np.maximum(signs * coefficients, 0.0)  # a coefficient of the wrong sign is no part of a dual point
    functions = np.array([coefficients, np.where(signs > 0, alpha, 0.0), np.where(signs < 0, -alpha, 0.0)])
    values = combinations(X, X[support], functions, gamma)
    norm = math.sqrt(max(float(coefficients @ values[support, 0]), 0.0))
    loss = float(np.maximum(0.0, 1.0 - y * (values[:, 0] + float(bias))).mean())
    primal = 0.5 * norm**2 + C * len(y) * loss
    caps = C * _multiplicities(X, y)[support]
    dual = _dual_value(functions[1:], values[support, 1:], alpha, signs, caps, balanced=bool(model.fit_intercept))
    return Certificate(primal, dual, norm, loss, nu_range(primal, dual, norm, C * len(y)))


def nu_range(primal: float, dual: float, norm: float, cost: float) -> tuple[float, float]:
    """Between what L̂(w*)/‖w*‖ lies; ``cost`` is C n, the price of the mean loss.

    The objective is strongly convex in w, so ‖w - w*‖² <= 2 (P - D), and cost·L̂(w*) = P* - ‖w*‖²/2 with D <= P* <= P.
    """
    radius = math.sqrt(2.0 * max(primal - dual, 0.0))
    longest, shortest = norm + radius, max(norm - radius, 0.0)
    least = max(dual - 0.5 * longest**2, 0.0) / cost
    most = (primal - 0.5 * shortest**2) / cost
    return least / longest, most / shortest if shortest > 0.0 else math.inf


def _multiplicities(X: Any, y: NDArray[np.int8]) -> Floats:
    """How many rows of its class each row equals, itself among them: a model may add up their coefficients."""
    rows = [content + label.tobytes() for content, label in zip(_contents(X), y, strict=True)]
    counts = Counter(rows)
    return np.array([counts[row] for row in rows], dtype=np.float64)


def _contents(X: Any) -> list[bytes]:
    """Of each row; equal for equal rows."""
    if not sparse.issparse(X):
        return [row.tobytes() for row in X + 0.0]  # which makes 0 of -0
    X = X.tocsr(copy=True)
    X.sum_duplicates()
    X.eliminate_zeros()
    parts = [slice(*ends) for ends in zip(X.indptr[:-1], X.indptr[1:], strict=True)]
    return [X.indices[part].tobytes() + X.data[part].tobytes() for part in parts]


def _dual_value(parts: Floats, values: Floats, alpha: Floats, signs: Floats, caps: Floats, *, balanced: bool) -> float:
    """The best D among multiples of a dual point; ``values`` are those of the classes' parts at the support."""
    if not alpha.any():
        return 0.0
    sums = np.array([alpha[signs > 0].sum(), alpha[signs < 0].sum()])
    shares = sums.min() / sums if balanced and sums.min() > 0.0 else np.ones(2)  # bring both classes to the same sum
    if balanced and sums.min() == 0.0:
        return 0.0
    squared = float(shares @ (parts @ values) @ shares)
    scaled = alpha * np.where(signs > 0, shares[0], shares[1])
    total, most = float(scaled.sum()), float((caps[scaled > 0] / scaled[scaled > 0]).min())
    multiple = min(most, total / squared) if squared > 0.0 else most
    return multiple * total - 0.5 * multiple**2 * squared
