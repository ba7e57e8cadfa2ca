"""SBP on all of Forest: when the model is judged, what is counted, and when a run may end."""

from __future__ import annotations

import itertools
import json
import time

import numpy as np
import pytest
from slackwater import SVC, SBPClassifier

from sbp_paper.experiments import forest
from sbp_paper.experiments.data import Selection
from sbp_paper.experiments.settings import Setting
from sbp_paper.experiments.training import fitted

USED = Setting("forest", True, 1.0, 10, 0.02)


def still(share):
    """Nobody watches."""


def watched(data, extent, monkeypatch, judge=None, **options):
    """The SBP with its watch."""
    model = SBPClassifier(0.02, gamma=0.5, fit_intercept=True, tol=0.0, random_state=0)
    fitted(model.set_params(max_iter=20), data.X_train, data.y_train)  # compiles
    watch = forest.Watch(data, 0.5, extent, still, **options)
    if judge is not None:
        monkeypatch.setattr(watch, "judged", judge)
    return fitted(model.set_params(max_iter=extent.most, callback=watch), data.X_train, data.y_train), watch


def test_looks_are_spaced_evenly_in_their_logarithm_and_have_both_ends():
    found = forest.looks(forest.Extent(3000, 9000))
    assert {500, 1000, 2000, 3000, 4000, 8000, 9000} <= set(found)
    assert found == sorted(found)
    assert found[-1] == 9000
    assert max(b / a for a, b in itertools.pairwise(found)) < 1.2


def test_a_run_goes_on_to_its_least_extent_though_the_target_is_reached_before(blobs, monkeypatch):
    model, watch = watched(blobs, forest.Extent(700, 2000), monkeypatch, lambda model: 0.01)
    assert model.n_iter_ == watch.curve["steps"][-1] == 700
    assert model.stop_reason_ == "callback"


def test_a_run_that_misses_the_target_goes_on_to_its_greatest_extent(blobs, monkeypatch):
    model, watch = watched(blobs, forest.Extent(700, 1100), monkeypatch, lambda model: 0.3)
    assert model.n_iter_ == watch.curve["steps"][-1] == 1100


def test_a_run_ends_at_the_look_that_finds_the_target_reached(blobs, monkeypatch):
    errors = iter([0.3, 0.3, 0.3, 0.019])
    model, watch = watched(blobs, forest.Extent(500, 2000), monkeypatch, lambda model: next(errors))
    assert watch.curve["test_error"] == [0.3, 0.3, 0.3, 0.019]
    assert model.n_iter_ == forest.looks(forest.Extent(500, 2000))[3]


def test_the_last_point_is_the_models(blobs, monkeypatch):
    model, watch = watched(blobs, forest.Extent(600, 600), monkeypatch)
    last = {name: values[-1] for name, values in watch.curve.items()}
    assert last["test_error"] == np.mean(model.predict(blobs.X_test) != blobs.y_test)
    assert (last["steps"], last["rows"], last["support"]) == (600, 1200, len(model.support_))
    assert last["evaluations"] == model.n_kernel_evals_


def test_judging_the_model_takes_no_training_time(blobs, monkeypatch):
    def slowly(model):
        began = time.process_time()
        while time.process_time() < began + 0.2:
            pass
        return 0.3

    began, processor_began = time.perf_counter(), time.process_time()
    _, watch = watched(blobs, forest.Extent(1000, 1000), monkeypatch, slowly)
    assert len(watch.curve["steps"]) == 5
    assert watch.curve["seconds"] == sorted(watch.curve["seconds"])
    assert watch.curve["seconds"][-1] < time.perf_counter() - began - 5 * 0.2
    assert watch.curve["processor_seconds"][-1] < time.process_time() - processor_began - 5 * 0.2


@pytest.mark.parametrize("source", forest.SOURCES)
def test_a_record_has_its_curve_and_says_where_nu_is_from(small_data, source):
    record = forest.run(Selection("forest"), USED, source, forest.Extent(600, 600), still)
    record = json.loads(json.dumps(record))
    assert (record["n"], record["n_test"], record["nu_source"], record["target"]) == (300, 200, source, 0.019)
    assert {len(record[name]) for name in forest.COLUMNS} == {3}  # looks at 500, 595 and 600 steps
    assert record["test_error"][-1] < 0.3
    if source == "printed":
        assert record["nu"] == 0.02
    else:
        optimum = SVC(C=10.0, gamma=0.5, tol=1e-6).fit(small_data.X_train, small_data.y_train)
        assert record["nu"] == pytest.approx(optimum.slack_nu_, rel=0.1)
        assert record["optimum_gap"] <= forest.OPTIMUM_GAP


@pytest.mark.parametrize("mode", ["quick", "full"])
def test_jobs_are_timed_alone_and_share_their_rows(mode):
    made = forest.jobs(mode)
    assert [job.key for job in made] == ["forest/printed", "forest/derived"]
    assert all(job.alone for job in made)
    assert made[0].shared == made[1].shared == Selection("forest", *((5000, 3000) if mode == "quick" else ()))
    json.dumps([job.settings for job in made])


def test_a_full_run_may_ask_for_two_million_rows():
    assert forest.ROWS_A_STEP * forest.EXTENTS["full"].most == 2_000_000
