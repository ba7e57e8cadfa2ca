"""The best function of a span, against SciPy."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import solve_triangular
from scipy.optimize import minimize as scipy_minimize
from scipy.optimize import minimize_scalar
from sklearn import svm

from problems import gaussian_gram, noisy_blobs
from slackwater.solvers.coupling import Scaling
from slackwater.training import spanning
from slackwater.training.newton import _search, losses_of_parts, minimise
from slackwater.training.span import (
    Basis,
    SpanModel,
    SpanProblem,
    fades,
    independent_basis,
    make_orthonormal,
    smooth_basis,
)
from slackwater.training.spanning import Shortage, _projected
from slackwater.workers import Workers


def span_problem(n=300, m=20, C=1.0, free_bias=True, dtype=np.float64, seed=0):
    X, labels = noisy_blobs(n, seed)
    gram = gaussian_gram(X, 0.5)
    basis = independent_basis(gram[:m, :m])
    columns = np.ascontiguousarray(gram[:, basis.members].astype(dtype))
    make_orthonormal(columns, basis, Workers())
    return gram, basis, SpanProblem(columns, labels, np.full(n, C), free_bias, Workers())


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-6), (np.float32, 2e-3)])
def test_coordinates_reproduce_the_kernel_of_the_span(dtype, tolerance):
    gram, basis, problem = span_problem(dtype=dtype)
    chosen = gram[:, basis.members]
    projected = chosen @ np.linalg.solve(gram[np.ix_(basis.members, basis.members)], chosen.T)
    np.testing.assert_allclose(problem.features @ problem.features.T, projected, atol=tolerance)


@pytest.mark.parametrize("m", [1, 63, 64, 65, 150])
def test_coordinates_solve_the_triangular_system(m):
    rng = np.random.default_rng(m)
    root = rng.standard_normal((m, m + 5))
    basis = Basis(np.arange(m), np.linalg.cholesky(root @ root.T))
    columns = rng.standard_normal((5000, m))
    expected = solve_triangular(basis.factor, columns.T, lower=True).T
    with Workers(2) as workers:
        make_orthonormal(columns, basis, workers)
    np.testing.assert_allclose(columns, expected, rtol=1e-8, atol=1e-8 * np.abs(expected).max())


def test_points_that_add_nothing_do_not_join():
    X, _ = noisy_blobs(30, 0)
    gram = gaussian_gram(np.concatenate([X, X]), 0.5)
    basis = independent_basis(gram)
    assert len(basis.members) <= 30
    assert len({int(k) % 30 for k in basis.members}) == len(basis.members)


def test_a_smooth_kernel_is_spanned_by_few_points():
    X = np.random.default_rng(0).uniform(0, 3, (500, 2))
    gram = gaussian_gram(X, 2.0)
    assert fades(gram)
    found = smooth_basis(gram, 200)
    assert found is not None
    basis = found.basis
    chosen = gram[:, basis.members]
    np.testing.assert_allclose(basis.factor @ basis.factor.T, chosen[basis.members], atol=1e-10)
    left_out = 1.0 - np.einsum("ij,ji->i", chosen, np.linalg.lstsq(chosen[basis.members], chosen.T, rcond=None)[0])
    assert left_out.mean() <= 1e-3
    assert smooth_basis(gram, 20) is None  # it takes more


def test_detail_without_end_is_not_smooth():
    gram = gaussian_gram(np.random.default_rng(0).normal(size=(500, 30)), 0.02)
    assert not fades(gram)
    assert smooth_basis(gram, 400) is None


def test_points_that_fade_too_slowly_are_not_worth_a_try():
    """Smooth, but so many points would be needed that looking for them costs more than it may gain."""
    assert not fades(gaussian_gram(np.random.default_rng(0).uniform(-1, 1, (512, 6)), 0.5))
    assert fades(gaussian_gram(np.random.default_rng(0).uniform(0, 8, (512, 2)), 4.0))


def test_coefficients_of_the_points_give_the_same_function():
    gram, basis, problem = span_problem()
    model = SpanModel(np.random.default_rng(0).standard_normal(len(basis.members)), 0.3)
    by_points = gram[:, basis.members] @ basis.coefficients(model.weights) + 0.3
    np.testing.assert_allclose(problem.values(model), by_points, atol=1e-4)


@pytest.mark.parametrize("free_bias", [True, False])
@pytest.mark.parametrize("C", [0.1, 10.0])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_newton_reaches_the_minimum_of_the_rounded_objective(free_bias, C, dtype):
    _, basis, problem = span_problem(C=C, free_bias=free_bias, dtype=dtype)
    width = 0.5

    def cost(packed):
        values = problem.features @ packed[:-1] + free_bias * packed[-1]
        shortfall = 1.0 - problem.labels * values
        inside = np.clip(shortfall + width / 2, 0.0, width)
        loss = inside**2 / (2 * width) + np.maximum(shortfall - width / 2, 0.0)
        return 0.5 * packed[:-1] @ packed[:-1] + C * loss.sum()

    start = SpanModel(np.zeros(len(basis.members)), 0.0)
    for step in (4.0, 1.0, width):
        start = minimise(problem, start, step, 1e-10)
    best = scipy_minimize(cost, np.zeros(len(basis.members) + 1), method="L-BFGS-B", options={"maxiter": 5000}).fun
    assert cost(np.append(start.weights, start.bias)) <= best * (1 + 1e-4)
    assert free_bias or start.bias == 0.0


def test_the_cost_is_that_of_the_hinge_itself():
    gram, basis, problem = span_problem(C=2.0)
    model = SpanModel(np.random.default_rng(1).standard_normal(len(basis.members)), -0.2)
    coefficients = basis.coefficients(model.weights)
    values = gram[:, basis.members] @ coefficients - 0.2
    norm = coefficients @ gram[np.ix_(basis.members, basis.members)] @ coefficients
    expected = 0.5 * norm + 2.0 * np.maximum(0.0, 1.0 - problem.labels * values).sum()
    assert problem.cost(model) == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("C", [0.1, 10.0])
@pytest.mark.parametrize("width", [1.0, 0.3])
def test_what_rounding_may_have_lost_covers_what_it_has(C, width):
    _, basis, problem = span_problem(C=C)
    model = SpanModel(np.zeros(len(basis.members)), 0.0)
    for step in (4.0, 1.0, width):
        model = minimise(problem, model, step, 1e-12)
    exact = svm.SVC(kernel="linear", C=C, tol=1e-8).fit(problem.features, problem.labels)
    best = problem.cost(SpanModel(exact.coef_[0], float(exact.intercept_[0])))
    lost = problem.lost_by_rounding(problem.values(model), width)
    assert best <= problem.cost(model) * (1 + 1e-6)
    assert problem.cost(model) - lost <= best * (1 + 1e-6)
    assert lost < 0.1 * best


def test_a_step_ends_where_the_cost_is_level():
    """Whatever the direction: even one that Newton's method would not take."""
    _, basis, problem = span_problem(C=3.0)
    start = SpanModel(np.zeros(len(basis.members)), 0.0)
    rng = np.random.default_rng(0)
    for scale in (1e-3, 1.0, 1e3):
        direction = SpanModel(scale * (problem.pulled(problem.labels.astype(float)) + rng.standard_normal(20)), 0.0)
        change = problem.values(direction)
        length = _search(problem, (start, problem.values(start)), (direction, change), 0.5)

        def cost(at, direction=direction, change=change):
            shortfall = 1.0 - at * problem.labels * change
            inside = np.clip(shortfall + 0.25, 0.0, 0.5)
            loss = inside**2 + np.maximum(shortfall - 0.25, 0.0)
            return 0.5 * at**2 * direction.weights @ direction.weights + problem.caps @ loss

        best = minimize_scalar(cost, bounds=(0.0, 4.0 * length), method="bounded", options={"xatol": 1e-9 * length})
        assert cost(length) <= best.fun + 1e-3 * (cost(0.0) - best.fun)


