"""One HTML file that needs nothing else: text, tables, figures and the library that draws them."""

from __future__ import annotations

import datetime
from html import escape
from importlib.resources import files
from typing import Any

from plotly.offline import get_plotlyjs

from sbp_paper.experiments import tables
from sbp_paper.experiments.job import Record
from sbp_paper.experiments.tables import Records
from sbp_paper.report.markup import bullets, paragraph, section, table, text
from sbp_paper.report.plots import configuration
from sbp_paper.report.sections.comparison import fig2_section, fig3_section
from sbp_paper.report.sections.forest import forest_section
from sbp_paper.report.sections.introduction import findings_section, problem_section, table2_section
from sbp_paper.report.sections.measured import runtime_section, scaling_section
from sbp_paper.report.sections.water import water_sections
from sbp_paper.report.words import DATA_NAMES, METHOD_NAMES

About = dict[str, Any]

CONTENTS = {
    "findings": "In short",
    "problem": "The problem",
    "table2": "Table 2",
    "fig2": "Fig. 2",
    "fig3": "Fig. 3",
    "fig1": "Fig. 1",
    "fig4": "Fig. 4",
    "runtime": "Runtime",
    "forest": "All of Forest",
    "scaling": "Table 1 and scaling",
    "made": "How it was made",
    "again": "Do it again",
}
MODES = {
    "quick": "a <b>quick run</b>: the real data, but only a part of each set and few repetitions. Numbers differ from "
    "those of a full run; the paper’s numbers are of the whole sets.",
    "full": "a <b>full run</b> on the whole data sets.",
}


def page(records: Records, about: About | None) -> str:
    """The page of a store's records; ``about`` says when, where and in which mode they were made."""
    body = (
        findings_section(records),
        problem_section(),
        table2_section(records),
        fig2_section(records),
        fig3_section(records),
        water_sections(records),
        runtime_section(records),
        forest_section(records),
        scaling_section(records),
        _made(records, about),
        _again(),
    )
    links = "".join(f'<a href="#{anchor}">{name}</a>' for anchor, name in CONTENTS.items())
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        "<title>The Stochastic Batch Perceptron, reproduced</title>\n"
        '<link rel="icon" href="data:,">\n'
        f"<style>{_resource('page.css')}</style>\n</head>\n<body>\n"
        f"<header><h1>The Stochastic Batch Perceptron, reproduced</h1>"
        f'<p class="lead">Every table and figure of the paper that introduced it, computed anew from the real data '
        f"with slackwater, and beside each what the paper says.</p>{_banner(about)}<nav>{links}</nav></header>\n"
        f"<main>{''.join(body)}</main>\n"
        "<footer>Drawn by <code>sbp-paper</code> from stored records. Figures by plotly.js (MIT licence), "
        "which is part of this file.</footer>\n"
        f"<script>{_script(get_plotlyjs())}</script>\n"
        f"<script>window.plotConfiguration = {configuration()};\n{_resource('page.js')}</script>\n"
        "</body>\n</html>\n"
    )


def _banner(about: About | None) -> str:
    mode = MODES.get((about or {}).get("mode", ""))
    return paragraph(f"This page shows {mode}", "banner") if mode else ""


def _made(records: Records, about: About | None) -> str:
    if not any(records.values()):
        return section("made", CONTENTS["made"], paragraph("Nothing has been run yet."))
    runs = [
        f"{DATA_NAMES[data]}: {', '.join(f'{METHOD_NAMES[m]} {len(band)}' for m, band in counted.items())} runs"
        for data, counted in _counted(records).items()
    ]
    blocks = [
        paragraph(
            "Random numbers come from fixed seeds. Times are wall-clock; SBP and SVC are timed with no other "
            "experiment running, LIBSVM’s two copies, of one thread each, side by side."
        ),
        bullets(runs) if runs else "",
        *(_run(run) for run in (about or {}).get("runs", [])),
    ]
    return section("made", CONTENTS["made"], *blocks)


def _counted(records: Records) -> dict[str, dict[str, list[Record]]]:
    """The runs of Fig. 2 by data set and method."""
    fig2 = records.get("fig2", [])
    return {
        data: {m: found for m in tables.METHODS if (found := tables.of_data(fig2, data, m))}
        for data in tables.data_sets(fig2)
    }


def _run(run: dict[str, Any]) -> str:
    machine, versions = run["machine"], run["versions"]
    when = datetime.datetime.fromisoformat(run["finished"]).strftime("%d %B %Y").lstrip("0")
    rows = [
        ("finished", text(when)),
        ("parts", text(", ".join(run["parts"]))),
        ("processor", text(machine["processor"])),
        ("cores", text(machine["cores"])),
        ("memory", text(machine["memory"])),
        ("system", text(machine["system"])),
        ("versions", text(", ".join(f"{name} {version}" for name, version in versions.items()))),
    ]
    return table(("", ""), rows, "The machine", words=2)


def _again() -> str:
    commands = (
        ("sbp-paper", "a quick run of all parts, in minutes"),
        ("sbp-paper --full", "the real thing, in hours; interrupted, it goes on where it was"),
        ("sbp-paper fig2 --full", "one part"),
        ("sbp-paper --page-only", "this page again, from the stored records"),
    )
    return section(
        "again",
        CONTENTS["again"],
        paragraph("<code>pip install . ./paper</code> in slackwater’s repository, then one of these:"),
        table(("command", "what it does"), [(f"<code>{escape(c)}</code>", what) for c, what in commands], words=2),
        paragraph(
            "Tables as CSV are in the folder <code>tables</code> beside this page, all derived numbers in "
            "<code>results.json</code>, the records in <code>records</code>."
        ),
    )


def _resource(name: str) -> str:
    return _script(files("sbp_paper.report").joinpath(name).read_text(encoding="utf-8"))


def _script(content: str) -> str:
    """Nothing inside may end the element it stands in."""
    return content.replace("</script", "<\\/script").replace("</style", "<\\/style")
