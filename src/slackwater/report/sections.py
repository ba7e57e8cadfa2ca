"""The page's parts: what is asked, what the paper says, what came out."""

from __future__ import annotations

from slackwater.report import charts, curves, findings, pictures
from slackwater.report.findings import Finding
from slackwater.report.markup import beside, bullets, look, not_run, paragraph, section, table, text, verdict
from slackwater.report.plots import division
from slackwater.report.words import (
    DATA_NAMES,
    DATA_TASKS,
    METHOD_NAMES,
    RUNTIME_NAMES,
    duration,
    listed,
    many,
    percent,
    points,
    scientific,
    times,
)
from slackwater.reproduction import tables
from slackwater.reproduction.tables import PAPER_RUNTIME, Records, Row

SCALE_BUTTONS = '<div class="buttons"><button type="button" data-scale="{0}">logarithmic error axis</button></div>'


def findings_section(records: Records) -> str:
    items = "".join(_finding(f) for f in findings.all_findings(records))
    return section("findings", "In short", f'<ol class="findings">{items}</ol>')


def _finding(finding: Finding) -> str:
    details = bullets(finding.evidence) if finding.evidence else ""
    return (
        f'<li><div class="claim"><a href="#{finding.anchor}">{finding.claim}</a> '
        f'<span class="where">{finding.where}</span></div>{verdict(finding.verdict)}{details}</li>'
    )


def problem_section() -> str:
    methods = (
        ("SBP", "pours a set amount of slack over the examples like water, and steps on one that lies under water"),
        ("Pegasos", "steps on an example drawn at random, if the model does not yet clear it by the margin"),
        ("SDCA", "draws an example at random and sets its coefficient to the best value"),
        ("SMO", "looks for the example whose coefficient promises most, and sets that; LIBSVM’s way"),
        ("Perceptron", "goes through the examples in turn and adds those it gets wrong"),
    )
    return section(
        "problem",
        "The problem, and who competes",
        paragraph(
            "A <b>support vector machine</b> learns from examples of two kinds to tell new ones apart. With a <b>kernel</b>, "
            "a measure of how alike two examples are, it can draw curved boundaries. Training weighs two wishes against "
            "each other: a wide margin between the kinds, and few examples on the wrong side of it."
        ),
        paragraph(
            "What makes it slow is computing kernel values: each step of each method below needs one for up to every "
            "example. So the paper, <a href=\"https://arxiv.org/abs/1204.0566\">Cotter, Shalev-Shwartz and Srebro, “The "
            "Kernelized Stochastic Batch Perceptron”, ICML 2012</a>, counts <b>kernel evaluations</b>: a measure of work "
            "that does not depend on anybody’s computer. Its idea: once a step has paid for a whole row of kernel values, "
            "one knows how well the model does on <em>every</em> example, and can choose the next one wisely."
        ),
        table(("method", "what a step does"), methods, words=2),
    )


def table2_section(records: Records) -> str:
    rows = tables.table2_rows(records)
    title = "Table 2: the data sets and their parameters"
    if not rows:
        return section("table2", title, not_run("table2"))
    head = ("data", "bias", "training", "test", "σ²", "1/λ", "ν here", "ν in the paper", "ratio", "norm", "error", "gap")
    cells = [
        (
            DATA_NAMES[r["data"]], "with" if r["bias"] else "without", f"{r['n']:,}", f"{r['n_test']:,}",
            text(r["sigma2"]), text(r["inverse_lambda"]), scientific(r["nu"]), scientific(r["paper_nu"]),
            "–" if r["nu_over_paper"] is None else f"{r['nu_over_paper']:.3g}", f"{r['norm']:.4g}",
            percent(r["test_error"]), "–" if r["gap"] is None else f"{r['gap']:.1e}",
        )
        for r in rows
    ]  # fmt: skip
    remarks = [f"<b>{DATA_NAMES[r['data']]}:</b> {text(r['remark'])}" for r in rows if r.get("remark")]
    tasks = [f"<b>{DATA_NAMES[name]}</b>, {DATA_TASKS[name]}" for name in tables.data_sets(records["table2"])]
    found = findings.parameters(records)
    return section(
        "table2",
        title,
        paragraph(
            "SBP asks how much slack ν it may hand out; the other methods ask for a weight λ of the margin. To have all "
            "solve the same problem, the problem with λ is solved exactly, and ν read off its optimum w*: the mean loss "
            "divided by the norm of w*. The gap is a proven bound on how far our solution is from the exact one."
        ),
        bullets(tasks),
        beside(
            paragraph("ν was derived from λ in this way; the table prints the values."),
            "Table 2",
            bullets(found.evidence) or paragraph("No value to compare with."),
        ),
        table(head, cells, words=2),
        bullets(remarks) if remarks else "",
    )


