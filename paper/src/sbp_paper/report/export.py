"""The reproduction's files: page, tables, results and the figure for the README."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sbp_paper.experiments import summary, tables
from sbp_paper.experiments.job import Record
from sbp_paper.experiments.tables import Records, Row
from sbp_paper.report import curves, findings
from sbp_paper.report.page import About, page
from sbp_paper.report.words import COLOURS, DATA_NAMES, METHOD_NAMES

PARALLEL = {  # fields of equal length that become rows of the long table
    "fig2": ("steps", "evaluations", "test_error", "alternative_test_error"),
    "forest": ("steps", "rows", "evaluations", "seconds", "processor_seconds", "test_error", "support"),
    "scaling": ("epsilon", "loss", "n", "iterations", "evaluations", "analysed"),
}
SUMMARIES = {
    "fig2": tables.fig2_rows,
    "fig2_alternatives": tables.alternative_rows,
    "fig3": tables.fig3_rows,
    "perceptron": tables.perceptron_rows,
    "runtime": tables.runtime_rows,
    "forest": tables.forest_rows,
    "scaling": tables.scaling_rows,
    "table2": tables.table2_rows,
}


def write_report(records: Records, about: About | None, out: Path) -> Path:
    """Write everything that is drawn from the records; the page's path."""
    folder = out / "tables"
    folder.mkdir(parents=True, exist_ok=True)
    for part, of_part in records.items():
        _write_csv(folder / f"{part}.csv", [row for record in of_part for row in long_rows(part, record)])
    derived = {name: make(records) for name, make in SUMMARIES.items()}
    for name, rows in derived.items():
        _write_csv(folder / f"{name}_summary.csv", rows)
    found = [finding._asdict() for finding in findings.all_findings(records)]
    results = {"about": about, "findings": found, "summaries": derived}
    (out / "results.json").write_text(json.dumps(_finite(results), indent=1, ensure_ascii=False), encoding="utf-8")
    if records.get("fig2"):
        draw_figure2(records, out / "figure2.png")
    path = out / "index.html"
    path.write_text(page(records, about), encoding="utf-8")
    return path


def long_rows(part: str, record: Record) -> list[Row]:
    """A record as rows of plain values: its curves point by point, one row where it has none."""
    if part == "table1":
        return [dict(row) for row in record["rows"]]
    if part in ("fig1", "fig4"):
        return _water_rows(record)
    if part == "runtime" and record.get("curve"):
        return _pointwise(record, record["curve"])
    if part == "fig2" and record.get("alternative"):
        other = record["alternative"]
        record = record | {"alternative_model": other["model"], "alternative_test_error": other["test_error"]}
    if part == "scaling" and record.get("fixed"):
        kept = {k: v for k, v in record.items() if k != "fixed"}
        fixed = {**kept, **record["fixed"], "regime": "fixed"}
        return [*long_rows(part, {**kept, "regime": "proportional"}), *long_rows(part, fixed)]
    columns = [c for c in PARALLEL.get(part, ()) if isinstance(record.get(c), list)]
    return _pointwise(record, {c: record[c] for c in columns})


def _pointwise(record: Record, columns: dict[str, list[Any]]) -> list[Row]:
    kept = {k: v for k, v in record.items() if k not in columns and not isinstance(v, list | dict)}
    if not columns:
        return [kept]
    return [kept | dict(zip(columns, point, strict=True)) for point in zip(*columns.values(), strict=True)]


def _water_rows(record: Record) -> list[Row]:
    kept = {k: v for k, v in record.items() if not isinstance(v, list)}
    lists = {k: v for k, v in record.items() if isinstance(v, list)}
    return [kept | {"of": name, "point": k, "response": v} for name, vs in lists.items() for k, v in enumerate(vs)]


def draw_figure2(records: Records, path: Path) -> None:
    """Fig. 2 as a picture."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    names = tables.data_sets(records["fig2"])
    figure, axes = plt.subplots(1, len(names), figsize=(4.1 * len(names), 3.9), layout="constrained", squeeze=False)
    handles: dict[str, Any] = {}
    for axis, data in zip(axes[0], names, strict=True):
        panel = tables.compare(records, data)
        for method in panel.exact:
            handles.setdefault(METHOD_NAMES[method], _draw_method(axis, records, panel, method))
        if panel.final is not None:
            axis.axhline(100 * panel.final.error, color="#8a8f98", linestyle=":", linewidth=1.2, zorder=0)
        low, high = curves.window(panel)
        begin, end = (10.0**exponent for exponent in curves.costs_in_view(panel))
        axis.set(xscale="log", xlim=(begin, end), ylim=(low, high), title=DATA_NAMES[data], xlabel="kernel evaluations")
        axis.spines[["top", "right"]].set_visible(False)
        axis.grid(alpha=0.25)
    axes[0][0].set_ylabel("test error [%]")
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=len(handles), frameon=False)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def _draw_method(axis: Any, records: Records, panel: tables.Comparison, method: str) -> Any:
    band = curves.drawn_band(records, panel.data, method)
    colour, width = COLOURS[method], 2.4 if method == "sbp" else 1.6
    epoch = tables.first_epoch(records, panel.data) if method == "perceptron" else None
    early = band.cost <= (math.inf if epoch is None else epoch)
    axis.fill_between(band.cost, 100 * band.low, 100 * band.high, color=colour, alpha=0.14, linewidth=0)
    (line,) = axis.plot(band.cost[early], 100 * band.mean[early], color=colour, linewidth=width)
    axis.plot(band.cost[~early], 100 * band.mean[~early], color=colour, linewidth=width, linestyle="--")
    cost = panel.cost_near(method)
    if cost is not None:
        error = summary.value_at(panel.exact[method].curve, cost)
        assert error is not None  # the cost is one of the curve's own
        axis.plot([cost], [100 * error], marker="D", color=colour, markeredgecolor="white", markersize=7)
    return line


def _write_csv(path: Path, rows: Sequence[Row]) -> None:
    """A table without rows leaves no file, not even an older one."""
    if not rows:
        path.unlink(missing_ok=True)
        return
    columns = list(dict.fromkeys(column for row in rows for column in row))
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns)
        writer.writeheader()
        writer.writerows(rows)


def _finite(value: Any) -> Any:
    """JSON has no NaN or infinity: such values are null."""
    if isinstance(value, dict):
        return {k: _finite(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(v) for v in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
