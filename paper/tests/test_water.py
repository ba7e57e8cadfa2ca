"""The pictures hold the water they say they hold."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel
from slackwater.datasets import available

from sbp_paper.experiments.settings import Setting
from sbp_paper.experiments.water import jobs, one_basin, responses_after, sorted_points, two_basins


def test_one_basin_holds_the_volume():
    responses = np.random.default_rng(0).standard_normal(500)
    picture = one_basin(responses, 0.02)
    assert np.maximum(0.0, picture["level"] - responses).sum() == pytest.approx(picture["volume"]) == 10.0
    assert picture["n_wet"] == np.sum(responses <= picture["level"])
    assert picture["responses"] == sorted(responses.tolist())


def test_two_basins_hold_the_volume_and_are_equally_wet():
    rng = np.random.default_rng(1)
    responses, labels = rng.standard_normal(400), np.where(rng.random(400) < 0.2, 1, -1).astype(np.int8)
    picture = two_basins(responses, labels, 0.05)
    heights = responses + labels * picture["bias"]
    assert np.maximum(0.0, picture["level"] - heights).sum() == pytest.approx(20.0)
    assert picture["n_wet_positives"] == picture["n_wet_negatives"] > 0
    assert (picture["n_positives"], picture["n_negatives"]) == (np.sum(labels > 0), np.sum(labels < 0))


def test_long_curves_are_thinned_by_rank():
    values = np.random.default_rng(2).permutation(10_000).astype(float)
    points = sorted_points(values, 101)
    assert len(points) == 101
    assert (points[0], points[50], points[-1]) == (0.0, 5000.0, 9999.0)
    assert points == sorted(points)


@pytest.mark.parametrize("bias", [False, True])
def test_responses_are_those_of_a_w_within_the_unit_ball(small_data, bias):
    used = Setting("adult", bias, 2.0, 1, 0.05)
    short, long = (responses_after(small_data, used, steps) for steps in (1, 200))
    K = rbf_kernel(small_data.X_train, gamma=used.gamma) * np.outer(small_data.y_train, small_data.y_train)
    assert len(short) == len(small_data.y_train)
    # The first step is along one example, or half along one of each class.
    steps = [K[i] for i in range(len(K))] if not bias else [(a + b) / 2 for a in K for b in K]
    assert min(np.abs(short - step).max() for step in steps) < 1e-5
    alpha = np.linalg.lstsq(K.astype(np.float64), long, rcond=1e-9)[0]
    assert alpha @ long <= 1.0 + 1e-3  # ‖w‖²


@pytest.mark.data
@pytest.mark.skipif(not available("adult"), reason="no copy of adult on this machine")
@pytest.mark.parametrize("job", jobs("quick"), ids=lambda job: job.part)
def test_a_real_run_leaves_some_examples_dry_and_some_wet(job):
    record = job.run(lambda share: None)
    assert record["data"] == "adult"
    assert record["n"] == 3000
    wet = record.get("n_wet", record.get("n_wet_positives", 0) + record.get("n_wet_negatives", 0))
    assert 0 < wet < record["n"]
    if job.part == "fig4":
        assert abs(record["n_wet_positives"] - record["n_wet_negatives"]) <= 5  # copies of one example stay together
        assert record["n_positives"] + record["n_negatives"] == record["n"]
