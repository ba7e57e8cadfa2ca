"""A sketch keeps the kernel values of points that have few telling dimensions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from slackwater.gram.features import Features
from slackwater.gram.ledger import EvaluationLedger
from slackwater.gram.sketch import sketched
from slackwater.kernels import Gaussian, Linear, as_points
from slackwater.workers import Workers


def features_of(X, kernel=None) -> Features:
    return Features(kernel or Gaussian(0.01), as_points(X), EvaluationLedger(), Workers(), 2**20, 2**20)


def flat_cloud(n=500, d=200, telling=150, noise=0.01) -> np.ndarray:
    rng = np.random.default_rng(0)
    fading = np.arange(1, telling + 1) ** -0.9  # each dimension tells less than the one before
    return (
        (fading * rng.normal(size=(n, telling))) @ rng.normal(size=(telling, d)) + noise * rng.normal(size=(n, d)) + 4.0
    )


def test_kernel_values_of_a_sketch_are_nearly_those_of_the_points():
    features = features_of(flat_cloud())
    sketch = sketched(features, np.arange(500))
    assert sketch is not None
    assert sketch.points.n_features <= 200 // 6
    others, support = np.arange(100, 500), np.arange(100)
    coefficients = np.random.default_rng(1).standard_normal((2, 100))
    exact = features.values(others, support, coefficients)
    near = sketch.values(others, support, coefficients)
    assert np.sqrt(np.mean((exact - near) ** 2)) < 0.25 * exact.std()


def test_every_value_of_a_sketch_is_charged():
    features = features_of(flat_cloud())
    sketch = sketched(features, np.arange(500))
    before = features.ledger.train
    sketch.values(np.arange(50), np.arange(7), np.ones((1, 7)))
    assert features.ledger.train - before == 350


@pytest.mark.parametrize(
    "features",
    [
        features_of(np.random.default_rng(0).normal(size=(500, 200))),
        features_of(flat_cloud(d=60)),
        features_of(flat_cloud(), Linear()),
        features_of(sparse.csr_matrix(flat_cloud())),
    ],
    ids=["no telling dimensions", "few dimensions anyway", "not a Gaussian", "sparse"],
)
def test_no_sketch_where_it_would_not_pay(features):
    assert sketched(features, np.arange(500)) is None
