"""Fig. 2 and Fig. 3: the methods beside each other."""

from __future__ import annotations

from sbp_paper.experiments import tables
from sbp_paper.experiments.tables import Records, Row
from sbp_paper.report import curves, findings
from sbp_paper.report.markup import beside, bullets, grouped, look, not_run, paragraph, section, table, text, verdict
from sbp_paper.report.plots import division
from sbp_paper.report.words import DATA_NAMES, METHOD_NAMES, MODEL_NAMES, listed, many, percent, points, times

_OTHER = {"last": "uniform", "uniform": "last"}
SCALE_BUTTONS = '<div class="buttons"><button type="button" data-scale="{0}">logarithmic error axis</button></div>'


def fig2_section(records: Records) -> str:
    title = "Fig. 2: test error against kernel evaluations"
    if not records.get("fig2"):
        return section("fig2", title, not_run("fig2"))
    said = bullets(
        (
            "SBP does better than Pegasos and SDCA, as the bounds of Table 1 suggest.",
            "SMO shows little for its work until a critical point, then converges fast.",
            "The Perceptron keeps pace with SBP in its first epoch; then SBP goes on improving, while the Perceptron "
            "may overfit, plainly so on Adult.",
        )
    )
    makers = (findings.fewer_evaluations, findings.smo_profile, findings.first_epoch, findings.perceptron)
    made = [maker(records) for maker in makers]
    found = bullets(f"{verdict(f.verdict)} {f.claim}.{'' if f.verdict == 'yes' else bullets(f.evidence)}" for f in made)
    nears = listed(
        list(dict.fromkeys(f"{points(r['near'])} ({DATA_NAMES[r['data']]})" for r in tables.fig2_rows(records)))
    )
    return section(
        "fig2",
        title,
        paragraph(
            "How wrong is the model on new examples, after so much work? Each line is the mean over runs with "
            "different random numbers, and its band spans the lowest to the highest of them. The dotted line is the "
            "final error: that of the exact optimum, or where SMO ends. All solve the problem without bias, SBP with "
            "the paper’s printed ν (in a quick run, that of the part’s optimum)."
        ),
        look(
            "Lines further left and lower are better. A diamond marks from where on a method’s error is near the final "
            f"one or below: at most {nears} points above it. The Perceptron’s line is dashed after its first epoch. "
            "Click a name to hide a method in all panels, double-click to see it alone; drag to zoom, double-click to "
            "go back."
        ),
        division(curves.figure2(records), "plot-fig2", title, SCALE_BUTTONS.format("plot-fig2")),
        beside(said, "Section 5, Fig. 2", found),
        _near_table(tables.fig2_rows(records)),
        _perceptron_table(tables.perceptron_rows(records)),
        _alternatives_table(tables.alternative_rows(records)),
        paragraph(
            "Evaluations are <b>charged</b> as each method would pay them without a memory of past ones. What was "
            "computed may be less, as the whole matrix of kernel values was kept in memory where it fits; that number "
            "is in <code>tables/fig2_summary.csv</code>. A run that has ended keeps its last model in the means. "
            "Pegasos and SDCA pay nothing for an iteration on an example that needs no change, which they can tell "
            "beforehand if they keep all responses up to date; the analyses behind Table 1 charge n evaluations for "
            "every iteration, and the column “n an iteration” counts so.",
            "small",
        ),
    )


def _near_table(rows: list[Row]) -> str:
    head = (
        "data", "method", "runs", "final error", "evaluations until near it", "compared to SBP", "n an iteration",
        "error when SBP is near", "own last error", "evaluations until near that",
    )  # fmt: skip
    cells = [
        (
            DATA_NAMES[r["data"]], METHOD_NAMES[r["method"]], str(r["runs"]), percent(r["final_error"]),
            _cost(r["evaluations_to_near"]),
            times(r["times_sbp"]), _by_iterations(r), percent(r["error_when_sbp_is_near"]), percent(r["last_error"]),
            many(r["evaluations_to_near_last_error"]),
        )
        for r in rows
    ]  # fmt: skip
    sources = {r["data"]: r["final_error_from"] for r in rows if r["final_error_from"]}
    said = [f"{DATA_NAMES[data]}: {source}" for data, source in sources.items()]
    if len(set(sources.values())) == 1:
        said = [*sources.values()][:1]
    sizes = dict.fromkeys(f"{DATA_NAMES[r['data']]} {r['n']:,}" for r in rows)
    note = f"Final error from {'; '.join(map(text, said))}. Training examples: {', '.join(sizes)}."
    return table(head, grouped(cells), "Work until near the final error", words=2) + paragraph(note, "small")


