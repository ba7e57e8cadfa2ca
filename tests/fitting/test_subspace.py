"""The SVM in a subspace, against SciPy, and what speaks for or against a subspace."""

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

from fitting_problems import DATA, N, few, noisy, smooth, svc
from problems import gaussian_gram, noisy_blobs
from slackwater import SVC
from slackwater.deadline import Deadline
from slackwater.errors import ConvergenceWarning
from slackwater.fitting.strategies import subspace
from slackwater.fitting.subspace import newton
from slackwater.fitting.subspace.basis import (
    Basis,
    early_decay,
    independent_basis,
    make_orthonormal,
    smooth_basis,
)
from slackwater.fitting.subspace.fit import Shortage, SubspaceFit, projected
from slackwater.fitting.subspace.newton import LocalLosses, losses_of_fewer_landmarks, minimise, search
from slackwater.fitting.subspace.problem import SubspaceModel, SubspaceProblem
from slackwater.solvers.coupling import Scaling
from slackwater.workers import Workers


def subspace_problem(n=300, m=20, C=1.0, free_bias=True, dtype=np.float64, seed=0):
    X, labels = noisy_blobs(n, seed)
    gram = gaussian_gram(X, 0.5)
    basis = independent_basis(gram[:m, :m])
    columns = np.ascontiguousarray(gram[:, basis.members].astype(dtype))
    make_orthonormal(columns, basis, Workers())
    return gram, basis, SubspaceProblem(columns, labels, np.full(n, C), free_bias, Workers())


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-6), (np.float32, 2e-3)])
def test_coordinates_reproduce_the_kernel_of_the_span(dtype, tolerance):
    gram, basis, problem = subspace_problem(dtype=dtype)
    chosen = gram[:, basis.members]
    projected = chosen @ np.linalg.solve(gram[np.ix_(basis.members, basis.members)], chosen.T)
    np.testing.assert_allclose(problem.coordinates @ problem.coordinates.T, projected, atol=tolerance)


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
    assert early_decay(gram) > 14.0
    found = smooth_basis(gram, 200, 1e-3)
    assert found.needed <= 200
    assert found.decay > 16.0
    basis = found.basis
    chosen = gram[:, basis.members]
    np.testing.assert_allclose(basis.factor @ basis.factor.T, chosen[basis.members], atol=1e-10)
    left_out = 1.0 - np.einsum("ij,ji->i", chosen, np.linalg.lstsq(chosen[basis.members], chosen.T, rcond=None)[0])
    assert left_out.mean() <= 1e-3
    assert smooth_basis(gram, 20, 1e-3).needed == found.needed > 20  # however few it may have


def test_detail_without_end_is_not_smooth():
    gram = gaussian_gram(np.random.default_rng(0).normal(size=(500, 30)), 0.02)
    assert early_decay(gram) < 14.0
    assert smooth_basis(gram, 400, 1e-3).needed > 400


def test_points_that_fade_too_slowly_are_not_worth_a_try():
    """Smooth, but so many points would be needed that looking for them costs more than it may gain."""
    assert early_decay(gaussian_gram(np.random.default_rng(0).uniform(-1, 1, (512, 6)), 0.5)) < 14.0
    assert early_decay(gaussian_gram(np.random.default_rng(0).uniform(0, 8, (512, 2)), 4.0)) > 14.0


def test_coefficients_of_the_points_give_the_same_function():
    gram, basis, problem = subspace_problem()
    model = SubspaceModel(np.random.default_rng(0).standard_normal(len(basis.members)), 0.3)
    by_points = gram[:, basis.members] @ basis.coefficients(model.weights) + 0.3
    np.testing.assert_allclose(problem.values(model), by_points, atol=1e-4)


@pytest.mark.parametrize("free_bias", [True, False])
@pytest.mark.parametrize("C", [0.1, 10.0])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_newton_reaches_the_minimum_of_the_smoothed_objective(free_bias, C, dtype):
    _, basis, problem = subspace_problem(C=C, free_bias=free_bias, dtype=dtype)
    width = 0.5

    def cost(packed):
        values = problem.coordinates @ packed[:-1] + free_bias * packed[-1]
        shortfall = 1.0 - problem.labels * values
        inside = np.clip(shortfall + width / 2, 0.0, width)
        loss = inside**2 / (2 * width) + np.maximum(shortfall - width / 2, 0.0)
        return 0.5 * packed[:-1] @ packed[:-1] + C * loss.sum()

    start = SubspaceModel(np.zeros(len(basis.members)), 0.0)
    for step in (4.0, 1.0, width):
        start = minimise(problem, start, step, 1e-10)
    best = scipy_minimize(cost, np.zeros(len(basis.members) + 1), method="L-BFGS-B", options={"maxiter": 5000}).fun
    assert cost(np.append(start.weights, start.bias)) <= best * (1 + 1e-4)
    assert free_bias or start.bias == 0.0


