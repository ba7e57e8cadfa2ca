"""train, predict, evaluate, export, info: as functions of their arguments, and as processes."""

from __future__ import annotations

import bz2
import json
import os
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file

import slackwater
from data_files import peak_of, write_iris, write_moons
from slackwater.cli.libsvm_options import translated
from slackwater.cli.main import run

needs_libsvm = pytest.mark.skipif(shutil.which("svm-train") is None, reason="LIBSVM's svm-train is not installed")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Moons as svmlight text, irises as CSV, a model of each."""
    place = tmp_path_factory.mktemp("command")
    write_moons(place)
    write_iris(place)
    assert run(["train", "-q", "-c", "10", "-g", "2", str(place / "moons"), str(place / "moons.model")]) == 0
    assert run(["train", "-q", "--label", "species", str(place / "iris.csv"), str(place / "iris.model")]) == 0
    return place


@pytest.fixture
def command(folder, capsys, monkeypatch):
    """Run in the folder: exit code, standard output, standard error."""
    monkeypatch.chdir(folder)

    def call(*arguments: str) -> tuple[int, str, str]:
        capsys.readouterr()
        code = run(list(arguments))
        return code, *capsys.readouterr()

    return call


def process(*arguments: str, folder, **options):
    return subprocess.run(
        [sys.executable, "-m", "slackwater", *arguments], cwd=folder, capture_output=True, check=False, **options
    )


# ---- train


def test_the_model_written_is_the_estimators(command, folder):
    code, out, err = command("train", "--C", "10", "--gamma", "2", "moons", "other.model")
    assert (code, err) == (0, "")
    assert "400 examples, 2 features, 2 classes" in out
    X, y, _ = slackwater.data_io.read_data(folder / "moons")
    expected = slackwater.SVC(C=10, gamma=2).fit(X, y)
    found = slackwater.load(folder / "other.model")
    assert np.array_equal(found.decision_function(X), expected.decision_function(X))


def test_the_default_name_of_a_model_is_that_of_svm_train(command, folder):
    (folder / "sub").mkdir(exist_ok=True)
    shutil.copy(folder / "moons", folder / "sub" / "data")
    assert command("train", "-q", "sub/data")[0] == 0
    assert (folder / "data.model").exists()


def test_json_has_what_a_machine_needs(command):
    code, out, _ = command("train", "--json", "-c", "10", "moons", "other.model")
    found = json.loads(out)
    assert code == 0
    assert found["classes"] == [-1, 1]
    assert found["n_examples"] == 400
    assert found["certified"] is True
    assert 0 < found["gap"] < 1e-2


def test_options_reach_the_estimator(command, folder):
    options = (
        "-t 1 -d 2 -r 1.5 -g 0.5 -c 3 -e 0.01 -m 50 -w-1 2 -w1 3 --multi-class ovr --strategy exact --max-iter 500 "
        "--max-time 60 --n-jobs 1 --random-state 7 --break-ties --no-fit-intercept"
    )
    assert command("train", "-q", *options.split(), "moons", "many.model")[0] == 0
    found = slackwater.load(folder / "many.model").get_params()
    expected = {
        "kernel": "poly", "degree": 2, "coef0": 1.5, "gamma": 0.5, "C": 3.0, "tol": 0.01, "cache_size": 50.0,
        "class_weight": {-1: 2.0, 1: 3.0}, "multi_class": "ovr", "strategy": "exact", "max_iter": 500, "max_time": 60.0,
        "n_jobs": 1, "random_state": 7, "break_ties": True, "fit_intercept": False,
    }  # fmt: skip
    assert {name: found[name] for name in expected} == expected


def test_cross_validation_is_that_of_scikit_learn(command, folder):
    from sklearn.model_selection import StratifiedKFold, cross_val_predict

    code, out, _ = command("train", "-v", "5", "-c", "10", "-g", "2", "--json", "moons")
    X, y, _ = slackwater.data_io.read_data(folder / "moons")
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    expected = np.mean(cross_val_predict(slackwater.SVC(C=10, gamma=2), X, y, cv=folds) == y)
    assert code == 0
    assert json.loads(out)["accuracy"] == pytest.approx(expected)
    assert "Cross Validation Accuracy = " in command("train", "-v", "3", "moons")[1]


def test_packed_data_come_through_a_pipe(folder):
    packed = bz2.compress((folder / "moons").read_bytes())
    done = process("train", "-c", "10", "-g", "2", "-", "piped.model", folder=folder, input=packed)
    assert done.returncode == 0, done.stderr
    assert done.stderr == b""
    one, other = slackwater.load(folder / "piped.model"), slackwater.load(folder / "moons.model")
    assert (one.dual_coef_ != other.dual_coef_).nnz == 0


# ---- predict, evaluate


def test_predictions_are_one_label_a_line(command, folder):
    code, out, err = command("predict", "moons.t", "moons.model", "labels.txt")
    X, y, _ = slackwater.data_io.read_data(folder / "moons.t")
    expected = slackwater.load(folder / "moons.model").predict(X)
    assert (folder / "labels.txt").read_text() == "".join(f"{label}\n" for label in expected)
    correct = int(np.sum(expected == y))
    assert (code, err) == (0, "")
    assert out == f"Accuracy = {correct / 2:g}% ({correct}/200) (classification)\n"
    code, out, err = command("predict", "moons.t", "moons.model")
    assert out == (folder / "labels.txt").read_text()
    assert err.startswith("Accuracy = ")


def test_columns_are_found_by_their_names(command, folder):
    lines = [line.split(",") for line in (folder / "iris.csv").read_text().split()]
    (folder / "turned.csv").write_text("\n".join(",".join([pw, "0", pl, sw, sl]) for sl, sw, pl, pw, _ in lines[1:]))
    text = (folder / "turned.csv").read_text()
    (folder / "turned.csv").write_text("petal_width,id,petal_length,sepal_width,sepal_length\n" + text)
    straight = command("predict", "--label", "species", "iris.csv", "iris.model")
    turned = command("predict", "turned.csv", "iris.model")
    assert straight[0] == turned[0] == 0
    assert straight[1] == turned[1]
    assert set(straight[1].split()) == {"setosa", "versicolor", "virginica"}
    assert "Accuracy" not in turned[2]


def test_evaluation_has_intervals(command):
    code, out, _ = command("evaluate", "--json", "moons.t", "moons.model")
    found = json.loads(out)
    assert code == 0
    for name in ("accuracy", "balanced_accuracy", "macro_F1", "ROC_AUC"):
        assert found[name]["low"] < found[name]["value"] < found[name]["high"], name
    assert np.sum(found["confusion"]) == 200
    code, out, _ = command("evaluate", "--label", "species", "iris.csv", "iris.model")
    assert code == 0
    assert "recall of virginica" in out


# ---- other programs


@needs_libsvm
def test_svm_predict_gives_our_labels_on_an_exported_model(command, folder):
    assert command("export", "moons.model", "--format", "libsvm", "moons.libsvm")[0] == 0
    subprocess.run(
        ["svm-predict", "moons.t", "moons.libsvm", "theirs.txt"], cwd=folder, check=True, capture_output=True
    )
    assert command("predict", "-q", "moons.t", "moons.model", "ours.txt")[0] == 0
    assert (folder / "theirs.txt").read_text() == (folder / "ours.txt").read_text()


@needs_libsvm
def test_models_of_svm_train_predict_as_svm_predict(command, folder):
    subprocess.run(["svm-train", "-q", "-c", "10", "-g", "2", "moons", "svm.model"], cwd=folder, check=True)
    subprocess.run(["svm-predict", "moons.t", "svm.model", "theirs.txt"], cwd=folder, check=True, capture_output=True)
    assert command("predict", "-q", "moons.t", "svm.model", "ours.txt")[0] == 0
    assert (folder / "theirs.txt").read_text() == (folder / "ours.txt").read_text()
    assert "LIBSVM text" in command("info", "svm.model")[1]


def test_exports_are_what_they_are_called(command, folder):
    assert command("export", "moons.model", "copy.npz")[0] == 0
    assert command("export", "moons.model", "copy.xyz")[0] == 2
    X, _, _ = slackwater.data_io.read_data(folder / "moons.t")
    one, other = slackwater.load(folder / "copy.npz"), slackwater.load(folder / "moons.model")
    assert np.array_equal(one.predict(X), other.predict(X))
    code, _, err = command("export", "iris.model", "--format", "libsvm", "iris.libsvm")
    assert code == 2  # words are no labels of LIBSVM's
    assert err.count("\n") == 1


def test_info_shows_what_a_model_is(command):
    code, out, _ = command("info", "--json", "iris.model")
    found = json.loads(out)
    assert code == 0
    assert found["classes"] == ["setosa", "versicolor", "virginica"]
    assert found["feature names"] == ["sepal_length", "sepal_width", "petal_length", "petal_width"]
    assert found["written by"]["slackwater"]
    assert json.loads(command("info", "--json")[1])["slackwater"] == slackwater.__version__


# ---- LIBSVM's options


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("-s 0 -t 2 -c 1 data", "--kernel rbf -c 1 data"),
        ("-w1 2 -w-1 0.5 data", "--class-weight 1=2 --class-weight -1=0.5 data"),
        ("-t 0 -b 0 data model", "--kernel linear data model"),
        ("-t laplacian data", "--kernel laplacian data"),
        ("-c 1 -- -s", "-c 1 -- -s"),
    ],
)
def test_libsvms_options_are_translated(theirs, ours):
    assert translated(theirs.split()) == ours.split()


# ---- users' mistakes


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("train -s 3 moons", "regression: use sklearn.svm.SVR"),
        ("train -s 1 moons", "NuSVC"),
        ("train -b 1 moons", "CalibratedClassifierCV"),
        ("train -h 0 moons", "shrinking"),
        ("train -p 0.1 moons", "Leave them out"),
        ("train -t 4 moons", "precomputed"),
        ("train -t 9 moons", "--kernel must be one of"),
        ("train -w1", "-w1 needs a value"),
        ("train -w1 much moons", "--class-weight must be"),
        ("train -w7 2 moons", "class_weight must name classes"),
        ("train -c -1 moons", "C must be a number > 0"),
        ("train -c many moons", "--C"),
        ("train -g wide moons", "--gamma must be a number"),
        ("train --multi-class ava moons", "multi_class must be one of"),
        ("train --strategy guess moons", "strategy must be one of"),
        ("train -v 1 moons", "-v must be 2 or more"),
        ("train -v 300 moons", "-v must be at most"),
        ("train -v 5 moons moons.model", "leave MODEL out"),
        ("train none", "none: cannot be opened"),
        ("train .", ".: cannot be"),
        ("train -", "MODEL must be given"),
        ("train moons nowhere/model", "cannot be written"),
        ("train --format xls moons", "format must be one of"),
        ("train --header maybe iris.csv", "header must be one of"),
        ("train --indices two moons", "indices must be one of"),
        ("train iris.csv", "which column holds the labels"),
        ("train --label colour iris.csv", "--label must be a name"),
        ("train --bogus moons", "--bogus"),
        ("train", "Missing argument"),
        ("predict moons.t none", "none: cannot be opened"),
        ("predict moons.t moons.t", "cannot be loaded"),
        ("predict iris.csv moons.model --label species", "features found, expected 2"),
        ("predict moons.t iris.model nowhere/labels", "cannot be written"),
        ("predict --json moons.t moons.model", "--json needs a file"),
        ("predict -b 1 moons.t moons.model", "CalibratedClassifierCV"),
        ("evaluate iris.csv moons.model --label species", "expected 2"),
        ("evaluate --confidence 2 moons.t moons.model", "--confidence must be"),
        ("export moons.model --format pmml out", "--format must be one of"),
        ("info none", "none: cannot be opened"),
        ("fly", "fly"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(command, arguments, words):
    code, out, err = command(*arguments.split())
    assert code == 2
    assert out == ""
    assert words in err
    assert err.count("\n") == 1
    assert "Traceback" not in err


def test_a_mistake_in_the_data_has_its_place(command, folder):
    (folder / "bad").write_text("1 1:1\n-1 1:x\n")
    code, _, err = command("train", "bad")
    assert code == 2
    assert err == "slackwater: error: bad, line 2, column 6: expected a finite decimal number, found 'x'.\n"
    (folder / "one").write_text("1 1:1\n1 1:2\n")
    code, _, err = command("train", "one")
    assert code == 2
    assert "at least two classes" in err


def test_an_index_of_two_billion_takes_no_memory(command, folder):
    (folder / "wide").write_text("1 1:1\n-1 2147483647:1\n")
    command("train", "--max-iter", "1", "moons", "scratch.model")  # compiles
    ended = []
    assert peak_of(lambda: ended.append(command("train", "wide"))) < 10 * 2**20
    assert peak_of(lambda: ended.append(command("predict", "wide", "moons.model"))) < 10 * 2**20
    (code, _, err), (code_of_predict, _, err_of_predict) = ended
    assert (code, code_of_predict) == (2, 2)
    assert "2147483647 features, and only 2 entries" in err
    assert "2147483647" in err_of_predict


def test_a_mistake_is_no_traceback_for_a_process_either(folder):
    done = process("train", "--C", "0", "moons", folder=folder)
    assert done.returncode == 2
    assert done.stderr.decode().startswith("slackwater: error: C must be a number > 0, or inf, got 0.0.")


# ---- signals and pipes


@pytest.fixture(scope="module")
def endless(tmp_path_factory):
    """Data on which an exact fit takes long."""
    place = tmp_path_factory.mktemp("endless")
    rng = np.random.default_rng(0)
    X = rng.standard_normal((9000, 20))
    dump_svmlight_file(X, rng.integers(0, 2, 9000), str(place / "noise"), zero_based=False)
    return place


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_training_with_the_model_reached(endless, number, code):
    arguments = ["train", "--verbose", "--strategy", "exact", "-c", "1000", "-e", "1e-9", "--max-time", "300", "noise"]
    with subprocess.Popen(
        [sys.executable, "-m", "slackwater", *arguments, f"{code}.model"],
        cwd=endless, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as running:  # fmt: skip
        for line in running.stderr:
            if b"step" in line:
                break
        running.send_signal(number)
        _, err = running.communicate(timeout=120)
    assert running.returncode == code, err
    assert b"Traceback" not in err
    model = slackwater.load(endless / f"{code}.model")
    assert model.stop_reason_ == "interrupted"
    assert len(model.support_) > 0


def test_an_interrupt_that_fit_passes_on_leaves_the_model(command, folder, monkeypatch):
    """Whether ``fit`` returns after Ctrl-C or raises with the estimator fitted, the model is written."""
    fit = slackwater.SVC.fit

    def interrupted(self, X, y):
        fit(self, X, y).stop_reason_ = "interrupted"
        raise KeyboardInterrupt

    monkeypatch.setattr(slackwater.SVC, "fit", interrupted)
    code, out, err = command("train", "--json", "moons", "passed-on.model")
    assert code == 130
    assert json.loads(out)["stop_reason"] == "interrupted"
    assert err == "slackwater: interrupted: the model reached is in passed-on.model.\n"
    assert (folder / "passed-on.model").exists()


def test_a_signal_before_there_is_a_model_writes_none(folder):
    reader, writer = os.pipe()
    with subprocess.Popen(
        [sys.executable, "-m", "slackwater", "train", "-", "never.model"],
        cwd=folder, stdin=reader, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as running:  # fmt: skip
        os.close(reader)
        os.write(writer, b"1 1:1\n" * 50_000)  # more than a pipe holds: it has begun to read, and waits for more
        time.sleep(0.5)
        running.send_signal(signal.SIGTERM)
        _, err = running.communicate(timeout=60)
        os.close(writer)
    assert running.returncode == 143, err
    assert err == b"slackwater: terminated before there was a model; nothing is written.\n"
    assert not (folder / "never.model").exists()


def test_a_reader_that_goes_away_is_no_error(folder):
    with subprocess.Popen(
        [sys.executable, "-m", "slackwater", "predict", "-q", "moons.t", "moons.model"],
        cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as running:  # fmt: skip
        running.stdout.close()
        err = running.stderr.read()
    assert running.returncode == 0, err
    assert b"Traceback" not in err


def test_help_has_examples_and_exit_codes(command):
    for name in ("train", "predict", "evaluate", "export", "info"):
        code, out, _ = command(name, "--help")
        assert code == 0
        assert f"slackwater {name}" in out
    assert "Exit codes" in command("--help")[1]


def test_a_shell_can_be_taught_to_complete():
    done = subprocess.run(
        [sys.executable, "-m", "slackwater"], check=False, capture_output=True, text=True,
        env=os.environ | {"_SLACKWATER_COMPLETE": "complete_bash", "COMP_WORDS": "slackwater tr", "COMP_CWORD": "1"},
    )  # fmt: skip
    assert done.stdout.split() == ["train"]
