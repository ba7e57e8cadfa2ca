"""Races against LIBSVM: who is timed, what is left out of the clock, and how a run that takes too long ends."""

from __future__ import annotations

import json
import multiprocessing
import os
import shutil
import time
from dataclasses import replace

import numpy as np
import pytest
from sklearn import svm
from slackwater import SVC, SBPClassifier
from slackwater.datasets import available

from sbp_paper.experiments import runtime
from sbp_paper.experiments.data import Selection
from sbp_paper.experiments.libsvm import sklearn_svc, svm_train
from sbp_paper.experiments.training import fitted

needs_adult = pytest.mark.skipif(not available("adult"), reason="no copy of adult on this machine")
needs_libsvm = pytest.mark.skipif(shutil.which("svm-train") is None, reason="libsvm-tools are not installed")
SMALL = Selection("adult", 400, 300)


def still(share):
    """Nobody watches."""


@needs_libsvm
def test_svm_train_finds_what_scikit_learn_finds(blobs):
    data = blobs
    found = svm_train(data, 10.0, 0.5, 100, 60.0)
    twin = svm.SVC(C=10.0, gamma=0.5).fit(data.X_train, data.y_train)
    assert found.test_error == pytest.approx(np.mean(twin.predict(data.X_test) != data.y_test), abs=0.011)
    assert found.support == pytest.approx(len(twin.support_), abs=2)
    assert found.seconds > 0.0


def test_svm_train_is_ended_when_its_time_is_up(blobs, tmp_path, monkeypatch):
    for program in ("svm-train", "svm-predict"):
        (tmp_path / program).write_text("#!/bin/sh\nexec sleep 60\n")
        (tmp_path / program).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    found = svm_train(blobs, 10.0, 0.5, 100, 0.2)
    assert found[:3] == (None, None, None)
    assert "time was up" in found.remark


@needs_libsvm
def test_what_svm_train_complains_of_is_told(blobs):
    with pytest.raises(RuntimeError, match=r"svm-train failed: .*C <= 0"):
        svm_train(blobs, -1.0, 0.5, 100, 60.0)


def test_a_missing_svm_train_is_a_remark_not_an_error(blobs, monkeypatch):
    monkeypatch.setenv("PATH", "")
    found = svm_train(blobs, 10.0, 0.5, 100, 60.0)
    assert found.seconds is None
    assert "apt-get install libsvm-tools" in found.remark


@pytest.mark.data
@needs_adult
def test_a_program_that_is_missing_has_not_used_up_its_budget(monkeypatch):
    monkeypatch.setenv("PATH", "")
    record = runtime.run_svm_train(replace(runtime.races("quick")[0], rows=SMALL), still)
    assert record["seconds"] is record["budget"] is record["test_error"] is None
    assert "apt-get install libsvm-tools" in record["remark"]


@pytest.mark.data
@needs_adult
@pytest.mark.parametrize("budget", [60.0, 0.0])
def test_scikit_learn_runs_in_a_process_that_does_not_outlive_its_budget(budget):
    before = {child.pid for child in multiprocessing.active_children()}  # other tests leave joblib's workers behind
    found = sklearn_svc(SMALL, 100.0, 0.005, 100, budget)
    assert {child.pid for child in multiprocessing.active_children()} <= before
    if budget:
        data = SMALL.load()
        twin = svm.SVC(C=100.0, gamma=0.005).fit(data.X_train, data.y_train)
        assert found.test_error == np.mean(twin.predict(data.X_test) != data.y_test)
        assert found.support == len(twin.support_)
        assert found.seconds > 0.0
    else:
        assert found[:3] == (None, None, None)
        assert "time was up" in found.remark


def judged_run(data, limit, monkeypatch=None, judge=None):
    """The SBP for so many seconds, with its curve."""
    model = SBPClassifier(0.02, gamma=0.5, fit_intercept=True, tol=0.0, random_state=0)
    fitted(model.set_params(max_iter=20), data.X_train, data.y_train)  # compiles
    curve = runtime.ErrorCurve(data, 0.5, limit, still)
    if judge is not None:
        monkeypatch.setattr(curve, "judged", judge)
    return fitted(model.set_params(max_iter=-1, callback=curve), data.X_train, data.y_train), curve


def test_the_last_point_of_the_curve_is_the_models(blobs):
    model, curve = judged_run(blobs, 0.2)
    assert model.stop_reason_ == "callback"
    assert curve.test_error[-1] == np.mean(model.predict(blobs.X_test) != blobs.y_test)
    assert curve.seconds == sorted(curve.seconds)


def test_judging_the_model_takes_no_training_time(blobs, monkeypatch):
    looks = []

    def slowly(model):
        looks.append(time.sleep(0.1))
        return 0.25

    _, curve = judged_run(blobs, 0.3, monkeypatch, slowly)
    assert len(looks) == len(curve.seconds) >= 2
    assert 0.3 <= curve.seconds[-1] < 0.4
    assert set(curve.test_error) == {0.25}


@pytest.mark.parametrize("mode", ["quick", "full"])
def test_jobs_of_all_threads_run_alone_and_have_the_agreed_keys(mode):
    made = runtime.jobs(mode)
    expected = {
        f"runtime/{d}/{m}" for d in ("adult", "mnist", "forest") for m in ("svm-train", "sklearn", "sbp", "svc")
    }
    assert {job.key for job in made} == expected | ({"runtime/forest-all/svc"} if mode == "full" else set())
    assert all(job.alone == (job.key.split("/")[2] in ("sbp", "svc")) for job in made)  # LIBSVM has one thread
    json.dumps([job.settings for job in made])


@pytest.mark.data
@needs_adult
@pytest.mark.parametrize("run", [runtime.run_sbp, lambda race, advance: runtime.run_svc(race, True, advance)])
def test_our_methods_leave_a_curve_and_its_end(run):
    race = replace(runtime.races("quick")[0], rows=SMALL, sbp_seconds=0.5)
    record = json.loads(json.dumps(run(race, still)))
    assert (record["n"], record["n_test"], record["C"], record["gamma"]) == (400, 300, 100.0, 0.005)
    assert len(record["curve"]["seconds"]) == len(record["curve"]["test_error"]) >= 1
    assert record["curve"]["seconds"][-1] == record["seconds"]
    assert record["curve"]["test_error"][-1] == record["test_error"] < 0.3
    assert 0 < record["support"] <= 400
    data = SMALL.load()
    optimum = SVC(C=100.0, gamma=0.005, tol=1e-5).fit(data.X_train, data.y_train)
    assert record["nu"] == pytest.approx(optimum.slack_nu_, rel=0.05)
