"""One list of promises that every solver keeps, whoever invented it."""

from __future__ import annotations

import copy
import pickle
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_moons
from sklearn.metrics.pairwise import rbf_kernel

from checkpoint_files import read_checkpoint, write_checkpoint
from problems import feature_problem, noisy_blobs, precomputed_problem
from slackwater import SVC, SBPClassifier, baselines
from slackwater.checkpoint import Saved
from slackwater.errors import ConvergenceWarning
from slackwater.gram.cache import RowCache
from slackwater.gram.direct import DirectRows
from slackwater.gram.ledger import EvaluationLedger
from slackwater.gram.storage import RowMemory
from slackwater.kernels.custom import Custom
from slackwater.points import as_points
from slackwater.problem import Problem
from slackwater.solvers.base import Foresighted
from slackwater.solvers.basins import OneBasin, TwoBasins
from slackwater.solvers.coupling import Balanced, Free
from slackwater.solvers.drive import Task, drive
from slackwater.solvers.dual_blocks import DualBlocks
from slackwater.solvers.norm_ball import NormBallDescent
from slackwater.solvers.pegasos import Pegasos
from slackwater.solvers.perceptron import Perceptron
from slackwater.solvers.sbp import StochasticBatchPerceptron
from slackwater.solvers.sdca import SDCA
from slackwater.solvers.simba import SIMBA
from slackwater.solvers.smo import SMOPairs, SMOSingles
from slackwater.solvers.stationary import StationaryBlocks
from slackwater.stopping import MaxEvaluations, MaxSteps, StopReason
from slackwater.tracing import Clock, Recorder

SOLVERS = {
    "sbp": StochasticBatchPerceptron(0.02, OneBasin()),
    "sbp, suffix average": StochasticBatchPerceptron(0.02, OneBasin(), "suffix"),
    "sbp, hard margin": StochasticBatchPerceptron(0.0, OneBasin()),
    "sbp with bias": StochasticBatchPerceptron(0.02, TwoBasins()),
    "dual blocks": DualBlocks(1.0, Free()),
    "dual blocks with bias": DualBlocks(1.0, Balanced()),
    "stationary blocks": StationaryBlocks(1.0, Free()),
    "stationary blocks with bias": StationaryBlocks(1.0, Balanced()),
    "pegasos": Pegasos(average="last", regularisation=0.01),
    "pegasos, projected and averaged": Pegasos(average="suffix", regularisation=0.01, project=True),
    "norm ball": NormBallDescent(average="uniform", ball=3.0),
    "sdca": SDCA(1.0),
    "smo": SMOSingles(1.0, 0.0),
    "smo with bias": SMOPairs(1.0, 0.0),
    "perceptron, averaged": Perceptron("averaged"),
    "perceptron, sampled": Perceptron("sampled"),
    "perceptron, last": Perceptron("last"),
    "simba": SIMBA(0.05),
}
every_solver = pytest.mark.parametrize("solver", SOLVERS.values(), ids=SOLVERS.keys())
STEPS = 150


def problem_for(solver, seed=0, weights=None):
    make = feature_problem if isinstance(solver, SIMBA) else precomputed_problem
    return make(n=70, seed=seed, weights=weights, shift=0.8)


def train(solver, problem, steps, state=None, callbacks=(), rules=None, seed=0):
    """Through the training loop; returns the task as the loop left it."""
    state = solver.start(problem, np.random.default_rng(seed)) if state is None else state
    task = Task(0, problem, state, [MaxSteps(steps)] if rules is None else rules, resumed_at=state.step)
    drive(solver, [task], problem.rows, problem.rows.ledger, Clock(), callbacks)
    return task


def assert_same_model(solver, problem, left, right):
    one, two = solver.expansion(problem, left), solver.expansion(problem, right)
    np.testing.assert_array_equal(one.support, two.support)
    np.testing.assert_array_equal(one.coefficients, two.coefficients)
    assert one.bias == two.bias
    assert len(one.support) > 0


@every_solver
def test_the_same_seed_gives_the_same_model(solver):
    problem = problem_for(solver)
    assert_same_model(
        solver, problem, train(solver, problem, STEPS).state, train(solver, problem_for(solver), STEPS).state
    )


@every_solver
@pytest.mark.parametrize("steps", [1, 2, 17, 100])
def test_a_budget_of_steps_is_used_to_the_last_one(solver, steps):
    task = train(solver, problem_for(solver), steps)
    assert task.state.step == steps
    assert task.reason is StopReason.STEPS


def cost_of_next_step(solver, problem, state):
    if isinstance(solver, Foresighted):
        return solver.outlook(problem, state).next_cost
    return solver.rows_a_step * problem.n


