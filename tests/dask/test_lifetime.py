"""What a fit leaves on a cluster: nothing, however it ends."""

from __future__ import annotations

import gc
import os
import signal
import threading
import time
import types
import warnings

import numpy as np
import pytest
from sklearn.datasets import make_moons

from slackwater.dask import SVC
from slackwater.dask import fit as fit_module
from slackwater.errors import ClusterError
from slackwater.tracing import watched_by

distributed = pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")
pytestmark = pytest.mark.filterwarnings("default")  # of Dask and what it uses
PARAMETERS = {"C": 2.0, "gamma": 2.0, "tol": 1e-4}


@pytest.fixture
def no_collector():
    """Python frees what nothing names, and no cycles: these may wait for long."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def in_chunks(X, y, size=300):
    return da.from_array(X, chunks=(size, -1)), da.from_array(y, chunks=size)


def left_on(client):
    """Tasks that the scheduler knows of, and shards in the workers' memory; after a moment to free them."""

    def held(dask_worker):
        from slackwater.dask.host import _HOSTS

        return len(_HOSTS) + len(dask_worker.state.actors) + len(dask_worker.data)

    deadline = time.monotonic() + 10.0
    while True:
        tasks = client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks))
        found = tasks, sum(client.run(held).values()), len(client.futures)
        if found == (0, 0, 0) or time.monotonic() > deadline:
            return found
        time.sleep(0.1)


def test_fits_leave_nothing_on_the_workers(client, no_collector):
    X, y = make_moons(900, noise=0.3, random_state=0)
    for _ in range(3):
        SVC(**PARAMETERS).fit(*in_chunks(X, y))
    SVC(**PARAMETERS).fit(X, y)
    assert left_on(client) == (0, 0, 0)


def test_fits_that_fail_leave_nothing_on_the_workers(client, no_collector, fails, tmp_path):
    X, y = make_moons(900, noise=0.3, random_state=0)
    count = str(tmp_path / "count")

    for after in (0, 5):  # at the first look, and as shards are made
        (tmp_path / "count").write_text("")
        rows = in_chunks(X, y)[0].map_blocks(fails, count, after, meta=np.empty((0, 2)))
        with pytest.raises(RuntimeError, match="on fire"):
            SVC(**PARAMETERS).fit(rows, in_chunks(X, y)[1])
    assert left_on(client) == (0, 0, 0)


def test_a_client_that_is_closed_in_mid_fit_is_named(client):
    """At the first look at the partitions, and in training."""
    X, y = make_moons(3000, noise=0.3, random_state=0)

    def slowly(block):
        import time

        time.sleep(0.2)
        return block

    rows = in_chunks(X, y)[0].map_blocks(slowly, meta=np.empty((0, 2)))
    for after in (0.5, 3.5):
        model = SVC(**{**PARAMETERS, "tol": 0.0}, max_iter=-1, max_time=30.0, worker_timeout=5.0)
        model.client = distributed.Client(client.scheduler.address, set_as_default=False)
        closing = threading.Timer(after, model.client.close)
        closing.start()
        began = time.monotonic()
        with pytest.raises(ClusterError):
            model.fit(rows, in_chunks(X, y)[1])
        assert time.monotonic() - began < after + 10.0
        closing.join()
    assert left_on(client) == (0, 0, 0)


def test_ctrl_c_in_mid_fit_leaves_the_model_and_nothing_on_the_workers(client):
    X, y = make_moons(900, noise=0.3, random_state=0)
    model = SVC(**{**PARAMETERS, "tol": 0.0}, max_iter=-1, max_time=60.0)
    rounds = AtRound(3)
    with watched_by(rounds), pytest.raises(KeyboardInterrupt, match="model reached is kept"):
        model.fit(*in_chunks(X, y))
    assert model.stop_reason_ == "interrupted"
    assert model.score(X, y) > 0.8
    assert left_on(client) == (0, 0, 0)


def test_ctrl_c_as_support_vectors_are_fetched_leaves_the_model(client, monkeypatch):
    X, y = make_moons(900, noise=0.3, random_state=0)
    fetch = fit_module.rows_at

    def interrupted(*arguments):
        signal.raise_signal(signal.SIGINT)
        return fetch(*arguments)

    monkeypatch.setattr(fit_module, "rows_at", interrupted)
    model = SVC(**PARAMETERS)
    with pytest.raises(KeyboardInterrupt, match="model reached is kept"):
        model.fit(*in_chunks(X, y))
    assert model.stop_reason_ == "tol"
    assert model.score(X, y) > 0.8


class AtRound:
    """Presses Ctrl-C at an assessment of a number."""

    def __init__(self, left):
        self.left = left

    def assessed(self, row):
        self.left -= 1
        if self.left == 0:
            signal.raise_signal(signal.SIGINT)

    def tick(self, progress):
        pass

    def ended(self):
        pass

    def staged(self, name):
        pass

    def done(self):
        pass


def test_two_fits_of_one_client_do_not_disturb_each_other(client):
    X, y = make_moons(900, noise=0.3, random_state=0)
    before, found = client.direct_to_workers, {}

    def fit(C):
        model = SVC(**{**PARAMETERS, "C": C})
        model.client = client
        found[C] = model.fit(*in_chunks(X, y))

    threads = [threading.Thread(target=fit, args=(C,)) for C in (1.0, 3.0)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    for C, model in found.items():
        alone = SVC(**{**PARAMETERS, "C": C}).fit(*in_chunks(X, y))
        np.testing.assert_allclose(model.decision_function(X), alone.decision_function(X), atol=1e-6)
    assert len(found) == 2
    assert client.direct_to_workers == before
    assert left_on(client) == (0, 0, 0)


def test_rows_on_disk_are_in_the_workers_own_folder_and_gone_after_the_fit(client):
    X, y = make_moons(900, noise=0.3, random_state=0)
    seen = set()

    def folders_of(dask_worker):  # travels whole: workers do not know this module
        from pathlib import Path

        return [str(each) for each in Path(dask_worker.local_directory).glob("slackwater-*")]

    class Looking(AtRound):
        def assessed(self, row):
            for folders in client.run(folders_of).values():  # of each worker
                seen.update(folders)

    with watched_by(Looking(0)):
        SVC(**PARAMETERS, on_disk=True).fit(*in_chunks(X, y))
    assert len(seen) == 2
    assert left_on(client) == (0, 0, 0)
    assert not any(map(os.path.exists, seen))


def test_a_host_removes_its_folder_itself():
    from slackwater.dask.host import Assignment, Host

    plan = types.SimpleNamespace(form=None, n_classes=2)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        host = Host(Assignment(("fit", 0), 0, plan, 0, 0, True, 1, 0))
        folder = host._folder.name
        assert os.path.exists(folder)
        del host
    assert not os.path.exists(folder)
    assert told == []  # Python tells of folders that are left to it


def test_a_fit_in_a_task_leaves_its_thread_to_the_tasks_that_it_waits_for():
    X, y = make_moons(900, noise=0.3, random_state=0)

    def fit_here(X, y):
        from slackwater.dask import SVC

        return [SVC(gamma=2.0).fit(X, y).score(X, y) for _ in range(2)]

    of_its_own = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": ":0", "set_as_default": False}
    with distributed.Client(**of_its_own) as alone:
        assert min(alone.submit(fit_here, X, y).result(timeout=60)) > 0.9