def test_a_solution_within_the_span_is_its_own_projection():
    gram, _, problem = span_problem(n=60, m=60)
    alpha = np.random.default_rng(0).uniform(0, 1, (1, 60))
    stage = SimpleNamespace(scalings=[Scaling(1.7, -0.4)], alpha=alpha, active=np.arange(60))
    model = _projected(stage, 0, problem)
    np.testing.assert_allclose(problem.values(model), 1.7 * gram @ (alpha[0] * problem.labels) - 0.4, atol=1e-3)


def test_a_warm_start_is_never_made_worse():
    _, basis, problem = span_problem(C=100.0)
    good = minimise(problem, SpanModel(np.zeros(len(basis.members)), 0.0), 4.0, 1e-8)
    again = minimise(problem, good, 4.0, 1e-8)
    assert problem.cost(again) <= problem.cost(good) * (1 + 1e-6)


@pytest.mark.parametrize("share", [0.5, 0.75])
def test_what_a_part_of_the_span_would_lose_is_foretold(share):
    """Rounded so widely that every loss is on the parabola, where second derivatives tell all."""
    _, _, problem = span_problem(m=12, C=0.01, free_bias=False)
    width = 50.0
    kept = int(share * 12)
    part = SpanProblem(
        np.ascontiguousarray(problem.features[:, :kept]), problem.labels, problem.caps, False, problem.workers
    )
    models = [
        minimise(each, SpanModel(np.zeros(each.features.shape[1]), 0.0), width, 1e-12) for each in (problem, part)
    ]

    def cost(each, model):
        slopes = np.clip((1.0 - each.labels * each.values(model)) / width + 0.5, 0.0, 1.0)
        assert ((slopes > 0.0) & (slopes < 1.0)).all()
        return 0.5 * model.weights @ model.weights + each.caps @ (0.5 * width * slopes**2)

    lost = cost(part, models[1]) - cost(problem, models[0])
    assert lost > 1e-4
    assert losses_of_parts(problem, models[0], width, [share]) == pytest.approx([lost], rel=1e-3)