def test_the_cost_is_that_of_the_hinge_itself():
    gram, basis, problem = subspace_problem(C=2.0)
    model = SubspaceModel(np.random.default_rng(1).standard_normal(len(basis.members)), -0.2)
    coefficients = basis.coefficients(model.weights)
    values = gram[:, basis.members] @ coefficients - 0.2
    norm = coefficients @ gram[np.ix_(basis.members, basis.members)] @ coefficients
    expected = 0.5 * norm + 2.0 * np.maximum(0.0, 1.0 - problem.labels * values).sum()
    assert problem.objective(model) == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("C", [0.1, 10.0])
@pytest.mark.parametrize("width", [1.0, 0.3])
def test_what_smoothing_may_have_lost_covers_what_it_has(C, width):
    _, basis, problem = subspace_problem(C=C)
    model = SubspaceModel(np.zeros(len(basis.members)), 0.0)
    for step in (4.0, 1.0, width):
        model = minimise(problem, model, step, 1e-12)
    exact = svm.SVC(kernel="linear", C=C, tol=1e-8).fit(problem.coordinates, problem.labels)
    best = problem.objective(SubspaceModel(exact.coef_[0], float(exact.intercept_[0])))
    lost = problem.lost_by_smoothing(problem.values(model), width)
    assert best <= problem.objective(model) * (1 + 1e-6)
    assert problem.objective(model) - lost <= best * (1 + 1e-6)
    assert lost < 0.1 * best


def test_a_step_ends_where_the_cost_is_level():
    """Whatever the direction: even one that Newton's method would not take."""
    _, basis, problem = subspace_problem(C=3.0)
    start = SubspaceModel(np.zeros(len(basis.members)), 0.0)
    rng = np.random.default_rng(0)
    for scale in (1e-3, 1.0, 1e3):
        direction = SubspaceModel(
            scale * (problem.rmatvec(problem.labels.astype(float)) + rng.standard_normal(20)), 0.0
        )
        change, losses = problem.values(direction), LocalLosses(problem, 0.5)
        losses.begin(start)
        losses.look_along(direction)
        length = search(losses, start, direction)

        def cost(at, direction=direction, change=change):
            shortfall = 1.0 - at * problem.labels * change
            inside = np.clip(shortfall + 0.25, 0.0, 0.5)
            loss = inside**2 + np.maximum(shortfall - 0.25, 0.0)
            return 0.5 * at**2 * direction.weights @ direction.weights + problem.upper @ loss

        best = minimize_scalar(cost, bounds=(0.0, 4.0 * length), method="bounded", options={"xatol": 1e-9 * length})
        assert cost(length) <= best.fun + 1e-3 * (cost(0.0) - best.fun)


def test_a_solution_within_the_span_is_its_own_projection():
    gram, _, problem = subspace_problem(n=60, m=60)
    alpha = np.random.default_rng(0).uniform(0, 1, (1, 60))
    solution = SimpleNamespace(scalings=[Scaling(1.7, -0.4)], alpha=alpha)
    model = projected(solution, np.arange(60), 0, problem)
    np.testing.assert_allclose(problem.values(model), 1.7 * gram @ (alpha[0] * problem.labels) - 0.4, atol=1e-3)


def test_a_warm_start_is_never_made_worse():
    _, basis, problem = subspace_problem(C=100.0)
    good = minimise(problem, SubspaceModel(np.zeros(len(basis.members)), 0.0), 4.0, 1e-8)
    again = minimise(problem, good, 4.0, 1e-8)
    assert problem.objective(again) <= problem.objective(good) * (1 + 1e-6)


