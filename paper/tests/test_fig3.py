"""Fig. 3: what the Fourier features cost, and that the optimum over them is one."""

from __future__ import annotations

import numpy as np
import pytest
from slackwater import SVC
from slackwater.baselines import FourierSVC
from slackwater.datasets import available

from sbp_paper.experiments.data import Selection, selection
from sbp_paper.experiments.fig3 import TOLERANCE, Approximation, jobs
from sbp_paper.experiments.settings import setting


def test_the_cost_is_that_of_the_features(small_data):
    record = Approximation(setting("adult", bias=False), Selection("adult"), 16, 0)(lambda share: None)
    assert record["inner_products"] == 16 * 300
    assert record["converged"]
    again = Approximation(setting("adult", bias=False), Selection("adult"), 16, 0)(lambda share: None)
    assert again["test_error"] == record["test_error"]
    assert 0.0 < record["test_error"] < 0.5


def test_pairs_double_up_to_the_largest():
    keys = [job.key for job in jobs("full")]
    assert len(keys) == len(set(keys))
    pairs = {int(key.split("/")[2]) for key in keys if key.startswith("fig3/mnist/")}
    assert pairs == {2**k for k in range(11)}
    assert sum(key.startswith("fig3/adult/64/") for key in keys) == 10


@pytest.mark.data
@pytest.mark.skipif(not available("adult"), reason="no copy of adult on this machine")
def test_the_linear_optimum_is_one():
    used, data = setting("adult", bias=False), selection("adult", "quick").load()
    model = FourierSVC(used.C, n_pairs=32, gamma=used.gamma, tol=TOLERANCE, random_state=0)
    model.fit(data.X_train, data.y_train)
    features = model._map.transform(data.X_train).astype(np.float64)  # the oracle needs them
    exact = SVC(used.C, kernel="linear", fit_intercept=False, tol=1e-5, random_state=0).fit(features, data.y_train)

    def objective(w):
        return 0.5 * w @ w + used.C * np.maximum(0.0, 1.0 - data.y_train * (features @ w)).sum()

    assert exact.gap_ <= 1e-5
    assert objective(model.coef_[0]) <= objective(exact.coef_[0]) * (1.0 + 2e-5)
