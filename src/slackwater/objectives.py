"""What a solution is worth, whoever found it: the slack-constrained objective's upper bound and its slack.

With responses c_i = y_i <w, Φ(x_i)>, weights ω_i, W = Σ ω_i and volume V = Wν, the slack-constrained problem
(arXiv:1204.0566, eq. 2.3) is max over ‖w‖ <= 1 of f(w), f(w) the water level of c. Its dual is

    min over p in the simplex (with a bias also Σ p_i y_i = 0) of ‖Σ p_i y_i Φ(x_i)‖ + V max_i p_i / ω_i,

so that any non-negative coefficients, scaled to sum to one, bound the optimum from above.

One front of solutions, no norm smaller without more loss, is walked along by four parameters:

    λ    min λ/2 ‖w‖² + L̂(w)                      L̂(w) = (1/W) Σ ω_i max(0, 1 - y_i <w, Φ(x_i)>)   (eq. 2.2)
    C    min ½ ‖w‖² + C Σ ω_i max(0, 1 - …)
    B    min L̂(w) subject to ‖w‖ <= B
    ν    the slack-constrained problem, w scaled to the margin 1                                   (eq. 2.3)

C and λ are the same up to a factor. The others belong together through a solution: ``equivalent_parameters``.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


def margin_upper_bound(
    coefficients: NDArray[np.float64],
    squared_norm: float,
    volume: float,
    weights: NDArray[np.float64] | None = None,
) -> float:
    """Upper bound on the optimal margin from α >= 0: (‖w_α‖ + V max α_i/ω_i) / Σ α_i.

    With a bias the coefficients must be balanced between the classes, Σ α_i y_i = 0.
    """
    total = float(coefficients.sum())
    if total <= 0.0:
        return math.inf
    if volume == 0.0:
        return math.sqrt(max(squared_norm, 0.0)) / total
    used = coefficients > 0 if weights is None else (coefficients > 0) & (weights > 0)
    ratios = coefficients[used] if weights is None else coefficients[used] / weights[used]
    return (math.sqrt(max(squared_norm, 0.0)) + volume * float(ratios.max())) / total


def hinge_total(margins: NDArray[np.float64], costs: NDArray[np.float64]) -> float:
    """Σ cost_i max(0, 1 - margin_i): the loss term of the C-form, cost_i = C ω_i."""
    return float(costs @ np.maximum(0.0, 1.0 - margins))


def mean_hinge(margins: NDArray[np.float64], weights: NDArray[np.float64] | None = None) -> float:
    """L̂(w) = (1/W) Σ ω_i max(0, 1 - margin_i)."""
    losses = np.maximum(0.0, 1.0 - margins)
    return float(losses.mean() if weights is None else weights @ losses / weights.sum())


def feasible_scale(coefficients: NDArray[np.float64], weights: NDArray[np.float64] | None = None) -> float:
    """The largest β with β a_i <= ω_i/W for all i: what makes non-negative coefficients feasible in the dual of L̂."""
    used = coefficients > 0.0
    if not used.any():
        return math.inf
    if weights is None:
        return 1.0 / (len(coefficients) * float(coefficients.max()))
    return float((weights[used] / coefficients[used]).min() / weights.sum())


def relative_gap(margin: float, upper: float) -> float:
    """1 - f/U, which is at least the relative suboptimality 1 - f/f*; infinite while there is no margin."""
    if not (0.0 < margin < math.inf):
        return math.inf
    return max(0.0, 1.0 - margin / upper)


def weighted_error(
    responses: NDArray[np.float64], labels: NDArray[np.int8], bias: float, weights: NDArray[np.float64]
) -> float:
    """Weighted fraction of examples that are not on their side: y_i (<w, Φ(x_i)> + b) <= 0."""
    wrong = responses + labels * bias <= 0.0
    return float(weights[wrong].sum() / weights.sum())


class Parameters(NamedTuple):
    """The parameters with which each formulation has the same solution."""

    C: float
    lam: float  # λ
    nu: float  # ν
    radius: float  # B


def lambda_from_c(C: float, total_weight: float) -> float:
    """λ = 1/(C W): dividing the C-form by C W gives the regularised form. W is the number of rows without weights."""
    return 1.0 / (C * total_weight)


def equivalent_parameters(
    coefficients: NDArray[np.float64],
    margins: NDArray[np.float64],
    squared_norm: float,
    weights: NDArray[np.float64] | None = None,
) -> Parameters:
    """All four parameters from a solution of any one formulation, as the paper derives ν from λ (Section 5).

    At an optimum w, ν = L̂(w)/‖w‖ and B = ‖w‖. The coefficients of w = Σ α_i y_i Φ(x_i) are C ω_i for every example
    that falls short of its margin, and not more for any other; so C = max α_i/ω_i. Where no example falls short, ν is 0
    and every larger C has the same solution.

    Parameters
    ----------
    coefficients : ndarray of shape (n,)
        α_i >= 0; of a fitted model the absolute values of ``dual_coef_`` at ``support_``, and 0 elsewhere. A dual
        method's: the mean of a stochastic method's iterates has the right w, but not these coefficients, unless it was
        run for very long.
    margins : ndarray of shape (n,)
        y_i (<w, Φ(x_i)> + b): the model's decision values times ±1, scaled so that the margin is one.
    squared_norm : float
        ‖w‖²; of a fitted C-form model 1/margin_².
    weights : ndarray of shape (n,), optional
        ω_i.

    Returns
    -------
    Parameters
        C, λ, ν and B with which the four formulations have this solution.
    """
    if not squared_norm > 0.0:
        raise ValueError(f"squared_norm must be > 0, got {squared_norm}. w = 0 solves many problems.")
    norm = math.sqrt(squared_norm)
    used = coefficients > 0.0
    C = float((coefficients[used] if weights is None else coefficients[used] / weights[used]).max())
    total = float(len(coefficients) if weights is None else weights.sum())
    return Parameters(C, lambda_from_c(C, total), mean_hinge(margins, weights) / norm, norm)
