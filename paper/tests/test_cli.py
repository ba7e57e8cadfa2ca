"""sbp-paper, with small experiments in place of the real ones, and once for real."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys

import pytest
from slackwater.datasets import available
from typer.testing import CliRunner

import synthetic
from sbp_paper.cli import app
from sbp_paper.experiments import runner
from sbp_paper.experiments.job import Job

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # matplotlib 3.8 with a newer pyparsing


def made(record, advance):
    advance(0.5)
    return record


def failing(advance):
    raise FileNotFoundError("no copy of the data: do this")


@pytest.fixture
def small(monkeypatch):
    """The command's jobs become synthetic ones; returns what can be changed about them."""
    extra: list[Job] = []

    def all_jobs(mode, parts):
        records = {k: r for part in parts for k, r in synthetic.PARTS[part]().items()}
        jobs = [Job(key, {"mode": mode}, functools.partial(made, record), 0.01) for key, record in records.items()]
        return [*jobs[:40], *extra]  # enough of them to draw

    monkeypatch.setattr(runner, "all_jobs", all_jobs)
    return extra


def reproduce(*arguments):
    return CliRunner().invoke(app, [*map(str, arguments)])


def test_parts_are_run_stored_and_drawn(small, tmp_path):
    result = reproduce("table2", "table1", "--out", tmp_path)
    assert result.exit_code == 0, result.output
    assert "quick run" in result.output
    assert "index.html" in result.output
    stored = json.loads((tmp_path / "records" / "table2" / "adult" / "with_bias.json").read_text())
    assert stored["record"] == synthetic.table2()["table2/adult/with_bias"]
    page = (tmp_path / "index.html").read_text()
    assert "sbp-paper fig2" in page
    assert "sbp-paper table2" not in page
    about = json.loads((tmp_path / "records" / "about.json").read_text())
    assert about["mode"] == "quick"
    assert about["runs"][0]["parts"] == ["table1", "table2"]
    assert (tmp_path / "tables" / "table2.csv").is_file()


def test_what_is_stored_is_not_made_again_unless_asked_for(small, tmp_path):
    reproduce("table1", "--out", tmp_path)
    record = tmp_path / "records" / "table1" / "bounds.json"
    before = record.stat().st_mtime_ns
    again = reproduce("table1", "--out", tmp_path)
    assert "1 of 1 results are there already" in again.output
    assert record.stat().st_mtime_ns == before
    assert reproduce("table1", "--fresh", "--out", tmp_path).exit_code == 0
    assert record.stat().st_mtime_ns > before


def test_the_page_is_drawn_again_without_running_anything(small, tmp_path, monkeypatch):
    reproduce("table1", "--out", tmp_path)
    (tmp_path / "index.html").unlink()
    monkeypatch.setattr(runner, "run", None)
    result = reproduce("--page-only", "--out", tmp_path)
    assert result.exit_code == 0, result.output
    assert (tmp_path / "index.html").is_file()


def test_a_failure_is_told_and_the_rest_is_drawn(small, tmp_path):
    small.append(Job("fig1/adult", {}, failing, 0.01))
    result = reproduce("table1", "--out", tmp_path)
    assert result.exit_code == 1
    assert "no copy of the data: do this" in result.output
    assert "1 of 2 experiments failed" in result.output
    assert (tmp_path / "index.html").is_file()


def test_an_unknown_part_lists_the_known_ones(tmp_path):
    result = reproduce("fig7", "--out", tmp_path / "new")
    assert result.exit_code == 2
    assert "table1, table2, fig1, fig2, fig3, fig4, runtime, forest, scaling, got fig7" in result.output
    assert not (tmp_path / "new").exists()


def test_a_folder_that_cannot_be_written_to_is_found_out_before_any_work(small, tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "run", None)
    (tmp_path / "file").write_text("in the way")
    result = reproduce("--out", tmp_path / "file")
    assert result.exit_code == 2
    assert "--out must be a folder" in result.output


def test_results_of_a_full_run_are_not_replaced_by_those_of_a_quick_one(small, tmp_path):
    assert reproduce("table1", "--full", "--out", tmp_path).exit_code == 0
    result = reproduce("table1", "--out", tmp_path)
    assert result.exit_code == 2
    assert "full run" in result.output
    assert "--fresh" in result.output
    assert reproduce("table1", "--fresh", "--out", tmp_path).exit_code == 2  # one part is not all there is
    assert (tmp_path / "records" / "table1").is_dir()
    assert reproduce("--fresh", "--out", tmp_path).exit_code == 0
    assert json.loads((tmp_path / "records" / "about.json").read_text())["mode"] == "quick"


def test_records_of_other_settings_and_torn_ones_are_named_and_left_out(small, tmp_path):
    assert reproduce("table2", "--out", tmp_path).exit_code == 0
    torn, other = (tmp_path / "records" / "table2" / name for name in ("adult/with_bias.json", "mnist/with_bias.json"))
    torn.write_text(torn.read_text()[:50])
    other.write_text(other.read_text().replace('"mode": "quick"', '"mode": "else"'))
    (tmp_path / "records" / "about.json").write_text("{")
    result = reproduce("--page-only", "--out", tmp_path)
    assert result.exit_code == 0, result.output
    assert "table2/adult/with_bias, table2/mnist/with_bias" in " ".join(result.output.split())
    assert len((tmp_path / "tables" / "table2_summary.csv").read_text().splitlines()) == 1 + 4


@pytest.mark.parametrize("more", [["fig2"], ["--fresh"]])
def test_drawing_only_takes_no_part_in_running(small, tmp_path, more):
    result = reproduce("--page-only", *more, "--out", tmp_path)
    assert result.exit_code == 2
    assert "--page-only" in result.output


def test_drawing_only_needs_records(tmp_path):
    result = reproduce("--page-only", "--out", tmp_path / "nothing")
    assert result.exit_code == 2
    assert "holds no records" in result.output


def test_data_that_will_be_downloaded_are_named(small, tmp_path, monkeypatch):
    monkeypatch.setenv("SLACKWATER_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    result = reproduce("table2", "--out", tmp_path / "out")
    assert "downloaded when needed: reuters, adult, mnist, forest" in " ".join(result.output.split())
    assert "SLACKWATER_DATA" in result.output


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.skipif(not all(map(available, ("reuters", "adult", "mnist", "forest"))), reason="data sets are missing")
def test_a_quick_run_of_everything(tmp_path):
    command = [sys.executable, "-m", "sbp_paper", "--quick", "--out", str(tmp_path)]
    run = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, "COLUMNS": "120"})
    assert run.returncode == 0, run.stdout + run.stderr
    page = (tmp_path / "index.html").read_text()
    assert "Not run" not in page
    results = json.loads((tmp_path / "results.json").read_text())
    verdicts = {finding["claim"]: finding["verdict"] for finding in results["findings"]}
    assert "not-run" not in verdicts.values()
    rows = {(r["data"], r["method"]): r for r in results["summaries"]["fig2"]}
    assert {data for data, _ in rows} == {"reuters", "adult", "mnist"}
    for data in ("reuters", "adult", "mnist"):  # the paper's main claim, on parts of the data
        assert rows[data, "sbp"]["evaluations_to_near"] is not None
    assert (tmp_path / "figure2.png").is_file()
