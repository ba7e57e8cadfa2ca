"""Centred points, by their products, against the matrix that they stand for."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from slackwater.points import as_points
from slackwater.points.centred import CentredPoints
from slackwater.workers import Workers


def rows(kind, n=5000, d=40):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d)) + 50.0
    if kind == "sparse":
        return sparse.csr_matrix(np.where(rng.random((n, d)) < 0.1, X, 0.0))
    return X.astype(kind)


@pytest.mark.parametrize("centred", [False, True])
@pytest.mark.parametrize("kind", [np.float32, np.float64, "sparse"])
def test_products_are_those_of_the_matrix_less_its_mean(kind, centred):
    X = rows(kind)
    G = np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=np.float64)
    G = G - G.mean(axis=0) if centred else G
    points = CentredPoints(as_points(X), Workers(), centred)
    rng = np.random.default_rng(1)
    weights, alpha = rng.standard_normal(G.shape[1]), rng.random(len(G))
    assert points.rank == G.shape[1]
    assert points.mean_square == pytest.approx((G**2).sum(axis=1).mean())
    np.testing.assert_allclose(points.times(weights), G @ weights, atol=1e-9)
    np.testing.assert_allclose(points.transposed_times(alpha), G.T @ alpha, rtol=1e-9, atol=1e-7)
    np.testing.assert_allclose(points.weighted_square(alpha), G.T @ (G * alpha[:, None]), rtol=1e-9, atol=1e-7)


def test_sums_do_not_depend_on_the_number_of_threads():
    X, alpha = rows(np.float64, n=20_000), np.random.default_rng(1).random(20_000)
    alone = CentredPoints(as_points(X), Workers(), True)
    with Workers(3) as workers:
        together = CentredPoints(as_points(X), workers, True)
        np.testing.assert_array_equal(together.weighted_square(alpha), alone.weighted_square(alpha))
        np.testing.assert_array_equal(together.transposed_times(alpha), alone.transposed_times(alpha))
