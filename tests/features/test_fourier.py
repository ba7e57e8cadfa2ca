"""Random Fourier features against the kernel they approximate."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics.pairwise import rbf_kernel

from slackwater.features.fourier import FourierMap


@pytest.fixture(scope="module")
def points():
    return np.random.default_rng(0).standard_normal((60, 5))


def typical_error(X, gamma, pairs, repetitions=20):
    """Root mean square of <P(x), P(z)> - K(x, z) over pairs of points and draws of the map."""
    K = rbf_kernel(X, gamma=gamma)
    squares = []
    for seed in range(repetitions):
        features = FourierMap.drawn(X.shape[1], pairs, gamma, np.random.default_rng(seed)).transform(X)
        squares.append(((features @ features.T - K) ** 2).mean())
    return np.sqrt(np.mean(squares))


@pytest.mark.parametrize("gamma", [0.05, 0.5])
def test_inner_products_approach_the_kernel_at_the_rate_of_an_average(points, gamma):
    """An inner product is a mean of k independent cosines: sixteen times as many pairs, a quarter of the error."""
    errors = {pairs: typical_error(points, gamma, pairs) for pairs in (16, 256, 4096)}
    assert errors[16] / errors[256] == pytest.approx(4.0, rel=0.25)
    assert errors[256] / errors[4096] == pytest.approx(4.0, rel=0.25)


def test_the_error_has_the_variance_of_a_cosine(points):
    """Var cos<v, d>/σ = (1 + K⁴)/2 - K², for the K of the pair (Rahimi and Recht's mean of cosines)."""
    K = rbf_kernel(points, gamma=0.3)
    expected = np.sqrt(np.mean((1 + K**4) / 2 - K**2) / 64)
    assert typical_error(points, 0.3, 64, repetitions=60) == pytest.approx(expected, rel=0.2)


def test_every_point_has_length_one(points):
    features = FourierMap.drawn(5, 7, 0.5, np.random.default_rng(0)).transform(points)
    np.testing.assert_allclose((features**2).sum(axis=1), 1.0, rtol=1e-12)


def test_the_map_is_that_of_the_appendix(points):
    directions = np.random.default_rng(3).standard_normal((5, 4))
    features = FourierMap.drawn(5, 4, 1 / (2 * 1.7**2), np.random.default_rng(3)).transform(points)
    for i in range(4):
        np.testing.assert_allclose(
            features[:, 2 * i], np.cos(points @ directions[:, i] / 1.7) / 2, rtol=1e-10, atol=1e-12
        )
        np.testing.assert_allclose(features[:, 2 * i + 1], np.sin(points @ directions[:, i] / 1.7) / 2, atol=1e-12)


def test_sparse_rows_and_single_precision_give_the_same_features(points):
    fourier = FourierMap.drawn(5, 30, 0.5, np.random.default_rng(0))
    dense = fourier.transform(points)
    np.testing.assert_allclose(fourier.transform(sparse.csr_matrix(points)), dense, atol=1e-12)
    single = fourier.transform(points.astype(np.float32))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, dense, atol=1e-5)
