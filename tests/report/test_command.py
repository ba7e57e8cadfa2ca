"""slackwater report."""

from __future__ import annotations

import json

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file, load_iris, make_moons

from html_page import Page
from slackwater.cli.main import run


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("report")
    X, y = make_moons(300, noise=0.2, random_state=0)
    dump_svmlight_file(X[:200], y[:200], str(place / "moons"), zero_based=False)
    dump_svmlight_file(X[200:], y[200:], str(place / "moons.t"), zero_based=False)
    dump_svmlight_file(X[200:], y[200:] + 5, str(place / "others.t"), zero_based=False)
    iris = load_iris(as_frame=True)
    iris.frame.assign(target=iris.target_names[iris.target]).to_csv(place / "iris.csv", index=False)
    assert run(["train", "-q", "-g", "2", str(place / "moons"), str(place / "moons.model")]) == 0
    assert run(["train", "-q", str(place / "iris.csv"), str(place / "iris.model")]) == 0
    assert run(["export", "-q", str(place / "moons.model"), str(place / "moons.libsvm")]) == 0
    return place


@pytest.fixture
def command(folder, capsys, monkeypatch):
    monkeypatch.chdir(folder)

    def call(*arguments):
        capsys.readouterr()
        return run(["report", *arguments]), *capsys.readouterr()

    return call


def test_the_page_has_the_numbers_of_evaluate(command, folder, capsys):
    code, out, err = command("moons.model", "--data", "moons.t", "--confidence", "0.9")
    assert (code, err) == (0, "")
    assert out.startswith("moons.model.html: ")
    page = Page((folder / "moons.model.html").read_text(encoding="utf-8"))
    run(["evaluate", "--json", "--confidence", "0.9", "moons.t", "moons.model"])
    expected = json.loads(capsys.readouterr().out)
    cells = {row[0]: row[1:4] for row in page.tables["Measures over all classes"][1:]}
    for name, key in (("Accuracy", "accuracy"), ("ROC AUC", "ROC_AUC"), ("Macro F1", "macro_F1")):
        assert cells[name] == [f"{expected[key][part]:.4f}" for part in ("value", "low", "high")]
    assert page.facts["Environment"]["data file"] == "moons.t"
    assert page.facts["Environment"]["format"] == "slackwater model, version 1"


def test_tables_titles_and_json(command, folder):
    code, out, _ = command("iris.model", "iris.html", "--data", "iris.csv", "--title", "<Irises>", "--json")
    found = json.loads(out)
    assert code == 0
    assert found["bytes"] == (folder / "iris.html").stat().st_size
    page = Page((folder / "iris.html").read_text(encoding="utf-8"))
    assert "<Irises>" in page.text
    assert [row[0] for row in page.tables["Confusion matrix"][1:]] == ["setosa", "versicolor", "virginica"]
    assert "petal length (cm)" in page.facts["The fitted model"]["feature names"]


def test_a_model_of_libsvm_is_reported_too(command, folder):
    assert command("moons.libsvm", "libsvm.html", "--data", "moons.t")[0] == 0
    page = Page((folder / "libsvm.html").read_text(encoding="utf-8"))
    assert page.facts["Environment"]["format"] == "LIBSVM text"
    assert "LIBSVM's text" in page.sections["convergence"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["moons.model"], "--data must name a file with labels"),
        (["moons.model", "--data", "absent"], "absent: cannot be opened"),
        (["absent.model", "--data", "moons.t"], "absent.model: cannot be opened"),
        (["moons", "--data", "moons.t"], "cannot be loaded"),
        (["moons.model", "--data", "others.t"], "labels must be of the model's classes (0, 1), found 5, 6"),
        (["moons.model", "no/page.html", "--data", "moons.t"], "no/page.html: cannot be written"),
        (["moons.model", ".", "--data", "moons.t"], ".: cannot be written"),
        (["moons.model", "--data", "moons.t", "--confidence", "1"], "--confidence must be from 0.5 to below 1"),
    ],
)
def test_mistakes_are_one_line_and_exit_code_2(command, folder, arguments, words):
    before = sorted(folder.iterdir())
    code, out, err = command(*arguments)
    assert (code, out) == (2, "")
    assert words in err
    assert err.count("\n") == 1
    assert sorted(folder.iterdir()) == before


def test_data_without_labels_are_refused(command, folder):
    np.save(folder / "rows.npy", np.zeros((3, 2)))
    code, _, err = command("moons.model", "--data", "rows.npy")
    assert code == 2
    assert err.count("\n") == 1
