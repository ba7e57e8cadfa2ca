"""SBP on all of Forest."""

from __future__ import annotations

from sbp_paper.experiments import tables
from sbp_paper.experiments.tables import PAPER_RUNTIME, Records, Row
from sbp_paper.report import charts, findings
from sbp_paper.report.markup import beside, bullets, look, not_run, paragraph, section, table
from sbp_paper.report.plots import division
from sbp_paper.report.words import NU_NAMES, duration, many, percent, printed_duration, printed_percent, scientific


def forest_section(records: Records) -> str:
    title = "All of Forest, by single steps"
    if not records.get("forest"):
        return section("forest", title, not_run("forest"))
    paper = PAPER_RUNTIME["forest"]
    rows = tables.forest_rows(records)
    said = paragraph(
        f"LIBSVM has {printed_percent(paper.error)} after {printed_duration(paper.seconds)}; in a quarter of that SBP "
        f"has {printed_percent(paper.sbp_quarter_error)}."
    )
    return section(
        "forest",
        title,
        paragraph(
            f"The largest of the paper’s data sets, here {rows[0]['n']:,} examples to learn from, with a bias: a step "
            "asks for two kernel rows. One run has the ν that the paper prints, the other the ν of an optimum for the "
            "same examples. Training is timed; judging the model is not, nor is finding ν."
        ),
        look(
            "Errors fall slowly for a long time, then steeply, and hardly any more. Lines that end below the dashed "
            "one have a lower error than the optimum that LIBSVM would find."
        ),
        division(charts.forest(records), "plot-forest", title),
        beside(said, "Section 5", bullets(findings.all_of_forest(records).evidence)),
        _table(rows),
        paragraph(
            "Nearly all kernel values are too small to tell in single precision. Evaluations are those of the "
            "distances that were computed to find the others, and of rows that are still in memory none; two whole "
            "rows for each step would be "
            f"{many(max(r['evaluations_of_whole_rows'] for r in rows))} by the end. Processor time is that of all "
            "threads; time beyond it, the processor spent on other programs.",
            "small",
        ),
    )


def _table(rows: list[Row]) -> str:
    target = printed_percent(rows[0]["target"])
    head = (
        "ν", "", f"steps to {target}", "kernel rows", "evaluations", "time", "steps in all", "evaluations", "time",
        "processor time", "error", "lowest", "support", "gap",
    )  # fmt: skip
    cells = [
        (
            NU_NAMES[r["nu_source"]], scientific(r["nu"]), _reached(r["steps_to_target"]),
            many(r["rows_to_target"]), many(r["evaluations_to_target"]), duration(r["seconds_to_target"]),
            f"{r['steps']:,}", many(r["evaluations"]), duration(r["seconds"]),
            duration(r["processor_seconds"]),
            percent(r["last_error"]), percent(r["best_error"]), f"{r['support']:,}", _gap(r["gap"]),
        )
        for r in rows
    ]  # fmt: skip
    return table(head, cells, f"Cost of {target}, and where the runs end", words=2)


def _reached(steps: float | None) -> str:
    return "not reached" if steps is None else f"{steps:,.0f}"


def _gap(gap: float | None) -> str:
    return "–" if gap is None else f"{gap:.2g}"
