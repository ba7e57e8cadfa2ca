"""Fewer coordinates keep the kernel values of points that have few telling dimensions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from slackwater.gram.features import Features
from slackwater.gram.ledger import EvaluationLedger
from slackwater.gram.sketch import PrincipalAxes, principal_axes
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


def axes_of(features: Features) -> PrincipalAxes:
    axes = principal_axes(features, np.random.default_rng(0))
    assert axes is not None
    return axes


def worst_of(exact, near) -> float:
    return float(np.sqrt(np.mean((exact - near) ** 2)) / exact.std())


@pytest.mark.parametrize(("form", "share", "error"), [("coarse", 1 / 6, 0.25), ("fine", 0.6, 0.03)])
def test_functions_are_nearly_the_same_in_fewer_coordinates(form, share, error):
    features = features_of(flat_cloud())
    fewer = getattr(axes_of(features), form)()
    assert fewer.points.n_features <= 200 * share
    others, support = np.arange(100, 500), np.arange(100)
    coefficients = np.random.default_rng(1).standard_normal((2, 100))
    exact = features.values(others, support, coefficients)
    assert worst_of(exact, fewer.values(others, support, coefficients)) < error


def test_a_narrower_kernel_takes_more_coordinates():
    wide, narrow = features_of(flat_cloud(), Gaussian(0.003)), features_of(flat_cloud(), Gaussian(0.03))
    assert axes_of(wide).fine().points.n_features < axes_of(narrow).fine().points.n_features


def test_a_point_has_the_kernel_value_one_with_itself_in_fewer_coordinates_too():
    rows = axes_of(features_of(flat_cloud())).fine().rows()
    assert rows.rows([3, 7])[0, 3] == 1.0
    assert rows.source.rows([3, 7], columns=[1, 7, 3])[1, 1] == 1.0


def test_every_value_in_fewer_coordinates_is_charged():
    features = features_of(flat_cloud())
    sketch = axes_of(features).coarse()
    before = features.ledger.train
    sketch.values(np.arange(50), np.arange(7), np.ones((1, 7)))
    assert features.ledger.train - before == 350


def test_coordinates_take_no_more_memory_than_rows_may():
    axes = axes_of(replace(features_of(flat_cloud()), cache_bytes=2**10))
    assert axes.coarse() is None
    assert axes.fine() is None


def test_all_coordinates_are_used_where_all_of_them_tell():
    axes = axes_of(features_of(np.random.default_rng(0).normal(size=(500, 200))))
    assert axes.coarse() is None
    assert axes.fine() is None


@pytest.mark.parametrize(
    "features",
    [features_of(flat_cloud(d=60)), features_of(flat_cloud(), Linear()), features_of(sparse.csr_matrix(flat_cloud()))],
    ids=["few dimensions anyway", "not a Gaussian", "sparse"],
)
def test_no_axes_where_they_would_not_pay(features):
    assert principal_axes(features, np.random.default_rng(0)) is None
