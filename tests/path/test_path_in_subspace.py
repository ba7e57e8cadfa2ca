"""A path in a subspace: every C that is accepted has passed the tests of a single fit, every other is proven."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import sklearn.svm
from numpy.typing import NDArray

from slackwater import SVC
from slackwater.deadline import Clock, Deadline
from slackwater.fitting.shared_subspace import SharedSubspace
from slackwater.fitting.subspace.trial import Trial
from slackwater.path.points import FrontPoint
from slackwater.path.preparation import prepared
from slackwater.path.solving import solved

N, GAMMA = 4000, 0.2
CS = [0.05, 0.2, 1.0, 5.0, 200.0]
TESTS = ["objective above the sample's optimum", "error above that of the exact solution of a part, 95 % limit"]


def noisy(n: int = N, seed: int = 0) -> tuple[NDArray[np.float64], NDArray[np.int_]]:
    """A winding border, and a fifth of the labels wrong."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 4))
    likely = np.where(np.sin(2 * X[:, 0]) + X[:, 1] > 0, 0.8, 0.2)
    return X, (rng.random(n) < likely).astype(int)


def path(
    X: Any, y: Any, Cs: Sequence[float] = CS, weights: Any = None, deadline: Deadline | None = None, **parameters: Any
) -> tuple[list[FrontPoint], int]:
    """The points, and the kernel values they took, by settings that let a subspace serve few examples."""
    with prepared(SVC(gamma=GAMMA, **parameters), X, y, weights) as data:
        known = data.context.settings
        few = replace(
            known.subspace, min_examples=1000, min_support_vectors=100, landmarks=128, comparison_examples=2000,
            max_deficit=0.015, smooth_candidates=512,
        )  # fmt: skip
        sample = replace(known.sample, min_examples=512)
        data.context.settings = replace(known, min_examples=1000, sample=sample, subspace=few)
        return solved(data, Cs, deadline or Deadline(Clock())), data.training_set.ledger.train


@pytest.fixture(scope="module")
def points() -> list[FrontPoint]:
    return path(*noisy())[0]


def test_accepted_points_have_passed_every_test_and_are_not_certified(points: list[FrontPoint]) -> None:
    assert [point.C for point in points] == CS
    accepted = [point for point in points if point.strategy == "subspace"]
    assert len(accepted) >= 3
    for point in accepted:
        model = point.make()
        assert (model.strategy_, model.certified_, point.certified) == ("subspace", False, False)
        found = model.decisions_.of("subspace")
        assert found[-1].measured == "loss by cancelling coefficients"
        assert found[-1].outcome == "taken"
        assert set(TESTS) <= {decision.measured for decision in found if decision.outcome == "taken"}


def test_objectives_are_those_of_the_models_and_within_their_gaps_of_the_optimum(points: list[FrontPoint]) -> None:
    X, y = noisy()
    for point in points[:3]:
        assert point.strategy == "subspace"
        model, oracle = point.make(), sklearn.svm.SVC(C=point.C, gamma=GAMMA, tol=1e-5).fit(X, y)
        optimum = objective(oracle, X, y)
        shown = point.criteria.objective(N * point.C)
        assert shown == pytest.approx(objective(model, X, y), rel=1e-4)
        assert optimum * (1.0 - 1e-6) <= shown
        assert shown * (1.0 - point.gap) <= optimum
        assert point.train_accuracy == pytest.approx(model.score(X, y), abs=1e-12)


def objective(model: Any, X: Any, y: Any) -> float:
    coefficients = np.asarray(model.dual_coef_)
    gram = sklearn.metrics.pairwise.rbf_kernel(model.support_vectors_, gamma=GAMMA)
    margins = np.where(y == 1, 1.0, -1.0) * model.decision_function(X)
    return float(0.5 * (coefficients @ gram @ coefficients.T).item() + model.C * np.maximum(0.0, 1.0 - margins).sum())


