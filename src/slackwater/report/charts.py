"""Small charts as inline SVG. Colours are classes of the page's style sheet, so that they follow light and dark."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slackwater.report.markup import number, power_of_ten, text

_WIDTH, _HEIGHT = 400, 290
_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 12, 14, 44
_MOST_POINTS = 240  # of a line that is drawn: more cannot be told apart
_MOST_HINTS = 40  # points of a line that answer to the mouse

Values = NDArray[np.float64]


class Series(NamedTuple):
    """A line; ``kind`` is a class of the style sheet."""

    name: str
    x: Values
    y: Values
    kind: str = "main"


class Level(NamedTuple):
    """A line across the chart at a value of one axis, with words beside it."""

    value: float
    words: str = ""
    kind: str = "level"


@dataclass(frozen=True)
class Axis:
    """A range of values, linear or logarithmic."""

    title: str
    low: float
    high: float
    log: bool = False
    spelled: Callable[[float], str] = number

    def share(self, values: Values) -> Values:
        """Where values are between the ends: 0 to 1, and no further."""
        low, high = self._on_scale(np.array([self.low, self.high]))
        return np.asarray(np.clip((self._on_scale(values) - low) / (high - low), 0.0, 1.0))

    def _on_scale(self, values: Values) -> Values:
        return np.log10(np.maximum(values, np.finfo(np.float64).tiny)) if self.log else np.asarray(values)

    def ticks(self) -> list[tuple[float, str]]:
        if not self.log:
            return [(value, self.spelled(value)) for value in round_numbers(self.low, self.high)]
        first, last = math.ceil(math.log10(self.low) - 1e-9), math.floor(math.log10(self.high) + 1e-9)
        if last - first < 2:  # few powers of ten: 2 and 5 times one as well
            values = [factor * 10.0**k for k in range(first - 1, last + 1) for factor in (1, 2, 5)]
            return [
                (value, number(value, 2)) for value in values if self.low <= value * (1 + 1e-9) and value <= self.high
            ]
        every = max(1, math.ceil((last - first + 1) / 6))
        return [(10.0**k, power_of_ten(k)) for k in range(first, last + 1, every)]


def round_numbers(low: float, high: float, about: int = 5) -> list[float]:
    """Multiples of 1, 2, 2.5 or 5 times a power of ten within a range."""
    rough = (high - low) / about
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1.0, 2.0, 2.5, 5.0, 10.0) if factor * power >= rough * (1 - 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(k * step, 12) for k in range(first, last + 1)]


def covering(title: str, values: Values, log: bool = False) -> Axis:
    """An axis on which all finite values have a place (all positive ones, if logarithmic)."""
    usable = values[np.isfinite(values) & ((values > 0) if log else True)]
    low, high = (float(usable.min()), float(usable.max())) if len(usable) else (0.1, 1.0)
    if log:
        return Axis(title, low / 1.15, high * 1.15, log=True)
    room = 0.04 * (high - low) or 0.5 * abs(high) or 0.5
    return Axis(title, low - room, high + room)


def thinned(x: Values, y: Values, most: int = _MOST_POINTS) -> tuple[Values, Values]:
    """As few points as draw the same line: evenly along its length, ends included."""
    if len(x) <= most:
        return x, y
    spans = [max(float(np.ptp(values)), np.finfo(np.float64).tiny) for values in (x, y)]
    steps = np.abs(np.diff(x)) / spans[0] + np.abs(np.diff(y)) / spans[1]
    way = np.concatenate([[0.0], np.cumsum(steps)])
    chosen = np.unique(np.searchsorted(way, np.linspace(0.0, way[-1], most)).clip(0, len(x) - 1))
    return x[chosen], y[chosen]


def line_chart(
    title: str, x: Axis, y: Axis, series: Sequence[Series], levels: Sequence[Level] = (), diagonal: bool = False
) -> str:
    """Lines over common axes; points say their values when pointed at."""
    parts = [_polyline(Series("", np.array([x.low, x.high]), np.array([y.low, y.high]), "chance"), x, y)] * diagonal
    parts += [_across(level, y) for level in levels]
    parts += [_polyline(each, x, y) + _hints(each, x, y) for each in series]
    return _figure(title, x, y, parts) + _legend(series)


def histogram(title: str, x: Axis, edges: Values, counts: Values, kinds: Sequence[str], levels: Sequence[Level]) -> str:
    """Bars, each of a kind of its own, and vertical lines."""
    y = Axis("examples", 0.0, max(float(counts.max(initial=0.0)) * 1.06, 1.0))
    left, right, top = _across_px(x, edges[:-1]), _across_px(x, edges[1:]), _up_px(y, counts)
    floor = _up_px(y, np.zeros(1))[0]
    bars = [
        f'<rect class="bar {kind}" x="{a + 0.5:.1f}" y="{t:.1f}" width="{max(b - a - 1, 0.5):.1f}" '
        f'height="{floor - t:.1f}"><title>{number(low, 3)} to {number(high, 3)}: {number(count)}</title></rect>'
        for a, b, t, low, high, count, kind in zip(left, right, top, edges[:-1], edges[1:], counts, kinds, strict=True)
        if count
    ]
    return _figure(title, x, y, [*bars, *(_upright(level, x) for level in levels)])


def basin(title: str, x: Axis, y: Axis, ground: tuple[Values, Values], surface: Level, others: Sequence[Level]) -> str:
    """Ground that ascends from left to right, and the water that stands on it up to a level."""
    across, height = _across_px(x, ground[0]), _up_px(y, ground[1])
    bottom = _HEIGHT - _BOTTOM
    top = _up_px(y, np.array([surface.value]))[0]
    land = [f"{across[0]:.1f},{bottom}", *_points(across, height), f"{across[-1]:.1f},{bottom}"]
    wet = height > top
    water = [f"{across[0]:.1f},{top:.1f}", *_points(across[wet], height[wet])]
    water += [f"{across[wet][-1]:.1f},{top:.1f}"] if wet.any() else []
    parts = [
        f'<polygon class="land" points="{" ".join(land)}"/>',
        f'<polygon class="water" points="{" ".join(water)}"/>' if wet.any() else "",
        *(_across(level, y) for level in (surface, *others)),
        _polyline(Series("", *ground, "ground"), x, y),
        _hints(Series("margin", *ground, "ground"), x, y),
    ]
    return _figure(title, x, y, parts)


def interval_bar(value: float, low: float, high: float, axis: Axis) -> str:
    """A value and its interval within a table's cell; the numbers are in other cells. Nothing beyond the axis."""
    if math.isnan(value) or value < axis.low:
        return ""
    ends = [low, high] if not math.isnan(low) else [value, value]
    a, at, b = (4 + 112 * axis.share(np.array([ends[0], value, ends[1]]))).tolist()
    return (
        '<svg class="interval" viewBox="0 0 120 14" width="120" height="14" aria-hidden="true">'
        '<line class="rail" x1="4" x2="116" y1="7" y2="7"/>'
        f'<line class="reach" x1="{a:.1f}" x2="{b:.1f}" y1="7" y2="7"/>'
        f'<circle cx="{at:.1f}" cy="7" r="4"/></svg>'
    )