@given(st.floats(0.01, 0.8), st.floats(1e-3, 1.0))
def test_what_further_points_would_gain_is_foretold_where_it_fades(factor, first):
    """Each quarter of the points gains so many times less than the one before: so would those that are not there."""
    gains = first * factor ** np.arange(200)
    shortage = Shortage(by_half=gains[2:4].sum(), by_three_quarters=gains[3])
    assert shortage.left == pytest.approx(gains[4:].sum(), rel=1e-6)


def test_where_nothing_fades_nobody_knows_what_further_points_would_gain():
    assert Shortage(by_half=0.02, by_three_quarters=0.01).left == np.inf
    assert Shortage(by_half=0.0, by_three_quarters=0.0).left == 0.0


@pytest.mark.parametrize("smooth", [False, True])
def test_what_rounding_costs_the_sample_counts_only_where_points_do_not_span_everything(monkeypatch, smooth):
    _, _, problem = span_problem(C=10.0)
    nothing = SpanModel(np.zeros(problem.features.shape[1]), 0.0)
    monkeypatch.setattr(spanning, "_projected", lambda growth, number, problem: nothing)
    chosen = spanning.Chosen(np.arange(20), None, (0.7, 0.3), 0.0, smooth)
    growth = SimpleNamespace(course=SimpleNamespace(cut_short=lambda: None))
    enough, costs = spanning._first_attempt(growth, [problem], chosen, most=problem.cost(nothing))
    assert enough.models == [nothing]
    assert costs == [problem.cost(nothing)]
    attempt, costs = spanning._first_attempt(growth, [problem], chosen, most=0.0)
    optimum = problem.cost(minimise(problem, attempt.models[0], 1e-4, 1e-9))
    assert problem.cost(attempt.models[0]) > optimum
    assert costs[0] <= optimum if smooth else costs == attempt.costs()
    assert costs[0] > 0.8 * optimum
