r"""The public levels: thin, checking doors to the compiled search.

A level never depends on the guess beyond rounding; a guess near the answer, such as the level of the step
before, only makes the search faster (one pass over the responses).
"""

from __future__ import annotations

import math

from numpy.typing import ArrayLike

from slackwater.water._checks import (
    checked_cost,
    checked_labels,
    checked_level,
    checked_responses,
    checked_volume,
    checked_weights,
)

_UNKNOWN = math.nan


def level(
    responses: ArrayLike, volume: float, weights: ArrayLike | None = None, *, guess: float | None = None
) -> float:
    r"""The level to which a volume of water rises over the responses.

    .. math:: \sum_i w_i \max(0, \gamma - c_i) = V, \qquad
        \gamma = \min_k \frac{V + \sum_{i \le k} w_{(i)} c_{(i)}}{\sum_{i \le k} w_{(i)}}

    with the responses c sorted in the second form.

    Parameters
    ----------
    responses : array of shape (n,)
        c_i = y_i ⟨w, Φ(x_i)⟩; float32 and float64 are used as they are, sums are float64.
    volume : float
        V = nν >= 0, the total slack. 0 gives the lowest response.
    weights : array of shape (n,), optional
        w_i >= 0, by default 1. A point of weight 0 is left out.
    guess : float, optional
        Where the level may be; not finite means unknown.

    Returns
    -------
    float
        γ.

    Notes
    -----
    Complexity: expected O(n) time; with a good guess one pass and O(√n) memory or so.

    References
    ----------
    arXiv:1204.0566, Section 3.2 and Alg. 2.

    Examples
    --------
    >>> level([0.0, 1.0, 5.0], 3.0)
    2.0
    """
    from slackwater.water import _loops

    values = checked_responses(responses)
    shares = checked_weights(weights, values.size)
    start = _UNKNOWN if guess is None else float(guess)
    return checked_level(_loops.find_level(values, shares, checked_volume(volume), start, _UNKNOWN))


def level_and_bias(
    responses: ArrayLike,
    labels: ArrayLike,
    volume: float,
    weights: ArrayLike | None = None,
    *,
    guess: tuple[float, float] | None = None,
) -> tuple[float, float]:
    r"""The highest common level of two basins, one for each class, and the bias that attains it.

    .. math:: \max_{\gamma, b} \gamma \quad\text{such that}\quad
        \sum_i w_i \max(0, \gamma - (c_i + y_i b)) = V

    At the optimum the same weight κ is under water in both classes, and with S(κ) the weighted sum of the
    lowest part κ of both classes, :math:`\gamma = \min_\kappa (V + S(\kappa)) / 2\kappa`. Where the optimal
    biases form an interval, its midpoint is returned, so that exchanging the classes negates the bias.

    Parameters
    ----------
    responses : array of shape (n,)
        c_i = y_i ⟨w, Φ(x_i)⟩, without bias.
    labels : array of shape (n,)
        +1 or -1; both must occur with positive weight.
    volume : float
        V = nν >= 0.
    weights : array of shape (n,), optional
        w_i >= 0, by default 1.
    guess : (float, float), optional
        Where level and bias may be.

    Returns
    -------
    gamma, bias : float
        The margin of example i at this bias is c_i + y_i b.

    Notes
    -----
    Complexity: expected O(n) time; with a good guess one pass for each class. Weights whose partial sums
    are equal only up to rounding may move the bias inside its optimal interval; gamma is not affected.

    References
    ----------
    arXiv:1204.0566, Alg. 3.

    Examples
    --------
    >>> level_and_bias([0.0, 2.0], [1, -1], 0.0)
    (1.0, 1.0)
    """
    from slackwater.water import _loops

    values = checked_responses(responses)
    shares = checked_weights(weights, values.size)
    signs = checked_labels(labels, shares, values.size)
    x_pos, x_neg = _loops.find_level_and_bias(
        values, signs, shares, checked_volume(volume), *_basin_guesses(guess), _UNKNOWN
    )
    return checked_level(0.5 * x_pos + 0.5 * x_neg), 0.5 * x_neg - 0.5 * x_pos


def c_level(responses: ArrayLike, C: float, weights: ArrayLike | None = None, *, guess: float | None = None) -> float:
    r"""The level that C gives: the inverse of the best scale of a direction of norm 1.

    .. math:: \frac1\gamma = \arg\min_{a \ge 0} \tfrac12 a^2 + C \sum_i w_i \max(0, 1 - a c_i),
        \qquad \gamma \sum_{c_i < \gamma} w_i c_i = \frac1C

    where the second equation holds in the sense of subgradients: the level may rest on a response, which
    then counts in part.

    Parameters
    ----------
    responses : array of shape (n,)
        c_i = y_i ⟨w, Φ(x_i)⟩ for ‖w‖ = 1.
    C : float
        The cost of slack, > 0.
    weights : array of shape (n,), optional
        w_i >= 0, by default 1.
    guess : float, optional
        Where the level may be; not finite means unknown.

    Returns
    -------
    float
        γ = 1/a, or inf where the best scale a is 0: the weighted sum of the responses is not positive.

    Notes
    -----
    Complexity: expected O(n) time; with a good guess one pass.

    References
    ----------
    The volume that this level holds, ν = Σ w_i max(0, γ - c_i)/n, turns the C-form into the slack-
    constrained problem of arXiv:1204.0566, Section 3.

    Examples
    --------
    >>> c_level([0.5, 4.0], 1.0)
    2.0
    """
    from slackwater.water import _loops

    values = checked_responses(responses)
    shares = checked_weights(weights, values.size)
    start = _UNKNOWN if guess is None else float(guess)
    return float(_loops.find_c_level(values, shares, checked_cost(C), start, _UNKNOWN))