# ---- parts of a chart


def _across_px(axis: Axis, values: Values) -> Values:
    return np.asarray(_LEFT + (_WIDTH - _LEFT - _RIGHT) * axis.share(values))


def _up_px(axis: Axis, values: Values) -> Values:
    return np.asarray(_HEIGHT - _BOTTOM - (_HEIGHT - _TOP - _BOTTOM) * axis.share(values))


def _points(across: Values, up: Values) -> list[str]:
    return [f"{a:.1f},{b:.1f}" for a, b in zip(across.tolist(), up.tolist(), strict=True)]


def _polyline(series: Series, x: Axis, y: Axis) -> str:
    across, up = thinned(_across_px(x, series.x), _up_px(y, series.y))
    hint = f"<title>{text(series.name)}</title>" if series.name else ""
    return f'<polyline class="line {series.kind}" points="{" ".join(_points(across, up))}">{hint}</polyline>'


def _hints(series: Series, x: Axis, y: Axis) -> str:
    """Places that tell their values."""
    if series.kind == "faint":
        return ""
    chosen = np.unique(np.linspace(0, len(series.x) - 1, min(len(series.x), _MOST_HINTS)).astype(int))
    places = zip(_across_px(x, series.x)[chosen], _up_px(y, series.y)[chosen], chosen, strict=True)
    return "".join(
        f'<circle class="hint {series.kind}" cx="{a:.1f}" cy="{b:.1f}" r="5"><title>{text(series.name)}: '
        f"{text(x.title)} {x.spelled(float(series.x[k]))}, {text(y.title)} {y.spelled(float(series.y[k]))}"
        "</title></circle>"
        for a, b, k in places
    )


