"""Functions of a linear kernel by their weights, against sums of inner products and exact fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

from slackwater import SVC
from slackwater.linear_functions import LinearFunctions, weighted_sums
from slackwater.points import as_points
from slackwater.workers import Workers


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix])
def test_values_are_sums_of_inner_products(container):
    rng = np.random.default_rng(0)
    support, X = rng.standard_normal((300, 7)), rng.standard_normal((50, 7))
    coefficients = rng.standard_normal((3, 300))
    functions = LinearFunctions(as_points(container(support)))
    found = functions.values(as_points(container(X)), coefficients, Workers())
    np.testing.assert_allclose(found, X @ support.T @ coefficients.T, rtol=1e-9, atol=1e-10)
    other = functions.values(as_points(container(X)), -coefficients[:1], Workers())  # not the weights kept
    np.testing.assert_allclose(other[:, 0], -found[:, 0])


def test_terms_that_cancel_leave_weights_that_are_right_to_the_last_digits():
    """As of raw features and a large C."""
    rng = np.random.default_rng(0)
    support, coefficients = rng.uniform(2000.0, 4000.0, (20_000, 2)), rng.choice([-1000.0, 1000.0], (1, 20_000))
    exact = [
        float(sum(Fraction(a) * Fraction(x) for a, x in zip(coefficients[0].tolist(), column.tolist(), strict=True)))
        for column in support.T
    ]
    found = weighted_sums(as_points(support), coefficients)[0]
    assert np.abs(found - exact).max() <= 1e-7 < np.abs(coefficients[0] @ support - exact).max()


@pytest.mark.parametrize("n_classes", [2, 4])
def test_decision_values_of_a_linear_model_are_those_of_its_weights(n_classes):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((400, 5)), rng.integers(n_classes, size=400)
    model = SVC(kernel="linear", decision_function_shape="ovo").fit(X, y)
    values = X @ model.coef_.T + model.intercept_
    np.testing.assert_allclose(model.decision_function(X), values[:, 0] if n_classes == 2 else values, atol=1e-9)
