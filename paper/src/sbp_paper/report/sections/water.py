"""Fig. 1 and Fig. 4: the level that SBP draws by."""

from __future__ import annotations

from sbp_paper.experiments.tables import Records
from sbp_paper.report import pictures
from sbp_paper.report.markup import beside, bullets, look, not_run, paragraph, section
from sbp_paper.report.plots import division
from sbp_paper.report.words import DATA_NAMES


def water_sections(records: Records) -> str:
    one, two = "Fig. 1: the water level", "Fig. 4: two basins, where the model has a bias"
    if records.get("fig1"):
        wet = [
            f"<b>{DATA_NAMES[r['data']]}:</b> {r['n_wet']:,} of {r['n']:,} examples under water after {r['steps']:,} "
            f"steps, level {r['level']:.3g}"
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
        f"<b>{DATA_NAMES[r['data']]}:</b> bias {r['bias']:.3g}; under water {r['n_wet_negatives']:,} of "
        f"{r['n_negatives']:,} negatives and {r['n_wet_positives']:,} of {r['n_positives']:,} positives"
        for r in records["fig4"]
    ]
    return (
        paragraph(
            "A bias lifts one kind of example and lowers the other by as much. Each kind is a basin of its own, with "
            "one water level for both. The best bias is the one that leaves equally many examples of each kind under "
            "water. Here the basins are drawn with their low ends together."
        )
        + look("The pool reaches equally far to both sides, however unequal the two kinds are in number.")
        + division(pictures.figure4(records["fig4"]), "plot-fig4", title)
        + beside(
            paragraph("At the best bias, water covers the same number of examples in each basin."),
            "Appendix B, Fig. 4",
            bullets(wet),
        )
    )
