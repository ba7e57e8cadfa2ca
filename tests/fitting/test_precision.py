"""Every method trains on the fastest rows that are precise enough for it, and on no others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from slackwater import SVC, SBPClassifier, baselines
from slackwater.fitting import precision as training_precision
from slackwater.gram import precision
from slackwater.gram.features import Features
from slackwater.gram.ledger import EvaluationLedger
from slackwater.kernels import Gaussian, Laplacian, _grid_loops, as_points
from slackwater.points import GridPoints
from slackwater.solvers.basins import OneBasin
from slackwater.solvers.sbp import StochasticBatchPerceptron
from slackwater.workers import Workers

pytestmark = pytest.mark.filterwarnings("ignore:training stopped")  # after a few steps
N = 2100
METHODS = {
    "sbp": SBPClassifier(nu=0.05, max_iter=400, tol=0.5),
    "sbp with bias": SBPClassifier(nu=0.05, max_iter=400, tol=0.5, fit_intercept=True),
    "pegasos": baselines.PegasosClassifier(alpha=1e-3, max_iter=400, tol=0.9),
    "norm ball": baselines.NormBallSGDClassifier(radius=5.0, max_iter=400, tol=0.99),
    "sdca": baselines.SDCAClassifier(C=1.0, max_iter=400, tol=0.99),
    "smo": baselines.SMOClassifier(C=1.0, tol=0.3),
    "perceptron": baselines.KernelPerceptron(epochs=1),
    "svc": SVC(C=1.0, tol=0.05, max_kernel_evals=10**12),  # by rows
}


def pixels(dtype: Any) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 256, (N, 70)) / 255
    return X.astype(dtype), np.where(X[:, :35].sum(axis=1) > X[:, 35:].sum(axis=1), 1, -1)


def features_of(X: np.ndarray, kernel: Any = None) -> Features:
    kernel = kernel or Gaussian(0.05)
    return Features(kernel, as_points(X), EvaluationLedger(), Workers(), 2**20, 0, np.arange(len(X)))


@pytest.fixture
def trained_on(monkeypatch: pytest.MonkeyPatch) -> list[Features]:
    """The points that rows are made of, in order."""
    made: list[Features] = []
    original = Features.rows

    def watched(self: Features, *arguments: Any, **options: Any) -> Any:
        made.append(self)
        return original(self, *arguments, **options)

    monkeypatch.setattr(Features, "rows", watched)
    return made


@pytest.mark.skipif(not _grid_loops.available(), reason="no faster product of integers here")
@pytest.mark.parametrize("method", METHODS)
def test_every_method_trains_on_a_grid_to_the_same_model(
    method: str, trained_on: list[Features], monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = pixels(np.float32)
    model = METHODS[method].set_params(gamma=0.05)
    on_grid = model.fit(X, y).decision_function(X)
    assert isinstance(trained_on[-1].points, GridPoints)
    steps = model.n_iter_
    monkeypatch.setattr(_grid_loops, "available", lambda code=None: False)
    by_blas = model.fit(X, y).decision_function(X)
    assert not isinstance(trained_on[-1].points, GridPoints)
    if method in ("smo", "svc"):  # they compare values, and rounding may decide
        assert np.mean(np.sign(on_grid) == np.sign(by_blas)) > 0.995
    else:
        assert model.n_iter_ == steps
        np.testing.assert_allclose(on_grid, by_blas, atol=1e-3 * np.abs(by_blas).max())


@pytest.mark.parametrize("fit", [{}, {"warm_start": True}, {"tol": 0.0}], ids=["tol", "state kept", "no tol"])
def test_double_data_are_rounded_only_for_a_tolerance_that_allows_it(fit: Any, trained_on: list[Features]) -> None:
    X, y = pixels(np.float64)
    X += 1e-3 * np.random.default_rng(1).random(X.shape)  # on no grid
    model = SBPClassifier(**{"nu": 0.05, "gamma": 0.05, "max_iter": 64, "tol": 0.99, **fit})
    model.fit(X, y)
    assert trained_on[-1].points.dtype == (np.float32 if fit == {} else np.float64)


def test_few_examples_keep_the_precision_of_the_data() -> None:
    features = features_of(pixels(np.float32)[0][:500])
    assert precision.fastest(features) is features
    assert precision.precise_enough(features, 1e-9, 1.0) is features


@pytest.mark.parametrize(("norm", "single"), [(1.0, True), (1e3, True), (1e5, False)])
def test_single_precision_is_for_coefficients_whose_rounding_the_tolerance_exceeds(norm: float, single: bool) -> None:
    X = np.random.default_rng(0).random((N, 70))
    features = features_of(X)
    chosen = precision.precise_enough(features, norm, 1e-3)
    assert (chosen.points.dtype == np.float32) is single
    some = np.arange(300)
    error = chosen.columns(some) - features.columns(some)
    coefficients = norm * np.random.default_rng(1).standard_normal(300) / np.sqrt(300)
    off = np.sqrt(np.mean((error @ coefficients) ** 2))
    assert off <= 1e-3


def test_two_bytes_are_for_bounded_kernels_and_a_tenth_of_the_tolerance() -> None:
    X = np.random.default_rng(0).random((N, 3))
    assert precision.may_keep_two_bytes(features_of(X), 10.0, 1e-3)
    assert precision.may_keep_two_bytes(features_of(X, Laplacian(1.0)), 10.0, 1e-3)
    assert not precision.may_keep_two_bytes(features_of(X), 100.0, 1e-3)
    assert not precision.may_keep_two_bytes(features_of(X), None, 1e-3)


def test_the_norm_expected_of_sbp_is_one_it_does_not_exceed() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((N, 2)), rng.integers(0, 2, N)
    for nu, steps in ((0.3, 50), (0.3, 2000), (0.05, 500)):
        model = SBPClassifier(nu=nu, gamma=1.0, max_iter=steps, tol=0.0, average="last")
        model.fit(X, y)
        most = StochasticBatchPerceptron(nu, OneBasin()).coefficient_norm(np.ones(N), steps)
        assert np.linalg.norm(model.dual_coef_) <= most


def test_a_method_that_knows_no_bound_trains_in_the_precision_of_the_data() -> None:
    assert training_precision.coefficient_norm(object(), None, 5) is None  # type: ignore[arg-type]
    assert StochasticBatchPerceptron(0.0, OneBasin()).coefficient_norm(np.ones(3), 5) == np.inf
    assert StochasticBatchPerceptron(0.1, OneBasin()).coefficient_norm(np.ones(3), None) == np.inf
