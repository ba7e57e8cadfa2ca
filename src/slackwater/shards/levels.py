"""The C-level of all shards: where windows of their responses are joined and settled."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from slackwater.shards.basins import flat, join_basins
from slackwater.shards.messages import EVERYTHING, Report, Window, Windows
from slackwater.water._scan_loops import Basin
from slackwater.water._walk_loops import Filling, Rule, fill, sort_basin

_AIM = 4096  # points of all shards that a window should hold: 64 kB, where a further look is a further round
_SPARE = 3.0  # times as far as levels last moved, that they may move next
_GROWTH = 8.0
_WIDEST = 1e12
_MAX_LOOKS = 12
_NO_LIMIT = 2**62

Ask = Callable[[Windows], list[Report]]  # the shards' basins through other windows


@dataclass
class LevelWindows:
    """Where the levels of a problem's two classes are expected, from where they were."""

    levels: tuple[float, float] = (math.nan, math.nan)  # as responses
    halves: tuple[float, float] = (math.inf, math.inf)  # half of each window's width
    settled: tuple[float, float] | None = None  # where the levels were when last found

    def now(self) -> Windows:
        first, second = (_window(*each) for each in zip(self.levels, self.halves, strict=True))
        return first, second


def _window(level: float, half: float) -> Window:
    return (level - half, level + half) if math.isfinite(half) else EVERYTHING


class Level(NamedTuple):
    """The multiple of w and the bias that cost least, and what the losses come to then."""

    scale: float
    bias: float
    loss: float


def settle(
    reports: Sequence[Report],
    windows: LevelWindows,
    squared_norm: float,
    C: float,
    free_bias: bool,
    ask: Ask,
    losses: Callable[[float, float], float],
) -> Level:
    """The best scale and bias for all shards, and the hinge losses with them. ``windows`` follows the levels."""
    rule = Rule((2.0 if free_bias else 1.0) * squared_norm / C, 0.0, 0.0, 1.0)
    for _ in range(_MAX_LOOKS):
        shown = windows.now()
        positive, negative, exact = _joined(reports, shown, free_bias)
        if squared_norm <= 0.0:
            return _constant(positive, negative, C, free_bias)
        found = fill(positive, negative, rule)
        if math.isinf(found.level) and shown == (EVERYTHING, EVERYTHING):
            return _constant(positive, negative, C, free_bias)
        if all(exact) and found.proven:
            _follow(windows, found, (positive, negative), free_bias)
            return _level(found, positive, negative, C, free_bias)
        _look_elsewhere(windows, found, (positive, negative), exact)
        reports = ask(windows.now())
    # Any scale and bias make a model; the best ones as far as strata tell, with what its losses come to.
    near = _constant(positive, negative, C, free_bias)
    if math.isfinite(found.level):
        near = _level(found, positive, negative, C, free_bias)
    return near._replace(loss=losses(near.scale, near.bias))


def _joined(reports: Sequence[Report], shown: Windows, free_bias: bool) -> tuple[Basin, Basin, tuple[bool, bool]]:
    basins = [report.basins for report in reports if report.basins is not None]
    positive, _ = join_basins([each[0] for each in basins], shown[0], _NO_LIMIT)
    sort_basin(positive)
    first = all(report.exact[0] for report in reports)
    if not free_bias:
        return positive, flat(), (first, True)
    negative, _ = join_basins([each[1] for each in basins], shown[1], _NO_LIMIT)
    sort_basin(negative)
    return positive, negative, (first, all(report.exact[1] for report in reports))


def _follow(windows: LevelWindows, found: Filling, seen: tuple[Basin, Basin], free_bias: bool) -> None:
    """Let the next windows be about these levels, as wide as they have moved and as points are dense."""
    now = found.x_pos, found.x_neg if free_bias else 0.0
    before = windows.settled or now
    halves = []
    for level, earlier, half, basin in zip(now, before, windows.halves, seen, strict=True):
        width = half if math.isfinite(half) else _extent(basin)
        width *= min(max(_AIM / max(len(basin.points), 1), 0.25), 4.0)
        halves.append(max(width, _SPARE * abs(level - earlier), _least(level)))
    windows.levels = windows.settled = now
    windows.halves = halves[0], halves[1]


def _look_elsewhere(windows: LevelWindows, found: Filling, seen: tuple[Basin, Basin], exact: tuple[bool, bool]) -> None:
    """Narrower windows about what strata suggest; where every point was seen, wider ones."""
    if math.isinf(found.level):
        windows.halves = math.inf, math.inf
        return
    levels, halves = list(windows.levels), list(windows.halves)
    for k, (level, basin) in enumerate(zip((found.x_pos, found.x_neg), seen, strict=True)):
        width = halves[k] if math.isfinite(halves[k]) else _extent(basin)
        if not exact[k]:
            levels[k], halves[k] = level, max(width * _AIM / max(len(basin.points), 1), _least(level))
        elif all(exact):
            halves[k] = _GROWTH * halves[k] if halves[k] < _WIDEST else math.inf
    windows.levels, windows.halves = (levels[0], levels[1]), (halves[0], halves[1])


def _extent(basin: Basin) -> float:
    return 0.5 * float(basin.points[-1] - basin.points[0]) if len(basin.points) else 1.0


def _least(level: float) -> float:
    """The narrowest window that rounding leaves room for."""
    return 1e-12 * (1.0 + abs(level))


def _level(found: Filling, positive: Basin, negative: Basin, C: float, free_bias: bool) -> Level:
    if not free_bias:
        scale = 1.0 / found.level
        weight, total = _below(positive, found.level)
        return Level(scale, 0.0, C * (weight - scale * total))
    level = 0.5 * (found.x_pos + found.x_neg)
    scale, bias = 1.0 / level, 0.5 * (found.x_neg - found.x_pos) / level
    loss = 0.0
    for basin, at, offset in ((positive, found.x_pos, bias), (negative, found.x_neg, -bias)):
        weight, total = _below(basin, at)
        loss += C * ((1.0 - offset) * weight - scale * total)
    return Level(scale, bias, max(loss, 0.0))


def _below(basin: Basin, level: float) -> tuple[float, float]:
    """Weight and weighted sum of the points below a level."""
    wet = basin.points < level
    weights = basin.weights[wet]
    return basin.weight + float(weights.sum()), basin.total + float(weights @ basin.points[wet])


def _constant(positive: Basin, negative: Basin, C: float, free_bias: bool) -> Level:
    """w is of no use: the larger class everywhere."""
    weights = [basin.weight + float(np.sum(basin.weights)) for basin in (positive, negative)]
    if not free_bias:
        return Level(0.0, 0.0, C * weights[0])
    return Level(0.0, float(np.sign(weights[0] - weights[1])), 2.0 * C * min(weights))
