"""The C-level of all shards: where windows of their responses are joined and settled."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from slackwater.shards.basins import flat, join_basins
from slackwater.shards.messages import EVERYTHING, Report, Windows
from slackwater.water._scan_loops import Basin
from slackwater.water._walk_loops import Filling, Rule, fill, sort_basin

_AIM = 256  # points that a window should hold
_GROWTH = 8.0
_MAX_LOOKS = 24
_NO_LIMIT = 2**62

Ask = Callable[[Windows], list[Report]]  # the shards' basins through other windows


@dataclass
class LevelWindows:
    """Where the levels of a problem are expected, from where they were."""

    positive: float = math.nan  # levels, as responses
    negative: float = math.nan
    half: float = math.inf

    def now(self) -> Windows:
        if not math.isfinite(self.half):
            return EVERYTHING, EVERYTHING
        return (
            (self.positive - self.half, self.positive + self.half),
            (self.negative - self.half, self.negative + self.half),
        )


class Level(NamedTuple):
    """The multiple of w and the bias that cost least, and what the losses come to then."""

    scale: float
    bias: float
    loss: float


def settle(
    reports: Sequence[Report], windows: LevelWindows, squared_norm: float, C: float, free_bias: bool, ask: Ask
) -> Level:
    """The best scale and bias for all shards, and the hinge losses with them. ``windows`` follows the levels."""
    rule = Rule((2.0 if free_bias else 1.0) * squared_norm / C, 0.0, 0.0, 1.0)
    for _ in range(_MAX_LOOKS):
        shown = windows.now()
        positive, negative, exact = _joined(reports, shown, free_bias)
        if squared_norm <= 0.0:
            return _constant(positive, negative, C, free_bias)
        found = fill(positive, negative, rule)
        if math.isinf(found.level) and shown[0] == EVERYTHING:
            return _constant(positive, negative, C, free_bias)
        if exact and found.proven:
            _follow(windows, found, positive, free_bias)
            return _level(found, positive, negative, C, free_bias)
        _look_elsewhere(windows, found, positive, exact)
        reports = ask(windows.now())
    raise RuntimeError("the level of the shards was not found: their responses are not numbers")


def _joined(reports: Sequence[Report], shown: Windows, free_bias: bool) -> tuple[Basin, Basin, bool]:
    basins = [report.basins for report in reports if report.basins is not None]
    positive, _ = join_basins([each[0] for each in basins], shown[0], _NO_LIMIT)
    sort_basin(positive)
    if not free_bias:
        return positive, flat(), all(report.exact for report in reports)
    negative, _ = join_basins([each[1] for each in basins], shown[1], _NO_LIMIT)
    sort_basin(negative)
    return positive, negative, all(report.exact for report in reports)


def _follow(windows: LevelWindows, found: Filling, seen: Basin, free_bias: bool) -> None:
    """Let the next windows be about these levels, as wide as they have moved and as points are dense."""
    moved = 0.0
    if math.isfinite(windows.positive):
        moved = max(abs(found.x_pos - windows.positive), abs(found.x_neg - windows.negative) if free_bias else 0.0)
    half, inside = windows.half, len(seen.points)
    if not math.isfinite(half):
        half = 0.5 * float(seen.points[-1] - seen.points[0]) if inside else 1.0
    half *= min(max(_AIM / max(inside, 1), 0.25), 4.0)
    windows.positive, windows.negative = found.x_pos, found.x_neg if free_bias else 0.0
    windows.half = max(half, 2.0 * moved, 1e-12 * (1.0 + abs(found.x_pos)))


def _look_elsewhere(windows: LevelWindows, found: Filling, seen: Basin, exact: bool) -> None:
    """A narrower window about what strata suggest, or a wider one."""
    if exact:
        windows.half *= _GROWTH
        if windows.half > 1e12:
            windows.half = math.inf
        return
    points = seen.points
    width = windows.half if math.isfinite(windows.half) else 0.5 * float(points[-1] - points[0])
    near = max(width * _AIM / max(len(points), 1), 1e-12 * (1.0 + abs(found.x_pos)))
    windows.positive, windows.half = found.x_pos, min(near, 0.5 * width)
    windows.negative = found.x_neg


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
