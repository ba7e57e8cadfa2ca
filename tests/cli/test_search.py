"""train --search and path: what they choose, write and print is what the library does."""

from __future__ import annotations

import json
import signal

import numpy as np
import pytest

import slackwater
from data_files import write_iris, write_moons
from slackwater.cli.main import run
from slackwater.path import SVCCV, svm_path
from slackwater.path.folds import SharedFolds


@pytest.fixture
def command(tmp_path, capsys, monkeypatch):
    """Run in a folder with data: exit code, standard output, standard error."""
    write_moons(tmp_path)
    write_iris(tmp_path)
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str) -> tuple[int, str, str]:
        capsys.readouterr()
        code = run(list(arguments))
        return code, *capsys.readouterr()

    return call


def test_the_model_written_is_the_one_that_svccv_chooses(command):
    code, out, err = command("train", "--search", "--Cs", "0.1,10", "--gammas", "scale,2", "moons", "found.model")
    assert (code, err) == (0, "")
    X, y, _ = slackwater.data_io.read_data("moons")
    expected = SVCCV([0.1, 10.0], ["scale", 2.0]).fit(X, y)
    assert f"C {expected.C_:.4g}, gamma {expected.gamma_:.4g} chosen of 4 settings by 5 folds" in out
    found = slackwater.load("found.model")
    assert np.array_equal(found.decision_function(X), expected.decision_function(X))


def test_json_says_what_was_chosen_and_how_sure_that_is(command):
    code, out, _ = command("train", "--search", "--json", "--label", "species", "--folds", "3", "iris.csv", "i.model")
    found = json.loads(out)
    assert code == 0
    assert found["search"]["folds"] == 3
    assert found["search"]["settings"] == 25
    assert found["search"]["accuracy"] > 0.9
    assert found["search"]["standard_error"] > 0
    assert found["search"]["C"] == slackwater.load("i.model").C


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--search", "-c", "3"], "--C is chosen by --search"),
        (["--search", "-c", "1"], "--C is chosen by --search"),
        (["--folds", "7"], "--folds and --selection are of a search: add --search"),
        (["--selection", "best"], "--folds and --selection are of a search: add --search"),
        (["--search", "--gammas", "1,wide"], "--gammas must be numbers, scale or auto with commas between them, got"),
        (["--search", "-g", "3"], "--gamma is chosen by --search"),
        (["--search", "--checkpoint", "state"], "--checkpoint is of a single fit"),
        (["--search", "--strategy", "exact"], "--strategy is of a single fit"),
        (["--search", "--folds", "1"], "--folds must be 2 or more, got 1"),
        (["--search", "--Cs", "1,x"], "--Cs must be numbers with commas between them, got '1,x'"),
        (["--search", "--Cs", "1,-1"], "Cs must be finite numbers > 0, got -1.0"),
        (["--search", "--selection", "worst"], "selection must be one of best, one_standard_error, got 'worst'"),
        (["--Cs", "1"], "--Cs and --gammas are of a search: add --search"),
    ],
)
def test_what_a_search_cannot_honour_is_refused_in_one_line(command, arguments, words):
    code, out, err = command("train", *arguments, "moons", "no.model")
    assert (code, out) == (2, "")
    assert words in err
    assert err.count("\n") == 1


def test_search_and_cross_validation_exclude_each_other(command):
    code, _, err = command("train", "--search", "-v", "5", "moons")
    assert code == 2
    assert "leave one of them out" in err


def test_ctrl_c_in_a_search_says_what_was_best_until_then(command, monkeypatch):
    values = SharedFolds.values
    seen = []

    def interrupted(*arguments):
        seen.append(None)
        if len(seen) == 3:
            signal.raise_signal(signal.SIGINT)
        return values(*arguments)

    monkeypatch.setattr(SharedFolds, "values", interrupted)
    code, out, err = command("train", "--search", "--Cs", "1,10", "--gammas", "1,2,3", "moons", "no.model")
    assert (code, out) == (130, "")
    best, nothing = err.splitlines()
    assert best.startswith("slackwater: 4 settings were scored until then: C ")
    assert nothing == "slackwater: interrupted before there was a model; nothing is written."


def test_ctrl_c_in_the_final_fit_writes_the_model_reached(command, monkeypatch):
    fit = slackwater.SVC.fit

    def interrupted(self, *arguments, **more):
        fit(self, *arguments, **more)
        self.stop_reason_ = "interrupted"
        raise KeyboardInterrupt

    monkeypatch.setattr(slackwater.SVC, "fit", interrupted)
    code, _, err = command("train", "--search", "--Cs", "1", "--gammas", "1", "moons", "reached.model")
    assert code == 130
    assert "interrupted: the model reached is in reached.model" in err
    assert slackwater.load("reached.model").C == 1.0


def test_warnings_of_a_path_are_notes_each_of_them_once(command):
    code, _, err = command("path", "-t", "sigmoid", "--Cs", "0.1,1,10", "moons")
    assert code == 0
    notes = err.splitlines()
    assert all(line.startswith("slackwater: ") for line in notes)
    assert len(set(notes)) == len(notes)
    assert "not positive semi-definite" in notes[0]


def test_path_prints_the_front(command):
    code, out, err = command("path", "--Cs", "0.1,10", "-g", "2", "moons")
    assert (code, err) == (0, "")
    X, y, _ = slackwater.data_io.read_data("moons")
    expected = svm_path(X, y, Cs=[0.1, 10.0], gamma=2.0)
    header, *rows = [line.split() for line in out.splitlines()]
    assert header[:4] == ["C", "nu", "norm", "loss"]
    assert [row[2] for row in rows] == [f"{norm:.4g}" for norm in expected.norm]
    shown = [dict(zip(header, row, strict=True)) for row in rows]
    assert [(row["strategy"], row["certified"]) for row in shown] == [("exact", "True")] * 2


def test_path_draws_a_picture_and_speaks_json(command, tmp_path):
    pytest.importorskip("matplotlib")
    code, out, _ = command("path", "--n-points", "4", "--json", "moons", "front.png")
    found = json.loads(out)
    assert code == 0
    assert len(found["C"]) == len(found["loss"]) == 4
    assert (tmp_path / "front.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--Cs", "1", "--nus", "0.1", "moons"], "Cs and nus must not both be given"),
        (["--label", "species", "iris.csv"], "y must have two classes, got 3"),
        (["-g", "wide", "moons"], "--gamma must be a number > 0, scale or auto, got 'wide'"),
        (["moons", "nowhere/front.png"], "no such folder"),
        (["--n-points", "2", "moons", "front.unknown"], "front.unknown: cannot be written (its ending must be one of"),
        (["nowhere", "front"], "front: cannot be written (its ending"),  # before data are looked for
    ],
)
def test_mistakes_in_a_path_are_one_line(command, arguments, words):
    code, _, err = command("path", *arguments)
    assert code == 2
    assert words in err
    assert err.count("\n") == 1
