"""Twins of the levels, written for the eye: sort, sum, look. And the paper's Alg. 2 and Alg. 3, corrected."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

INF = float("inf")


def level(responses, volume, weights=None):
    """Least of (V + sum of the k lowest) / (weight of the k lowest)."""
    c, w = _sorted(responses, weights)
    return float(np.min((volume + np.cumsum(w * c)) / np.cumsum(w)))


def level_and_bias_interval(responses, labels, volume, weights=None):
    """Level and the interval of optimal biases, from every breakpoint of the wet weight."""
    (cp, wp), (cn, wn) = _classes(responses, labels, weights)
    if volume == 0:
        gamma, bias = (cp[0] + cn[0]) / 2, (cn[0] - cp[0]) / 2
        return gamma, (bias, bias)
    kappas = _breakpoints(wp, wn)
    gammas = [(volume + _lowest_sum(cp, wp, k) + _lowest_sum(cn, wn, k)) / (2 * k) for k in kappas]
    best = int(np.argmin(gammas))
    return gammas[best], _bias_interval((cp, wp), (cn, wn), kappas[best], gammas[best])


def c_level(responses, C, weights=None):
    """Walk up the sorted responses until 1/(C S) is not above the next of them."""
    c, w = _sorted(responses, weights)
    total, last = 0.0, -INF
    for height, weight in zip([*c, INF], [*w, 0.0], strict=True):
        gamma = 1 / (C * total) if total > 0 else INF
        if gamma <= height:
            return float(max(gamma, last))
        total, last = total + weight * height, height
    raise AssertionError("unreachable")


def c_level_and_bias_interval(responses, labels, C, weights=None):
    """Walk up the breakpoints of the wet weight until 1/(C S) is not above the next mean height."""
    pos, neg = _classes(responses, labels, weights)
    for kappa in _breakpoints(pos[1], neg[1]):
        total = _lowest_sum(*pos, kappa) + _lowest_sum(*neg, kappa)
        gamma = 1 / (C * total) if total > 0 else INF
        if gamma <= (_next(*pos, kappa) + _next(*neg, kappa)) / 2:
            gamma = max(gamma, (_last(*pos, kappa) + _last(*neg, kappa)) / 2)
            return gamma, (np.nan, np.nan) if gamma == INF else _bias_interval(pos, neg, kappa, gamma)
    raise AssertionError("unreachable")


def exact_level(responses, volume, weights=None):
    """The level in rational arithmetic."""
    w = [Fraction(1)] * len(responses) if weights is None else [Fraction(float(x)) for x in weights]
    pairs = sorted((Fraction(float(c)), x) for c, x in zip(responses, w, strict=True) if x > 0)
    best, total, weight = None, Fraction(float(volume)), Fraction(0)
    for height, share in pairs:
        total, weight = total + share * height, weight + share
        best = total / weight if best is None else min(best, total / weight)
    return best


def exact_level_with_bias(responses, labels, volume):
    """Gamma of the two basins in rational arithmetic, unweighted: both hold the same number of points."""
    pos = sorted(Fraction(float(c)) for c, y in zip(responses, labels, strict=True) if y > 0)
    neg = sorted(Fraction(float(c)) for c, y in zip(responses, labels, strict=True) if y < 0)
    best, total = None, Fraction(float(volume))
    for k in range(1, min(len(pos), len(neg)) + 1):
        total += pos[k - 1] + neg[k - 1]
        best = total / (2 * k) if best is None else min(best, total / (2 * k))
    return best


def find_gamma(C, volume):
    """Alg. 2 of arXiv:1204.0566, as printed and then corrected. Indices start at 1 as in print."""
    C = [None, *map(float, C)]
    lower, upper = 1, len(C) - 1
    lower_max, lower_sum = -INF, 0.0
    while lower <= upper:  # printed: lower < upper, twice; it leaves the last point untested
        middle = _partition(C, lower, upper)
        # printed: the parts stop at middle - 1 and a move up restarts at middle; a pivot that is the least
        # of its part then never leaves it. Here the pivot goes with the points below it.
        middle_max = max(lower_max, *C[lower : middle + 1])
        middle_sum = lower_sum + sum(C[lower : middle + 1])
        if middle_max * middle - middle_sum >= volume and middle > 1:  # the lowest point is always wet
            upper = middle - 1
        else:
            lower, lower_max, lower_sum = middle + 1, middle_max, middle_sum
    wet = lower - 1
    return (volume - lower_max * wet + lower_sum) / wet + lower_max


def find_gamma_and_bias(y, C, volume):
    """Alg. 3 of arXiv:1204.0566, as printed and then corrected. Indices start at 1 as in print."""
    pos, neg = (_Side([c for c, label in zip(C, y, strict=True) if label == sign]) for sign in (1, -1))
    while not (pos.done and neg.done):
        direction = {pos: 0, neg: 0}
        for side, other in ((pos, neg), (neg, pos)):  # lines 9-12
            if not side.done and side.middle < other.lower:
                direction[side] = 1
            elif not side.done and side.middle > other.upper:
                direction[side] = -1
        if direction[pos] == direction[neg] == 0:
            _choose(pos, neg, volume, direction)
        for side in (pos, neg):
            if direction[side] > 0:  # printed, lines 27-28: direction > 0 lowered upper, else raised lower
                side.raise_lower()
            elif direction[side] < 0:
                side.cut_upper()
    return _settle(pos, neg, volume)


class _Side:
    """One basin's state in Alg. 3: the number of wet points is known to lie in [lower - 1, upper]."""

    def __init__(self, points):
        self.points = [None, *map(float, points)]
        self.size = len(points)
        self.lower, self.upper = 1, self.size
        self.lower_max, self.lower_sum = -INF, 0.0
        self.refresh()

    @property
    def done(self):
        return self.lower > self.upper  # printed: until lower = upper, which leaves one point untested (as in Alg. 2)

    def refresh(self):
        if not self.done:
            self.middle = _partition(self.points, self.lower, self.upper)
            part = self.points[self.lower : self.middle + 1]  # printed: C, for C± (lines 5-6); without the pivot
            self.middle_max = max(self.lower_max, *part)
            self.middle_sum = self.lower_sum + sum(part)

    def raise_lower(self):
        self.lower, self.lower_max, self.lower_sum = self.middle + 1, self.middle_max, self.middle_sum
        self.refresh()

    def cut_upper(self):
        self.upper = self.middle - 1
        self.refresh()


