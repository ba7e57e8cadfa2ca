"""Curves of Fig. 2: what is charged, and that they are the estimators' own."""

from __future__ import annotations

import json
import signal

import numpy as np
import pytest
from slackwater import SVC
from slackwater.baselines import KernelPerceptron

from sbp_paper.experiments import fig2, tables
from sbp_paper.experiments.data import Selection
from sbp_paper.experiments.fig2 import METHODS, Run, checkpoints, jobs, perceptron_curves
from sbp_paper.experiments.gaussian import combinations
from sbp_paper.experiments.matrices import KernelMatrix, ordered_by_content
from sbp_paper.experiments.perceptron import Perceptron

GAMMA, C, NU, EPOCHS = 0.3, 1.0, 0.05, 2


def run(method, seed=3, epochs=EPOCHS, nu=NU):
    shares = []
    record = Run(KernelMatrix(Selection("adult"), GAMMA), method, seed, epochs, C, nu)(shares.append)
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    assert json.loads(json.dumps(record)) == record  # it can be stored
    return record


@pytest.mark.filterwarnings("ignore::slackwater.errors.ConvergenceWarning")
@pytest.mark.parametrize("method", [name for name, how in METHODS.items() if how is not None])
def test_the_last_point_is_that_of_a_fit_without_looks(small_data, method):
    record = run(method)
    with KernelMatrix(Selection("adult"), GAMMA)() as held:
        model = METHODS[method].make(NU, C, held.n)
        model.set_params(kernel="precomputed", max_iter=record["steps"][-1], random_state=3)
        model.fit(held.matrix, held.data.y_train)
        values = combinations(held.data.X_test, held.data.X_train[model.support_], model.dual_coef_, GAMMA)[:, 0]
    assert record["test_error"][-1] == np.mean(np.where(values > 0, 1, -1) != small_data.y_test)
    assert 0.0 < record["test_error"][-1] < 0.4


def test_sbp_pays_a_row_a_step_and_nothing_else(small_data):
    record = run("sbp")
    n = len(small_data.y_train)
    assert record["n"] == n
    assert record["evaluations"] == [n * step for step in record["steps"]]
    assert record["first_epoch_evaluations"] == n * n == record["computed_evaluations"]
    assert record["steps"][-1] == EPOCHS * n
    assert record["ended"] == "epochs"


def test_pegasos_pays_for_violators_only(small_data):
    record = run("pegasos")
    paid = np.diff([0, *record["evaluations"]]) // record["n"]
    made = np.diff([0, *record["steps"]])
    assert (paid <= made).all()
    assert 0 < paid.sum() < made.sum()
    assert record["evaluations"][0] == record["n"]  # w = 0 violates every margin


def test_smo_ends_where_it_converges_and_pays_a_row_a_move(small_data):
    record = run("smo", epochs=10)
    assert record["ended"] == "converged"
    assert record["steps"][-1] < 10 * record["n"]
    # The step that finds nothing left to move costs nothing.
    assert record["evaluations"][-1] in {record["n"] * record["steps"][-1], record["n"] * (record["steps"][-1] - 1)}


def perceptron_by_hand(held, rng, passes):
    """Every response anew from the support, as the method is defined."""
    y, K = held.data.y_train.astype(float), held.matrix.astype(np.float64)
    w, total, charged = np.zeros(len(y)), np.zeros(len(y)), 0
    for _ in range(passes):
        for i in rng.permutation(len(y)):
            charged += np.count_nonzero(w)
            if y[i] * (K[i] @ w) <= 0.0:
                w[i] += y[i]
            total += w
    return total / (passes * len(y)), w, charged


def test_the_perceptron_is_the_perceptron(small_data):
    with KernelMatrix(Selection("adult"), GAMMA)() as held:
        mean, last, charged = perceptron_by_hand(held, np.random.default_rng(7).spawn(1)[0], 3)
        stops = [1, 10, 299, 301, 555, 900]  # within a pass and across its end
        found_mean, found_last = perceptron_curves(held, 7, stops, lambda share: None)
    np.testing.assert_allclose(found_mean.models[-1], mean, atol=1e-12)
    np.testing.assert_array_equal(found_last.models[-1], last)
    assert found_mean.steps == found_last.steps == stops
    assert found_mean.evaluations[-1] == charged


