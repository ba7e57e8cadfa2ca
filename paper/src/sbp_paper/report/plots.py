"""What all interactive figures have in common."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
CONFIG = {
    "responsive": True,
    "displaylogo": False,
    "modeBarButtons": [["zoom2d", "pan2d", "zoomIn2d", "zoomOut2d", "resetScale2d"]],
}


def panels(titles: Sequence[str], height: int = 430, rows: int = 1, **arguments: Any) -> Any:
    """Panels beside each other, their titles tied to the axes so that the page can stack them on a narrow screen."""
    columns = len(titles)
    figure = make_subplots(rows=rows, cols=columns, horizontal_spacing=0.075 if columns > 1 else 0.0, **arguments)
    for k, title in enumerate(titles, start=1):
        axis = "" if k == 1 else str(k)
        figure.add_annotation(
            text=f"<b>{title}</b>", showarrow=False, x=0.5, y=1.0, yshift=4, xanchor="center", yanchor="bottom",
            xref=f"x{axis} domain", yref=f"y{axis} domain",
        )  # fmt: skip
    figure.update_layout(
        height=height,
        margin={"l": 58, "r": 16, "t": 40, "b": 50},
        font={"family": FONT, "size": 13},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        hovermode="closest",
        modebar={"bgcolor": "rgba(0,0,0,0)", "color": "#8a8f98", "activecolor": "#0f7fc4"},
        legend={"orientation": "h", "yanchor": "bottom", "y": 1.12, "x": 0.5, "xanchor": "center"},
        template="none",
    )
    figure.update_xaxes(showline=True, ticks="outside", automargin=True, title_standoff=8)
    figure.update_yaxes(showline=True, ticks="outside", automargin=True, title_standoff=6, zeroline=False)
    return figure


def logarithmic(figure: Any, title: str, **where: Any) -> None:
    """A logarithmic axis that labels powers of ten only."""
    figure.update_xaxes(type="log", dtick=1, exponentformat="power", title_text=title, **where)


def division(figure: Any, anchor: str, label: str, buttons: str = "") -> str:
    """The figure as a place on the page and the data that the page's script draws there."""
    data = figure.to_json().replace("</", "<\\/")
    return (
        f'<figure class="plot">{buttons}<div id="{anchor}" class="drawing" role="img" aria-label="{label}"></div>'
        f'<script type="application/json" data-figure="{anchor}">{data}</script></figure>'
    )


def configuration() -> str:
    return json.dumps(CONFIG)


def rounded(values: Iterable[float], digits: int = 5) -> list[float]:
    """To so many significant digits: what the eye can tell apart, and a page a tenth the size."""
    return [float(f"{v:.{digits}g}") for v in np.asarray(values, dtype=float)]


def translucent(colour: str, opacity: float) -> str:
    red, green, blue = (int(colour[k : k + 2], 16) for k in (1, 3, 5))
    return f"rgba({red},{green},{blue},{opacity})"


def level_line(figure: Any, y: float, label: str, row: int, col: int, **style: Any) -> None:
    figure.add_hline(
        y=y, row=row, col=col, line={"dash": "dot", "width": 1.5, "color": "#8a8f98"}, annotation_text=label, **style
    )


def filled(x: Sequence[float], low: Sequence[float], high: Sequence[float], colour: str, **more: Any) -> Any:
    """The area between two curves."""
    return go.Scatter(
        x=[*x, *reversed(x)], y=[*high, *reversed(low)], fill="toself", fillcolor=colour, line={"width": 0},
        mode="lines", hoverinfo="skip", showlegend=False, **more,
    )  # fmt: skip
