"""The page as text: complete, self-contained, and honest about what was not run."""

from __future__ import annotations

import csv
import json
from html.parser import HTMLParser

import pytest

import synthetic
from sbp_paper.report.export import write_report
from sbp_paper.report.page import CONTENTS, page

VOID = {"meta", "link", "br", "img", "input", "hr"}
LOADING = {"src", "srcset", "data", "poster", "background"}


class Reader(HTMLParser):
    """Checks nesting; collects ids, resources and text outside scripts."""

    def __init__(self):
        super().__init__()
        self.open, self.ids, self.resources, self.links, self.words, self.figures = [], [], [], [], [], []

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        if tag not in VOID:
            self.open.append(tag)
        self.ids += [attributes["id"]] if "id" in attributes else []
        self.resources += [v for k, v in attrs if k in LOADING] + ([attributes["href"]] if tag == "link" else [])
        self.links += [attributes["href"]] if tag == "a" else []
        self.figures += [attributes["data-figure"]] if "data-figure" in attributes else []

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] not in ("script", "style"):
            self.words.append(data)

    @property
    def text(self):
        return " ".join(self.words)


def read(content):
    reader = Reader()
    reader.feed(content)
    reader.close()
    assert reader.open == []
    return reader


@pytest.fixture(scope="module")
def whole():
    return page(synthetic.records(), synthetic.ABOUT)


def test_nothing_is_loaded_from_elsewhere(whole):
    reader = read(whole)
    assert [r for r in reader.resources if not r.startswith("data:")] == []
    assert "@import" not in whole.split("</style>")[0]
    assert "url(" not in whole.split("</style>")[0]


def test_the_drawing_library_is_there_once(whole):
    assert whole.count("plotly.js v") == 1
    assert len(whole) < 8e6


@pytest.mark.parametrize("records", [synthetic.records(), {}], ids=["all", "nothing"])
def test_every_section_is_there(records):
    reader = read(page(records, None))
    assert set(CONTENTS) <= set(reader.ids)
    assert len(reader.ids) == len(set(reader.ids))
    assert {link[1:] for link in reader.links if link.startswith("#")} <= set(reader.ids)


def test_all_figures_are_there(whole):
    reader = read(whole)
    expected = ["plot-fig1", "plot-fig2", "plot-fig3", "plot-fig4", "plot-forest", "plot-runtime", "plot-scaling"]
    assert sorted(reader.figures) == expected
    assert set(expected) <= set(reader.ids)
    assert "Not run" not in reader.text


@pytest.mark.parametrize("part", list(synthetic.PARTS))
def test_a_part_that_is_missing_is_shown_with_the_command_that_makes_it(part):
    records = {name: rows for name, rows in synthetic.records().items() if name != part}
    text = read(page(records, synthetic.ABOUT)).text
    assert "Not run" in text
    assert f"sbp-paper {part}" in text


def test_an_empty_store_names_every_command():
    text = read(page({}, None)).text
    assert all(f"sbp-paper {part}" in text for part in synthetic.PARTS)


def test_words_from_records_cannot_become_markup(whole):
    assert "&lt;collapses&gt;" in whole
    assert "<collapses>" not in whole


def test_the_page_says_how_it_was_made(whole):
    text = read(whole).text
    assert "3 February 2001" in text
    assert "A processor" in text
    assert "quick run" in text


def test_the_numbers_of_the_records_are_in_the_tables(whole):
    text = read(whole).text
    assert "1.10\u00a0×\u00a010⁻²" in text
    assert "0.44\u00a0% in 1980\u00a0s" in text  # the paper's, beside ours


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # matplotlib 3.8 with a newer pyparsing
def test_tables_results_and_figure_are_written_beside_the_page(tmp_path):
    path = write_report(synthetic.records(), synthetic.ABOUT, tmp_path)
    assert path == tmp_path / "index.html"
    assert (tmp_path / "figure2.png").read_bytes().startswith(b"\x89PNG")
    results = json.loads((tmp_path / "results.json").read_text())
    assert results["about"] == synthetic.ABOUT
    assert len(results["findings"]) == 9
    with (tmp_path / "tables" / "fig2.csv").open() as file:
        rows = list(csv.DictReader(file))
    first = synthetic.fig2()["fig2/reuters/sbp/0"]
    assert len(rows) == sum(len(r["steps"]) for r in synthetic.fig2().values())
    assert float(rows[0]["test_error"]) == first["test_error"][0]
    assert {p.stem for p in (tmp_path / "tables").glob("*.csv")} >= {
        *synthetic.PARTS,
        "fig2_summary",
        "runtime_summary",
    }


def test_a_table_whose_records_are_gone_goes_too(tmp_path):
    write_report({"table1": list(synthetic.table1().values())}, None, tmp_path)
    assert (tmp_path / "tables" / "table1.csv").is_file()
    write_report({"table1": []}, None, tmp_path)
    assert not (tmp_path / "tables" / "table1.csv").exists()
