"""Fig. 1 and Fig. 4: responses as ground, slack as water."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from sbp_paper.experiments.job import Record
from sbp_paper.report.plots import filled, panels, rounded, translucent
from sbp_paper.report.words import DATA_NAMES

GROUND = "#a58a66"
WATER = "#3d94d1"
CHANCE = "#7a6bb0"


def figure1(records: Sequence[Record]) -> Any:
    """Above: sorted responses and the water on them. Below: the chance of each example to be drawn."""
    titles = [DATA_NAMES[r["data"]] for r in records]
    figure = panels(titles, height=520, rows=2, row_heights=[0.72, 0.28], vertical_spacing=0.1)
    for column, record in enumerate(records, start=1):
        ranks, heights = ranks_of(record["responses"], record["n"]), record["responses"]
        named = column == 1
        for trace in _basin(ranks, heights, record["level"], named):
            figure.add_trace(trace, row=1, col=column)
        _surface(figure, 1, column, record["level"])
        wet = record["n_wet"]
        figure.add_trace(_chances(wet, record["n"], named), row=2, col=column)
        view = [0, record["n"] if 5 * wet > record["n"] else max(3 * wet, 10)]
        figure.update_xaxes(range=view, row=1, col=column)
        figure.update_xaxes(range=view, title_text="examples, from the lowest response up", row=2, col=column)
        figure.update_yaxes(range=_heights_in_view(ranks, heights, record["level"], view), row=1, col=column)
        figure.update_yaxes(rangemode="tozero", nticks=4, exponentformat="power", row=2, col=column)
    figure.update_yaxes(title_text="response", row=1, col=1)
    figure.update_yaxes(title_text="chance p", row=2, col=1)
    return figure


def figure4(records: Sequence[Record]) -> Any:
    """Two basins with their low ends together: negatives to the left, positives to the right of the middle."""
    figure = panels([DATA_NAMES[r["data"]] for r in records], height=430)
    for column, record in enumerate(records, start=1):
        level, bias = record["level"], record["bias"]
        sides = (
            (-1, record["negatives"], record["n_negatives"], -bias),
            (+1, record["positives"], record["n_positives"], +bias),
        )
        reach = 3 * max(record["n_wet_negatives"], record["n_wet_positives"], 10)
        lows, highs = [], []
        for side, responses, count, lift in sides:
            ranks, heights = ranks_of(responses, count), [r + lift for r in responses]
            for trace in _basin([side * r for r in ranks], heights, level, column == 1 and side > 0):
                figure.add_trace(trace, row=1, col=column)
            low, high = _heights_in_view(ranks, heights, level, [0, reach])
            lows.append(low)
            highs.append(high)
        _surface(figure, 1, column, level)
        figure.add_vline(x=0, row=1, col=column, line={"width": 1, "color": "#8a8f98"})
        title = "← negative examples | positive examples →"
        view = [-min(reach, record["n_negatives"]), min(reach, record["n_positives"])]
        figure.update_xaxes(range=view, title_text=title, col=column)
        figure.update_yaxes(range=[min(lows), max(highs)], col=column)
    figure.update_yaxes(title_text="response ± bias", col=1)
    return figure


def ranks_of(points: Sequence[float], count: int) -> list[float]:
    """Where each of the stored points stands among the sorted examples: the first at 0, the last at the end."""
    return rounded(np.linspace(0, count, len(points)), 7)


def _basin(ranks: Sequence[float], heights: Sequence[float], level: float, named: bool) -> list[Any]:
    floor = min(min(heights), level) - 10 * (max(heights) - min(heights) + 1e-12)
    water = [max(level, h) for h in heights]
    hover = "response %{y:.4g}"
    line = {"color": GROUND, "width": 1.5}
    return [
        filled(ranks, [floor] * len(ranks), heights, translucent(GROUND, 0.45), legendgroup="ground"),
        filled(ranks, heights, water, translucent(WATER, 0.55), legendgroup="water"),
        go.Scatter(
            x=ranks, y=heights, mode="lines", name="ground: sorted responses", line=line, hovertemplate=hover,
            legendgroup="ground", showlegend=named,
        ),
        go.Scatter(
            x=[None], y=[None], mode="lines", name="water: slack, up to the level γ", legendgroup="water",
            showlegend=named, line={"color": WATER, "width": 6},
        ),
    ]  # fmt: skip


def _surface(figure: Any, row: int, column: int, level: float) -> None:
    figure.add_hline(
        y=level, row=row, col=column, line={"dash": "dot", "width": 1.5, "color": WATER},
        annotation_text=f"level γ = {level:.3g}", annotation_position="top right",
    )  # fmt: skip


def _chances(wet: int, count: int, named: bool) -> Any:
    share = 1 / max(wet, 1)
    return go.Scatter(
        x=[0, wet, wet, count], y=[share, share, 0, 0], mode="lines", fill="tozeroy",
        fillcolor=translucent(CHANCE, 0.25),
        line={"color": CHANCE, "width": 2}, name="chance of being drawn", legendgroup="chance", showlegend=named,
        hovertemplate="p = %{y:.3g}",
    )  # fmt: skip


def _heights_in_view(
    ranks: Sequence[float], heights: Sequence[float], level: float, view: Sequence[float]
) -> tuple[float, float]:
    inside = [h for r, h in zip(ranks, heights, strict=True) if view[0] <= r <= view[1]] or list(heights)
    low, high = min(*inside, level), max(*inside, level)
    margin = 0.08 * (high - low) or 1.0
    return low - margin, high + margin
