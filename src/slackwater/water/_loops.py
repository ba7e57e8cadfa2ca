"""The compiled search behind every level: one mechanism for one basin or two, for a volume or for C.

Sort a class by response and let ``q(k)`` be the height at which a weight ``k`` of it lies below. A *single*
basin has the level x at which the water's rule, ``candidate(k, S(k))`` with ``S(k) = ∫₀ᵏ q``, meets
``q(k)``. With *two* basins the same weight k is wet in both, and the rule meets ``q⁺(k) + q⁻(k)``: a single
basin is the case of a second one that is flat, at height 0, and of infinite weight. The rules are

- volume V: ``x⁺ + x⁻ = (V + S)/k``  (arXiv:1204.0566, Alg. 2 line 12 and Alg. 3 line 39);
- C: ``x⁺ + x⁻ = (2/C)/S`` (one basin: ``(1/C)/S``), the best scale of the hinge problem.

The search keeps, for each basin, the weight and the sum of the points below a window and the points inside
it. A window comes from a guess or from a sample; it is narrowed by further samples until a short sort
settles the answer, and the answer is taken only if the sums prove it; else the window grows, and at last it
holds everything. So the expected work is O(n) and the result does not depend on the guess. Nothing here
raises; inputs are trusted.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from slackwater._jit import compiled
from slackwater.water._scan_loops import Basin, below, flat_basin, gather, gather_second, member, share_of
from slackwater.water._walk_loops import Filling, Rule, candidate, fill, sort_basin

SHALLOW = 8.0  # times what levels moved by last: where the volume is less, they are sooner found from the lowest points
SORTED_AT_ONCE = 256  # so few points are sorted rather than sampled
SAMPLE = 2048
SPACING_SAMPLE = 4096
WINDOW_ROOTS = 0.6  # the window about a guess should hold so many times √n points
NEAREST = 16  # points of the sample that tell how dense the class is there
GROWTH = 8.0
NEWTON_PASSES = 8
# Where passes leave the cache, Newton's three or four of them cost more than one and a window about its result. A known
# spread means that the level moves as in training, too far for that.
NEWTON_BELOW = 2**18


@compiled
def _thin(values: Any, labels: Any, sign: int, weights: Any, basin: Basin) -> Basin:
    """A sorted sample of a class, one point from each of SAMPLE strata, weighted to stand for the class."""
    size = min(values.size, SAMPLE)
    points, shares = np.empty(size), np.empty(size)
    scale, kept, state = values.size / size, 0, np.uint32(1)
    for k in range(size):
        start = k * values.size // size
        stop = (k + 1) * values.size // size
        state = np.uint32(state * np.uint32(1664525) + np.uint32(1013904223))
        i = start + np.int64(state >> np.uint32(8)) % (stop - start)
        share = share_of(labels, sign, weights, i)
        if share > 0.0:
            points[kept], shares[kept] = values[i], share * scale
            kept += 1
    sample = Basin(points[:kept], shares[:kept], basin.weight, basin.total, basin.floor, basin.ceiling)
    sort_basin(sample)
    return sample


@compiled
def _window(sample: Basin, i: int, reach: float) -> tuple[float, float]:
    """Bounds some ranks of the sample below and above the rank where the water came to rest."""
    ranks = 4 + int(reach * math.sqrt(i + 1.0))
    floor, ceiling = sample.floor, sample.ceiling
    if i - 1 - ranks >= 0:
        floor = sample.points[i - 1 - ranks]
    if i + ranks < sample.points.size:
        ceiling = np.nextafter(sample.points[i + ranks], np.inf)  # so that ties stay together
    return floor, ceiling


@compiled
def _inner(basin: Basin, floor: float, ceiling: float) -> Basin:
    """The same basin seen through a narrower window."""
    points, weights, weight, total, _, _ = gather(basin.points, None, 1, basin.weights, floor, ceiling)
    return Basin(points, weights, basin.weight + weight, basin.total + total, floor, ceiling)


@compiled
def _settle(pos: Basin, neg: Basin, rule: Rule) -> Filling:
    """Narrow the windows by samples while that helps, then sort and walk."""
    size = pos.points.size + neg.points.size
    while size > 2 * SORTED_AT_ONCE:
        sample_pos = _thin(pos.points, None, 1, pos.weights, pos)
        sample_neg = _thin(neg.points, None, 1, neg.weights, neg)
        aim = fill(sample_pos, sample_neg, rule)
        floor_pos, ceiling_pos = _window(sample_pos, aim.i_pos, 2.5)
        floor_neg, ceiling_neg = _window(sample_neg, aim.i_neg, 2.5)
        pos = _inner(pos, floor_pos, ceiling_pos)
        neg = _inner(neg, floor_neg, ceiling_neg)
        before, size = size, pos.points.size + neg.points.size
        if 2 * size > before:
            break
    sort_basin(pos)
    sort_basin(neg)
    return fill(pos, neg, rule)


@compiled
def _sampled(responses: Any, labels: Any, weights: Any, rule: Rule, reach: float) -> Filling:
    """Search without a guess: windows from a sample of the whole."""
    dry = Basin(np.empty(0), np.empty(0), 0.0, 0.0, -np.inf, np.inf)
    pos = _thin(responses, labels, 1, weights, dry)
    neg = flat_basin()
    if labels is not None:
        neg = _thin(responses, labels, -1, weights, dry)
    aim = fill(pos, neg, rule)
    floor_pos, ceiling_pos = _window(pos, aim.i_pos, reach)
    floor_neg, ceiling_neg = _window(neg, aim.i_neg, reach)
    return _settle(
        gather(responses, labels, 1, weights, floor_pos, ceiling_pos),
        gather_second(responses, labels, weights, floor_neg, ceiling_neg),
        rule,
    )


@compiled
def _everything(responses: Any, labels: Any, weights: Any, rule: Rule) -> Filling:
    """The last resort, and the first for few points: sort the lot, O(n log n)."""
    pos = gather(responses, labels, 1, weights, -np.inf, np.inf)
    neg = gather_second(responses, labels, weights, -np.inf, np.inf)
    sort_basin(pos)
    sort_basin(neg)
    return fill(pos, neg, rule)


@compiled
def _spacing(responses: Any, labels: Any, sign: int, weights: Any, guess: float) -> float:
    """Half the width of a window about ``guess`` that should hold about WINDOW_ROOTS √n points of the class."""
    size = min(responses.size, max(responses.size // 64, 256), SPACING_SAMPLE)
    nearest = np.full(NEAREST, np.inf)  # distances, sorted
    for k in range(size):
        i = k * responses.size // size
        distance = abs(np.float64(responses[i]) - guess)
        if distance < nearest[-1] and member(labels, sign, weights, i):
            j = NEAREST - 1
            while j > 0 and nearest[j - 1] > distance:
                nearest[j] = nearest[j - 1]
                j -= 1
            nearest[j] = distance
    farthest = nearest[-1] if nearest[-1] < np.inf else abs(guess)
    expected = NEAREST * responses.size / size  # points no farther than that
    half = farthest * min(1.0, WINDOW_ROOTS * math.sqrt(responses.size) / expected) + 4.0 * np.spacing(abs(guess))
    return float(half)


@compiled
def _guessed(
    responses: Any, labels: Any, weights: Any, rule: Rule, guess_pos: float, guess_neg: float, spread: float
) -> Filling:
    """Search in windows about the guesses, growing them as long as the answer is not proven."""
    half_pos, half_neg = spread, spread
    if math.isnan(spread):
        half_pos = _spacing(responses, labels, 1, weights, guess_pos)
        if labels is not None:
            half_neg = _spacing(responses, labels, -1, weights, guess_neg)
    found = Filling(np.nan, np.nan, np.nan, 0, 0, False)
    for _ in range(3):
        pos = gather(responses, labels, 1, weights, guess_pos - half_pos, guess_pos + half_pos)
        neg = gather_second(responses, labels, weights, guess_neg - half_neg, guess_neg + half_neg)
        found = _settle(pos, neg, rule)
        if found.proven:
            break
        miss = 2.0 * abs(found.level - (guess_pos + guess_neg))  # Newton's step, doubled
        half_pos = max(GROWTH * half_pos, miss if miss < np.inf else 0.0)
        half_neg = max(GROWTH * half_neg, miss if miss < np.inf else 0.0)
    return found


@compiled
def _newton(responses: Any, weights: Any, rule: Rule, guess: float) -> Filling:
    """Newton's method for one basin: the rule's level for the points below the last level, until they stay the same.

    A pass is a sum that vectorises; from the right of the answer the volume rule goes down to it monotonically.
    """
    x, wet = guess, -1.0
    for _ in range(NEWTON_PASSES):
        weight, total = below(responses, weights, x)
        if weight == wet:
            return Filling(x, x, 0.0, 0, 0, True)
        x, wet = candidate(rule, weight, total), weight
    return Filling(np.nan, np.nan, np.nan, 0, 0, False)


@compiled
def _lowest_at(responses: Any, labels: Any, sign: int, weights: Any) -> int:
    """The first of the lowest points of a class that have weight; -1 if there is none."""
    low, at = np.inf, -1
    for i in range(responses.size):
        if responses[i] < low and share_of(labels, sign, weights, i) > 0.0:
            low, at = np.float64(responses[i]), i
    return at


@compiled
def _shallow(responses: Any, labels: Any, weights: Any, rule: Rule) -> Filling:
    """Search among the points that so little water can reach at all.

    The water above the lowest point of a class is no more than the volume, so the level of the class is at most the
    volume divided by that point's weight above it.
    """
    at_pos, at_neg = _lowest_at(responses, labels, 1, weights), _lowest_at(responses, labels, -1, weights)
    if at_pos < 0 or at_neg < 0:
        return Filling(np.nan, np.nan, np.nan, 0, 0, False)
    low_pos, low_neg = np.float64(responses[at_pos]), np.float64(responses[at_neg])
    depth_pos = rule.a / share_of(labels, 1, weights, at_pos) + 4.0 * np.spacing(abs(low_pos) + rule.a)
    depth_neg = rule.a / share_of(labels, -1, weights, at_neg) + 4.0 * np.spacing(abs(low_neg) + rule.a)
    pos = gather(responses, labels, 1, weights, -np.inf, low_pos + depth_pos)
    neg = gather(responses, labels, -1, weights, -np.inf, low_neg + depth_neg)
    return _settle(pos, neg, rule)


@compiled
def search(
    responses: Any, labels: Any, weights: Any, rule: Rule, guess_pos: float, guess_neg: float, spread: float
) -> Filling:
    """The levels at which ``rule`` holds: warm if the guesses are finite, else cold."""
    found = Filling(np.nan, np.nan, np.nan, 0, 0, False)
    warm = math.isfinite(guess_pos) and math.isfinite(guess_neg)
    if warm and labels is None and (responses.size < NEWTON_BELOW or not math.isnan(spread)):
        found = _newton(responses, weights, rule, guess_pos)
    elif warm and labels is None and rule.b > 0.0:
        # By volume, a pass of Newton leaves an error of second order: a window about it holds a handful of points.
        weight, total = below(responses, weights, guess_pos)
        better = candidate(rule, weight, total)
        if math.isfinite(better):
            spread = 0.1 * abs(better - guess_pos) + 4.0 * np.spacing(abs(better))
            guess_pos = better
    if labels is not None and warm and rule.b > 0.0 and rule.a < SHALLOW * spread:
        found = _shallow(responses, labels, weights, rule)
    if warm and not found.proven and (responses.size > SORTED_AT_ONCE or not math.isnan(spread)):
        found = _guessed(responses, labels, weights, rule, guess_pos, guess_neg, spread)
    if not found.proven and responses.size > SORTED_AT_ONCE:
        found = _sampled(responses, labels, weights, rule, 2.5)
        if not found.proven:
            found = _sampled(responses, labels, weights, rule, 2.5 * GROWTH)
    if not found.proven:
        found = _everything(responses, labels, weights, rule)
    return found


@compiled
def _lowest(responses: Any, labels: Any, sign: int, weights: Any) -> float:
    at = _lowest_at(responses, labels, sign, weights)
    return np.float64(responses[at]) if at >= 0 else np.inf


@compiled
def find_level(responses: Any, weights: Any, volume: float, guess: float, spread: float) -> float:
    """The level of one basin; ``weights`` may be None; ``guess`` or ``spread`` nan: not known."""
    if volume == 0.0:
        return _lowest(responses, None, 1, weights)
    return search(responses, None, weights, Rule(volume, 1.0, 1.0, 0.0), guess, 0.0, spread).level


@compiled
def find_c_level(responses: Any, weights: Any, C: float, guess: float, spread: float) -> float:
    """The C-level of one basin; inf if the best scale is 0."""
    return search(responses, None, weights, Rule(1.0 / C, 0.0, 0.0, 1.0), guess, 0.0, spread).level


@compiled
def find_level_and_bias(
    responses: Any,
    labels: Any,
    weights: Any,
    volume: float,
    guess_pos: float,
    guess_neg: float,
    spread: float,
) -> tuple[float, float]:
    """The levels (x⁺, x⁻) of two basins in response units: gamma = (x⁺ + x⁻)/2, bias = (x⁻ - x⁺)/2."""
    if volume == 0.0:
        return _lowest(responses, labels, 1, weights), _lowest(responses, labels, -1, weights)
    found = search(responses, labels, weights, Rule(volume, 1.0, 1.0, 0.0), guess_pos, guess_neg, spread)
    return found.x_pos, found.x_neg


@compiled
def find_c_level_and_bias(
    responses: Any, labels: Any, weights: Any, C: float, guess_pos: float, guess_neg: float, spread: float
) -> tuple[float, float]:
    """The levels (x⁺, x⁻) of the C-form; (inf, inf) if the best scale is 0."""
    found = search(responses, labels, weights, Rule(2.0 / C, 0.0, 0.0, 1.0), guess_pos, guess_neg, spread)
    return found.x_pos, found.x_neg


# The same two for responses in ascending order: slower for many points, as somebody has to sort them, but compiled in a
# twentieth of the time.


@compiled
def c_level_of_sorted(responses: Any, weights: Any, C: float) -> float:
    """As ``find_c_level``."""
    return _all_in_order(responses, None, weights, Rule(1.0 / C, 0.0, 0.0, 1.0)).level


@compiled
def c_level_and_bias_of_sorted(responses: Any, labels: Any, weights: Any, C: float) -> tuple[float, float]:
    """As ``find_c_level_and_bias``."""
    found = _all_in_order(responses, labels, weights, Rule(2.0 / C, 0.0, 0.0, 1.0))
    return found.x_pos, found.x_neg


@compiled
def _all_in_order(responses: Any, labels: Any, weights: Any, rule: Rule) -> Filling:
    """As ``_everything``, without its sorting."""
    pos = gather(responses, labels, 1, weights, -np.inf, np.inf)
    neg = gather_second(responses, labels, weights, -np.inf, np.inf)
    return fill(pos, neg, rule)