@every_solver
@pytest.mark.parametrize("rows", [3, 10.5, 31])
def test_a_budget_of_evaluations_is_kept_and_used_up(solver, rows):
    """Training ends before the step that might not fit, and not any earlier."""
    problem = problem_for(solver)
    limit = int(rows * problem.n)
    problem.rows.ledger.limit = limit
    task = train(solver, problem, 0, rules=[MaxEvaluations(limit), MaxSteps(20_000)])
    assert problem.rows.ledger.train <= limit
    assert task.reason is StopReason.EVALUATIONS
    assert problem.rows.ledger.train + cost_of_next_step(solver, problem, task.state) > limit


@every_solver
def test_the_count_never_falls_and_ends_at_what_the_ledger_says(solver):
    problem, recorder = problem_for(solver), Recorder()
    train(solver, problem, STEPS, callbacks=[recorder])
    counts = recorder.table()["evaluations"]
    assert len(counts) >= 2
    assert counts.dtype == np.int64
    assert (np.diff(counts) >= 0).all()
    assert counts[-1] == problem.rows.ledger.train


# SIMBA reads features, not kernel values; tests/solvers/test_simba.py counts those.
@pytest.mark.parametrize("name", sorted(SOLVERS.keys() - {"simba"}))
@pytest.mark.parametrize("cache_bytes", [0, 10 * 70 * 8, 10**6])
def test_the_count_is_that_of_the_kernel_values_really_computed(name, cache_bytes):
    solver = SOLVERS[name]
    X, labels = noisy_blobs(70, 0, 0.8)
    computed = []

    def kernel(A, B):
        computed.append(len(A) * len(B))
        return rbf_kernel(A, B, gamma=0.5)

    rows = RowCache(DirectRows(Custom(kernel), as_points(X), EvaluationLedger()), RowMemory(cache_bytes))
    train(solver, Problem(rows, labels, None, np.arange(70)), STEPS)
    assert rows.ledger.total == sum(computed) > 0


@every_solver
def test_watching_does_not_change_the_model(solver):
    problem, watched = problem_for(solver), problem_for(solver)

    class Watcher(Recorder):
        def assessed(self, row):
            super().assessed(row)
            solver.assess(watched, state)
            solver.expansion(watched, state)

    state = solver.start(watched, np.random.default_rng(0))
    plain = train(solver, problem, STEPS)
    train(solver, watched, STEPS, state, callbacks=[Watcher()])
    assert_same_model(solver, problem, plain.state, state)
    assert problem.rows.ledger.train == watched.rows.ledger.train


@every_solver
def test_assessing_changes_nothing(solver):
    problem = problem_for(solver)
    state = train(solver, problem, STEPS).state
    before = pickle.dumps(state)
    first = solver.assess(problem, state)
    assert pickle.dumps(state) == before
    assert repr(solver.assess(problem, state)) == repr(first)


@every_solver
@pytest.mark.parametrize("split", [1, 40, 140])
def test_a_state_that_was_pickled_goes_on_to_the_identical_model(solver, split):
    problem = problem_for(solver)
    whole = train(solver, problem, STEPS).state
    half = pickle.loads(pickle.dumps(train(solver, problem, split).state))
    assert half.step == split
    assert_same_model(solver, problem, whole, train(solver, problem, STEPS, half).state)


@every_solver
@pytest.mark.parametrize("split", [1, 40, 140])
def test_a_state_that_was_on_disk_goes_on_to_the_identical_model(solver, split, tmp_path):
    problem = problem_for(solver)
    whole = train(solver, problem, STEPS).state
    saved = Saved(7, 1.5, np.empty((0, 11)))
    write_checkpoint(tmp_path / "c", "mine", [train(solver, problem, split).state], saved)
    mould = solver.start(problem, np.random.default_rng(5))
    (half,), found = read_checkpoint(tmp_path / "c", "mine", [mould])
    assert found.evaluations == 7
    assert half.step == split
    assert_same_model(solver, problem, whole, train(solver, problem, STEPS, half).state)


@every_solver
def test_examples_of_weight_zero_take_no_part(solver):
    weights = np.ones(70)
    weights[::7] = 0.0
    problem = problem_for(solver, weights=weights)
    expansion = solver.expansion(problem, train(solver, problem, STEPS).state)
    assert not np.isin(expansion.support, np.arange(0, 70, 7)).any()


@every_solver
def test_gaps_are_those_of_objective_and_bound_or_not_claimed(solver):
    problem, recorder = problem_for(solver), Recorder()
    train(solver, problem, STEPS, callbacks=[recorder])
    table = recorder.table()
    claimed = not isinstance(solver, Perceptron | StationaryBlocks)
    assert np.isnan(table["gap"]).all() == (not claimed)
    maximises = isinstance(solver, StochasticBatchPerceptron | SIMBA)
    low, high = (table["objective"], table["bound"]) if maximises else (table["bound"], table["objective"])
    assert (low <= high * (1 + 1e-9) + 1e-9).all() or not claimed
    sure = np.isfinite(table["gap"]) & (low > 0)
    np.testing.assert_allclose(table["gap"][sure], np.maximum(0, 1 - low[sure] / high[sure]), atol=1e-9)


