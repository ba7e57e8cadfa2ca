"""Table 1 and the theorems of the appendix as functions; and the last appendix's warning, in numbers."""

from __future__ import annotations

import doctest

import numpy as np
import pytest
from sklearn.svm import LinearSVC

from sbp_paper import theory
from sbp_paper.theory import METHODS, dual_accuracy_needed, learning_runtime, mistake_bound


def evaluations(method, loss, norm, epsilon):
    return learning_runtime(method, loss, norm, epsilon).kernel_evaluations


@pytest.mark.parametrize(
    ("method", "power_of_q", "power_of_epsilon"),
    [("sbp", 3, 1), ("perceptron", 3, 1), ("dual_decomposition", 2, 2), ("sgd", 1, 3)],
)
def test_orders_are_those_of_table_1(method, power_of_q, power_of_epsilon):
    for loss, norm, epsilon in [(0.0, 3.0, 0.1), (0.2, 5.0, 0.01), (0.05, 2.0, 0.3)]:
        q = (loss + epsilon) / epsilon
        expected = q**power_of_q * norm**4 / epsilon**power_of_epsilon
        assert evaluations(method, loss, norm, epsilon) == pytest.approx(expected)


def test_where_a_constant_factor_is_enough_the_sbp_is_the_cheapest_and_matched_by_the_perceptron():
    found = {method: evaluations(method, 0.01, 20.0, 0.01) for method in METHODS}
    assert found["sbp"] == pytest.approx(found["perceptron"])
    assert found["sbp"] < found["dual_decomposition"] < found["sgd"] <= found["pegasos"] < found["sdca"]


def test_pegasos_takes_the_better_of_its_two_analyses():
    easy, hard = (0.0, 3.0, 0.1), (0.5, 3.0, 0.01)
    assert evaluations("pegasos", *easy) == pytest.approx(3.0**4 / 0.1**3)
    assert evaluations("pegasos", *hard) == pytest.approx(3.0**4 / 0.01**4)


def test_support_is_that_of_the_theorems_and_never_more_than_steps():
    for method in METHODS:
        found = learning_runtime(method, 0.05, 4.0, 0.02, radius=1.5)
        assert found.support <= found.iterations * (1 + 1e-12)
    q = (0.05 + 0.02) / 0.02
    assert learning_runtime("sbp", 0.05, 4.0, 0.02).support == pytest.approx(q**2 * 16.0)
    assert learning_runtime("pegasos", 0.05, 4.0, 0.02).support == pytest.approx(16.0 / 0.02**2)


def test_the_radius_enters_as_the_theorems_say():
    def ratio(method):
        one, two = (learning_runtime(method, 0.0, 3.0, 0.1, radius=r).kernel_evaluations for r in (1.0, 2.0))
        return two / one

    assert ratio("sbp") == pytest.approx(2.0**3)
    assert ratio("perceptron") == pytest.approx(2.0**4)
    assert ratio("sgd") == pytest.approx(2.0**3)


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        (("newton", 0.1, 1.0, 0.1), "method must be one of sbp"),
        (("sbp", -0.1, 1.0, 0.1), "loss must be"),
        (("sbp", 0.1, 0.0, 0.1), "norm must be"),
        (("sbp", 0.1, 1.0, float("nan")), "epsilon must be"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments, match):
    with pytest.raises(ValueError, match=match):
        learning_runtime(*arguments)


def test_mistake_bound_without_loss_is_the_classical_one():
    assert mistake_bound(0.0, 4.0, 2.0) == 64.0
    assert mistake_bound(9.0, 4.0) == pytest.approx(9.0 + 12.0 + 16.0)


@pytest.mark.parametrize("epsilon", [0.3, 0.1, 0.01, 0.001])
def test_a_dual_solution_can_be_accurate_and_its_primal_useless(epsilon):
    """Lemma E.1 in numbers: u of norm 1 without loss, λ = 2ε; α = 0 is ε-accurate in the dual, w = 0 off by 1 - ε."""
    rng = np.random.default_rng(0)
    n = 60
    labels = np.where(np.arange(n) % 2, 1, -1).astype(np.int8)
    X = rng.standard_normal((n, 4))
    X[:, 0] = labels * rng.uniform(1.0, 1.5, n)  # u = (1, 0, 0, 0): y <u, x> >= 1
    assert (labels * X[:, 0]).min() >= 1.0
    lam = 2.0 * epsilon
    peer = LinearSVC(C=1.0 / (lam * n), loss="hinge", fit_intercept=False, tol=1e-9, max_iter=1_000_000)
    w = peer.fit(X, labels).coef_[0]
    best = 0.5 * lam * w @ w + np.maximum(0.0, 1.0 - labels * (X @ w)).mean()  # P* of the regularised form
    primal, dual = 1.0, 0.0  # of w = 0 and α = 0
    assert best - dual <= epsilon * (1 + 1e-6)  # accurate in the dual
    assert primal - best >= 1.0 - epsilon * (1 + 1e-6)  # and useless in the primal
    assert dual_accuracy_needed(1.0 - epsilon, lam) < epsilon  # no contradiction to Theorem E.2


def test_the_example_of_the_documentation_holds():
    result = doctest.testmod(theory)
    assert result.attempted > 0
    assert result.failed == 0