def _by_iterations(row: Row) -> str:
    return "–" if row["method"] == "perceptron" else _cost(row["evaluations_to_near_by_iterations"])


def _perceptron_table(rows: list[Row]) -> str:
    if not rows:
        return ""
    head = (
        "data",
        "first epoch ends at",
        "Perceptron then",
        "SBP then",
        "Perceptron at best",
        "at the end",
        "SBP at the end",
    )
    cells = [
        (
            DATA_NAMES[r["data"]], many(r["first_epoch_evaluations"]), percent(r["perceptron_error"]),
            percent(r["sbp_error_at_that_cost"]), percent(r["perceptron_lowest_error"]),
            percent(r["perceptron_last_error"]), percent(r["sbp_last_error"]),
        )
        for r in rows
    ]  # fmt: skip
    return table(head, cells, "The Perceptron beside SBP")


def _alternatives_table(rows: list[Row]) -> str:
    if not rows:
        return ""
    head = (
        "data",
        "method",
        "drawn above",
        "evaluations until near",
        "the other",
        "evaluations until near",
        "its last error",
    )
    cells = [
        (
            DATA_NAMES[r["data"]], METHOD_NAMES[r["method"]], MODEL_NAMES[_OTHER[r["alternative"]]],
            _cost(r["evaluations_to_near"]), MODEL_NAMES[r["alternative"]],
            _cost(r["alternative_evaluations_to_near"]), percent(r["alternative_last_error"]),
        )
        for r in rows
    ]  # fmt: skip
    said = (
        "SBP, Pegasos and the Perceptron can return their last iterate or the mean of all. The paper’s algorithm "
        "returns the mean; which one its curves show, it does not say. The other choice is in the figure too, hidden "
        "until its name is clicked."
    )
    return table(head, grouped(cells), "Which model is returned", words=2) + paragraph(said, "small")


def _cost(evaluations: float | None) -> str:
    return "not reached" if evaluations is None else many(evaluations)


def fig3_section(records: Records) -> str:
    title = "Fig. 3: or replace the kernel?"
    if not records.get("fig3"):
        return section("fig3", title, not_run("fig3", "fig2"))
    finding = findings.fourier(records)
    missing = "" if records.get("fig2") else paragraph("SBP’s curve is missing. ") + not_run("fig2")
    rows = [
        (
            DATA_NAMES[r["data"]],
            _cost(r["sbp_evaluations_to_near"]),
            _cost(r["fourier_inner_products_to_near"]),
            text(r["fourier_pairs_to_near"]), times(r["times_sbp"]), f"{r['most_pairs']:,}",
            percent(r["error_with_most_pairs"]),
        )
        for r in tables.fig3_rows(records)
    ]  # fmt: skip
    head = (
        "data",
        "SBP until near",
        "Fourier until near",
        "pairs k",
        "compared to SBP",
        "most pairs tried",
        "their error",
    )
    return section(
        "fig3",
        title,
        paragraph(
            "A Gaussian kernel can be imitated by k pairs of random waves, and a fast linear method trained on those. "
            "A pair costs one inner product for each example, as a kernel value does, so both can be drawn on one "
            "axis. The linear problem’s own training is not charged at all."
        ),
        look("Where SBP’s line lies left of the dots, it reaches that error with less work than any imitation."),
        division(curves.figure3(records), "plot-fig3", title, SCALE_BUTTONS.format("plot-fig3")),
        missing,
        beside(
            paragraph("At least on Reuters and MNIST, SBP is the faster of the two."),
            "Appendix A, Fig. 3",
            bullets(finding.evidence) or paragraph("Nothing to compare yet."),
        ),
        table(head, rows, "Inner products until near the final error"),
    )
