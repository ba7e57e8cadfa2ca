"""The Pareto front: every point against an independent solver, and shared work against separate fits."""

from __future__ import annotations

import pickle
import time
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import sklearn.svm
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.datasets import make_classification, make_moons
from sklearn.metrics.pairwise import rbf_kernel

from fake_time import FakeTime
from slackwater import SVC
from slackwater.deadline import Clock, Deadline
from slackwater.errors import IndefiniteKernelWarning
from slackwater.fitting.comparison import compare
from slackwater.fitting.path_tolerance import aim_of_path
from slackwater.fitting.settings import PathSettings, SampleSettings
from slackwater.fitting.shared_path import Goal, PathPoint, SharedPath, WorkingSetFullError
from slackwater.path import svm_path
from slackwater.path.front import COLUMNS
from slackwater.path.preparation import Preparation, prepared

CS = [0.05, 0.5, 5.0, 50.0]


def moons(n: int = 400, noise: float = 0.25) -> tuple[NDArray[np.float64], NDArray[np.int_]]:
    X, y = make_moons(n, noise=noise, random_state=0)
    return X, y


def primal(model: Any, X: Any, y: Any, C: float) -> float:
    """½ ‖w‖² + C Σ hinge of a fitted model of two classes, from its public attributes."""
    coefficients = np.asarray(model.dual_coef_)
    gram = sklearn.metrics.pairwise.rbf_kernel(model.support_vectors_, gamma=2.0)
    margins = np.where(y == model.classes_[1], 1, -1) * model.decision_function(X)
    return float(0.5 * (coefficients @ gram @ coefficients.T).item() + C * np.maximum(0.0, 1.0 - margins).sum())


def test_every_point_has_the_objective_of_scikit_learns_optimum() -> None:
    X, y = moons()
    path = svm_path(X, y, Cs=CS, gamma=2.0, tol=1e-5)
    for C, objective in zip(path.C, path.objective, strict=True):
        oracle = sklearn.svm.SVC(C=C, gamma=2.0, tol=1e-6).fit(X, y)
        assert objective == pytest.approx(primal(oracle, X, y, C), rel=2e-5)


def test_the_gap_of_every_point_is_below_tol_and_its_bound_below_the_optimum() -> None:
    X, y = moons()
    path = svm_path(X, y, Cs=CS, gamma=2.0, tol=1e-4)
    assert (path.gap <= 1e-4).all()
    assert path.certified.all()
    for C, bound in zip(path.C, path.bound, strict=True):
        oracle = sklearn.svm.SVC(C=C, gamma=2.0, tol=1e-6).fit(X, y)
        assert bound <= primal(oracle, X, y, C) * (1 + 1e-7)


def test_at_gives_the_model_of_a_separate_fit() -> None:
    X, y = moons()
    path = svm_path(X, y, Cs=CS, gamma=2.0, tol=1e-6)
    model, alone = path.at(5.0), SVC(C=5.0, gamma=2.0, tol=1e-6).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), alone.decision_function(X), atol=1e-3)
    assert model.get_params() == SVC(C=5.0, gamma=2.0, tol=1e-6).get_params()
    assert (np.abs(model.dual_coef_) <= 5.0).all()


def test_at_refuses_a_c_that_is_not_on_the_path_and_names_the_nearest() -> None:
    X, y = moons(100)
    path = svm_path(X, y, Cs=CS, gamma=2.0)
    with pytest.raises(ValueError, match=r"C must be one of the path's values.*got 6\.0; the nearest is 5\.0"):
        path.at(6.0)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 1000), st.floats(0.05, 20.0))
def test_norm_rises_and_loss_falls_along_the_front(seed: int, gamma: float) -> None:
    chance = np.random.default_rng(seed)
    X = chance.standard_normal((60, 3))
    y = X[:, 0] + 0.5 * chance.standard_normal(60) > 0
    y[:2] = False, True
    path = svm_path(X, y, Cs=np.geomspace(0.01, 100, 6), gamma=gamma, tol=1e-6)
    assert (np.diff(path.norm) >= -1e-3 * path.norm[:-1]).all()
    # Of two points that are optimal up to their gaps: (C' - C) (loss' - loss) is at most both gaps together.
    missing = path.gap * path.objective
    assert (60 * np.diff(path.C) * np.diff(path.loss) <= missing[:-1] + missing[1:] + 1e-12).all()


