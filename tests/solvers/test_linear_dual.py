"""Dual coordinate descent over features: LIBLINEAR's optimum, and a model at any moment."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.svm import LinearSVC

from problems import noisy_blobs
from slackwater.deadline import Clock, CutShort, Deadline, working_until
from slackwater.solvers.linear_dual import LinearDual


def plain_visit(rows, labels, upper, alpha, w, visited):
    """A step on each of some examples."""
    for i in visited:
        gradient = labels[i] * (rows[i] @ w) - 1.0
        value = min(max(alpha[i] - gradient / (rows[i] @ rows[i]), 0.0), upper[i])
        w += (value - alpha[i]) * labels[i] * rows[i]
        alpha[i] = value


def examples(seed=0, n=200):
    X, labels = noisy_blobs(n, seed)
    weights = np.random.default_rng(seed).integers(1, 4, n).astype(float)
    return X, labels, weights


def solved(X, labels, upper, tol=1e-8, seed=0):
    problem, rng = LinearDual(labels, upper, X.shape[1]), np.random.default_rng(seed)
    squared = (X**2).sum(axis=1)
    for _ in range(5_000_000):
        problem.go_through(X, squared, tol, rng)
        if problem.converged:
            return problem
    raise AssertionError("not converged after 5,000,000 passes")


def objective(w, X, labels, upper):
    return 0.5 * w @ w + upper @ np.maximum(0.0, 1.0 - labels * (X @ w))


def test_steps_are_those_of_the_plain_twin():
    X, labels, weights = examples()
    problem = LinearDual(labels, 2.0 * weights, 2)
    problem.visit(X, (X**2).sum(axis=1), 0, 200)
    alpha, w = np.zeros(200), np.zeros(2)
    plain_visit(X, labels, 2.0 * weights, alpha, w, range(200))
    np.testing.assert_allclose(problem._alpha, alpha, atol=1e-12)
    np.testing.assert_allclose(problem._w, w, atol=1e-12)


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("seed", [0, 1])
def test_the_optimum_is_that_of_liblinear(C, seed):
    X, labels, weights = examples(seed)
    theirs = LinearSVC(C=C, loss="hinge", fit_intercept=False, tol=1e-10, max_iter=10**6).fit(X, labels, weights)
    ours = objective(solved(X, labels, C * weights).w, X, labels, C * weights)
    assert ours == pytest.approx(objective(theirs.coef_[0], X, labels, C * weights), rel=1e-6)


def test_before_it_has_converged_the_model_is_a_mean_that_swings_less():
    X, labels, weights = examples(n=2000)
    best = objective(solved(X, labels, 100.0 * weights, tol=1e-3).w, X, labels, 100.0 * weights)
    problem, rng = LinearDual(labels, 100.0 * weights, 2), np.random.default_rng(0)
    means, lasts = [], []
    for _ in range(20):
        problem.go_through(X, (X**2).sum(axis=1), 1e-12, rng)
        means.append(objective(problem.w, X, labels, 100.0 * weights) / best)
        lasts.append(objective(problem._w, X, labels, 100.0 * weights) / best)
    assert not problem.converged
    assert np.mean(means) < np.mean(lasts)


def test_a_pass_that_is_cut_short_leaves_a_feasible_point():
    X, labels, weights = examples()
    problem = solved(X, labels, weights, tol=1.0)
    problem.converged = False
    before = problem._alpha.copy()
    deadline = Deadline(Clock(), 0.0)
    with working_until(deadline), pytest.raises(CutShort):
        problem.go_through(X, (X**2).sum(axis=1), 1e-12, np.random.default_rng(0))
    np.testing.assert_array_equal(problem._alpha, before)
    np.testing.assert_allclose(problem._w, (problem._alpha * labels) @ X, atol=1e-12)


def test_an_example_that_is_all_zero_does_no_harm():
    X, labels, weights = examples()
    X[3] = 0.0
    problem = solved(X, labels, weights)
    others = np.arange(len(labels)) != 3
    np.testing.assert_allclose(problem.w, solved(X[others], labels[others], weights[others]).w, atol=1e-6)
    assert problem._alpha[3] == weights[3]
