"""The exact strategy: all examples at once, as precisely as the tolerance calls for."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import svm
from sklearn.datasets import make_classification

from fitting_problems import svc
from slackwater import SVC
from slackwater.errors import KernelError
from slackwater.fitting.settings import Settings
from slackwater.fitting.strategies import exact

N = 2500


def data(n=N, seed=0):
    X, y = make_classification(n, 12, n_informative=8, n_classes=3, flip_y=0.05, random_state=seed)
    return X / X.std(), y


def precision(monkeypatch, X, y, **parameters):
    """The model, and the type of the kernel values it was trained on."""
    seen = []
    original = exact.features_for

    def watched(context):
        seen.append(original(context).points.dtype)
        return original(context)

    monkeypatch.setattr(exact, "features_for", watched)
    return SVC(random_state=0, **parameters).fit(X, y), seen[0]


@pytest.mark.parametrize(
    ("rows", "parameters", "dtype"),
    [
        (N, {"C": 1.0}, np.float32),
        (N, {"C": 1e5}, np.float64),  # coefficients so large that rounding would tell
        (N, {"C": 1.0, "tol": 1e-3}, np.float64),  # who states a tolerance has the values as they are
        (N, {"C": 1.0, "kernel": "poly", "degree": 2}, np.float64),
        (500, {"C": 1.0}, np.float64),
    ],
)
def test_single_precision_is_used_where_it_does_not_tell(monkeypatch, rows, parameters, dtype):
    X, y = data()
    _, found = precision(monkeypatch, X[:rows], (y[:rows] > 0).astype(int), gamma=0.1, **parameters)
    assert found == dtype


def test_points_in_single_precision_stay_so(monkeypatch):
    X, y = data()
    assert precision(monkeypatch, X.astype(np.float32), y, C=1.0, gamma=0.1)[1] == np.float32


@pytest.mark.parametrize("C", [1.0, 30.0])
def test_the_default_model_decides_as_the_optimum_does(monkeypatch, C):
    X, y = data(2 * N)
    y = (y > 0).astype(int)
    model, dtype = precision(monkeypatch, X[:N], y[:N], C=C, gamma=0.1)
    assert dtype == np.float32
    assert model.gap_ <= 1e-3
    optimum = svm.SVC(C=C, gamma=0.1, tol=1e-6).fit(X[:N], y[:N])
    assert np.abs(model.decision_function(X[N:]) - optimum.decision_function(X[N:])).max() <= 0.05
    assert np.mean(model.predict(X[N:]) != optimum.predict(X[N:])) <= 0.002


def test_problems_side_by_side_are_those_one_after_the_other():
    X, y = data()
    alone, together = (
        svc(Settings(min_examples_threaded=least), C=1.0, gamma=0.1, n_jobs=2).fit(X, y) for least in (10**6, 0)
    )
    np.testing.assert_array_equal(alone.support_, together.support_)
    np.testing.assert_array_equal(alone.dual_coef_, together.dual_coef_)
    assert alone.n_kernel_evals_ == together.n_kernel_evals_


def test_a_far_point_does_not_make_single_precision_more_tolerable(monkeypatch):
    X, y = data()
    X = np.where(X > 0, 20.0, -20.0) + X
    y = (y > 0).astype(int)
    near = precision(monkeypatch, X, y, C=10.0, gamma=0.005)[1]
    X[0] = 1e4
    assert precision(monkeypatch, X, y, C=10.0, gamma=0.005)[1] == near == np.float64


def test_responses_that_are_kept_are_as_precise_as_any_later_tolerance_may_ask(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    X, y = data()
    assert precision(monkeypatch, X, (y > 0).astype(int), C=1.0, gamma=0.1, checkpoint="state.npz")[1] == np.float64


@pytest.mark.filterwarnings("ignore:overflow")
@pytest.mark.parametrize("far", [0, 1, 2, 3, 5])
def test_a_point_beyond_single_precision_is_named(far):
    """Values that are not finite must not pass for values, wherever they are written to."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3000, 3))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    X[far, 0] = 1e40
    with pytest.raises(KernelError, match=f"points .*{far}.* finite"):
        SVC(random_state=0).fit(X, y)


@pytest.mark.parametrize("size", [1e-20, 1e30])
def test_units_change_nothing(size):
    rng = np.random.default_rng(0)
    X = np.abs(rng.standard_normal((3000, 3)))
    y = (X[:, 0] > X[:, 1]).astype(int)
    here, there = (SVC(random_state=0).fit(scale * X, y) for scale in (1.0, size))
    np.testing.assert_allclose(there.decision_function(size * X), here.decision_function(X), atol=0.05)