@pytest.mark.parametrize("share", [0.5, 0.75])
def test_what_a_part_of_the_span_would_lose_is_foretold(share):
    """Rounded so widely that every loss is on the parabola, where second derivatives tell all."""
    _, _, problem = subspace_problem(m=12, C=0.01, free_bias=False)
    width = 50.0
    kept = int(share * 12)
    part = SubspaceProblem(
        np.ascontiguousarray(problem.coordinates[:, :kept]), problem.labels, problem.upper, False, problem.workers
    )
    models = [
        minimise(each, SubspaceModel(np.zeros(each.coordinates.shape[1]), 0.0), width, 1e-12)
        for each in (problem, part)
    ]

    def cost(each, model):
        slopes = np.clip((1.0 - each.labels * each.values(model)) / width + 0.5, 0.0, 1.0)
        assert ((slopes > 0.0) & (slopes < 1.0)).all()
        return 0.5 * model.weights @ model.weights + each.upper @ (0.5 * width * slopes**2)

    lost = cost(part, models[1]) - cost(problem, models[0])
    assert lost > 1e-4
    assert losses_of_fewer_landmarks(problem, models[0], width, [share]) == pytest.approx([lost], rel=1e-3)


@given(st.floats(0.01, 0.8), st.floats(1e-3, 1.0))
def test_what_further_points_would_gain_is_foretold_where_it_fades(factor, first):
    """Each quarter of the points gains so many times less than the one before: so would those that are not there."""
    gains = first * factor ** np.arange(200)
    shortage = Shortage(by_half=gains[2:4].sum(), by_three_quarters=gains[3])
    assert shortage.remaining == pytest.approx(gains[4:].sum(), rel=1e-6)


def test_where_nothing_fades_nobody_knows_what_further_points_would_gain():
    assert Shortage(by_half=0.02, by_three_quarters=0.01).remaining == np.inf
    assert Shortage(by_half=0.0, by_three_quarters=0.0).remaining == 0.0


def test_what_smoothing_costs_is_known():
    """Without it a model would cost at most what the optimum in the subspace does, and not much less."""
    _, _, problem = subspace_problem(C=10.0)
    model = SubspaceModel(np.zeros(problem.coordinates.shape[1]), 0.0)
    for width in (1.0, 0.3):
        model = minimise(problem, model, width, 1e-9)
    fit = SubspaceFit([problem], [model])
    optimum = problem.objective(minimise(problem, model, 1e-4, 1e-9))
    assert fit.objectives()[0] > optimum
    assert 0.8 * optimum < fit.objectives_without_smoothing(0.3)[0] <= optimum


@pytest.mark.parametrize("kind", ["noisy", "smooth"])
def test_the_landmarks_do_not_depend_on_the_order_of_the_rows(kind):
    X, y, parameters = DATA[kind][0]()
    one, other = (svc(**parameters).fit(X[::way], y[::way]) for way in (1, -1))
    assert {tuple(x) for x in one.support_vectors_} == {tuple(x) for x in other.support_vectors_}
    assert np.mean(one.predict(X) == other.predict(X)) > 0.999


def test_a_class_of_three_examples_does_not_break_a_subspace():
    X, _, _ = smooth(9000)
    y = np.zeros(len(X), dtype=int)
    y[[10, 4000, 8000]] = 1
    for seed in range(5):
        model = svc(strategy="subspace", C=1.0, gamma=1.0, random_state=seed).fit(X, y)
        assert model.strategy_ == "subspace"
        assert np.isfinite(model.decision_function(X)).all()
        assert (model.predict(X) != y).sum() <= 3


def test_a_subspace_that_numbers_are_too_coarse_for_is_declined(monkeypatch):
    X, y, parameters = noisy()

    def fail(*args):
        raise np.linalg.LinAlgError("not positive definite")

    monkeypatch.setattr("slackwater.fitting.subspace.fit.minimise", fail)
    model = svc(**parameters).fit(X, y)
    assert model.strategy_ == "screening"
    assert model.decisions_.of("subspace")[-1].outcome == "declined"


def test_coefficients_that_do_not_give_the_values_are_not_delivered(monkeypatch):
    X, y, parameters = noisy()
    monkeypatch.setattr(Basis, "coefficients", lambda basis, weights: 1.1 * weights)
    model = svc(**parameters).fit(X, y)
    assert model.strategy_ == "screening"
    last = model.decisions_.of("subspace")[-1]
    assert (last.measured, last.outcome) == ("loss by cancelling coefficients", "declined")


