"""The claims in short, the problem, and the data: Table 2."""

from __future__ import annotations

from sbp_paper.experiments import tables
from sbp_paper.experiments.tables import Records, Row
from sbp_paper.report import findings
from sbp_paper.report.findings import Finding
from sbp_paper.report.markup import beside, bullets, not_run, paragraph, section, table, text, verdict
from sbp_paper.report.words import DATA_NAMES, DATA_TASKS, percent, scientific


def findings_section(records: Records) -> str:
    items = "".join(_finding(f) for f in findings.all_findings(records))
    lead = paragraph("Claims of the paper, in our words, and whether they hold here. Each is followed by the numbers.")
    return section("findings", "In short", lead, f'<ol class="findings">{items}</ol>')


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
            "A <b>support vector machine</b> learns from examples of two kinds to tell new ones apart. With a "
            "<b>kernel</b>, a measure of how alike two examples are, it can draw curved boundaries. Training weighs "
            "two wishes against each other: a wide margin between the kinds, and few examples on the wrong side of it."
        ),
        paragraph(
            "What makes it slow is computing kernel values: each step of each method below needs one for up to every "
            'example. So the paper, <a href="https://arxiv.org/abs/1204.0566">Cotter, Shalev-Shwartz and Srebro, “The '
            "Kernelized Stochastic Batch Perceptron”, ICML 2012</a>, counts <b>kernel evaluations</b>: a measure of "
            "work that does not depend on anybody’s computer. Its idea: once a step has paid for a whole row of kernel "
            "values, one knows how well the model does on <em>every</em> example, and can choose the next one wisely."
        ),
        table(("method", "what a step does"), methods, words=2),
    )


def table2_section(records: Records) -> str:
    rows = tables.table2_rows(records)
    title = "Table 2: the data sets and their parameters"
    if not rows:
        return section("table2", title, not_run("table2"))
    head = (
        "data",
        "bias",
        "training",
        "test",
        "σ²",
        "1/λ",
        "ν here",
        "ν in the paper",
        "ratio",
        "norm",
        "error",
        "gap",
    )
    cells = [
        (
            DATA_NAMES[r["data"]], _bias(r), f"{r['n']:,}", f"{r['n_test']:,}",
            f"{r['sigma2']:g}", text(r["inverse_lambda"]), scientific(r["nu"]), scientific(r["paper_nu"]),
            "–" if r["nu_over_paper"] is None else f"{r['nu_over_paper']:.3g}", f"{r['norm']:.4g}",
            percent(r["test_error"]), "–" if r["gap"] is None else f"{r['gap']:.1e}",
        )
        for r in rows
    ]  # fmt: skip
    remarks = [f"<b>{DATA_NAMES[r['data']]}, {_bias(r)} bias:</b> {text(r['remark'])}" for r in rows if r.get("remark")]
    tasks = [f"<b>{DATA_NAMES[name]}</b>, {DATA_TASKS[name]}" for name in tables.data_sets(records["table2"])]
    found = findings.parameters(records)
    return section(
        "table2",
        title,
        paragraph(
            "SBP asks how much slack ν it may hand out; the other methods ask for a weight λ of the margin. To have "
            "all solve the same problem, the problem with λ is solved exactly, and ν read off its optimum w*: the mean "
            "loss divided by the norm of w*. The gap is a proven bound on how far our solution is from the exact one."
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


def _bias(row: Row) -> str:
    return "with" if row["bias"] else "without"
