"""Points with less precision where it does not tell, and with all of it where it does."""

from __future__ import annotations

import numpy as np
import pytest

from slackwater.gram.features import Features
from slackwater.gram.ledger import EvaluationLedger
from slackwater.kernels import Gaussian
from slackwater.points import DensePoints
from slackwater.workers import Workers


def features_of(X, gamma):
    return Features(Gaussian(gamma), DensePoints(X), EvaluationLedger(), Workers(), 10**6, 0, np.arange(len(X)))


def test_coordinates_that_cancel_stay_double_while_kernel_values_become_single():
    rng = np.random.default_rng(0)
    X = rng.choice([-5000.0, 5000.0], (60, 1)) + rng.random((60, 3))
    single = features_of(X, 2.0).to_single_precision()
    values = single.columns(np.arange(60))
    assert values.dtype == np.float32
    assert single.points.values.dtype == np.float64
    exact = np.exp(-2.0 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    np.testing.assert_allclose(values, exact, atol=1e-6)
    part = single.part(np.array([3, 9]))
    assert part.points.dtype == np.float32
    np.testing.assert_allclose(part.columns(np.array([1]))[:, 0], exact[[3, 9], 9], atol=1e-6)
    everyone = np.arange(60)
    np.testing.assert_allclose(single.values(everyone, everyone, np.ones((1, 60)))[:, 0], exact.sum(axis=1), atol=1e-5)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_points_far_from_the_origin_are_moved_to_their_middle(dtype):
    rng = np.random.default_rng(0)
    X = (5000.0 + rng.integers(0, 40, (60, 3)) / 16.0).astype(dtype)  # in single precision, too, without error
    single = features_of(X, 2.0).to_single_precision()
    assert single.points.values.dtype == np.float32
    assert np.abs(single.points.values).max() < 4.0
    exact = np.exp(-2.0 * ((X[:, None].astype(float) - X[None]) ** 2).sum(axis=2))
    np.testing.assert_allclose(single.columns(np.arange(60)), exact, atol=2e-6)


def test_other_coordinates_become_single():
    X = np.random.default_rng(0).random((60, 3))
    single = features_of(X, 2.0).to_single_precision()
    assert single.points.values.dtype == np.float32
    np.testing.assert_allclose(single.columns(np.arange(5)), features_of(X, 2.0).columns(np.arange(5)), atol=1e-6)


def test_what_is_single_is_left_as_it_is():
    features = features_of(np.random.default_rng(0).random((60, 3)).astype(np.float32), 2.0)
    assert features.to_single_precision() is features
