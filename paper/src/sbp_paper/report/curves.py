"""Fig. 2 and Fig. 3: test error against cost."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import plotly.graph_objects as go

from sbp_paper.experiments import summary, tables
from sbp_paper.experiments.summary import Band
from sbp_paper.experiments.tables import Comparison, Records
from sbp_paper.report.plots import filled, level_line, logarithmic, panels, rounded, translucent
from sbp_paper.report.words import COLOURS, DATA_NAMES, METHOD_NAMES, MODEL_NAMES, many, points

GRID = 160  # points of a drawn mean curve
_HOVER = "%{y:.2f} % test error at %{x:.3s} %{customdata}"


def figure2(records: Records) -> Any:
    """Three panels; a method's name in the legend stands for its curves, bands and marks in all of them."""
    names = tables.data_sets(records["fig2"])
    figure = panels([DATA_NAMES[name] for name in names], height=470)
    shown: set[str] = set()
    for column, data in enumerate(names, start=1):
        panel = tables.compare(records, data)
        for method in panel.exact:
            band = drawn_band(records, data, method)
            _add_method(figure, column, method, band, tables.first_epoch(records, data), method not in shown)
            _add_mark(figure, column, panel, method)
            _add_alternative(figure, column, records, data, method, f"{method} alternative" not in shown)
            shown |= {method, f"{method} alternative"}
        _final_error(figure, column, panel)
        logarithmic(figure, "kernel evaluations", col=column, range=costs_in_view(panel))
        figure.update_yaxes(range=[0.0, 1.0] if not panel.exact else window(panel), col=column)
    figure.update_yaxes(title_text="test error, %", col=1)
    return figure


def figure3(records: Records) -> Any:
    """SBP and random Fourier features, both in inner products of d-dimensional vectors."""
    names = tables.data_sets(records["fig3"])
    figure = panels([DATA_NAMES[name] for name in names], height=450)
    shown: set[str] = set()
    for column, data in enumerate(names, start=1):
        fourier = tables.fourier_curve(records["fig3"], data)
        assert fourier is not None
        _add_band(figure, column, "fourier", fourier, "fourier" not in shown, mode="lines+markers")
        shown.add("fourier")
        top, lowest = 100 * float(fourier.mean.max()), 100 * float(fourier.mean.min())
        if tables.of_data(records.get("fig2", []), data):
            panel = tables.compare(records, data)
            if "sbp" in panel.exact:
                _add_band(figure, column, "sbp", drawn_band(records, data, "sbp"), "sbp" not in shown)
                shown.add("sbp")
            _final_error(figure, column, panel)
            top = 1.6 * window(panel)[1]
            lowest = min(lowest, window(panel)[0])
        logarithmic(figure, "inner products", col=column)
        figure.update_yaxes(range=[0.95 * lowest, top], col=column)
    figure.update_yaxes(title_text="test error, %", col=1)
    return figure


def drawn_band(records: Records, data: str, method: str) -> Band:
    curves = [summary.evaluation_curve(r) for r in tables.of_data(records["fig2"], data, method)]
    band = summary.mean_band(curves, GRID)
    assert band is not None
    return band


def _add_method(figure: Any, column: int, method: str, band: Band, epoch: float | None, named: bool) -> None:
    """The Perceptron's curve is dashed from the end of its first epoch on."""
    if method != "perceptron" or epoch is None or epoch >= band.cost[-1]:
        _add_band(figure, column, method, band, named)
        return
    cut = int(np.searchsorted(band.cost, epoch, side="right"))
    _add_band(figure, column, method, Band(*(part[: cut + 1] for part in band)), named)
    _add_band(figure, column, method, Band(*(part[cut:] for part in band)), False, dash="dash")


def _add_band(
    figure: Any, column: int, method: str, band: Band, named: bool, mode: str = "lines", dash: str = "solid"
) -> None:
    cost, colour = rounded(band.cost), COLOURS[method]
    if not len(cost):
        return
    shade = translucent(colour, 0.16)
    low, high = rounded(100 * band.low), rounded(100 * band.high)
    figure.add_trace(filled(cost, low, high, shade, legendgroup=method), row=1, col=column)
    unit = "inner products" if method == "fourier" else "evaluations"
    figure.add_trace(
        go.Scatter(
            x=cost, y=rounded(100 * band.mean), mode=mode, name=METHOD_NAMES[method], legendgroup=method,
            showlegend=named, line={"color": colour, "width": 3 if method == "sbp" else 2, "dash": dash},
            marker={"size": 6}, customdata=[unit] * len(cost), hovertemplate=_HOVER,
        ),
        row=1, col=column,
    )  # fmt: skip


def _add_alternative(figure: Any, column: int, records: Records, data: str, method: str, named: bool) -> None:
    """The other model the method could return, hidden until its name is clicked."""
    band = tables.alternative_band(records, data, method, GRID)
    if band is None:
        return
    model = tables.of_data(records["fig2"], data, method)[0]["alternative"]["model"]
    figure.add_trace(
        go.Scatter(
            x=rounded(band.cost), y=rounded(100 * band.mean), mode="lines", showlegend=named, visible="legendonly",
            name=f"{METHOD_NAMES[method]}, {MODEL_NAMES[model]}", legendgroup=f"{method} alternative",
            legendrank=2000,  # after the methods themselves
            line={"color": COLOURS[method], "width": 1.5, "dash": "dot"},
            customdata=["evaluations"] * len(band.cost), hovertemplate=_HOVER,
        ),
        row=1, col=column,
    )  # fmt: skip


def _add_mark(figure: Any, column: int, panel: Comparison, method: str) -> None:
    """Where the mean comes near the final error, to stay."""
    cost = panel.cost_near(method)
    if cost is None:
        return
    error = summary.value_at(panel.exact[method].curve, cost)
    assert error is not None
    said = f"within {points(summary.near(panel.data))} points of the final error<br>from {many(cost)} evaluations on"
    rim = {"width": 1.5, "color": "white"}
    figure.add_trace(
        go.Scatter(
            x=[cost], y=[100 * error], mode="markers", legendgroup=method, showlegend=False,
            name=METHOD_NAMES[method], hovertemplate=said,
            marker={"size": 11, "color": COLOURS[method], "symbol": "diamond", "line": rim},
        ),
        row=1, col=column,
    )  # fmt: skip


def _final_error(figure: Any, column: int, panel: Comparison) -> None:
    if panel.final is not None:
        label = f"optimum {100 * panel.final.error:.2f} %"
        level_line(figure, 100 * panel.final.error, label, 1, column, annotation_position="bottom left")


def costs_in_view(panel: Comparison) -> list[float]:
    """Exponents of ten: from one kernel row on. The Perceptron's first evaluations would take half the width."""
    return [math.log10(0.7 * panel.n), math.log10(1.1 * max(float(band.cost[-1]) for band in panel.exact.values()))]


def window(panel: Comparison) -> list[float]:
    """The errors, in percent, that the panel opens with: where the methods differ, not where they all begin."""
    lowest = 100 * min(float(band.mean.min()) for band in panel.exact.values())
    highest = 100 * max(float(band.mean.max()) for band in panel.exact.values())
    if panel.final is None:
        return [0.9 * lowest, 1.02 * highest]
    final, near = 100 * panel.final.error, 100 * summary.near(panel.data)
    top = min(1.02 * highest, final + 20 * near)
    return [max(0.0, min(lowest, final) - 0.12 * (top - final)), top]