def _choose(pos, neg, volume, direction):
    """Lines 14-25: neither count excludes the other; the volume that covers both points decides."""
    needed = sum(side.middle_max * side.middle - side.middle_sum for side in (pos, neg))
    wider = pos if pos.upper - pos.lower > neg.upper - neg.lower else neg
    lower, higher = (pos, neg) if pos.middle < neg.middle else (neg, pos)
    tie = pos.middle == neg.middle
    if needed >= volume and higher.middle > 1:  # printed without the second clause: the lowest are always wet
        direction[wider if tie else higher] = -1
    else:
        direction[wider if tie else lower] = 1


def _settle(pos, neg, volume):
    """Lines 39-43."""
    wet = pos.lower - 1
    assert wet == neg.lower - 1  # line 38
    rise = (volume + pos.lower_sum + neg.lower_sum) / wet - pos.lower_max - neg.lower_max
    rises = []
    for side in (pos, neg):
        # printed, lines 40-41: "if lower < n"; with lower points dry from `lower` on, it is lower <= n
        room = min(side.points[side.lower :]) - side.lower_max if side.lower <= side.size else INF
        rises.append(min(rise, room))
    gamma_pos = pos.lower_max + 0.5 * (rise + rises[0] - rises[1])
    gamma_neg = neg.lower_max + 0.5 * (rise - rises[0] + rises[1])
    return 0.5 * (gamma_pos + gamma_neg), 0.5 * (gamma_neg - gamma_pos)


def _partition(points, lower, upper):
    """Put the part [lower, upper] in order about a pivot, in place, and give the pivot's index."""
    part = points[lower : upper + 1]
    pivot = part[len(part) // 2]
    less = [x for x in part if x < pivot]
    equal = [x for x in part if x == pivot]
    points[lower : upper + 1] = less + equal + [x for x in part if x > pivot]
    return lower + len(less)


def _sorted(responses, weights):
    c = np.asarray(responses, dtype=float)
    w = np.ones(c.size) if weights is None else np.asarray(weights, dtype=float)
    order = np.argsort(c[w > 0], kind="stable")
    return c[w > 0][order], w[w > 0][order]


def _classes(responses, labels, weights):
    c, y = np.asarray(responses, dtype=float), np.asarray(labels)
    w = np.ones(c.size) if weights is None else np.asarray(weights, dtype=float)
    return _sorted(c[y > 0], w[y > 0]), _sorted(c[y < 0], w[y < 0])


def _breakpoints(wp, wn):
    kappas = np.unique(np.concatenate([np.cumsum(wp), np.cumsum(wn)]))
    return kappas[kappas <= min(np.cumsum(wp)[-1], np.cumsum(wn)[-1])]


def _lowest_sum(c, w, kappa):
    wet = np.clip(kappa - (np.cumsum(w) - w), 0, w)
    return float(np.sum(wet[wet > 0] * c[wet > 0]))


def _next(c, w, kappa):
    above = c[np.cumsum(w) > kappa]
    return above[0] if above.size else INF


def _last(c, w, kappa):
    return c[np.cumsum(w) - w < kappa][-1]


def _bias_interval(pos, neg, kappa, gamma):
    """x⁺ = gamma - b between its last wet and first dry point, x⁻ = gamma + b likewise."""
    low = max(_last(*pos, kappa), 2 * gamma - _next(*neg, kappa))
    high = min(_next(*pos, kappa), 2 * gamma - _last(*neg, kappa))
    return gamma - high, gamma - low
