"""What the documentation prints is what happens."""

from __future__ import annotations

import doctest
import re
import runpy
import subprocess
import sys
from importlib.util import find_spec

import pytest

import slackwater.estimators.baselines.descent
import slackwater.estimators.baselines.dual
import slackwater.estimators.baselines.fourier
import slackwater.estimators.baselines.perceptron
import slackwater.estimators.baselines.simba
import slackwater.estimators.loading
import slackwater.estimators.sbp
import slackwater.estimators.svc
import slackwater.model_io.onnx
import slackwater.path.front
import slackwater.path.search
from doc_pages import LANGUAGES, ROOT, blocks, extras, make_targets, name_of, pages


def _has(page, *languages):
    return any(block.language in languages for block in blocks(page))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    "module",
    [
        slackwater.estimators.sbp,
        slackwater.estimators.svc,
        slackwater.estimators.baselines.descent,
        slackwater.estimators.baselines.dual,
        slackwater.estimators.baselines.fourier,
        slackwater.estimators.baselines.perceptron,
        slackwater.estimators.baselines.simba,
        slackwater.estimators.loading,
        slackwater.model_io.onnx,
        slackwater.path.front,
        slackwater.path.search,
    ],
    ids=lambda module: module.__name__,
)
def test_docstring_examples_hold(module):
    result = doctest.testmod(module)
    assert result.attempted > 0
    assert result.failed == 0


@pytest.mark.parametrize("page", pages(), ids=name_of)
def test_every_block_says_what_it_is(page):
    unknown = [(block.line, block.language) for block in blocks(page) if block.language not in LANGUAGES]
    assert not unknown, f"{page.name}: label these blocks as one of {sorted(LANGUAGES)}"