def test_the_perceptron_pays_and_errs_as_the_librarys(small_data):
    with KernelMatrix(Selection("adult"), GAMMA)() as held:
        ours = [Perceptron(held.matrix, held.data.y_train, np.random.default_rng(seed)) for seed in range(8)]
        theirs = [
            KernelPerceptron(2, kernel="precomputed", random_state=seed).fit(held.matrix, held.data.y_train)
            for seed in range(8)
        ]
    for each in ours:
        each.go_on(2 * held.n)
    paid, support = ([f(each) for each in ours] for f in (lambda p: p.charged, lambda p: np.count_nonzero(p.values)))
    assert np.mean(paid) == pytest.approx(np.mean([each.n_kernel_evals_ for each in theirs]), rel=0.1)
    assert np.mean(support) == pytest.approx(np.mean([len(each.support_) for each in theirs]), rel=0.1)


def test_alternatives_are_the_other_iterate(small_data):
    records = {method: run(method) for method in METHODS}
    kinds = {method: record["alternative"]["model"] for method, record in records.items() if "alternative" in record}
    assert kinds == {"sbp": "last", "pegasos": "uniform", "perceptron": "last"}
    for method in kinds:
        assert len(records[method]["alternative"]["test_error"]) == len(records[method]["steps"])
        assert records[method]["alternative"]["test_error"] != records[method]["test_error"]


def test_nu_is_derived_from_the_rows_where_none_is_given(small_data):
    found = run("sbp", nu=None)["nu"]
    optimum = SVC(C, gamma=GAMMA, fit_intercept=False, tol=1e-6, random_state=0)
    optimum.fit(small_data.X_train, small_data.y_train)
    assert found == pytest.approx(optimum.slack_nu_, rel=0.02)
    assert run("sbp")["nu"] == NU


def test_checkpoints_are_even_in_the_logarithm_and_mark_the_epochs():
    found = checkpoints(1000, 10)
    assert found[0] == 1
    assert found[-1] == 10_000
    assert {1000 * epoch for epoch in range(1, 11)} <= set(found)
    assert found == sorted(set(found))
    between = [step for step in found if 100 <= step < 1000]
    assert 10 <= len(between) <= 13


def test_one_run_for_each_method_and_seed():
    assert tuple(METHODS) == tables.METHODS  # what runs is what is shown
    full = jobs("full")
    keys = [job.key for job in full]
    assert len(set(keys)) == len(keys) == 5 * (10 + 10 + 3)
    by_key = {job.key: job for job in full}
    assert by_key["fig2/adult/perceptron/0"].settings["epochs"] == 100
    assert by_key["fig2/adult/sbp/0"].settings["nu"] == 1.10e-2
    assert by_key["fig2/mnist/sbp/2"].settings["gamma"] == 0.02
    assert by_key["fig2/adult/sbp/0"].shared == by_key["fig2/adult/smo/9"].shared
    assert by_key["fig2/adult/sbp/0"].shared != by_key["fig2/reuters/sbp/0"].shared


def test_interrupting_a_run_raises(small_data, monkeypatch):
    monkeypatch.setattr(fig2._Watch, "__call__", lambda self, moment: signal.raise_signal(signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        run("sbp")


def test_runs_do_not_depend_on_the_order_of_the_rows(small_data):
    shuffled = np.random.default_rng(0).permutation(300)
    other = small_data._replace(X_train=small_data.X_train[shuffled], y_train=small_data.y_train[shuffled])
    one, two = (ordered_by_content(data) for data in (small_data, other))
    np.testing.assert_array_equal(one.X_train, two.X_train)
    np.testing.assert_array_equal(one.y_train, two.y_train)
    assert sorted(map(tuple, one.X_train)) == sorted(map(tuple, small_data.X_train))


def test_a_matrix_that_has_no_room_is_refused(small_data, monkeypatch):
    monkeypatch.setattr("sbp_paper.experiments.matrices.available_memory", lambda: 400_000)
    matrix = KernelMatrix(Selection("adult"), GAMMA)
    with pytest.raises(MemoryError, match="kernel matrix takes"), matrix():
        pass
    monkeypatch.setattr("sbp_paper.experiments.matrices.available_memory", lambda: 500_000)
    with matrix() as held:
        assert held.matrix.nbytes == 360_000