def fig2_section(records: Records) -> str:
    title = "Fig. 2: test error against kernel evaluations"
    if not records.get("fig2"):
        return section("fig2", title, not_run("fig2"))
    said = bullets(
        (
            "SBP does better than Pegasos and SDCA, as the bounds of Table 1 suggest.",
            "SMO shows little for its work until a critical point, then converges fast.",
            "The Perceptron keeps pace with SBP in its first epoch; then SBP goes on improving, while the Perceptron may "
            "overfit, plainly so on Adult.",
        )
    )
    made = (findings.fewer_evaluations(records), findings.smo_profile(records), findings.perceptron(records))
    found = bullets(f"{verdict(f.verdict)} {f.claim}." for f in made)
    nears = listed(
        sorted({f"{points(r['near'])} ({DATA_NAMES[r['data']]})" for r in tables.fig2_rows(records)})
    )
    return section(
        "fig2",
        title,
        paragraph(
            "How wrong is the model on new examples, after so much work? Each line is the mean over runs with different "
            "random numbers, and its band spans the lowest to the highest of them. The dotted line is the error of the exact "
            "optimum."
        ),
        look(
            "Lines further left and lower are better. A diamond marks where a method comes near the final error for good: "
            f"within {nears} points. The Perceptron’s line is dashed after its first epoch. Click a name to hide a "
            "method in all panels, double-click to see it alone; drag to zoom, double-click to go back."
        ),
        division(curves.figure2(records), "plot-fig2", title, SCALE_BUTTONS.format("plot-fig2")),
        beside(said, "Section 5, Fig. 2", found),
        _near_table(tables.fig2_rows(records)),
        _perceptron_table(tables.perceptron_rows(records)),
        paragraph(
            "Evaluations are <b>charged</b> as each method would pay them without a memory of past ones. What was computed "
            "may be less, as the whole matrix of kernel values was kept in memory where it fits; that number is in "
            "<code>tables/fig2_summary.csv</code>. A run that has ended keeps its last model in the means.",
            "small",
        ),
    )


def _near_table(rows: list[Row]) -> str:
    head = (
        "data", "method", "runs", "final error", "evaluations until near it", "compared to SBP",
        "error when SBP is near", "own last error", "evaluations until near that",
    )  # fmt: skip
    cells = [
        (
            DATA_NAMES[r["data"]], METHOD_NAMES[r["method"]], str(r["runs"]), percent(r["final_error"]),
            "not reached" if r["evaluations_to_near"] is None else many(r["evaluations_to_near"]),
            times(r["times_sbp"]), percent(r["error_when_sbp_is_near"]), percent(r["last_error"]),
            many(r["evaluations_to_near_last_error"]),
        )
        for r in rows
    ]  # fmt: skip
    sources = sorted({f"{DATA_NAMES[r['data']]}: {r['final_error_from']}" for r in rows if r["final_error_from"]})
    sizes = sorted({f"{DATA_NAMES[r['data']]} {r['n']:,}" for r in rows})
    note = f"Final error from {'; '.join(map(text, sources))}. Training examples: {', '.join(sizes)}."
    return table(head, cells, "Work until near the final error", words=2) + paragraph(note, "small")


