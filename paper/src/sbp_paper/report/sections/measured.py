"""Seconds beside LIBSVM; growth of the cost beside the bounds."""

from __future__ import annotations

from sbp_paper.experiments import tables
from sbp_paper.experiments.tables import PAPER_RUNTIME, Records, Row
from sbp_paper.report import charts, findings
from sbp_paper.report.findings import slope_text
from sbp_paper.report.markup import beside, bullets, grouped, look, not_run, paragraph, section, table, text
from sbp_paper.report.plots import division
from sbp_paper.report.words import (
    DATA_NAMES,
    METHOD_NAMES,
    REGIME_NAMES,
    RUNTIME_NAMES,
    duration,
    percent,
    printed_duration,
    printed_percent,
    times,
)


def runtime_section(records: Records) -> str:
    title = "Runtime, beside LIBSVM"
    if not records.get("runtime"):
        return section("runtime", title, not_run("runtime"))
    said = bullets(
        f"{DATA_NAMES[data]}: LIBSVM {printed_percent(p.error)} in {printed_duration(p.seconds)}; SBP "
        f"{printed_percent(p.sbp_quarter_error)} in a quarter of that"
        for data, p in PAPER_RUNTIME.items()
    ) + paragraph("On an Intel E7500. The authors add that much depends on when one stops.", "small")
    rows = tables.runtime_rows(records)
    remarks = [
        f"<b>{DATA_NAMES[r['data']]}, {RUNTIME_NAMES[r['method']]}:</b> {text(r['remark'])}"
        for r in rows
        if r["remark"]
    ]
    return section(
        "runtime",
        title,
        paragraph(
            "Now in seconds, and with a bias, as LIBSVM has one. LIBSVM gives its model at the end: a single point. "
            "SBP and slackwater’s <code>SVC</code> have a model at any time: a line. Of Forest, LIBSVM has a part to "
            'learn from; SBP on all of it is <a href="#forest">in the next section</a>.'
        ),
        look(
            "How low a line is where it crosses the upright dotted line, a quarter of LIBSVM’s time; and where it "
            "first meets the level one, LIBSVM’s error."
        ),
        division(charts.runtime(records), "plot-runtime", title),
        beside(said, "Section 5", bullets(findings.quarter_time(records).evidence) or paragraph("Nothing to compare.")),
        _runtime_table(rows),
        bullets(remarks) if remarks else "",
    )


def _runtime_table(rows: list[Row]) -> str:
    head = (
        "data", "program", "training", "threads", "time", "error", "support", "error in ¼ of LIBSVM’s time",
        "time to LIBSVM’s error",        "time to within 0.1 (Adult 0.5) points of it", "paper, 2012",
    )  # fmt: skip
    cells = [
        (
            DATA_NAMES[r["data"]], RUNTIME_NAMES[r["method"]], f"{r['n']:,}", text(r["threads"]), _time(r),
            percent(r["test_error"]), "–" if r["support"] is None else f"{r['support']:,}", _quarter_error(r),
            _reached(r, "seconds_to_libsvm_error"), _reached(r, "seconds_to_near_libsvm_error"), _paper_runtime(r),
        )
        for r in rows
    ]  # fmt: skip
    return table(head, grouped(cells), "Times and errors", words=2)


def _quarter_error(row: Row) -> str:
    return percent(row["quarter_error"]) if "quarter_error" in row else ""


def _reached(row: Row, key: str) -> str:
    if key not in row:
        return ""
    return "not reached" if row[key] is None else duration(row[key])


def _time(row: Row) -> str:
    return f"over {duration(row['budget'])}" if row["seconds"] is None else duration(row["seconds"])


def _paper_runtime(row: Row) -> str:
    paper = PAPER_RUNTIME.get(row["data"])
    if paper is None or row["method"] not in ("svm-train", "sbp"):
        return ""
    if row["method"] == "sbp":
        return f"{printed_percent(paper.sbp_quarter_error)} in ¼"
    return f"{printed_percent(paper.error)} in {printed_duration(paper.seconds)}"


def scaling_section(records: Records) -> str:
    found = findings.slopes(records)
    return section(
        "scaling",
        "Table 1: what the theory promises",
        paragraph(
            "Suppose some model u, unknown, of norm ‖u‖, has the loss L(u). How much work until a method’s model errs "
            "at most ε more often? The answers are upper bounds: a method may do better than its own."
        ),
        _bounds(records),
        beside(
            paragraph(
                "SBP has the best guarantee known. Where ε is of the order of L(u), its cost grows as 1/ε, SMO’s as "
                "1/ε², Pegasos’ as 1/ε³."
            ),
            "Table 1, Section 4",
            bullets(found.evidence) if found.evidence else paragraph("The scaling has not been measured here."),
        ),
        _slopes(records) if found.evidence else not_run("scaling"),
    )


def _bounds(records: Records) -> str:
    if not records.get("table1"):
        return not_run("table1")
    (record,) = records["table1"]
    keys = ("method", "overall", "small_loss")
    bounds = table(
        ("method", "kernel evaluations", "where ε is of the order of L(u)"),
        [[text(row.get(k)) for k in keys] for row in record["rows"]],
        "To reach an error of at most L(u) + ε; constants and logarithms left out",
        words=3,
    )
    if not record.get("advantage"):
        return bounds
    rows = [(percent(r["target"], 0), times(r["dual_decomposition"]), times(r["sgd"])) for r in record["advantage"]]
    head = ("error aimed at, L(u) + ε", "dual decomposition", "descent on the loss")
    return bounds + table(head, rows, "How many times SBP’s bound the others’ are")


def _slopes(records: Records) -> str:
    head = ("loss", "method", "runs", "points", "measured slope", "every iteration charged", "slope of the bound")
    cells = [
        (
            REGIME_NAMES[r["regime"]], METHOD_NAMES[r["method"]], str(r["runs"]), str(r["points"]),
            slope_text(r["exponent"], r["standard_error"]),
            slope_text(r["analysed_exponent"], r["analysed_standard_error"]), str(r["bound"]),
        )
        for r in tables.scaling_rows(records)
    ]  # fmt: skip
    return (
        paragraph(
            "Measured on a made-up problem whose u, ‖u‖ and L(u) are known: many groups of like examples, most of them "
            "rare, and outliers that nobody can get right. It is built so that SBP’s bound is attained; the other "
            "bounds need not be tight here, and slopes below them say nothing against them."
        )
        + look(
            "On these axes a cost that grows as 1/ε to the power p is a straight line of slope p: flatter is better. "
            "Dotted lines have the slope of the bound, and no height of their own."
        )
        + division(charts.scaling(records), "plot-scaling", "Kernel evaluations against accuracy")
        + table(head, grouped(cells), "Fitted slopes, mean over runs ± standard error", words=2)
        + paragraph(
            "Measured: as the meter charges, nothing for an iteration that changes nothing. The bounds charge n for "
            "every iteration; the next column does so too.",
            "small",
        )
    )