def criteria_of_fit(model: SVC, X: Any, y: Any, weights: Any) -> tuple[float, float]:
    """Average hinge loss and accuracy of a fitted model, from its decision values."""
    values, labels = model.decision_function(X), np.where(y == model.classes_[1], 1.0, -1.0)
    return (
        float(np.average(np.maximum(0.0, 1.0 - labels * values), weights=weights)),
        float(np.average(model.predict(X) == y, weights=weights)),
    )


REPEATED = np.random.default_rng(0).integers(0, 3, (150, 2)).astype(float)
NOISY = (REPEATED[:, 0] + np.random.default_rng(1).normal(0.0, 1.5, 150) > 1.0).astype(int)
WITH_EQUAL_ROWS = {
    "equal rows of both labels": (REPEATED, NOISY, None),
    "weighted equal rows": (REPEATED, NOISY, np.random.default_rng(2).uniform(0.1, 3.0, 150)),
    "all rows equal": (np.ones((20, 2)), np.arange(20) // 8 % 2, None),
    "all rows equal, classes of one size": (np.ones((20, 2)), np.arange(20) % 2, None),
    "all rows equal, weighted": (np.ones((20, 2)), np.arange(20) % 2, np.linspace(0.5, 2.0, 20)),
}


@pytest.mark.parametrize("name", WITH_EQUAL_ROWS)
@pytest.mark.parametrize("shared", [True, False])
def test_equal_rows_have_objective_loss_and_accuracy_of_separate_fits(
    name: str, shared: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y, weights = WITH_EQUAL_ROWS[name]
    if not shared:
        monkeypatch.setattr(Preparation, "is_shareable", False)
    path = svm_path(X, y, Cs=CS, gamma=1.0, tol=1e-6, sample_weight=weights)
    total = 20.0 if len(y) == 20 else 150.0
    total = total if weights is None else float(weights.sum())
    for number, C in enumerate(path.C):
        alone = SVC(C=C, gamma=1.0, tol=1e-6).fit(X, y, weights)
        loss, accuracy = criteria_of_fit(alone, X, y, weights)
        assert path.loss[number] == pytest.approx(loss, rel=1e-4)
        assert path.objective[number] == pytest.approx(0.5 / alone.margin_**2 + C * total * loss, rel=1e-5)
        assert path.gap[number] <= 1e-6
        assert path.bound[number] == pytest.approx(path.objective[number], rel=2e-6)
        assert path.train_accuracy[number] == pytest.approx(accuracy, abs=1e-9)


@pytest.mark.parametrize("kernel", ["linear", "precomputed"])
def test_a_flat_function_has_a_loss_and_no_finite_nu(kernel: str) -> None:
    path = svm_path(np.zeros((20, 20)), np.arange(20) < 8, Cs=[0.1, 10.0], kernel=kernel)
    np.testing.assert_array_equal(path.norm, [0.0, 0.0])
    np.testing.assert_allclose(path.loss, [0.8, 0.8])  # the larger class everywhere: 8 of 20 rows lose 2
    np.testing.assert_allclose(path.objective, [1.6, 160.0])
    np.testing.assert_array_equal(path.nu, [np.inf, np.inf])


@pytest.mark.filterwarnings("ignore::slackwater.errors.IndefiniteKernelWarning")
def test_an_indefinite_kernel_has_a_loss_and_no_nu_where_it_has_no_norm() -> None:
    X, y = moons(200)
    path = svm_path(X, y, Cs=[1.0], kernel="sigmoid", gamma=1.0)
    loss, accuracy = criteria_of_fit(SVC(kernel="sigmoid", gamma=1.0).fit(X, y), X, y, None)
    assert np.isnan([path.norm[0], path.nu[0], path.objective[0], path.gap[0]]).all()
    assert not path.certified[0]
    assert (path.loss[0], path.train_accuracy[0]) == (pytest.approx(loss), pytest.approx(accuracy))


def test_a_grid_for_rows_that_are_all_equal_is_finite_and_its_objectives_are_optimal() -> None:
    path = svm_path(np.ones((20, 2)), np.arange(20) < 8, gamma=1.0, n_points=4)
    assert path.C[-1] < 1e9
    np.testing.assert_allclose(path.objective, 16.0 * path.C)
    assert (path.gap <= 1e-6).all()


def test_no_nu_is_found_where_the_function_is_flat_for_every_c() -> None:
    with pytest.raises(ValueError, match=r"nus must be on the front, got 0\.1.*nu is inf to inf"):
        svm_path(np.ones((20, 2)), np.arange(20) % 2, nus=[0.1], gamma=1.0)


def test_every_point_says_what_strategy_made_it() -> None:
    X, y = moons(200)
    path = svm_path(X, y, Cs=CS, gamma=2.0)
    assert path.strategy == [path.at(C).strategy_ for C in path.C] == ["exact"] * 4


def test_a_grid_found_by_itself_reaches_from_a_flat_function_to_hardly_any_loss() -> None:
    X, y = moons(300, noise=0.1)
    path = svm_path(X, y, gamma=2.0, n_points=8)
    assert len(path) == 8
    assert path.loss[0] > 0.5
    assert path.loss[-1] < 0.01


def test_points_asked_for_by_nu_have_that_nu() -> None:
    X, y = moons()
    nus = [0.2, 0.05, 0.01]
    path = svm_path(X, y, nus=nus, gamma=2.0, tol=1e-5)
    np.testing.assert_allclose(path.nu, nus, rtol=0.011)


def test_a_nu_beyond_the_front_is_refused_with_its_range() -> None:
    X, y = moons(100)
    with pytest.raises(ValueError, match="nus must be on the front, got 1000000000"):
        svm_path(X, y, nus=[1e9], gamma=2.0)


@pytest.mark.parametrize("scale", [1e-5, 1e5])
def test_nus_are_found_at_any_scale_of_the_kernel(scale: float) -> None:
    X, y = moons(150)
    nu = svm_path(X, y, kernel="linear", n_points=5).nu[1] * 1.1
    path = svm_path(scale * X, y, kernel="linear", nus=[scale * nu])
    assert path.nu[0] == pytest.approx(scale * nu, rel=0.011)


def test_an_indefinite_kernel_has_no_points_by_nu() -> None:
    X, y = moons(150)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IndefiniteKernelWarning)
        with pytest.raises(ValueError, match=r"nus must be on the front, got 0\.1: there is no norm"):
            svm_path(X, y, kernel="sigmoid", nus=[0.1])


@pytest.mark.parametrize("intercept", [False, True])
def test_given_kernel_values_have_the_grid_and_the_points_of_their_kernel(intercept: bool) -> None:
    X, y = moons(200)
    weights = np.random.default_rng(0).integers(0, 3, 200).astype(float)
    more: dict[str, Any] = {"sample_weight": weights, "fit_intercept": intercept, "tol": 1e-5}
    of_values = svm_path(rbf_kernel(X, gamma=2.0), y, kernel="precomputed", n_points=5, **more)
    own = svm_path(X, y, gamma=2.0, n_points=5, **more)
    np.testing.assert_allclose(of_values.C, own.C, rtol=0.3)
    by_those = svm_path(X, y, gamma=2.0, Cs=of_values.C, **more)
    differences = np.abs(of_values.objective / by_those.objective - 1.0)
    assert (differences <= of_values.gap + by_those.gap + 1e-6).all()
    assert by_those.gap.max() < 1e-3
    nu = svm_path(rbf_kernel(X, gamma=2.0), y, kernel="precomputed", nus=[0.2], **more).nu
    assert nu[0] == pytest.approx(0.2, rel=0.011)


@pytest.mark.parametrize("tick", [0.0, 1e-2, 3e-2])
def test_a_point_that_time_was_up_for_does_not_claim_its_tolerance(tick: float) -> None:
    X, y = make_classification(3000, 20, n_informative=10, flip_y=0.2, random_state=0)
    with prepared(SVC(gamma=0.05, tol=1e-3), X, y, None) as data:
        path = shared_path(data, Goal.of(data.context), PathSettings(max_at_once=1000, sample=200))
        path.deadline = Deadline(Clock(now=FakeTime(tick)), 0.1)
        (points,) = path.solve()
    assert all((point.assessment.gap <= 1e-3) == (str(point.reason) == "tol") for point in points)
    assert (str(points[-1].reason) == "max_time") == (tick > 0.0)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_separate_fits_of_a_path_end_in_time() -> None:
    X, y = make_classification(3000, 20, n_informative=10, flip_y=0.3, random_state=0)
    begun = time.process_time()
    path = svm_path(X @ X.T, y, kernel="precomputed", Cs=[1e4, 1e5], max_time=0.5, n_jobs=1)
    assert time.process_time() - begun < 4.0  # fifty times as long without
    assert path.stop_reason == ["max_time"]
    assert path.at(1e4).max_time is None


def test_a_small_working_set_finds_the_same_optimum_as_the_whole_matrix() -> None:
    X, y = moons(1500)
    few = PathSettings(max_at_once=100, sample=64)
    with prepared(SVC(gamma=2.0, tol=1e-5), X, y, None) as data:
        found = {}
        for name, limits in {"whole": PathSettings(), "grown": few}.items():
            path = SharedPath(
                data.features(50.0),
                data.training_set.problems(2)[0].labels,
                [data.training_set.weights],
                CS,
                data.training_set.order,
                data.context.solver.coupling,
                Goal.of(data.context),
                limits,
                0,
            )
            found[name] = path.solve()[0], len(path.working)
    assert found["whole"][1] == 1500
    assert found["grown"][1] < 1500
    for one, other in zip(found["whole"][0], found["grown"][0], strict=True):
        assert other.assessment.gap <= 1e-5
        assert one.assessment.objective == pytest.approx(other.assessment.objective, rel=2e-5)


def shared_path(data: Preparation, goal: Goal, limits: PathSettings) -> SharedPath:
    training_set, coupling = data.training_set, data.context.solver.coupling
    labels, weights = training_set.problems(2)[0].labels, [training_set.weights]
    return SharedPath(data.features(max(CS)), labels, weights, CS, training_set.order, coupling, goal, limits, 0)


@pytest.mark.parametrize("gap", [0.03, 0.003])
def test_losses_of_examples_that_never_joined_count_in_the_gap_of_every_point(gap: float) -> None:
    X, y = moons(1500)
    with prepared(SVC(gamma=2.0), X, y, None) as data:
        path = shared_path(data, Goal.of_gap(gap), PathSettings(max_at_once=100, sample=64))
        points = path.solve()[0]
    assert len(path.working) < 1500
    for C, point in zip(CS, points, strict=True):
        optimum = primal(sklearn.svm.SVC(C=C, gamma=2.0, tol=1e-6).fit(X, y), X, y, C)
        assert point.assessment.gap <= gap
        assert point.assessment.bound <= optimum * (1 + 1e-6)
        assert optimum * (1 - 1e-6) <= point.assessment.objective <= optimum / (1.0 - gap)


def test_a_path_goes_on_to_a_finer_gap_from_the_points_that_it_has() -> None:
    X, y = moons(600)
    with prepared(SVC(gamma=2.0), X, y, None) as data:
        path = shared_path(data, Goal.of_gap(0.03), PathSettings())
        coarse, evaluations = path.solve()[0], data.training_set.ledger.train
        fine = path.refined(Goal.of_gap(1e-4))[0]
        assert data.training_set.ledger.train == evaluations
    assert max(point.assessment.gap for point in coarse) > 1e-3
    assert max(point.assessment.gap for point in fine) <= 1e-4


def chosen(X: Any, y: Any, tol: float | None = None, min_examples: int = 1000) -> Goal:
    with prepared(SVC(gamma=2.0, tol=tol), X, y, None) as data:
        sample = SampleSettings(min_examples=256)
        data.context.settings = replace(data.context.settings, min_examples=min_examples, sample=sample)
        return aim_of_path(data.context, data.features(max(CS)), CS, Deadline(Clock())).goal


def test_a_tolerance_is_coarse_where_no_c_has_more_errors_by_it_and_fine_where_that_cannot_be_told() -> None:
    assert chosen(*moons(6000, noise=0.05)) == Goal.of_gap(0.03)
    assert chosen(*moons(1200, noise=0.6)) == Goal.of_gap(0.003)


def test_a_stated_tolerance_stays_and_few_examples_are_solved_as_svc_solves_them() -> None:
    X, y = moons(1200)
    assert chosen(X, y, tol=1e-2) == Goal.of_gap(1e-2)
    with prepared(SVC(gamma=2.0), X, y, None) as data:
        assert chosen(X, y, min_examples=2000) == Goal.of(data.context)


def test_points_by_the_tested_tolerance_have_the_test_errors_of_separate_fits() -> None:
    X, y = moons(11_000)
    path = svm_path(X[:9000], y[:9000], Cs=CS, gamma=2.0)
    assert path.certified.all()
    assert (path.gap <= 0.03).all()
    for C in CS:
        alone = SVC(C=C, gamma=2.0).fit(X[:9000], y[:9000])
        errors = path.at(C).predict(X[9000:]) != y[9000:], alone.predict(X[9000:]) != y[9000:]
        assert compare(*errors, np.ones(2000)).deficit <= 0.002


def test_a_path_does_not_depend_on_threads() -> None:
    X, y = moons(2500)
    one, two = (svm_path(X, y, Cs=CS, gamma=20.0, n_jobs=threads) for threads in (1, 2))
    for name in COLUMNS:
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name), err_msg=name)


