"""Kernel values against scikit-learn's."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics.pairwise import rbf_kernel

from sbp_paper.experiments import gaussian
from sbp_paper.experiments.gaussian import combinations, kernel_matrix


@pytest.fixture(params=["dense", "narrow sparse", "wide sparse"])
def points(request, monkeypatch):
    X = np.random.default_rng(0).standard_normal((50, 7)) * (np.random.default_rng(1).random((50, 7)) < 0.4)
    monkeypatch.setattr(gaussian, "_TILE", 60)  # several tiles
    monkeypatch.setattr(gaussian, "_NARROW", 0 if request.param == "wide sparse" else 1000)
    return X if request.param == "dense" else sparse.csr_matrix(X)


@pytest.mark.parametrize(("dtype", "accuracy"), [(np.float32, 1e-6), (np.float64, 1e-14)])
def test_the_matrix_is_scikit_learns(points, dtype, accuracy):
    found = kernel_matrix(points.astype(dtype), 0.3)
    assert found.dtype == dtype
    np.testing.assert_allclose(found, rbf_kernel(points, gamma=0.3), atol=accuracy)
    np.testing.assert_array_equal(found.diagonal(), 1.0)


def test_combinations_are_products_with_the_matrix(points):
    coefficients = np.random.default_rng(2).standard_normal((3, 20))
    expected = rbf_kernel(points, points[:20], gamma=0.3) @ coefficients.T
    np.testing.assert_allclose(combinations(points, points[:20], coefficients, 0.3), expected, atol=1e-13)
