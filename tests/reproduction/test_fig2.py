"""Curves of Fig. 2: what is charged, and that they are the estimators' own."""

from __future__ import annotations

import numpy as np
import pytest

from slackwater import SBPClassifier
from slackwater.baselines import KernelPerceptron, PegasosClassifier, SDCAClassifier, SMOClassifier
from slackwater.reproduction.data import Selection
from slackwater.reproduction.fig2 import METHODS, PerceptronCourse, Run, checkpoints, course, jobs
from slackwater.reproduction.matrices import KernelMatrix

GAMMA, C, NU, EPOCHS = 0.3, 1.0, 0.05, 2


def run(method, seed=3, epochs=EPOCHS, nu=NU):
    shares = []
    record = Run(KernelMatrix(Selection("adult"), GAMMA), method, seed, epochs, C, nu)(shares.append)
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    return record


def estimator(method, steps, n):
    # The estimators draw their seed from random_state; here the solver must be given that of the run.
    common = {"gamma": GAMMA, "max_iter": steps}
    return {
        "sbp": lambda: SBPClassifier(NU, tol=0.0, **common),
        "pegasos": lambda: PegasosClassifier(1.0 / (C * n), tol=0.0, **common),
        "sdca": lambda: SDCAClassifier(C, tol=0.0, **common),
        "smo": lambda: SMOClassifier(C, fit_intercept=False, tol=1e-3, **common),
        "perceptron": lambda: KernelPerceptron(EPOCHS, **common),
    }[method]()


@pytest.mark.filterwarnings("ignore::slackwater.errors.ConvergenceWarning")
@pytest.mark.parametrize("method", METHODS)
def test_the_last_point_is_the_estimators(small_data, monkeypatch, method):
    record = run(method)
    model = estimator(method, record["steps"][-1], record["n"])
    monkeypatch.setattr(type(model), "_seed", lambda self: 3)
    model.fit(small_data.X_train, small_data.y_train)
    assert record["test_error"][-1] == np.mean(model.predict(small_data.X_test) != small_data.y_test)
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


def perceptron_by_hand(held, seed, passes):
    """Every response anew from the support, as the method is defined."""
    orders, _ = np.random.default_rng(seed).spawn(2)
    y, K = held.data.y_train.astype(float), held.matrix.astype(np.float64)
    w, total, charged = np.zeros(len(y)), np.zeros(len(y)), 0
    for _ in range(passes):
        for i in orders.permutation(held.order):
            charged += np.count_nonzero(w)
            if y[i] * (K[i] @ w) <= 0.0:
                w[i] += y[i]
            total += w
    return total / (passes * len(y)), w, charged


def test_the_compiled_perceptron_is_the_perceptron(small_data):
    with KernelMatrix(Selection("adult"), GAMMA)() as held:
        mean, last, charged = perceptron_by_hand(held, 7, 3)
        ours = PerceptronCourse(held.problem(), held.matrix, 7)
        for steps in (1, 10, 299, 301, 555, 900):  # within a pass and across its end
            ours.advance(steps)
        found_mean, found_last = ours.models()
    np.testing.assert_allclose(found_mean, mean, atol=1e-12)
    np.testing.assert_array_equal(found_last, last)
    assert ours.charged == charged


@pytest.mark.parametrize("method", METHODS)
def test_stopping_on_the_way_changes_nothing(small_data, method):
    with KernelMatrix(Selection("adult"), GAMMA)() as held:
        straight, halting = (course(method, held, NU, C, 1) for _ in range(2))
        straight.advance(450)
        for steps in (1, 2, 100, 300, 450):
            halting.advance(steps)
        assert halting.charged == straight.charged
        for one, other in zip(straight.models(), halting.models(), strict=True):
            np.testing.assert_array_equal(one, other)


def test_alternatives_are_the_other_iterate(small_data):
    records = {method: run(method) for method in METHODS}
    kinds = {method: record["alternative"]["model"] for method, record in records.items() if "alternative" in record}
    assert kinds == {"sbp": "last", "pegasos": "uniform", "perceptron": "last"}
    for method in kinds:
        assert len(records[method]["alternative"]["test_error"]) == len(records[method]["steps"])
        assert records[method]["alternative"]["test_error"] != records[method]["test_error"]


def test_nu_is_derived_from_the_rows_where_none_is_given(small_data):
    from slackwater import SVC

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
    from slackwater.reproduction import fig2
    from slackwater.stopping import StopReason

    def interrupted(solver, tasks, *rest):
        tasks[0].reason = StopReason.INTERRUPT

    monkeypatch.setattr(fig2, "drive", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run("sbp")


def test_a_matrix_that_has_no_room_is_refused(small_data, monkeypatch):
    monkeypatch.setattr("slackwater.reproduction.matrices.physical_memory", lambda: 400_000)
    matrix = KernelMatrix(Selection("adult"), GAMMA)
    with pytest.raises(MemoryError, match="kernel matrix takes"), matrix():
        pass
    monkeypatch.setattr("slackwater.reproduction.matrices.physical_memory", lambda: 500_000)
    with matrix() as held:
        assert held.matrix.nbytes == 360_000
