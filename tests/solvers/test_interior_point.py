"""The interior-point method and the crossover from it, against LIBSVM and the optimality conditions."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import svm

from problems import gaussian_gram, noisy_blobs
from slackwater.solvers import _dual_loops
from slackwater.solvers.coupling import Balanced, Free
from slackwater.solvers.crossover import Rows, factorised
from slackwater.solvers.interior_point import solve_interior


def problem(seed, n=80, C=3.0):
    X, labels = noisy_blobs(n, seed)
    upper = C * np.random.default_rng(seed).uniform(0.5, 2.0, n)
    return gaussian_gram(X, 0.5), labels.astype(np.int8), upper


def dual_objective(gram, labels, alpha):
    signed = labels * alpha
    return alpha.sum() - 0.5 * signed @ gram @ signed


def scaled_columns(n=200, seed=0):
    """A linear kernel of features with deviations from 1e-3 to 1e4: steps on pairs would take millions."""
    rng = np.random.default_rng(seed)
    Z = rng.standard_normal((n, 8))
    labels = np.where(Z.sum(axis=1) + rng.standard_normal(n) > 0.0, 1, -1).astype(np.int8)
    X = Z * np.logspace(-3, 4, 8)
    return X @ X.T, labels, np.ones(n)


@pytest.mark.parametrize("seed", range(8))
def test_the_objective_with_a_bias_is_that_of_libsvm(seed):
    gram, labels, upper = problem(seed)
    alpha = factorised(gram, free_bias=True).optimum(labels, upper)
    best = svm.SVC(C=1.0, kernel="precomputed", tol=1e-8).fit(gram, labels, sample_weight=upper)
    expected = np.zeros(len(labels))
    expected[best.support_] = np.abs(best.dual_coef_[0])
    assert dual_objective(gram, labels, alpha) == pytest.approx(dual_objective(gram, labels, expected), rel=1e-7)


@pytest.mark.parametrize("seed", range(8))
def test_without_a_bias_the_optimality_conditions_hold(seed):
    gram, labels, upper = problem(seed)
    alpha = factorised(gram, free_bias=False).optimum(labels, upper)
    shortfall = 1.0 - labels * (gram @ (labels * alpha))
    # Bounds are taken for reached where their multipliers say so; no single variable would gain by moving back.
    assert Free().violations(labels, upper, alpha, shortfall).largest <= 1e-4


@pytest.mark.parametrize("free_bias", [False, True])
def test_examples_of_weight_zero_are_left_out_of_the_optimum_of_the_others(free_bias):
    gram, labels, upper = problem(3)
    kept = np.arange(len(labels)) % 5 != 0
    upper[~kept] = 0.0
    alpha = factorised(gram, free_bias).optimum(labels, upper)
    own = factorised(gram[np.ix_(kept, kept)], free_bias).optimum(labels[kept], upper[kept])
    assert (alpha[~kept] == 0.0).all()
    expected = dual_objective(gram[np.ix_(kept, kept)], labels[kept], own)
    assert dual_objective(gram, labels, alpha) == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize("make", [lambda: problem(0), scaled_columns])
def test_the_point_is_feasible(make):
    gram, labels, upper = make()
    alpha = factorised(gram, free_bias=True).optimum(labels, upper)
    assert (alpha >= 0.0).all()
    assert (alpha <= upper).all()
    assert abs(labels @ alpha) <= 1e-12 * alpha.sum()


def test_few_steps_on_pairs_are_left_where_from_zero_they_would_be_millions():
    gram, labels, upper = scaled_columns()
    n = len(labels)
    alpha = factorised(gram, free_bias=True).optimum(labels, upper)
    shortfall = 1.0 - labels * (gram @ (labels * alpha))
    assert _dual_loops.solve_pairs(gram, labels, upper, alpha, shortfall, 1e-3, 100 * n) <= 5 * n
    shortfall = 1.0 - labels * (gram @ (labels * alpha))
    assert Balanced().violations(labels, upper, alpha, shortfall).largest <= 2e-3
    zero, ones = np.zeros(n), np.ones(n)
    assert _dual_loops.solve_pairs(gram, labels, upper, zero, ones, 1e-3, 1000 * n) == 1000 * n
    assert dual_objective(gram, labels, zero) < 0.5 * dual_objective(gram, labels, alpha)


def test_rank_is_that_of_the_features_less_what_is_rounding():
    gram, _, _ = scaled_columns()
    assert factorised(gram, free_bias=False).rank == 8
    far = np.random.default_rng(0).normal(100, 1, (100, 2))
    assert factorised(far @ far.T, free_bias=True).rank == 2 + 1  # the mean leaves a residual of rounding


def test_the_factor_is_that_of_the_centred_matrix():
    gram, _, _ = problem(0)
    factor = factorised(gram, free_bias=True)
    centring = np.eye(len(gram)) - 1.0 / len(gram)
    np.testing.assert_allclose(factor.rows.values @ factor.rows.values.T, centring @ gram @ centring, atol=1e-12)


def test_a_matrix_of_zeros_has_no_optimum_to_go_to():
    labels = np.array([1, 1, -1, -1], dtype=np.int8)
    assert factorised(np.zeros((4, 4)), free_bias=True).optimum(labels, np.ones(4)) is None


def test_it_ends_when_it_is_cut_short():
    gram, labels, upper = scaled_columns()
    asked = []

    def cut_short():
        asked.append(1)
        return len(asked) == 3

    factor = factorised(gram, free_bias=True)
    signed = Rows(labels[:, None] * factor.rows.values)
    found = solve_interior(signed, factor.noise, upper, labels.astype(float), cut_short)
    assert len(asked) == 3
    assert ((found.alpha > 0.0) & (found.alpha < upper)).all()
