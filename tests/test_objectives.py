"""Losses and bounds; and that the four formulations have one solution under the parameters said to belong together."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import svm

from problems import gaussian_gram, noisy_blobs
from reference.optimum import norm_ball_optimum, regularised_optimum, slack_constrained_optimum, solve_dual
from slackwater.objectives import (
    equivalent_parameters,
    feasible_scale,
    lambda_from_c,
    mean_hinge,
)


def cosine(left, right, signed):
    return left @ signed @ right / np.sqrt((left @ signed @ left) * (right @ signed @ right))


def example(seed, n=35):
    X, labels = noisy_blobs(n, seed, shift=0.7)
    gram = gaussian_gram(X, 0.5)
    weights = np.random.default_rng(seed).integers(1, 4, n).astype(float) if seed % 2 else None
    return gram, labels, labels[:, None] * gram * labels[None, :], weights


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("C", [0.3, 3.0])
def test_from_c_to_the_other_three_and_back(seed, C):
    gram, labels, signed, weights = example(seed)
    total = len(labels) if weights is None else weights.sum()
    alpha = regularised_optimum(gram, labels, C, weights).alpha
    found = equivalent_parameters(alpha, signed @ alpha, alpha @ signed @ alpha, weights)
    assert pytest.approx(C, rel=1e-3) == found.C
    assert found.lam == pytest.approx(1 / (C * total), rel=1e-3)

    ball = norm_ball_optimum(gram, labels, found.radius, weights)
    assert ball.upper - ball.lower <= 1e-5
    assert cosine(alpha, ball.alpha, signed) >= 1 - 1e-4
    assert mean_hinge(signed @ alpha, weights) == pytest.approx(ball.upper, rel=1e-3)

    omega = np.ones(len(labels)) if weights is None else weights
    p = solve_dual(signed + 1e-14 * np.eye(len(labels)), labels, found.nu * total, omega, False)
    margin = slack_constrained_optimum(gram, labels, found.nu * total, weights)
    assert cosine(alpha, p, signed) >= 1 - 1e-4
    assert 1 / found.radius == pytest.approx(margin.upper, rel=1e-3)  # w scaled to the margin 1 has the norm 1/f*

    scaled = p / margin.upper / np.sqrt(p @ signed @ p)  # from the slack-constrained solution back to C
    back = equivalent_parameters(scaled, signed @ scaled, scaled @ signed @ scaled, weights)
    np.testing.assert_allclose(back, found, rtol=0.02)
    from_ball = equivalent_parameters(ball.alpha, signed @ ball.alpha, ball.alpha @ signed @ ball.alpha, weights)
    np.testing.assert_allclose(from_ball, found, rtol=0.02)


@pytest.mark.parametrize("seed", [0, 2])
def test_with_a_bias_nu_of_scikit_learn_s_solution_has_the_same_direction(seed):
    gram, labels, signed, _ = example(seed)
    n = len(labels)
    model = svm.SVC(C=1.0, kernel="precomputed", tol=1e-9).fit(gram, labels)
    alpha = np.zeros(n)
    alpha[model.support_] = np.abs(model.dual_coef_[0])
    found = equivalent_parameters(alpha, labels * model.decision_function(gram), alpha @ signed @ alpha)
    assert pytest.approx(1.0, rel=1e-6) == found.C
    p = solve_dual(signed + 1e-14 * np.eye(n), labels, found.nu * n, np.ones(n), True)
    assert cosine(alpha, p, signed) >= 1 - 1e-4
    optimum = slack_constrained_optimum(gram, labels, found.nu * n, bias=True)
    assert 1 / found.radius == pytest.approx(optimum.upper, rel=1e-3)


def test_lambda_is_the_inverse_of_c_times_the_weight():
    assert lambda_from_c(2.0, 50.0) == pytest.approx(0.01)


def test_without_a_solution_there_are_no_parameters():
    with pytest.raises(ValueError, match="squared_norm must be > 0"):
        equivalent_parameters(np.zeros(3), np.zeros(3), 0.0)


def test_mean_hinge_weighs_its_examples():
    margins = np.array([-1.0, 0.5, 2.0])
    assert mean_hinge(margins) == pytest.approx(2.5 / 3)
    assert mean_hinge(margins, np.array([0.0, 2.0, 2.0])) == pytest.approx(0.25)


def test_feasible_scale_makes_the_largest_coefficient_reach_its_share():
    coefficients = np.array([0.0, 2.0, 1.0])
    assert feasible_scale(coefficients) == pytest.approx(1 / 6)
    weights = np.array([1.0, 4.0, 1.0])
    scale = feasible_scale(coefficients, weights)
    assert (scale * coefficients <= weights / 6 + 1e-15).all()
    assert (scale * coefficients)[2] == pytest.approx(1 / 6)
    assert feasible_scale(np.zeros(2)) == np.inf