def test_time_that_runs_out_while_a_subspace_is_tried_leaves_the_model_of_the_sample(monkeypatch):
    X, y, parameters = noisy()
    tried, original = [], subspace.Trial.run

    def run(self, optima):
        tried.append(len(optima))
        return original(self, optima)

    monkeypatch.setattr(subspace.Trial, "run", run)
    monkeypatch.setattr(Deadline, "passed", lambda deadline: bool(tried))
    with pytest.warns(ConvergenceWarning, match="max_time"):
        model = svc(**parameters).fit(X, y)
    monkeypatch.undo()
    assert tried
    assert (model.strategy_, model.stop_reason_) == ("sample", "max_time")
    assert model.score(X, y) > 0.7


def test_time_that_runs_out_in_the_last_newton_steps_leaves_the_model_so_far(monkeypatch):
    """The gap says that nothing is known of it then."""
    X, y, parameters = smooth()
    whole = svc(**parameters).fit(X, y)
    steps = []
    original = newton.newton_direction

    def counted(losses, *arguments):
        steps.append(len(losses._problem.labels))
        return original(losses, *arguments)

    monkeypatch.setattr(newton, "newton_direction", counted)
    monkeypatch.setattr(Deadline, "passed", lambda deadline: steps.count(len(X)) >= 2)
    with pytest.warns(ConvergenceWarning, match="max_time"):
        model = svc(**parameters).fit(X, y)
    monkeypatch.undo()
    assert steps.count(len(X)) == 2
    assert (model.stop_reason_, model.gap_, model.strategy_) == ("max_time", 1.0, "subspace")
    assert whole.gap_ < 0.2
    assert model.score(X, y) > 0.8
    np.testing.assert_array_equal(model.support_, whole.support_)


def test_coordinates_that_do_not_fit_the_memory_are_not_computed():
    X, y, parameters = noisy()
    model = svc(cache_size=5.0, **parameters).fit(X, y)
    assert model.strategy_ == "screening"
    declined = [each for each in model.decisions_.of("subspace") if each.outcome == "declined"]
    assert declined[0].measured == "memory for coordinates, MB"
    assert declined[0].limit == "<= 2.5"  # half of the cache is for the rows of the sample


@pytest.mark.parametrize(("grows_to", "parts"), [(0.02, 2), (0.04, 1)])
def test_a_subspace_is_declined_before_all_examples_are_looked_at(monkeypatch, grows_to, parts):
    """What half of the landmarks would lose: 1 % with the sample, then as said; all are looked at if that is little."""
    X, y, parameters = noisy()
    losses, seen = iter([0.01, grows_to**0.5 * 0.1, 0.001]), []
    monkeypatch.setattr(SubspaceFit, "shortage", lambda fit, width, examples: Shortage(next(losses), 0.01))
    original = subspace.Trial._problems

    def watched(self, examples, coordinates):
        seen.append(len(examples))
        return original(self, examples, coordinates)

    monkeypatch.setattr(subspace.Trial, "_problems", watched)
    svc(**parameters).fit(X, y)
    assert len(seen) == 1 + parts
    assert (seen[-1] == N) == (parts == 2)


def test_a_subspace_may_do_though_half_of_it_would_not():
    """Noise, a large C and a kernel so smooth that what each further landmark adds fades quickly."""
    rng = np.random.default_rng(2)
    X = rng.uniform(-1.0, 1.0, (12_000, 3))
    wave = np.sin(6.0 * X[:, 0]) + np.cos(5.0 * X[:, 1] * X[:, 2])
    y = np.where(wave + 0.4 * rng.standard_normal(len(X)) > 0.5, 1, -1)
    model = svc(C=100.0, gamma=0.5).fit(X, y)
    exact = SVC(C=100.0, gamma=0.5, tol=1e-2, random_state=0).fit(X, y)
    assert len(model.support_) < 200 < len(exact.support_)

    def cost(model):
        values = model.decision_function(X)
        squared_norm = model.dual_coef_[0] @ (values[model.support_] - model.intercept_[0])
        return 0.5 * squared_norm + 100.0 * np.maximum(0.0, 1.0 - y * values).sum()

    assert cost(model) <= 1.01 * cost(exact)


def test_a_subspace_that_may_be_worse_on_unseen_examples_is_declined():
    """Than the exact solution of the same part; which then is where the next strategy goes on."""
    X, y, parameters = noisy()
    model = svc(few(subspace={"max_deficit": 0.0}), **parameters).fit(X, y)
    last = model.decisions_.of("subspace")[-1]
    assert (last.measured, last.outcome) == ("error above that of the exact solution of a part, 95 % limit", "declined")
    assert model.strategy_ == "screening"
    assert len(model.support_) > 512