def _across(level: Level, axis: Axis) -> str:
    """A horizontal line, if it is within the chart."""
    if not axis.low <= level.value <= axis.high:
        return ""
    at = _up_px(axis, np.array([level.value]))[0]
    words = _note(level, _LEFT + 6, at - 5)
    return f'<line class="{level.kind}" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{at:.1f}" y2="{at:.1f}"/>{words}'


def _note(level: Level, across: float, up: float) -> str:
    return f'<text class="note" x="{across:.1f}" y="{up:.1f}">{text(level.words)}</text>' if level.words else ""


def _upright(level: Level, axis: Axis) -> str:
    """A vertical line, if it is within the chart."""
    if not axis.low <= level.value <= axis.high:
        return ""
    at = _across_px(axis, np.array([level.value]))[0]
    words = _note(level, at + 4, _TOP + 10)
    return f'<line class="{level.kind}" x1="{at:.1f}" x2="{at:.1f}" y1="{_TOP}" y2="{_HEIGHT - _BOTTOM}"/>{words}'


def _figure(title: str, x: Axis, y: Axis, parts: Sequence[str]) -> str:
    floor, middle = _HEIGHT - _BOTTOM, (_TOP + _HEIGHT - _BOTTOM) / 2
    rules = []
    for value, words in y.ticks():
        at = _up_px(y, np.array([value]))[0]
        rules.append(f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{at:.1f}" y2="{at:.1f}"/>')
        rules.append(f'<text x="{_LEFT - 6}" y="{at + 4:.1f}" text-anchor="end">{words}</text>')
    for value, words in x.ticks():
        at = _across_px(x, np.array([value]))[0]
        rules.append(f'<line class="tick" x1="{at:.1f}" x2="{at:.1f}" y1="{floor}" y2="{floor + 4}"/>')
        rules.append(f'<text x="{at:.1f}" y="{floor + 17}" text-anchor="middle">{words}</text>')
    return (
        f'<figure><figcaption>{text(title)}</figcaption><svg class="chart" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" '
        f'aria-label="{text(title)}: {text(y.title)} against {text(x.title)}">{"".join(rules)}'
        f'<line class="axis" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{floor}" y2="{floor}"/>{"".join(parts)}'
        f'<text class="name" x="{(_LEFT + _WIDTH - _RIGHT) / 2}" y="{_HEIGHT - 8}" text-anchor="middle">'
        f"{text(x.title)}</text>"
        f'<text class="name" transform="translate(13 {middle}) rotate(-90)" text-anchor="middle">{text(y.title)}</text>'
        "</svg></figure>"
    )


def _legend(series: Sequence[Series]) -> str:
    named = [each for each in series if each.name and each.kind != "faint"]
    if len(series) < 2:
        return ""
    items = [f'<li><span class="key {each.kind}"></span>{text(each.name)}</li>' for each in named]
    if len(named) < len(series):
        items.append('<li><span class="key faint"></span>others</li>')
    return f'<ul class="legend">{"".join(items)}</ul>'