def test_a_working_set_that_does_not_fit_is_an_error_to_the_engine_and_separate_fits_to_the_user(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    X, y = moons(600)

    def full(self: SharedPath, newcomers: Any) -> None:
        raise WorkingSetFullError

    monkeypatch.setattr(SharedPath, "_admit", full)
    path = svm_path(X, y, Cs=CS, gamma=2.0)
    monkeypatch.undo()
    shared = svm_path(X, y, Cs=CS, gamma=2.0)
    np.testing.assert_allclose(path.objective, shared.objective, rtol=2e-3)


def test_held_out_examples_do_not_change_a_part_and_their_responses_are_its_decision_values() -> None:
    X, y = moons(300)
    train = np.arange(300) % 3 != 0
    with prepared(SVC(gamma=2.0, tol=1e-6), X, y, None) as data:
        labels = data.training_set.problems(2)[0].labels
        weights = np.where(train[data.training_set.kept], 1.0, 0.0)
        path = SharedPath(
            data.features(5.0), labels, [weights], [0.5, 5.0], data.training_set.order,
            data.context.solver.coupling, Goal.of(data.context), PathSettings(), 0,
        )  # fmt: skip
        point = path.solve()[0][1]
        values = labels * point.responses + point.assessment.bias
        kept = data.training_set.kept
    alone = SVC(C=5.0, gamma=2.0, tol=1e-6).fit(X[train], y[train])
    np.testing.assert_allclose(values, alone.decision_function(X[kept]), atol=2e-3)
    assert (point.alpha[weights == 0.0] == 0.0).all()


def parts_of_path(threads: int) -> list[list[PathPoint]]:
    """The points of three folds of 2400 examples, which are solved side by side."""
    X, y = moons(2400)
    with prepared(SVC(gamma=20.0, n_jobs=threads), X, y, None) as data:
        training_set, features = data.training_set, data.features(max(CS))
        parts = [np.where(np.arange(training_set.n) % 3 == fold, 0.0, 1.0) for fold in range(3)]
        return SharedPath(
            features, training_set.problems(2)[0].labels, parts, CS, training_set.order,
            data.context.solver.coupling, Goal.of(data.context), PathSettings(), 0,
        ).solve()  # fmt: skip


def test_folds_do_not_depend_on_threads_and_are_solved_for_every_c() -> None:
    for one, two in zip(parts_of_path(1), parts_of_path(2), strict=True):
        assert [point.C for point in one] == CS
        for point, other in zip(one, two, strict=True):
            np.testing.assert_array_equal(point.alpha, other.alpha)


def test_weights_are_repetitions() -> None:
    X, y = moons(120)
    weights = np.random.default_rng(0).integers(1, 4, 120)
    weighted = svm_path(X, y, Cs=CS, gamma=2.0, tol=1e-6, sample_weight=weights)
    repeated = svm_path(np.repeat(X, weights, axis=0), np.repeat(y, weights), Cs=CS, gamma=2.0, tol=1e-6)
    np.testing.assert_allclose(weighted.objective, repeated.objective, rtol=1e-6)


@pytest.mark.parametrize("kernel", ["linear", "poly", "laplacian", "precomputed"])
def test_other_kernels_have_the_objectives_of_separate_fits(kernel: str) -> None:
    X, y = moons(200)
    data = X @ X.T if kernel == "precomputed" else X
    path = svm_path(data, y, Cs=[0.5, 5.0], kernel=kernel, gamma=1.0, tol=1e-5)
    for C in path.C:
        alone = SVC(C=C, kernel=kernel, gamma=1.0, tol=1e-5).fit(data, y)
        assert path.at(C).margin_ == pytest.approx(alone.margin_, rel=5e-3)


def test_without_a_bias_the_intercept_is_zero() -> None:
    X, y = moons(200)
    path = svm_path(X, y, Cs=CS, gamma=2.0, fit_intercept=False)
    assert path.at(0.5).intercept_.tolist() == [0.0]


def test_a_time_limit_ends_the_path_early_with_at_least_one_point() -> None:
    X, y = moons(1500)
    path = svm_path(X, y, Cs=np.geomspace(1e-3, 1e6, 200), gamma=50.0, max_time=1e-6)
    assert len(path) == 1
    assert path.at(path.C[0]).score(X, y) > 0.8


def test_a_path_survives_pickling() -> None:
    X, y = moons(100)
    path = svm_path(X, y, Cs=CS, gamma=2.0)
    copy = pickle.loads(pickle.dumps(path))
    np.testing.assert_array_equal(copy.at(5.0).predict(X), path.at(5.0).predict(X))


def test_kernel_values_are_computed_once_for_all_c() -> None:
    X, y = moons(1000)
    one, many = (svm_path(X, y, Cs=Cs, gamma=2.0).n_kernel_evals for Cs in ([1.0], np.geomspace(0.1, 100, 10)))
    assert many == one


def test_a_path_of_twenty_points_computes_a_fifth_of_the_kernel_values_of_separate_fits() -> None:
    X, y = moons(1000)
    Cs = np.geomspace(0.1, 1000, 20)
    apart = sum(SVC(C=C, gamma=2.0, tol=1e-3).fit(X, y).n_kernel_evals_ for C in Cs)
    assert 5 * svm_path(X, y, Cs=Cs, gamma=2.0, tol=1e-3).n_kernel_evals <= apart


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"Cs": []}, "Cs must have at least one value"),
        ({"Cs": [1.0, -2.0]}, r"Cs must be finite numbers > 0, got -2\.0"),
        ({"Cs": [1.0, float("inf")]}, "Cs must be finite numbers > 0, got inf"),
        ({"Cs": [1.0, float("nan")]}, "Cs must be finite numbers > 0, got nan"),
        ({"Cs": [1.0, "2"]}, "Cs must be finite numbers > 0, got '2'"),
        ({"Cs": "10"}, "Cs must be finite numbers > 0, got '10'"),
        ({"Cs": [10**400]}, r"Cs must be finite numbers > 0, got 10+\.\.\.0+\. C is"),
        ({"Cs": [2.0, 1.0, 2]}, r"Cs must be distinct, got 2\.0 more than once"),
        ({"nus": [0.1, 0.1]}, r"nus must be distinct, got 0\.1 more than once"),
        ({"Cs": [1.0], "nus": [0.1]}, "Cs and nus must not both be given"),
        ({"n_points": 1}, "n_points must be a whole number >= 2, got 1"),
        ({"max_time": 0}, "max_time must be a number of seconds > 0, got 0"),
        ({"gamma": -1.0}, "gamma must be"),
    ],
)
def test_bad_arguments_are_named(arguments: dict[str, Any], words: str) -> None:
    X, y = moons(50)
    with pytest.raises(ValueError, match=words):
        svm_path(X, y, **arguments)


@pytest.mark.parametrize("arguments", [{"Cs": [-1.0]}, {"nus": [-1.0]}, {"max_time": -1.0}])
def test_bad_arguments_are_named_before_the_data_are_looked_at(arguments: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=f"{next(iter(arguments))} must be"):
        svm_path(None, None, **arguments)


def test_several_classes_are_refused_with_a_remedy() -> None:
    X, _ = moons(60)
    with pytest.raises(ValueError, match=r"y must have two classes, got 3.*SVCCV"):
        svm_path(X, np.arange(60) % 3)


def test_the_picture_has_a_mark_for_each_c() -> None:
    pyplot = pytest.importorskip("matplotlib.pyplot")
    X, y = moons(100)
    display = svm_path(X, y, Cs=CS, gamma=2.0).plot()
    assert len(display.ax_.collections[0].get_offsets()) == len(CS)
    assert display.ax_.get_ylabel() == "average hinge loss"
    pyplot.close(display.figure_)
