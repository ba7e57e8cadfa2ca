"""The synthetic problem is what its description says: u's norm, u's loss and every model's error are exact."""

from __future__ import annotations

import numpy as np
import pytest
from slackwater.callbacks import Model

from sbp_paper.experiments import scaling
from sbp_paper.experiments.scaling import BACKGROUND, GROUP, METHODS, draw_sample, iterations_to_reach

GROUPS, EPSILON, LOSS = 7, 0.1, 0.1


@pytest.fixture
def sample():
    return draw_sample(GROUPS, EPSILON, LOSS, np.random.default_rng(3))


def written_out(groups: np.ndarray) -> np.ndarray:
    """Features: the background, the groups, and a column for each example's own direction."""
    n = len(groups)
    X, inside = np.zeros((n, 1 + GROUPS + n)), groups >= 0
    X[inside, 0] = np.sqrt(BACKGROUND)
    X[inside, 1 + groups[inside]] = np.sqrt(GROUP)
    own = np.where(inside, np.sqrt(1.0 - BACKGROUND - GROUP), 1.0)
    X[np.arange(n), 1 + GROUPS + np.arange(n)] = own
    return X


def test_the_kernel_is_that_of_the_features(sample):
    X, points = written_out(sample.groups), sample.points()
    np.testing.assert_allclose(sample.kernel(points, points), X @ X.T, atol=1e-12)
    np.testing.assert_allclose(sample.kernel(points[3:5], points[:7]), (X @ X.T)[3:5, :7], atol=1e-12)


def test_u_has_the_norm_and_the_loss_that_are_stated(sample):
    u = np.zeros(1 + GROUPS + sample.n)
    u[1 : 1 + GROUPS] = sample.signs / np.sqrt(GROUP)
    assert u @ u == pytest.approx(sample.squared_norm)
    margins = sample.labels * (written_out(sample.groups) @ u)
    inside = sample.groups >= 0
    np.testing.assert_allclose(margins[inside], 1.0)
    np.testing.assert_allclose(margins[~inside], 0.0)
    assert np.maximum(0.0, 1.0 - margins).mean() == pytest.approx(sample.loss_of_u())
    assert sample.masses.sum() == pytest.approx(1.0 - LOSS)


def test_the_exact_error_is_that_of_fresh_examples(sample):
    rng = np.random.default_rng(0)
    support = rng.choice(sample.n, 12, replace=False)
    model = Model(support, rng.standard_normal((1, 12)), np.zeros(1))
    fresh = np.append(np.arange(GROUPS), -1)
    K = np.zeros((len(fresh), 12))
    both = (fresh[:, None] >= 0) & (sample.groups[support][None, :] >= 0)
    K[both] = BACKGROUND
    K[(fresh[:, None] == sample.groups[support][None, :]) & both] += GROUP
    wrong = sample.signs * (K @ model.dual_coef[0])[:-1] <= 0.0
    assert 0 < wrong.sum() < GROUPS
    assert sample.excess_error(model) == pytest.approx(sample.masses[wrong].sum())


def test_a_model_that_knows_nothing_errs_on_everything(sample):
    nothing = Model(np.array([], dtype=np.intp), np.zeros((1, 0)), np.zeros(1))
    assert sample.excess_error(nothing) == pytest.approx(1.0 - LOSS)


def test_more_accuracy_takes_more_examples_as_the_analysis_says():
    rng = np.random.default_rng(0)
    coarse, fine = (draw_sample(GROUPS, e, 0.0, rng).n for e in (0.1, 0.01))
    assert fine / coarse == pytest.approx(10.0, rel=0.02)
    coarse, fine = (draw_sample(GROUPS, e, 0.1, rng).n for e in (0.001, 0.0001))
    assert fine / coarse == pytest.approx(100.0, rel=0.02)


@pytest.mark.parametrize("method", METHODS)
def test_every_method_reaches_the_target(method, sample):
    found = iterations_to_reach(method, sample, EPSILON, np.random.default_rng(0))
    assert found is not None
    iterations, evaluations = found
    assert 0 < evaluations <= iterations * sample.n
    if method != "pegasos":
        assert evaluations == iterations * sample.n


def test_what_is_not_reached_is_said(sample, monkeypatch):
    monkeypatch.setattr(scaling, "EPOCHS", 1.0 / sample.n)  # one step
    assert iterations_to_reach("sbp", sample, EPSILON, np.random.default_rng(0)) is None


def test_methods_are_compared_on_the_same_samples():
    made = {job.key: job for job in scaling.jobs("quick")}
    first, second = (made[f"scaling/{method}/0"].run(lambda share: None) for method in ("sbp", "smo"))
    assert first["examples"] == second["examples"]
    assert first["epsilon"] == second["epsilon"]
    assert len(first["evaluations"]) == len(first["epsilon"])
    assert first["analysed"] == first["evaluations"]
    assert len(first["fixed"]["evaluations"]) == len(first["fixed"]["epsilon"])


def test_records_are_repeatable():
    job = scaling.jobs("quick")[0]
    assert job.run(lambda share: None) == job.run(lambda share: None)
