"""Time against error beside LIBSVM; cost against accuracy beside the bounds."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import plotly.graph_objects as go

from sbp_paper.experiments import tables
from sbp_paper.experiments.job import Record
from sbp_paper.experiments.tables import Records, Row
from sbp_paper.report.plots import level_line, logarithmic, panels, rounded
from sbp_paper.report.words import (
    COLOURS,
    DATA_NAMES,
    METHOD_NAMES,
    NU_NAMES,
    REGIME_NAMES,
    RUNTIME_NAMES,
    duration,
)

_SYMBOLS = {"svm-train": "x", "sklearn": "cross"}
_FOREST_COSTS = {"steps": "steps", "evaluations": "kernel evaluations", "seconds": "seconds"}
_NU_COLOURS = {"printed": COLOURS["sbp"], "derived": COLOURS["pegasos"]}


def runtime(records: Records) -> Any:
    names = [
        name
        for name in tables.data_sets(records["runtime"])
        if len(tables.of_data(records["runtime"], name)) > 1  # a single program has nothing to be drawn beside
    ]
    figure = panels([DATA_NAMES[name] for name in names], height=450)
    shown: set[str] = set()
    for column, data in enumerate(names, start=1):
        found = {r["method"]: r for r in tables.of_data(records["runtime"], data)}
        for method in (m for m in tables.RUNTIME_METHODS if m in found):
            for trace in _program(found[method], method not in shown):
                figure.add_trace(trace, row=1, col=column)
                shown.add(method)
        libsvm = tables.libsvm_among(found)
        if libsvm is not None:
            _libsvm(figure, column, libsvm)
        logarithmic(figure, "seconds", col=column)
        figure.update_yaxes(range=_window(list(found.values())), col=column)
    figure.update_yaxes(title_text="test error, %", col=1)
    return figure


def _program(record: Record, named: bool) -> list[Any]:
    method = record["method"]
    style = {"name": RUNTIME_NAMES[method], "legendgroup": method, "hovertemplate": "%{y:.2f} % after %{x:.3g} s"}
    curve = tables.runtime_curve(record)
    if curve is not None:
        line = {"color": COLOURS[method], "width": 2.5, "shape": "hv"}
        mode = "lines" if len(curve.cost) > 1 else "markers"
        errors = rounded(100 * curve.error)
        return [
            go.Scatter(x=rounded(curve.cost), y=errors, mode=mode, line=line, showlegend=named, **style),
        ]
    if record["seconds"] is None or record["test_error"] is None:
        return []
    marker = {"size": 13, "color": COLOURS[method], "symbol": _SYMBOLS.get(method, "circle")}
    seconds, error = [record["seconds"]], [100 * record["test_error"]]
    return [go.Scatter(x=seconds, y=error, mode="markers", marker=marker, showlegend=named, **style)]


def _libsvm(figure: Any, column: int, libsvm: Record) -> None:
    time = libsvm["seconds"] or libsvm.get("budget")
    if time:
        line = {"dash": "dot", "width": 1.5, "color": "#8a8f98"}
        figure.add_vline(x=time / 4, row=1, col=column, line=line)
        axis = "" if column == 1 else str(column)
        figure.add_annotation(  # a label's place on a logarithmic axis is an exponent
            x=math.log10(time / 4), y=0.98, xref=f"x{axis}", yref=f"y{axis} domain", textangle=-90, xanchor="right",
            yanchor="top", showarrow=False, text=f"¼ of LIBSVM’s time: {duration(time / 4)}", font={"size": 11},
        )  # fmt: skip
    if libsvm["test_error"] is not None:
        level_line(figure, 100 * libsvm["test_error"], "LIBSVM’s error", 1, column, annotation_position="bottom left")


def _window(found: list[Record]) -> list[float]:
    """From a little below the best error to where the better half of what happened lies."""
    curves = [c for r in found if (c := tables.runtime_curve(r)) is not None]
    ends = [r["test_error"] for r in found if r["test_error"] is not None] + [c.error[-1] for c in curves]
    best = min([*ends, *(c.error.min() for c in curves)], default=0.0)
    worst = max([*ends, *(c.error.max() for c in curves)], default=1.0)
    top = min(worst, max(2.2 * best, best + 0.04))
    return [100 * (best - 0.1 * (top - best)), 100 * (top + 0.05 * (top - best))]


def forest(records: Records) -> Any:
    """A run for each ν against three costs, and the errors it is compared with."""
    figure = panels(list(_FOREST_COSTS.values()), height=450)
    runs = sorted(records["forest"], key=lambda r: tables.NU_SOURCES.index(r["nu_source"]))
    for column, (cost, unit) in enumerate(_FOREST_COSTS.items(), start=1):
        for run in runs:
            _forest_run(figure, column, run, cost, unit)
        ends = [min(run[cost][0] for run in runs), max(run[cost][-1] for run in runs)]
        for number, (name, error) in enumerate(_forest_levels(records, runs[0]["n"]).items()):
            line = {"dash": "dot" if number else "dash", "width": 1.5, "color": "#8a8f98"}
            figure.add_trace(
                go.Scatter(
                    x=ends, y=[100 * error] * 2, mode="lines", line=line, name=f"{name}, {100 * error:.3g}\u00a0%",
                    legendgroup=name, showlegend=column == 1, hoverinfo="skip",
                ),
                row=1, col=column,
            )  # fmt: skip
        logarithmic(figure, unit, col=column)
    figure.update_yaxes(type="log", tickvals=[1, 2, 3, 5, 10, 20, 50])
    figure.update_yaxes(title_text="test error, %", col=1)
    return figure


def _forest_run(figure: Any, column: int, run: Record, cost: str, unit: str) -> None:
    source = run["nu_source"]
    name = f"{METHOD_NAMES['sbp']}, {NU_NAMES[source]}"
    figure.add_trace(
        go.Scatter(
            x=rounded(run[cost]), y=rounded(100 * np.array(run["test_error"])), mode="lines+markers", name=name,
            legendgroup=source, showlegend=column == 1, hovertemplate="%{y:.2f} % after %{x:.4s} " + unit,
            line={"color": _NU_COLOURS[source], "width": 2.5}, marker={"size": 5},
        ),
        row=1, col=column,
    )  # fmt: skip


def _forest_levels(records: Records, n: int) -> dict[str, float]:
    optimum = tables.forest_optimum(records, n)
    known = {} if optimum is None else {"optimum": optimum}
    return {**known, "SBP in the paper": tables.PAPER_RUNTIME["forest"].sbp_quarter_error}


def scaling(records: Records) -> Any:
    """Measured costs with their fits, and the slopes of the bounds drawn from where each fit begins."""
    rows = tables.scaling_rows(records)
    regimes = list(dict.fromkeys(row["regime"] for row in rows))
    figure = panels([REGIME_NAMES[regime] for regime in regimes], height=470)
    for row in rows:
        column = regimes.index(row["regime"]) + 1
        _scaling_points(figure, column, row, tables.scaling_runs(records, row["regime"]))
    figure.update_xaxes(type="log", title_text="accuracy 1/ε")
    figure.update_yaxes(type="log", dtick=1, exponentformat="power")
    figure.update_yaxes(title_text="kernel evaluations", col=1)
    return figure


def _scaling_points(figure: Any, column: int, row: Row, runs: list[Record]) -> None:
    method, named = row["method"], column == 1
    reached = [
        (1 / e, c)
        for r in runs
        if r["method"] == method
        for e, c in zip(r["epsilon"], r["evaluations"], strict=True)
        if c
    ]
    x, y = np.array(reached).T
    figure.add_trace(
        go.Scatter(
            x=rounded(x), y=rounded(y), mode="markers", legendgroup=method, showlegend=False, name=METHOD_NAMES[method],
            marker={"color": COLOURS[method], "size": 7, "opacity": 0.55},
            hovertemplate="ε = 1/%{x:.3g}: %{y:.3s} evaluations",
        ),
        row=1, col=column,
    )  # fmt: skip
    ends = np.array([x.min(), x.max()])
    exponent, bound = row["exponent"], row["bound"]
    constant = float(np.mean(np.log(y))) - exponent * float(np.mean(np.log(x)))
    begin = constant + (exponent - bound) * math.log(ends[0])
    names = f"{METHOD_NAMES[method]}: measured", f"{METHOD_NAMES[method]}: slope of the bound"
    lines = ((constant, exponent, names[0], {"width": 2.5}), (begin, bound, names[1], {"width": 1.5, "dash": "dot"}))
    for start, slope, name, style in lines:
        heights = np.exp(start) * ends**slope
        figure.add_trace(
            go.Scatter(
                x=rounded(ends), y=rounded(heights), mode="lines", line={"color": COLOURS[method], **style}, name=name,
                legendgroup=method, hoverinfo="skip", showlegend=named,
            ),
            row=1, col=column,
        )  # fmt: skip