def _perceptron_table(rows: list[Row]) -> str:
    if not rows:
        return ""
    head = ("data", "first epoch ends at", "Perceptron then", "SBP then", "Perceptron at best", "at the end", "SBP at the end")
    cells = [
        (
            DATA_NAMES[r["data"]], many(r["first_epoch_evaluations"]), percent(r["perceptron_error"]),
            percent(r["sbp_error_at_that_cost"]), percent(r["perceptron_lowest_error"]),
            percent(r["perceptron_last_error"]), percent(r["sbp_last_error"]),
        )
        for r in rows
    ]  # fmt: skip
    return table(head, cells, "The Perceptron beside SBP")


def fig3_section(records: Records) -> str:
    title = "Fig. 3: or replace the kernel?"
    if not records.get("fig3"):
        return section("fig3", title, not_run("fig3", "fig2"))
    finding = findings.fourier(records)
    missing = "" if records.get("fig2") else paragraph("SBP’s curve is missing. ") + not_run("fig2")
    rows = [
        (
            DATA_NAMES[r["data"]],
            "not reached" if r["sbp_evaluations_to_near"] is None else many(r["sbp_evaluations_to_near"]),
            "not reached" if r["fourier_inner_products_to_near"] is None else many(r["fourier_inner_products_to_near"]),
            text(r["fourier_pairs_to_near"]), times(r["times_sbp"]), f"{r['most_pairs']:,}",
            percent(r["error_with_most_pairs"]),
        )
        for r in tables.fig3_rows(records)
    ]  # fmt: skip
    head = ("data", "SBP until near", "Fourier until near", "pairs k", "compared to SBP", "most pairs tried", "their error")
    return section(
        "fig3",
        title,
        paragraph(
            "A Gaussian kernel can be imitated by k pairs of random waves, and a fast linear method trained on those. "
            "A pair costs one inner product for each example, as a kernel value does, so both can be drawn on one axis. "
            "The linear problem’s own training is not charged at all."
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


def water_sections(records: Records) -> str:
    one, two = "Fig. 1: the water level", "Fig. 4: two basins, where the model has a bias"
    if records.get("fig1"):
        wet = [
            f"<b>{DATA_NAMES[r['data']]}:</b> {r['n_wet']:,} of {r['n']:,} examples under water after {r['steps']:,} steps, "
            f"level {r['level']:.3g}"
            for r in records["fig1"]
        ]
        first = (
            paragraph(
                "Line the examples up by how well the model does on each (its <em>response</em>), the worst first: a "
                "hillside. Pour nν units of water into it. The water is the slack, its level γ the margin reached; "
                "the next example is drawn from those under water, each with the same chance."
            )
            + look("The blue area is the slack handed out. The lower panel shows who can be drawn next.")
            + division(pictures.figure1(records["fig1"]), "plot-fig1", one)
            + beside(
                paragraph("Finding the level is the whole inner problem, and takes time linear in n."),
                "Section 3.2, Fig. 1",
                bullets(wet),
            )
        )
    else:
        first = not_run("fig1")
    return section("fig1", one, first) + section("fig4", two, _two_basins(records, two))


def _two_basins(records: Records, title: str) -> str:
    if not records.get("fig4"):
        return not_run("fig4")
    wet = [
        f"<b>{DATA_NAMES[r['data']]}:</b> bias {r['bias']:+.3g}; under water {r['n_wet_negatives']:,} of "
        f"{r['n_negatives']:,} negatives and {r['n_wet_positives']:,} of {r['n_positives']:,} positives"
        for r in records["fig4"]
    ]
    return (
        paragraph(
            "A bias lifts one kind of example and lowers the other by as much. Each kind is a basin of its own, with "
            "one water level for both. The best bias is the one that leaves equally many examples of each kind under water. "
            "Here the basins are drawn with their low ends together."
        )
        + look("The pool reaches equally far to both sides, however unequal the two kinds are in number.")
        + division(pictures.figure4(records["fig4"]), "plot-fig4", title)
        + beside(
            paragraph("At the best bias, water covers the same number of examples in each basin."),
            "Appendix B, Fig. 4",
            bullets(wet),
        )
    )


def runtime_section(records: Records) -> str:
    title = "Runtime, beside LIBSVM"
    if not records.get("runtime"):
        return section("runtime", title, not_run("runtime"))
    said = bullets(
        f"{DATA_NAMES[data]}: LIBSVM {percent(p.error)} in {duration(p.seconds)}; SBP {percent(p.sbp_quarter_error)} in a "
        "quarter of that"
        for data, p in PAPER_RUNTIME.items()
    ) + paragraph("On a processor of 2009 (Intel E7500); the authors add that it depends on when one stops.", "small")
    rows = tables.runtime_rows(records)
    remarks = [
        f"<b>{DATA_NAMES[r['data']]}, {RUNTIME_NAMES[r['method']]}:</b> {text(r['remark'])}" for r in rows if r["remark"]
    ]
    return section(
        "runtime",
        title,
        paragraph(
            "Now in seconds, and with a bias, as LIBSVM has one. LIBSVM gives its model at the end: a single point. "
            "SBP and slackwater’s <code>SVC</code> have a model at any time: a line."
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
        "data", "program", "training", "time", "error", "support", "error in ¼ of LIBSVM’s time", "time to LIBSVM’s error",
        "time to within 0.1 (Adult 0.5) points of it", "paper, 2012",
    )  # fmt: skip
    cells = [
        (
            DATA_NAMES[r["data"]], RUNTIME_NAMES[r["method"]], f"{r['n']:,}", _time(r), percent(r["test_error"]),
            "–" if r["support"] is None else f"{r['support']:,}", percent(r.get("quarter_error")),
            _reached(r, "seconds_to_libsvm_error"), _reached(r, "seconds_to_near_libsvm_error"), _paper_runtime(r),
        )
        for r in rows
    ]  # fmt: skip
    return table(head, cells, "Times and errors", words=2)


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
        return f"{percent(paper.sbp_quarter_error)} in ¼"
    return f"{percent(paper.error)} in {duration(paper.seconds)}"


def scaling_section(records: Records) -> str:
    title = "Table 1: what the theory promises"
    bounds = [row for record in records.get("table1", []) for row in record["rows"]]
    keys = ("method", "overall", "small_loss")
    first = (
        table(
            ("method", "kernel evaluations", "where ε is of the order of L(u)"),
            [tuple(text(row.get(k)) for k in keys) for row in bounds],
            "To reach an error of at most L(u) + ε; constants and logarithms left out",
            words=3,
        )
        if bounds
        else not_run("table1")
    )
    rows = tables.scaling_rows(records)
    found = findings.slopes(records)
    if rows:
        head = ("method", "runs", "examples", "points", "measured slope", "slope of the bound")
        cells = [
            (
                METHOD_NAMES[r["method"]], str(r["runs"]), f"{r['n']:,}", str(r["points"]), findings.slope_text(r)[6:],
                str(r["bound"]),
            )
            for r in rows
        ]  # fmt: skip
        second = (
            look("On these axes a cost that grows as 1/ε to the power p is a straight line of slope p: flatter is better.")
            + division(charts.scaling(records), "plot-scaling", "Scaling")
            + table(head, cells, "Measured slopes, mean over runs ± standard error")
        )
    else:
        second = not_run("scaling")
    return section(
        "scaling",
        title,
        paragraph(
            "Suppose some model u, unknown, of norm ‖u‖, has the loss L(u). How much work until a method’s "
            "model errs at most ε more often? The answers are upper bounds: a method may do better than its own. They are "
            "put to the test on a made-up problem whose u is known."
        ),
        first,
        beside(
            paragraph("SBP has the best guarantee known: its cost grows as 1/ε, SMO’s as 1/ε², Pegasos’ as 1/ε³."),
            "Table 1, Section 4",
            bullets(found.evidence) if found.evidence else paragraph("The scaling has not been measured here."),
        ),
        second,
    )
