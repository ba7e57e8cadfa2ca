"""Chunking: the exact solution by a working set whose kernel matrix is in memory."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from sklearn import svm
from sklearn.datasets import make_classification
from sklearn.metrics.pairwise import rbf_kernel

from fitting_problems import objective, svc
from slackwater import SVC
from slackwater.errors import ConvergenceWarning
from slackwater.fitting.chunking import Chunking
from slackwater.fitting.settings import ChunkingSettings, Settings
from slackwater.fitting.working_set import WorkingSet
from slackwater.fitting.working_set_dual import WorkingSetDual
from slackwater.gram.features import Features
from slackwater.gram.ledger import EvaluationLedger
from slackwater.kernels.gaussian import Gaussian
from slackwater.memory import SpareMemory
from slackwater.points import as_points
from slackwater.solvers.coupling import Balanced, Free
from slackwater.workers import Workers

N, GAMMA = 1600, 0.1
SMALL = Settings(chunking=replace(ChunkingSettings(), max_working_set=600, max_at_once=256, sample=128))


def data(n=N, seed=0, **parameters):
    X, y = make_classification(
        n, 10, random_state=seed, **{"n_informative": 8, "flip_y": 0.02, "class_sep": 1.5, **parameters}
    )
    return X / X.std(), y


def noisy(n=N):
    return data(n, flip_y=0.4, class_sep=0.5)


def rare(n=N):
    """Fifty of one class for each of the other."""
    X, y = data(8 * n, flip_y=0.0, class_sep=0.7)
    chosen = np.sort(np.concatenate([np.flatnonzero(y == 0)[: n - n // 51], np.flatnonzero(y == 1)[: n // 51]]))
    return X[chosen], y[chosen]


PROBLEMS = pytest.mark.parametrize("problem", [data, noisy, rare])


def fitted(X, y, weights=None, **parameters):
    model = SVC(**{"C": 1.0, "gamma": GAMMA, "random_state": 0, **parameters}).fit(X, y, weights)
    assert model.strategy_ == "exact"
    taken = model.decisions_.of("exact")
    assert [(each.measured, each.outcome) for each in taken] == [("examples", "taken")]  # and no other way
    return model


def optimum(X, y, weights=None, **parameters):
    return svm.SVC(**{"C": 1.0, "gamma": GAMMA, "tol": 1e-5, **parameters}).fit(X, y, weights)


def features(X, gamma=GAMMA):
    points = as_points(X)
    kernel = Gaussian(gamma)
    return Features(kernel, kernel.prepared(points), EvaluationLedger(), Workers(), 2**28, 0, np.arange(len(X)))


def chunking(X, y, settings=None, coupling=None, C=1.0):
    labels = np.where(y == y.max(), 1, -1).astype(np.int8)
    return Chunking(
        features(X),
        labels,
        np.full(len(y), C),
        np.arange(len(y)),
        coupling or Balanced(),
        settings or ChunkingSettings(),
        0,
        SpareMemory(),
    )


def signed(model, n):
    """Coefficients of all examples."""
    found = np.zeros(n)
    found[model.support_] = model.dual_coef_[0]
    return found


# ---- the model


@PROBLEMS
@pytest.mark.parametrize("C", [0.3, 10.0])
def test_decision_values_are_those_of_the_optimum(problem, C):
    X, y = problem()
    model, best = fitted(X, y, C=C), optimum(X, y, C=C)
    np.testing.assert_allclose(model.decision_function(X), best.decision_function(X), atol=5e-3)
    assert model.stop_reason_ == "tol"
    assert model.certified_


@PROBLEMS
def test_weights_are_those_of_the_optimum(problem):
    X, y = problem()
    weights = np.random.default_rng(0).uniform(0.1, 4.0, len(y))
    weights[::7] = 0.0
    model, best = fitted(X, y, weights), optimum(X, y, weights)
    np.testing.assert_allclose(model.decision_function(X), best.decision_function(X), atol=5e-3)
    assert (weights[model.support_] > 0.0).all()


@pytest.mark.parametrize("convert", [np.float32, sparse.csr_matrix, sparse.csr_array])
def test_other_data_types_have_the_same_optimum(convert):
    X, y = data()
    X[np.abs(X) < 0.5] = 0.0
    given = X.astype(np.float32) if convert is np.float32 else convert(X)
    model, best = fitted(given, y), optimum(X, y)
    np.testing.assert_allclose(model.decision_function(given), best.decision_function(X), atol=5e-3)


def test_a_linear_kernel_has_the_same_optimum():
    X, y = data()
    model, best = fitted(X, y, kernel="linear"), optimum(X, y, kernel="linear")
    np.testing.assert_allclose(model.decision_function(X), best.decision_function(X), atol=5e-3)


@PROBLEMS
def test_without_a_bias_the_objective_is_that_of_a_finer_fit(problem):
    X, y = problem()
    model, fine = fitted(X, y, fit_intercept=False), fitted(X, y, fit_intercept=False, tol=1e-6)
    assert model.intercept_ == fine.intercept_ == 0.0
    assert fine.gap_ <= 1e-6
    assert objective(model, X, y) == pytest.approx(objective(fine, X, y), rel=2e-3)
    np.testing.assert_allclose(model.decision_function(X), fine.decision_function(X), atol=2e-2)


@PROBLEMS
def test_the_gap_is_never_below_the_truth(problem):
    X, y = problem()
    fine = fitted(X, y, tol=1e-6)
    signs, K = np.where(y == 1, 1.0, -1.0), rbf_kernel(X, gamma=GAMMA)
    beta = signed(fine, len(y))
    bound = np.abs(beta).sum() - 0.5 * beta @ K @ beta  # a dual point: no objective is below it
    for tol in (None, 1e-2, 1e-4):
        model = fitted(X, y, tol=tol)
        beta = signed(model, len(y))
        responses = K @ beta
        primal = 0.5 * beta @ responses + np.maximum(0.0, 1.0 - signs * (responses + model.intercept_)).sum()
        assert model.gap_ >= (primal - bound) / primal - 1e-6
        assert model.gap_ <= (tol or 1e-3)
        assert np.abs(beta).max() <= 1.0
        assert beta.sum() == pytest.approx(0.0, abs=1e-9 * np.abs(beta).sum())


def in_another_order(X, y, **parameters):
    """Two models, the second of the examples in another order, and the coefficients of both in that of the first."""
    order = np.random.default_rng(0).permutation(len(y))
    there, back = fitted(X, y, **parameters), fitted(X[order], y[order], **parameters)
    found = np.empty(len(y))
    found[order] = signed(back, len(y))
    return there, back, signed(there, len(y)), found


@PROBLEMS
def test_the_order_of_rows_does_not_matter_in_double_precision(problem):
    there, back, expected, found = in_another_order(*problem(), tol=1e-4)
    np.testing.assert_array_equal(np.flatnonzero(found), np.flatnonzero(expected))
    np.testing.assert_allclose(found, expected, atol=1e-6)
    assert back.intercept_[0] == pytest.approx(there.intercept_[0], abs=1e-6)
    assert back.n_iter_ == there.n_iter_


@pytest.mark.parametrize("problem", [data, noisy])
def test_the_order_of_rows_does_not_matter_in_single_precision(problem):
    _, _, expected, found = in_another_order(*problem())
    np.testing.assert_array_equal(np.flatnonzero(found), np.flatnonzero(expected))
    np.testing.assert_allclose(found, expected, atol=1e-6)


@PROBLEMS
def test_the_order_of_rows_changes_no_decision_value_by_more_than_is_allowed_for(problem):
    X, y = problem()
    there, back, _, _ = in_another_order(X, y)
    np.testing.assert_allclose(back.decision_function(X), there.decision_function(X), atol=2e-3)


@pytest.mark.parametrize("n", [400, 1024, 1025, 3072])
def test_few_examples_are_solved_at_once_and_more_in_rounds(n):
    X, y = data(n)
    model = fitted(X, y)
    np.testing.assert_array_equal(model.history_["problem"], 0)
    assert len(model.history_["problem"]) == model.n_iter_
    assert (model.n_iter_ == 1) == (n <= 1024)
    assert np.abs(model.decision_function(X) - optimum(X, y).decision_function(X)).max() <= 5e-3


def test_not_all_kernel_values_are_needed_where_few_are_support_vectors():
    X, y = data(3000, class_sep=3.0, flip_y=0.0)
    model = fitted(X, y, C=10.0)
    assert len(model.support_) < 600
    assert model.n_kernel_evals_ < 3000**2


# ---- working sets that become too large


@pytest.mark.parametrize("weighted", [False, True])
def test_where_the_working_set_would_be_too_large_rows_solve_the_problem(weighted):
    X, y = noisy()
    weights = np.random.default_rng(0).uniform(0.5, 2.0, len(y)) if weighted else None
    model = svc(SMALL, C=1.0, gamma=GAMMA).fit(X, y, weights)
    declined = [each for each in model.decisions_ if each.outcome == "declined"]
    assert [(each.strategy, each.measured) for each in declined] == [("exact", "examples in the working set")]
    assert declined[0].value > 600
    assert model.strategy_ == "exact"
    assert model.stop_reason_ == "tol"
    best = optimum(X, y, weights)
    np.testing.assert_allclose(model.decision_function(X), best.decision_function(X), atol=2e-2)


def test_a_forced_strategy_that_gives_up_its_working_set_has_the_same_model():
    X, y = noisy()
    free, forced = (svc(SMALL, C=1.0, gamma=GAMMA, strategy=name).fit(X, y) for name in ("auto", "exact"))
    np.testing.assert_array_equal(forced.dual_coef_, free.dual_coef_)


def test_a_forced_strategy_says_that_it_gave_up_its_working_set():
    X, y = noisy()
    model = svc(SMALL, C=1.0, gamma=GAMMA, strategy="exact").fit(X, y)
    assert [each.outcome for each in model.decisions_ if each.measured == "examples in the working set"] == ["declined"]


def separable_in_little_room(share):
    """A model by a working set of so many times the optimum's support vectors; its decision values, the optimum's."""
    X, y = data(3000, class_sep=2.5, flip_y=0.0)
    best = optimum(X, y, C=10.0)
    room = int(share * len(best.support_))
    assert room < 3000 // 4
    chosen = replace(ChunkingSettings(), max_working_set=room, max_at_once=64, sample=room // 2)
    model = svc(Settings(chunking=chosen), C=10.0, gamma=GAMMA).fit(X, y)
    return model, model.decision_function(X), best.decision_function(X)


def test_examples_that_are_not_needed_any_more_make_room_for_others(monkeypatch):
    sizes = []
    forget = Chunking._forget_idle

    def watched(self):
        before = len(self.working)
        forget(self)
        sizes.append((before, len(self.working)))

    monkeypatch.setattr(Chunking, "_forget_idle", watched)
    model, found, expected = separable_in_little_room(2.0)
    assert any(after < before for before, after in sizes)
    assert all(each.positive for each in model.decisions_)
    assert model.stop_reason_ == "tol"
    np.testing.assert_allclose(found, expected, atol=5e-3)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_working_set_full_of_examples_that_are_needed_is_given_up():
    model, found, expected = separable_in_little_room(1.2)
    assert model.stop_reason_ == "tol"
    np.testing.assert_allclose(found, expected, atol=2e-2)


def test_a_part_of_a_large_working_set_is_solved_at_a_time(monkeypatch):
    parts = []
    solve_part = WorkingSetDual._solve_part

    def watched(self, chosen, *others):
        parts.append((len(chosen), len(self.working)))
        return solve_part(self, chosen, *others)

    monkeypatch.setattr(WorkingSetDual, "_solve_part", watched)
    X, y = noisy(3000)
    model = fitted(X, y)
    assert any(size < whole for size, whole in parts)
    np.testing.assert_allclose(model.decision_function(X), optimum(X, y).decision_function(X), atol=5e-3)


def test_small_samples_find_the_same_model():
    X, y = data(2000)
    settings = Settings(chunking=replace(ChunkingSettings(), max_at_once=64, sample=32, growth=0.5, share_at_once=1.1))
    model = svc(settings, C=1.0, gamma=GAMMA).fit(X, y)
    assert all(each.positive for each in model.decisions_)
    assert model.n_iter_ > 2
    np.testing.assert_allclose(model.decision_function(X), optimum(X, y).decision_function(X), atol=5e-3)


# ---- budgets


def test_one_round_is_a_usable_model():
    X, y = data()
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        model = SVC(C=1.0, gamma=GAMMA, random_state=0, max_iter=1).fit(X, y)
    assert model.stop_reason_ == "max_iter"
    assert model.n_iter_ == 1
    assert model.score(X, y) > 0.8
    assert np.isfinite(model.decision_function(X)).all()


def test_no_time_is_a_usable_model():
    X, y = data()
    with pytest.warns(ConvergenceWarning, match="max_time"):
        model = SVC(C=1.0, gamma=GAMMA, random_state=0, max_time=1e-9).fit(X, y)
    assert model.stop_reason_ == "max_time"
    assert model.n_iter_ == 1
    assert model.score(X, y) > 0.8


def test_the_gap_of_an_unfinished_model_is_not_below_the_truth():
    X, y = data()
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        model = SVC(C=1.0, gamma=GAMMA, random_state=0, max_iter=1).fit(X, y)
    beta, signs, K = signed(model, N), np.where(y == 1, 1.0, -1.0), rbf_kernel(X, gamma=GAMMA)
    responses = K @ beta
    primal = 0.5 * beta @ responses + np.maximum(0.0, 1.0 - signs * (responses + model.intercept_)).sum()
    dual = np.abs(beta).sum() - 0.5 * beta @ responses
    assert model.gap_ == pytest.approx((primal - dual) / primal, rel=1e-3)


# ---- what is known of examples outside of the working set


def rounds(found, tolerances):
    """Rounds of chunking, one for each tolerance."""
    newcomers = found.first_members()
    for tolerance in tolerances:
        found.admit(newcomers)
        found.solve(tolerance)
        found.test_others(tolerance)
        yield tolerance
        newcomers = found.newcomers(found.violators(tolerance))


@pytest.mark.parametrize("coupling", [Balanced(), Free()], ids=["bias", "no bias"])
def test_examples_whose_responses_are_out_of_date_do_not_violate(coupling):
    X, y = data(3000, class_sep=3.0, flip_y=0.0)
    settings = replace(ChunkingSettings(), sample=256, growth=0.25)
    found = chunking(X, y, settings, coupling, C=10.0)
    K, skipped = rbf_kernel(X, gamma=GAMMA), 0
    for _ in rounds(found, [0.1, 0.1, 1e-2, 1e-3, 1e-3, 1e-3]):
        truth = found.labels * (K @ (found.alpha * found.labels))
        stale = found.outside & (found.last_test < len(found.tests) - 1)
        np.testing.assert_allclose(found.responses[~stale], truth[~stale], atol=1e-8)
        assert (truth[stale] + found.labels[stale] * found.middle() >= 1.0).all()
        assert (truth[stale] + found.labels[stale] * found.assess().bias >= 1.0).all()
        assert (found.alpha[found.outside] == 0.0).all()
        skipped += np.count_nonzero(stale)
    assert skipped > 0


def test_no_response_has_moved_further_than_the_drift_allows():
    X, y = data(3000, class_sep=3.0, flip_y=0.0)
    found = chunking(X, y, replace(ChunkingSettings(), sample=256, growth=0.25), C=10.0)
    K = rbf_kernel(X, gamma=GAMMA)
    for _ in rounds(found, [0.1, 1e-2, 1e-3, 1e-3]):
        for earlier, drift in zip(found.tests, found.drifts, strict=True):
            change = (found.alpha - earlier) * found.labels
            assert np.sqrt(max(change @ K @ change, 0.0)) <= drift + 1e-9


def test_the_assessment_is_that_of_the_dual_point():
    X, y = data(3000, class_sep=3.0, flip_y=0.0)
    found = chunking(X, y, replace(ChunkingSettings(), sample=256, growth=0.25), C=10.0)
    K = rbf_kernel(X, gamma=GAMMA)
    for _ in rounds(found, [0.1, 1e-2, 1e-3, 1e-3]):
        beta, assessment = found.alpha * found.labels, found.assess()
        responses = K @ beta
        squared = beta @ responses
        loss = 10.0 * np.maximum(0.0, 1.0 - found.labels * (responses + assessment.bias)).sum()
        assert assessment.objective == pytest.approx(0.5 * squared + loss, rel=1e-9)
        assert assessment.bound == pytest.approx(found.alpha.sum() - 0.5 * squared, rel=1e-9)
        assert assessment.n_support == np.count_nonzero(beta)


def test_the_first_members_are_of_both_classes_however_rare_one_is():
    X, y = data(2000)
    y = np.zeros(2000, dtype=int)
    y[[3, 1999]] = 1
    members = chunking(X, y).first_members()
    assert len(members) == len(np.unique(members)) == 512
    assert {3, 1999} <= set(members.tolist())


def test_the_first_members_are_all_examples_where_they_are_few():
    X, y = data(1024)
    np.testing.assert_array_equal(chunking(X, y).first_members(), np.arange(1024))


# ---- the working set


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_values_of_examples_that_join_in_portions_are_the_kernel_matrix(dtype):
    X = np.random.default_rng(0).normal(size=(1500, 5)).astype(dtype)
    working = WorkingSet(features(X), 1500, SpareMemory())
    order = np.random.default_rng(1).permutation(1500)
    K = rbf_kernel(X.astype(np.float64), gamma=GAMMA)
    for start, stop in [(0, 3), (3, 3), (3, 40), (40, 300), (300, 1500)]:  # the last one is more than one block
        working.admit(order[start:stop])
        np.testing.assert_array_equal(working.indices, order[:stop])
        values = working.values[: len(working), : len(working)]
        np.testing.assert_allclose(values, K[np.ix_(order[:stop], order[:stop])], atol=2e-6)
        np.testing.assert_array_equal(values, values.T)
        assert values.dtype == dtype


def test_examples_that_are_kept_have_their_values_and_others_can_join():
    X = np.random.default_rng(0).normal(size=(300, 5))
    working, K = WorkingSet(features(X), 200, SpareMemory()), rbf_kernel(X, gamma=GAMMA)
    working.admit(np.arange(150))
    places = np.array([0, 5, 7, 100, 149])
    np.testing.assert_allclose(working.part(places), K[np.ix_(places, places)], atol=1e-12)
    working.part(places)[:] = 0.0  # a copy
    working.keep(places)
    np.testing.assert_array_equal(working.indices, places)
    working.admit(np.arange(200, 300))
    everyone = np.concatenate([places, np.arange(200, 300)])
    np.testing.assert_array_equal(working.indices, everyone)
    np.testing.assert_allclose(working.values[:105, :105], K[np.ix_(everyone, everyone)], atol=1e-12)
    working.keep(np.empty(0, dtype=np.intp))
    assert len(working) == 0


def test_a_working_set_has_no_more_examples_than_it_may():
    working = WorkingSet(features(np.random.default_rng(0).normal(size=(50, 2))), 20, SpareMemory())
    working.admit(np.arange(20))
    with pytest.raises(ValueError, match="at most 20 examples, got 21"):
        working.admit(np.array([30]))


def test_memory_that_is_released_serves_the_next_working_set():
    X = np.random.default_rng(0).normal(size=(100, 5))
    memory, K = SpareMemory(), rbf_kernel(X, gamma=GAMMA)
    first = WorkingSet(features(X), 100, memory)
    first.admit(np.arange(100))
    pages = first.values.ctypes.data
    first.release()
    second = WorkingSet(features(X), 100, memory)
    second.admit(np.arange(40, 90))
    assert second.values.ctypes.data == pages
    np.testing.assert_allclose(second.values[:50, :50], K[40:90, 40:90], atol=1e-12)
    assert len(first.values) == 0


def test_every_value_is_charged_once():
    X = np.random.default_rng(0).normal(size=(60, 5))
    given = features(X)
    working = WorkingSet(given, 60, SpareMemory())
    working.admit(np.arange(20))
    working.admit(np.arange(20, 60))
    assert given.ledger.train == 20 * 20 + 40 * 60