def test_errors_are_those_of_separate_exact_fits(points: list[FrontPoint]) -> None:
    X, y = noisy()
    X_test, y_test = noisy(20_000, seed=1)
    for point in points[:4]:
        alone = SVC(C=point.C, gamma=GAMMA, strategy="exact").fit(X, y)
        assert point.make().score(X_test, y_test) >= alone.score(X_test, y_test) - 0.015


def test_a_c_that_fails_one_test_is_proven_and_the_others_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    judge = Trial.as_good_as_exact

    def but_one(trial: Trial, fit: Any, coordinates: Any) -> bool:
        return judge(trial, fit, coordinates) and trial.context.solver.C != 0.2

    monkeypatch.setattr(Trial, "as_good_as_exact", but_one)
    found, _ = path(*noisy(), Cs=CS[:3])
    assert [point.strategy for point in found] == ["subspace", "exact", "subspace"]
    assert [point.certified for point in found] == [False, True, False]
    assert found[1].make().strategy_ == "exact"
    assert len(found[1].make().decisions_.of("subspace")) > 0
    assert found[1].gap <= 0.03


def test_no_c_is_accepted_where_no_landmarks_can_be_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments: Any) -> None:
        raise np.linalg.LinAlgError

    monkeypatch.setattr("slackwater.fitting.subspace.fit.minimise", fail)
    found, _ = path(*noisy(), Cs=CS[:2])
    assert [point.strategy for point in found] == ["exact", "exact"]
    assert any(each.measured == "Cholesky decomposition" for each in found[0].make().decisions_)


def test_values_of_c_share_coordinates_and_the_exact_solution_of_the_part() -> None:
    X, y = noisy()
    few = [*CS[:2], 0.1, 0.14]
    together, evaluations = path(X, y, sorted(few))
    alone = [path(X, y, [C]) for C in few]
    assert {point.strategy for point in together} == {"subspace"}
    assert {points[0].strategy for points, _ in alone} == {"subspace"}
    assert 2 * evaluations <= sum(each for _, each in alone)


def test_a_stated_tolerance_is_proven_at_every_c(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SharedSubspace, "solve", lambda subspace: pytest.fail("a subspace proves no gap"))
    found, _ = path(*noisy(1500), Cs=CS[:2], tol=1e-3)
    assert all(point.certified and point.gap <= 1e-3 for point in found)


@pytest.mark.parametrize("threads", [1, 2])
def test_points_do_not_depend_on_threads(points: list[FrontPoint], threads: int) -> None:
    again, _ = path(*noisy(), n_jobs=threads)
    for point, other in zip(points, again, strict=True):
        assert point.strategy == other.strategy
        assert other.criteria.norm == pytest.approx(point.criteria.norm, rel=1e-5)


def test_weights_are_repetitions_in_a_subspace() -> None:
    X, y = noisy(2500)
    weights = np.random.default_rng(1).integers(1, 3, 2500)
    weighted, _ = path(X, y, CS[:2], weights)
    repeated, _ = path(np.repeat(X, weights, axis=0), np.repeat(y, weights), CS[:2])
    for one, other in zip(weighted, repeated, strict=True):
        assert one.strategy == other.strategy == "subspace"
        assert one.criteria.norm == pytest.approx(other.criteria.norm, rel=1e-6)
        assert one.train_accuracy == pytest.approx(other.train_accuracy, abs=1e-12)


def test_time_that_runs_out_while_subspaces_are_tried_leaves_a_point(monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[Any] = []
    original = Trial.on_part

    def on_part(trial: Trial, *arguments: Any) -> Any:
        begun.append(trial)
        return original(trial, *arguments)

    class Ends(Deadline):
        def passed(self) -> bool:
            return len(begun) >= 2

    monkeypatch.setattr(Trial, "on_part", on_part)
    found, _ = path(*noisy(), Cs=CS[:3], deadline=Ends(Clock()))
    assert len(begun) == 2
    assert len(found) >= 1
    X, y = noisy(1000, seed=1)
    assert found[0].make().score(X, y) > 0.7  # of at most 0.8