# ---- the same through the estimators

ESTIMATORS = {
    "SBPClassifier": SBPClassifier(0.02, gamma=1.0, tol=0.0, max_iter=400),
    "SBPClassifier with bias": SBPClassifier(0.02, gamma=1.0, tol=0.0, max_iter=400, fit_intercept=True),
    "SVC": SVC(gamma=1.0),
    "SVC without bias": SVC(gamma=1.0, fit_intercept=False),
    "PegasosClassifier": baselines.PegasosClassifier(1e-2, gamma=1.0, tol=0.0, max_iter=1500),
    "NormBallSGDClassifier": baselines.NormBallSGDClassifier(5.0, gamma=1.0, tol=0.0, max_iter=1500),
    "SDCAClassifier": baselines.SDCAClassifier(gamma=1.0, tol=0.0, max_iter=1500),
    "SMOClassifier": baselines.SMOClassifier(gamma=1.0),
    "SMOClassifier without bias": baselines.SMOClassifier(gamma=1.0, fit_intercept=False),
    "KernelPerceptron": baselines.KernelPerceptron(2, gamma=1.0),
    "SIMBAClassifier": baselines.SIMBAClassifier(0.3, tol=0.0, max_iter=1000),
    "FourierSVC": baselines.FourierSVC(gamma=1.0, n_pairs=60),
}
every_estimator = pytest.mark.parametrize("estimator", ESTIMATORS.values(), ids=ESTIMATORS.keys())
STEPWISE = {name: each for name, each in ESTIMATORS.items() if name != "FourierSVC"}  # which solves in one go
every_stepwise_estimator = pytest.mark.parametrize("estimator", STEPWISE.values(), ids=STEPWISE.keys())


def fitted(estimator, X, y, **parameters):
    model = copy.deepcopy(estimator).set_params(random_state=0, **parameters)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X, y)


@pytest.fixture(scope="module")
def moons():
    X, y = make_moons(150, noise=0.2, random_state=0)
    return X.round(2), y


def is_by_features(estimator):
    return isinstance(estimator, baselines.SIMBAClassifier | baselines.FourierSVC)


@every_estimator
def test_dense_csr_and_precomputed_input_train_equally_well(estimator, moons):
    X, y = moons
    dense = fitted(estimator, X, y)
    csr = fitted(estimator, sparse.csr_matrix(X), y)
    np.testing.assert_allclose(csr.predict(sparse.csr_matrix(X)), csr.predict(X))
    assert dense.score(X, y) > 0.8
    assert csr.score(X, y) == pytest.approx(dense.score(X, y), abs=0.07)
    if is_by_features(estimator):
        assert "kernel" not in estimator.get_params()
    else:
        K = rbf_kernel(X, gamma=1.0)
        precomputed = fitted(estimator, K, y, kernel="precomputed")
        assert precomputed.score(K, y) == pytest.approx(dense.score(X, y), abs=0.07)


@every_estimator
def test_a_fitted_model_predicts_the_same_after_pickling(estimator, moons):
    X, y = moons
    model = fitted(estimator, X, y)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).decision_function(X), model.decision_function(X))


@every_stepwise_estimator
def test_a_fit_that_was_interrupted_resumes_to_the_identical_model(estimator, moons, tmp_path):
    X, y = moons
    settings = {} if is_by_features(estimator) else {"kernel": "precomputed"}
    data = X if is_by_features(estimator) else rbf_kernel(X, gamma=1.0)
    whole = fitted(estimator, data, y, **settings)
    steps = min(int(np.max(whole.n_iter_)), 32)
    part = fitted(estimator, data, y, checkpoint=tmp_path / "c", **(settings | {"max_iter": steps}))
    resumed = fitted(estimator, data, y, checkpoint=tmp_path / "c", **settings)
    assert part.n_iter_ == steps
    assert resumed.n_iter_ == whole.n_iter_
    assert resumed.n_kernel_evals_ == whole.n_kernel_evals_
    np.testing.assert_array_equal(resumed.dual_coef_, whole.dual_coef_)
    np.testing.assert_array_equal(resumed.history_["step"], whole.history_["step"])


@every_stepwise_estimator
def test_showing_progress_does_not_change_the_model(estimator, moons, capsys):
    X, y = moons
    np.testing.assert_array_equal(fitted(estimator, X, y, verbose=1).dual_coef_, fitted(estimator, X, y).dual_coef_)