@pytest.mark.parametrize("page", [page for page in pages() if _has(page, "python", "pycon")], ids=name_of)
def test_python_on_the_page_runs_and_prints_what_it_says(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    namespace = {"__name__": "__page__"}
    for block in blocks(page):
        if "sklearn.callback" in block.code and find_spec("sklearn.callback") is None:
            pytest.skip("the page needs the callbacks of scikit-learn 1.9")
        if block.language == "python":
            source = "\n" * (block.line - 1) + block.code  # tracebacks name the line of the page
            exec(compile(source, str(page), "exec", dont_inherit=True), namespace)
        elif block.language == "pycon":
            _check_session(page, block, namespace)


def test_the_five_lines_of_the_readme_print_what_it_says(capsys):
    page = ROOT / "README.md"
    (code,) = [block.code for block in blocks(page) if block.language == "python"]
    exec(compile(code, str(page), "exec"), {})
    score, gap, reason = capsys.readouterr().out.split()
    said_score, said_gap, said_reason = re.search(r"prints about `(\S+) (\S+) (\S+)`", page.read_text()).groups()
    assert float(score) == pytest.approx(float(said_score), abs=0.005)
    assert float(gap) <= 1e-3
    assert float(said_gap) <= 1e-3
    assert reason == said_reason


@pytest.mark.parametrize("page", [page for page in pages() if _has(page, "sh")], ids=name_of)
def test_commands_on_the_page_exist(page):
    for block in blocks(page):
        if block.language == "sh":
            for line in block.code.splitlines():
                _check_command(line.partition("#")[0].split())


def test_files_that_the_readme_links_to_exist():
    """Links of the site's own pages are checked where it is built."""
    links = re.findall(r"\]\((?!http)([^)#]+)\)", (ROOT / "README.md").read_text())
    assert len(links) >= 15
    assert [link for link in links if not (ROOT / link).exists()] == []
    assert "](" not in (ROOT / "CONTRIBUTING.md").read_text()  # a link there would have to be checked as well


def test_the_citation_and_the_changelog_name_this_version():
    assert f"\nversion: {slackwater.__version__}\n" in (ROOT / "CITATION.cff").read_text()
    assert f"\n## {slackwater.__version__} " in (ROOT / "CHANGELOG.md").read_text()


def test_a_link_of_the_site_that_leads_nowhere_is_found(tmp_path):
    (tmp_path / "index.html").write_text(
        '<a href="other.html#here">1</a><a href="lost.html">2</a><a href="#gone">3</a>'
    )
    (tmp_path / "other.html").write_text('<p id="here"><img src="index.html"><a href="https://example.org/lost">4</a>')
    checked = subprocess.run(
        [sys.executable, ROOT / "docs" / "check_links.py", tmp_path],
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert checked.returncode == 1
    assert checked.stdout.splitlines() == ["index.html: lost.html", "index.html: #gone"]


def _rows(page, header):
    table = page.read_text().split(header)[1].split("\n\n")[0]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]


def test_the_tables_of_races_say_what_was_measured():
    header = "| data | C, γ |"
    readme = _rows(ROOT / "README.md", header)
    assert readme == _rows(ROOT / "docs" / "comparison" / "index.md", header)
    measured = _rows(ROOT / "docs" / "measurements.md", "| race | strategy | fit, s |")
    assert len(readme) == 6
    for row, source in zip(readme, measured[:6], strict=True):  # strategy and ratio are told in measurements.md only
        expected = [float(source[place]) for place in (2, 3, 5, 6, 7, 8)]
        assert [float(cell) for cell in row[2:]] == pytest.approx(expected, rel=0.02), row[0]


def _said(page, pattern):
    """The numbers of a sentence."""
    (found,) = re.findall(pattern, page.read_text())
    return [float(number) for number in found]


COMPARISON, MEASUREMENTS = ROOT / "docs" / "comparison" / "index.md", ROOT / "docs" / "measurements.md"


def test_what_is_said_of_clusters_was_measured():
    measured = _rows(MEASUREMENTS, "| task | one machine, s | one worker, s |")
    assert [row[0].split()[0] for row in measured] == ["MNIST", "scaled", "Forest,"]
    one_worker, of_two = float(measured[0][3]), [float(row[5]) for row in measured]
    said = _said(COMPARISON, r"takes ([\d.]+) times as long as one machine .* are ([\d.]+) times .* and ([\d.]+) times")
    assert said == pytest.approx([one_worker, of_two[0], of_two[2]], rel=0.02)
    said = _said(MEASUREMENTS, r"two workers are ([\d.]+) to ([\d.]+) times as fast as one")
    assert said == pytest.approx([min(of_two), max(of_two)], rel=0.02)


def test_what_is_said_of_proofs_was_measured():
    ratios = [float(row[3]) / float(row[2]) for row in _rows(MEASUREMENTS, "| race | strategy | fit, s | certify, s |")]
    measured = [min(ratios), max(ratios)]
    for page, pattern in (
        (COMPARISON, r"`certify` takes ([\d.]+) to ([\d.]+) times"),
        (MEASUREMENTS, r"takes ([\d.]+) to ([\d.]+) times as long as the fit"),
        (MEASUREMENTS, r"a proof takes as long as ([\d.]+) to ([\d.]+) fits"),
    ):
        assert _said(page, pattern) == pytest.approx(measured, rel=0.03)


def test_what_is_said_of_small_data_was_measured():
    header = "| rows | slackwater, ms |"
    tables = MEASUREMENTS.read_text().split(header)[1:]
    rows = [line.split("|") for table in tables for line in table.splitlines() if line.startswith("| 200 ")]
    medians, worst = [float(row[5]) for row in rows], [float(row[6]) for row in rows]
    said = _said(COMPARISON, r"200 rows a fit takes ([\d.]+) to ([\d.]+) times .* and ([\d.]+) times at worst")
    assert said == pytest.approx([min(medians), max(medians), max(worst)], rel=0.04)


@pytest.mark.parametrize("page", pages(), ids=name_of)
def test_scripts_and_tests_that_a_page_names_exist(page):
    named = set(re.findall(r"\b(?:bench|tests)/[\w/]+\.py", page.read_text()))
    assert not [path for path in sorted(named) if not (ROOT / path).exists()]


def test_the_figure_of_the_races_is_that_of_the_table():
    draw = runpy.run_path(str(ROOT / "docs" / "draw_races.py"))
    found = draw["races"]((ROOT / "docs" / "measurements.md").read_text())
    assert len(found) == 7
    for theme in ("light", "dark"):
        picture = (ROOT / "docs" / f"races-{theme}.svg").read_text()
        labels = [label for label in re.findall(r"<!-- (.*?) -->", picture) if re.fullmatch(r"[\d.]+ ×", label)]
        assert labels == [f"{race.onedal / race.ours:.1f} ×" for race in reversed(found)]


def _check_session(page, block, namespace):
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    session = doctest.DocTestParser().get_doctest(block.code, namespace, page.name, str(page), block.line - 1)
    assert session.examples, f"{page.name}:{block.line}: a session without a prompt"
    complaints: list[str] = []
    doctest.DocTestRunner(optionflags=flags).run(session, out=complaints.append, clear_globs=False)
    namespace.update(session.globs)
    assert not complaints, "".join(complaints)


def _check_command(words):
    match words:
        case []:
            pass
        case ["make", *targets]:
            assert set(targets) <= make_targets()
        case ["pip", "install", *wanted]:
            named = {extra for each in re.findall(r"\[(.*?)\]", " ".join(wanted)) for extra in each.split(",")}
            assert named <= extras()
        case ["python", script, *options]:
            text = (ROOT / script).read_text()
            assert all(option in text for option in options if option.startswith("--"))
        case ["git" | "cd", *_]:
            pass
        case ["sbp-paper", *parts]:
            source = "".join(path.read_text() for path in sorted((ROOT / "paper" / "src").rglob("*.py")))
            assert all(part.lstrip("-").replace("-", "_") in source for part in parts)
        case [program, *_]:
            pytest.fail(f"nothing checks the command {program!r}")
