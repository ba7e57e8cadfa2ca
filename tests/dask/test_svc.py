"""SVC on a cluster: the single machine's model, from any collection, and usable without a cluster."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_digits, make_classification, make_moons
from sklearn.exceptions import ConvergenceWarning, NotFittedError

import slackwater
from slackwater.dask import SVC, cluster
from slackwater.dask.clients import direct
from slackwater.dask.cluster import grouped
from slackwater.dask.partitions import look_at, overview
from slackwater.errors import CheckpointError, ClusterError

LocalSVC = slackwater.SVC
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
pytestmark = pytest.mark.filterwarnings("default")  # of Dask and what it uses
PARAMETERS = {"C": 2.0, "gamma": 2.0, "tol": 1e-4}


def moons(n=1500):
    return make_moons(n, noise=0.3, random_state=0)


def in_chunks(X, y, size=400):
    return da.from_array(X, chunks=(size, -1)), da.from_array(y, chunks=size)


@pytest.fixture(scope="module")
def reference():
    return LocalSVC(**PARAMETERS).fit(*moons())


def assert_same(model, reference, X):
    """The same objective within both gaps, and labels that differ only at the boundary."""
    values, expected = model.decision_function(X), reference.decision_function(X)
    assert np.abs(values - expected).max() < 0.02
    assert np.mean((values > 0) == (expected > 0)) > 0.998


@pytest.mark.parametrize("kind", ["array", "frame", "numpy", "csr", "csr blocks"])
def test_any_collection_gives_the_single_machines_model(client, reference, kind):
    X, y = moons()
    given = {
        "array": lambda: in_chunks(X, y),
        "frame": lambda: frames(X, y),
        "numpy": lambda: (X, y),
        "csr": lambda: (sparse.csr_matrix(X), y),
        "csr blocks": lambda: (in_chunks(X, y)[0].map_blocks(sparse.csr_matrix), in_chunks(X, y)[1]),
    }[kind]()
    model = SVC(**PARAMETERS).fit(*given)
    shown = sparse.csr_matrix(X) if "csr" in kind else X
    if kind == "frame":
        pandas = pytest.importorskip("pandas")
        shown = pandas.DataFrame(X, columns=["a", "b"])
        assert list(model.feature_names_in_) == ["a", "b"]
    assert_same(model, reference, shown)
    vectors = model.support_vectors_.toarray() if "csr" in kind else model.support_vectors_
    np.testing.assert_array_equal(vectors, X[model.support_])
    assert model.gap_ <= 1e-4
    assert model.certified_
    assert (model.strategy_, model.stop_reason_) == ("exact", "tol")
    assert model.cluster_log_ == []
    assert model.history_["gap"][-1] == model.gap_
    assert model.shape_fit_ == X.shape


def frames(X, y):
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"a": X[:, 0], "b": X[:, 1], "label": y})
    whole = dd.from_pandas(table, npartitions=3)
    return whole[["a", "b"]], whole["label"]


@pytest.mark.parametrize("parts", [1, 2])
def test_objective_and_test_error_are_those_of_the_single_machine(client, parts):
    """At convergence, with as many shards as there are partitions."""
    X, y = make_classification(6000, 12, n_informative=6, flip_y=0.05, random_state=0)
    parameters = {"C": 2.0, "gamma": 0.1, "strategy": "exact"}
    local = LocalSVC(**parameters).fit(X[:3000], y[:3000])
    model = SVC(**parameters).fit(*in_chunks(X[:3000], y[:3000], 3000 // parts))
    objectives = [each.history_["objective"][-1] for each in (model, local)]
    assert objectives[0] == pytest.approx(objectives[1], rel=max(model.gap_, local.gap_))
    assert max(model.gap_, local.gap_) <= 1e-3
    errors = [np.mean(each.predict(X[3000:]) != y[3000:]) for each in (model, local)]
    assert errors[0] == pytest.approx(errors[1], abs=0.001)
    assert np.mean(model.predict(X[3000:]) == local.predict(X[3000:])) > 0.999


def test_a_fit_leaves_the_client_as_it_was(client):
    before, worker = client.direct_to_workers, next(iter(client.nthreads()))
    first, second = direct(client, worker), direct(client, worker)
    first.__enter__()
    assert client.direct_to_workers is True  # on this machine workers can be reached
    second.__enter__()  # of another thread
    first.__exit__(None, None, None)
    assert client.direct_to_workers is True
    second.__exit__(None, None, None)
    assert client.direct_to_workers == before


def test_one_against_one_has_the_layout_of_the_single_machine(client):
    X, y = load_digits(return_X_y=True)
    names = np.array(list("abcdefghij"))[y]
    model = SVC(C=3.0).fit(*in_chunks(X, names))
    reference = LocalSVC(C=3.0).fit(X, names)
    assert model.dual_coef_.shape == (9, len(model.support_))
    np.testing.assert_allclose(model.intercept_, reference.intercept_, atol=5e-3)
    assert np.mean(model.predict(X) == reference.predict(X)) > 0.999
    assert model.decision_function(X).shape == (len(X), 10)
    lazy = model.decision_function(in_chunks(X, y)[0])
    np.testing.assert_allclose(lazy.compute(), model.decision_function(X), atol=1e-6)
    rest = SVC(C=3.0, multi_class="ovr").fit(X, names)
    expected = LocalSVC(C=3.0, multi_class="ovr").fit(X, names)
    assert np.mean(rest.predict(X) == expected.predict(X)) > 0.995


def test_weights_are_repetitions(client):
    X, y = moons(600)
    weights = np.random.default_rng(0).integers(0, 3, 600)
    weighted = SVC(**PARAMETERS).fit(*in_chunks(X, y), da.from_array(weights, chunks=400))
    repeated = SVC(**PARAMETERS).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    assert_same(weighted, repeated, X)
    balanced = SVC(**PARAMETERS, class_weight="balanced").fit(*in_chunks(X, y))
    np.testing.assert_allclose(balanced.class_weight_, 300 / np.bincount(y))


def test_gamma_scale_is_that_of_all_partitions(client):
    X, y = moons(500)
    X = 100.0 + X * [1.0, 3.0]
    assert SVC().fit(*in_chunks(X, y))._gamma == pytest.approx(LocalSVC().fit(X, y)._gamma, rel=1e-9)


def test_predictions_are_lazy_on_collections(client, reference):
    X, y = moons()
    model = SVC(**PARAMETERS).fit(X, y)
    lazy = model.predict(in_chunks(X, y, 700)[0])
    assert isinstance(lazy, da.Array)
    assert (lazy.shape, lazy.dtype) == ((1500,), y.dtype)
    np.testing.assert_array_equal(lazy.compute(), model.predict(X))
    assert model.score(*in_chunks(X, y)) == pytest.approx(model.score(X, y))
    framed = SVC(**PARAMETERS).fit(*frames(X, y))
    np.testing.assert_array_equal(framed.predict(frames(X, y)[0]).compute(), framed.predict(frames(X, y)[0].compute()))


def test_the_model_needs_no_dask(client, tmp_path):
    X, y = moons(300)
    model = SVC(**PARAMETERS).fit(X, y)
    model.save(tmp_path / "model.npz")
    loaded = slackwater.load(tmp_path / "model.npz")
    assert type(loaded) is LocalSVC
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))
    (tmp_path / "model.pickle").write_bytes(pickle.dumps(model))
    code = (
        "import sys; sys.modules['dask'] = sys.modules['distributed'] = None\n"
        f"import pickle; model = pickle.load(open({str(tmp_path / 'model.pickle')!r}, 'rb'))\n"
        "print(model.predict([[0.0, 0.0]]).shape)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=120)
    assert done.stdout.strip() == "(1,)", done.stderr


def test_parameters_are_those_of_the_single_machine_and_two_more():
    assert set(SVC().get_params()) == {*LocalSVC().get_params(), "worker_timeout", "on_disk"}
    assert clone(SVC(C=3.0, worker_timeout=5.0)).get_params()["worker_timeout"] == 5.0
    with pytest.raises(NotFittedError):
        SVC().predict(np.zeros((1, 2)))


@pytest.mark.parametrize(
    ("parameters", "match"),
    [
        ({"kernel": "precomputed"}, "kernel must be a kernel of rows"),
        ({"probability": True}, "probability must be False on a cluster"),
        ({"strategy": "screening"}, "strategy must be 'auto', 'exact' or 'subspace'"),
        ({"worker_timeout": 0}, "worker_timeout must be a number > 0"),
        ({"on_disk": "yes"}, "on_disk must be True, False or None"),
    ],
)
def test_what_a_cluster_cannot_serve_is_refused_before_any_work(parameters, match):
    with pytest.raises(ValueError, match=match):
        SVC(**parameters).fit(*moons(20))


def test_data_that_cannot_be_trained_on_are_named(client):
    X, y = moons(800)
    with pytest.raises(ValueError, match="y must have at least two classes"):
        SVC().fit(*in_chunks(X, np.zeros(800)))
    broken = X.copy()
    broken[700, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        SVC().fit(*in_chunks(broken, y))
    with pytest.raises(ValueError, match="one entry for each row of X, got 700 for 800"):
        SVC().fit(in_chunks(X, y)[0], y[:700])
    with pytest.raises(ValueError, match="positive semi-definite"):
        SVC(kernel="sigmoid", coef0=-1.0, gamma=3.0).fit(X, y)
    with pytest.raises(TypeError, match="X must be a Dask collection"):
        SVC().fit(X, in_chunks(X, y)[1])


def test_budgets_end_a_fit_with_a_model(client):
    X, y = moons(4000)
    with pytest.warns(ConvergenceWarning):
        model = SVC(**PARAMETERS, max_iter=2).fit(*in_chunks(X, y))
    assert (model.stop_reason_, int(model.n_iter_[0])) == ("max_iter", 2)
    assert model.score(X, y) > 0.7
    with pytest.warns(ConvergenceWarning):
        model = SVC(**PARAMETERS, max_kernel_evals=3_000_000).fit(*in_chunks(X, y))
    assert model.stop_reason_ == "max_kernel_evals"
    assert model.n_kernel_evals_ <= 3_000_000
    stopped = SVC(**PARAMETERS, early_stopping=True, n_iter_no_change=1).fit(*in_chunks(X, y))
    assert stopped.stop_reason_ == "early_stopping"
    errors = stopped.history_["holdout_error"]
    assert errors[-1] > errors.min() + 0.1  # the last model is a bad one, and not the one that is kept
    assert 1.0 - stopped.score(X, y) == pytest.approx(errors.min(), abs=0.04)


def test_a_checkpoint_is_gone_on_from(client, tmp_path, reference):
    X, y = moons()
    path = tmp_path / "state"
    with pytest.warns(ConvergenceWarning):
        SVC(**PARAMETERS, max_iter=2, checkpoint=path).fit(*in_chunks(X, y))
    model = SVC(**PARAMETERS, checkpoint=path).fit(*in_chunks(X, y))
    assert list(model.history_["step"][:2]) == [1, 2]
    assert_same(model, reference, X)
    with pytest.raises(CheckpointError, match="belongs to other data or other parameters"):
        SVC(**PARAMETERS, checkpoint=path).fit(*in_chunks(X + 1.0, y))


def test_a_warm_start_goes_on_with_another_cost(client):
    X, y = moons()
    model = SVC(**PARAMETERS, warm_start=True).fit(*in_chunks(X, y))
    first = int(model.n_iter_[0])
    model.set_params(C=4.0).fit(*in_chunks(X, y))
    assert_same(model, LocalSVC(**{**PARAMETERS, "C": 4.0}).fit(X, y), X)
    fresh = SVC(**{**PARAMETERS, "C": 4.0}).fit(*in_chunks(X, y))
    assert int(model.n_iter_[0]) - first < int(fresh.n_iter_[0])


def test_a_subspace_serves_noisy_labels(client):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20000, 4)).astype(np.float32)
    y = (X[:, 0] * X[:, 1] + 0.8 * rng.standard_normal(20000) > 0).astype(int)
    fresh = rng.standard_normal((20000, 4)).astype(np.float32)
    truth = (fresh[:, 0] * fresh[:, 1] > 0).astype(int)
    model = SVC(C=1.0, gamma=0.3, strategy="subspace").fit(*in_chunks(X, y, 5000))
    reference = LocalSVC(C=1.0, gamma=0.3, strategy="subspace").fit(X, y)
    assert (model.strategy_, model.certified_, model.stop_reason_) == ("subspace", False, "converged")
    assert len(model.support_) <= 512
    assert model.score(fresh, truth) == pytest.approx(reference.score(fresh, truth), abs=0.005)
    assert {each.strategy for each in model.decisions_} >= {"subspace"}


def test_without_tol_a_sample_decides(client):
    X, y = make_moons(12000, noise=0.1, random_state=0)
    model = SVC(C=1.0, gamma=2.0).fit(*in_chunks(X, y, 4000))
    assert model.strategy_ == "exact"
    assert len(model.decisions_.of("sample")) > 0
    assert model.score(X, y) == pytest.approx(LocalSVC(C=1.0, gamma=2.0).fit(X, y).score(X, y), abs=0.002)


def test_rows_on_disk_give_the_same_model(client, reference):
    X, y = moons()
    model = SVC(**PARAMETERS, on_disk=True).fit(*in_chunks(X, y))
    assert_same(model, reference, X)


def test_a_cluster_is_started_where_there_is_none(tmp_path):
    """In a process of its own, which has no client."""
    script = tmp_path / "alone.py"
    script.write_text(
        "from sklearn.datasets import make_moons\nfrom slackwater.dask import SVC\n"
        "if __name__ == '__main__':\n    X, y = make_moons(300, noise=0.2, random_state=0)\n"
        "    print(SVC(gamma=2.0).fit(X, y).score(X, y) > 0.9)\n"
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False, timeout=240)
    assert done.stdout.strip() == "True", done.stderr


def test_a_killed_worker_does_not_end_a_fit(client):
    X, y = moons(6000)
    chunks = in_chunks(X, y, 1000)
    undisturbed = SVC(**PARAMETERS).fit(*chunks)
    pids = client.run(os.getpid)
    killed = threading.Event()

    class Killer:
        """Kills a worker at the third look at the model."""

        looks = 0

        def __call__(self, *_):
            self.looks += 1
            if self.looks == 3:
                os.kill(next(iter(pids.values())), signal.SIGKILL)
                killed.set()
            return False

    with watching(Killer()):
        model = SVC(**PARAMETERS).fit(*chunks)
    assert killed.is_set()
    assert any("was lost" in each for each in model.cluster_log_)
    assert_same(model, undisturbed, X)
    objectives = model.history_["objective"][-1], undisturbed.history_["objective"][-1]
    assert objectives[0] == pytest.approx(objectives[1], rel=2e-4)
    deadline = time.monotonic() + 30.0
    while len(client.nthreads()) < 2 and time.monotonic() < deadline:  # its nanny brings it back
        time.sleep(0.1)


class watching:  # noqa: N801
    """Have something called at each assessment of any fit."""

    def __init__(self, function):
        self._function = function

    def assessed(self, row):
        self._function(row)

    def tick(self, progress):
        pass

    def ended(self):
        pass

    def __enter__(self):
        from slackwater.tracing import watched_by

        self._block = watched_by(self)
        self._block.__enter__()

    def __exit__(self, *error):
        self._block.__exit__(*error)


def test_groups_of_partitions_are_even_and_none_is_empty():
    assert grouped([10, 10, 10, 10], 2) == [[0, 1], [2, 3]]
    assert grouped([5], 4) == [[0]]
    assert [k for group in grouped([100, 1, 1, 1], 3) for k in group] == [0, 1, 2, 3]
    assert grouped([0, 0], 2)[0]


def test_workers_are_silent_only_if_they_do_not_answer_however_often_they_are_asked(monkeypatch):
    asked = []

    def answers(client, worker):  # "busy" at the fourth time, "stopped" never
        asked.append(worker)
        return worker == "busy" and asked.count("busy") > 3

    monkeypatch.setattr(cluster, "answers", answers)
    assert cluster._silent(None, ["busy"], seconds=60.0) == []
    assert cluster._silent(None, ["busy", "stopped"], seconds=0.05) == ["stopped"]


def test_an_overview_is_that_of_all_rows_together():
    rng = np.random.default_rng(0)
    X, y = rng.normal(1e4, 1.0, (500, 3)), rng.integers(0, 3, 500)
    looks = [look_at(X[a:b], y[a:b], None, [0, a], True, 16) for a, b in [(0, 120), (120, 120), (120, 500)]]
    found = overview(looks)
    assert found.variance == pytest.approx(X.var(), rel=1e-9)
    np.testing.assert_array_equal(found.counts, np.bincount(y))
    assert (found.n, found.firsts) == (500, [0, 120, 120])


def fit_on(client, model, X, y):
    model.client = client
    return model.fit(X, y)


def test_partitions_do_not_pile_up_on_a_worker(tmp_path):
    """Each is looked at, and put into a shard, before the next ones are read."""
    folder = str(tmp_path)

    def read(number):  # travels whole: workers do not know this module
        import distributed

        held = sum("concatenate" in str(key) for key in distributed.get_worker().data)
        with open(f"{folder}/held", "a") as file:
            file.write(f"{held}\n")
        time.sleep(0.03)  # long enough for what comes next to be known
        return np.random.default_rng(number).normal(size=(200, 2))

    distributed = pytest.importorskip("distributed")
    dask = pytest.importorskip("dask")
    blocks = [da.from_delayed(dask.delayed(read)(k), (200, 2), float) for k in range(40)]
    X, y = da.concatenate(blocks), da.from_array(np.arange(8000) % 2, chunks=200)
    of_its_own = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": ":0", "set_as_default": False}
    with distributed.Client(**of_its_own) as client:
        fit_on(client, SVC(C=0.1), X, y)
    held = np.loadtxt(f"{folder}/held")
    assert len(held) >= 80  # for the first look, and for the shards
    assert held.max() <= 8  # those read before the tasks that want them are known; else 14 to 19


def test_workers_that_may_begin_no_task_are_named_with_the_remedy():
    distributed = pytest.importorskip("distributed")
    X, y = in_chunks(*moons())

    def pause(dask_worker):
        from distributed.core import Status

        dask_worker.status = Status.paused  # as Dask does where memory is short

    of_its_own = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": ":0", "set_as_default": False}
    with distributed.Client(memory_limit=0, **of_its_own) as client:
        client.run(pause)
        with pytest.raises(ClusterError, match=r"cannot begin a task for want of memory.*memory_limit"):
            fit_on(client, SVC(**PARAMETERS, worker_timeout=2.0), X, y)