def c_level_and_bias(
    responses: ArrayLike,
    labels: ArrayLike,
    C: float,
    weights: ArrayLike | None = None,
    *,
    guess: tuple[float, float] | None = None,
) -> tuple[float, float]:
    r"""The level and the bias that C gives, the bias unregularised.

    .. math:: \min_{a \ge 0,\, b'} \tfrac12 a^2 + C \sum_i w_i \max(0, 1 - (a c_i + y_i b')),
        \qquad \gamma = \frac1a, \quad b = \frac{b'}a

    The violators weigh the same in both classes, κ, and :math:`\gamma\, S(\kappa) = 1/C` with S(κ) the
    weighted sum of the lowest part κ of both classes. Where the optimal biases form an interval, its
    midpoint is returned.

    Parameters
    ----------
    responses : array of shape (n,)
        c_i = y_i ⟨w, Φ(x_i)⟩ for ‖w‖ = 1, without bias.
    labels : array of shape (n,)
        +1 or -1; both must occur with positive weight.
    C : float
        The cost of slack, > 0.
    weights : array of shape (n,), optional
        w_i >= 0, by default 1.
    guess : (float, float), optional
        Where level and bias may be; not finite means unknown.

    Returns
    -------
    gamma, bias : float
        In units of the responses: the margin of example i is c_i + y_i b. Where the best scale a is 0,
        gamma is inf and bias is inf, -inf or 0 as the positives outweigh, are outweighed or neither: the
        sign of b', a majority vote.

    Notes
    -----
    Complexity: expected O(n) time; with a good guess one pass for each class.

    References
    ----------
    As for ``c_level``; the two basins are those of arXiv:1204.0566, Alg. 3.

    Examples
    --------
    >>> c_level_and_bias([1.0, 1.0, 9.0], [1, -1, -1], 0.25)
    (2.0, 0.0)
    """
    from slackwater.water import _loops, _scan_loops

    values = checked_responses(responses)
    shares = checked_weights(weights, values.size)
    signs = checked_labels(labels, shares, values.size)
    x_pos, x_neg = _loops.find_c_level_and_bias(
        values, signs, shares, checked_cost(C), *_basin_guesses(guess), _UNKNOWN
    )
    if math.isinf(x_pos):
        majority = _scan_loops.excess(signs, shares)
        return math.inf, math.copysign(math.inf, majority) if majority else 0.0
    return 0.5 * x_pos + 0.5 * x_neg, 0.5 * x_neg - 0.5 * x_pos


def volume_below(responses: ArrayLike, trial: float, weights: ArrayLike | None = None) -> tuple[float, float]:
    r"""What one shard of the responses reports of a trial level: the weight and the sum strictly below it.

    .. math:: W(x) = \sum_{c_i < x} w_i, \qquad S(x) = \sum_{c_i < x} w_i c_i

    The sums of all shards add up, and hold the volume :math:`x W(x) - S(x)`. From them the level follows by
    Newton's method, :math:`x \leftarrow (V + S(x)) / W(x)`, which from any x above the lowest response
    comes down to the level in finitely many rounds.

    Parameters
    ----------
    responses : array of shape (n,)
        The shard's c_i.
    trial : float
        x.
    weights : array of shape (n,), optional
        w_i >= 0, by default 1.

    Returns
    -------
    weight, weighted_sum : float
        W(x) and S(x).

    Notes
    -----
    Complexity: one pass, O(n) time, no memory.

    References
    ----------
    arXiv:1204.0566, Alg. 2 line 7.

    Examples
    --------
    >>> volume_below([0.0, 1.0, 5.0], 2.0)
    (2.0, 1.0)
    """
    from slackwater.water import _scan_loops

    values = checked_responses(responses)
    shares = checked_weights(weights, values.size)
    if math.isnan(trial):
        raise ValueError(f"trial must be a number, got {trial!r}. Start from the lowest or the mean response.")
    return _scan_loops.below(values, shares, float(trial))


def _basin_guesses(guess: tuple[float, float] | None) -> tuple[float, float]:
    """The levels of the positive and the negative basin, in units of the responses."""
    if guess is None:
        return _UNKNOWN, _UNKNOWN
    gamma, bias = guess
    return float(gamma) - float(bias), float(gamma) + float(bias)
