"""What becomes of a fit when workers are killed, stopped, starved or added, and when the scheduler goes."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning

from slackwater.dask import SVC
from slackwater.errors import ClusterError
from slackwater.tracing import watched_by

distributed = pytest.importorskip("distributed")
dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]
PARAMETERS = {"C": 1.0, "gamma": 0.05, "strategy": "exact"}


@contextlib.contextmanager
def cluster_of(n_workers, **options):
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    options = {"threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": logging.CRITICAL, **options}
    with distributed.LocalCluster(n_workers=n_workers, **options) as cluster, distributed.Client(cluster) as client:
        yield cluster, client


def collection(n=20000):
    X, y = make_classification(n, 20, n_informative=10, flip_y=0.02, random_state=0)
    return da.from_array(X, chunks=(2500, -1)), da.from_array(y, chunks=2500), X


def later(seconds, function):
    thread = threading.Timer(seconds, function)
    thread.start()
    return thread


def wait_for_workers(client, count):
    client.wait_for_workers(count, timeout=60)


@pytest.fixture(scope="module")
def undisturbed():
    X, y, rows = collection()
    with cluster_of(2):
        began = time.monotonic()
        model = SVC(**PARAMETERS).fit(X, y)
        return model, time.monotonic() - began, rows


def assert_as_undisturbed(model, undisturbed):
    reference, _, rows = undisturbed
    assert model.gap_ <= 1e-4
    objectives = model.history_["objective"][-1], reference.history_["objective"][-1]
    assert objectives[0] == pytest.approx(objectives[1], rel=2e-4)  # both are within 1e-4 of the optimum
    assert np.mean(model.predict(rows) == reference.predict(rows)) > 0.9995


def test_twenty_fits_with_a_worker_killed_at_a_random_moment(undisturbed):
    _, seconds, _ = undisturbed
    X, y, _ = collection()
    rng, lost = np.random.default_rng(0), 0
    for _ in range(20):
        with cluster_of(2) as (_, client):  # a new one: Dask does not restart every worker that is killed
            wait_for_workers(client, 2)
            pids = list(client.run(os.getpid).values())
            victim = pids[rng.integers(len(pids))]
            killer = later(rng.uniform(0.0, seconds), lambda pid=victim: os.kill(pid, signal.SIGKILL))
            model = SVC(**PARAMETERS).fit(X, y)
            killer.join()
            lost += bool(model.cluster_log_)
            assert_as_undisturbed(model, undisturbed)
    assert lost >= 5  # others were killed before the shards were made, or after


def test_a_worker_that_is_gone_for_good_and_one_that_joins(undisturbed):
    X, y, _ = collection()
    with cluster_of(2) as (cluster, _):
        began = AtFirstLook(lambda: (kill_for_good(cluster.workers[0]), later(2.0, lambda: cluster.scale(3))))
        with watched_by(began):
            model = fit_for(40.0, X, y)
    assert any("was lost" in each for each in model.cluster_log_)
    assert any("moved from" in each for each in model.cluster_log_), model.cluster_log_
    assert_as_undisturbed(model, undisturbed)


def kill_for_good(nanny):
    nanny.auto_restart = False
    os.kill(nanny.pid, signal.SIGKILL)


def fit_for(seconds, X, y):
    """A fit that goes on after its gap is small, for others to come and go meanwhile."""
    with pytest.warns(ConvergenceWarning):
        return SVC(**PARAMETERS, tol=0.0, max_time=seconds, max_iter=-1).fit(X, y)


@pytest.mark.parametrize("seconds", [12.0, 60.0])
def test_a_worker_that_is_stopped_for_a_while_is_waited_for(undisturbed, seconds):
    X, y, _ = collection()
    with cluster_of(2) as (_, client):
        pid = next(iter(client.run(os.getpid).values()))
        stop, go = (
            later(0.7, lambda: os.kill(pid, signal.SIGSTOP)),
            later(seconds, lambda: os.kill(pid, signal.SIGCONT)),
        )
        model = SVC(**PARAMETERS, worker_timeout=120.0).fit(X, y)
        stop.join()
        go.join()
    assert_as_undisturbed(model, undisturbed)


def test_a_slow_worker_is_waited_for(undisturbed):
    """It runs a fifth of the time."""
    X, y, _ = collection()
    over = threading.Event()
    with cluster_of(2) as (_, client):
        pid = next(iter(client.run(os.getpid).values()))
        slowing = threading.Thread(target=slow_down, args=(pid, over))
        slowing.start()
        try:
            model = SVC(**PARAMETERS).fit(X, y)
        finally:
            over.set()
            slowing.join()
    assert model.cluster_log_ == []
    assert_as_undisturbed(model, undisturbed)


def slow_down(pid, over):
    while not over.is_set():
        os.kill(pid, signal.SIGSTOP)
        time.sleep(0.4)
        os.kill(pid, signal.SIGCONT)
        time.sleep(0.1)


def test_a_worker_that_stays_stopped_is_done_without(undisturbed):
    X, y, _ = collection()
    with cluster_of(2) as (_, client):
        pid = next(iter(client.run(os.getpid).values()))
        stop = later(0.7, lambda: os.kill(pid, signal.SIGSTOP))
        try:
            began = time.monotonic()
            model = SVC(**PARAMETERS, worker_timeout=5.0).fit(X, y)
            assert time.monotonic() - began < 60.0
        finally:
            stop.join()
            os.kill(pid, signal.SIGCONT)
    assert any("silent for 5 s" in each for each in model.cluster_log_)
    assert_as_undisturbed(model, undisturbed)


def test_no_worker_at_all_is_an_error_that_says_so():
    X, y, _ = collection(5000)
    with cluster_of(1) as (cluster, client):
        cluster.scale(0)
        while client.nthreads():
            time.sleep(0.1)
        with pytest.raises(ClusterError, match="no worker came within 2 s"):
            SVC(**PARAMETERS, worker_timeout=2.0).fit(X, y)


def test_a_lost_scheduler_is_an_error_and_the_checkpoint_goes_on(tmp_path, undisturbed):
    X, y, _ = collection()
    path = tmp_path / "state"
    with scheduler_of_its_own(tmp_path, 2) as (process, client), client.as_current():
        with pytest.warns(ConvergenceWarning, match="max_iter"):
            SVC(**PARAMETERS, checkpoint=path, max_iter=5).fit(X, y)
        with watched_by(AtFirstLook(process.kill)), pytest.raises(ClusterError, match=r"checkpoint .* is intact"):
            SVC(**PARAMETERS, checkpoint=path, tol=0.0, worker_timeout=5.0, max_iter=-1).fit(X, y)
    with cluster_of(2):
        model = SVC(**PARAMETERS, checkpoint=path).fit(X, y)
    assert model.history_["step"][0] == 1
    assert_as_undisturbed(model, undisturbed)


class AtFirstLook:
    """Does something when a model is first assessed."""

    def __init__(self, function):
        self._function = function

    def assessed(self, row):
        function, self._function = self._function, lambda: None
        function()

    def tick(self, progress):
        pass

    def ended(self):
        pass


@contextlib.contextmanager
def scheduler_of_its_own(folder, workers):
    """A scheduler and workers as processes, and a client of them."""
    found = folder / "scheduler.json"
    command = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--scheduler-file", str(found), "--port", "0"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    scheduler = subprocess.Popen([*command, "--no-dashboard"], **quiet)
    worker = [sys.executable, "-m", "distributed.cli.dask_worker", "--scheduler-file", str(found), "--nthreads", "1"]
    started = [subprocess.Popen([*worker, "--no-dashboard"], **quiet) for _ in range(workers)]
    try:
        client = distributed.Client(scheduler_file=str(found), timeout=60, set_as_default=False)
        client.wait_for_workers(workers, timeout=60)
        yield scheduler, client
    finally:
        for process in (*started, scheduler):
            process.kill()
            process.wait(timeout=30)
        with contextlib.suppress(Exception):
            client.close(timeout=1)


def test_workers_with_too_little_memory_are_named():
    X = da.random.default_rng(0).standard_normal((400000, 400), chunks=(50000, -1)).astype(np.float32)
    y = (X[:, 0] > 0).astype(int)
    with cluster_of(1, memory_limit="500MB"), pytest.raises((ClusterError, MemoryError), match="memory"):
        SVC(**PARAMETERS, on_disk=False, worker_timeout=20.0).fit(X, y)


def test_data_of_twice_the_workers_memory_are_trained_on(tmp_path):
    """3.2 GB of rows in a memory map, two workers of 800 MB, half of which Dask counts for libraries."""
    shape, path = (4_000_000, 200), tmp_path / "rows.npy"
    rows = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=shape)
    rng = np.random.default_rng(0)
    for start in range(0, shape[0], 100_000):
        rows[start : start + 100_000] = rng.standard_normal((100_000, 200), dtype=np.float32)
    labels = (rows[:, 0] + rows[:, 1] > 0).astype(int)
    rows.flush()

    def read_rows(path, start):  # a function of this test travels whole: workers do not know this module
        return np.array(np.load(path, mmap_mode="r")[start : start + 50_000])

    starts = range(0, shape[0], 50_000)
    blocks = [da.from_delayed(dask.delayed(read_rows)(str(path), k), (50_000, 200), np.float32) for k in starts]
    X = da.concatenate(blocks)
    y = da.from_array(labels, chunks=50_000)
    with cluster_of(2, memory_limit="800MB") as (_, client):
        peaks, over = [], threading.Event()
        watcher = threading.Thread(target=watch_memory, args=(client, peaks, over))
        watcher.start()
        with pytest.warns(ConvergenceWarning, match="max_iter"):
            model = SVC(C=1.0, gamma=0.005, tol=1e-3, max_iter=2, cache_size=50).fit(X, y)
        over.set()
        watcher.join()
    assert model.cluster_log_ == []
    assert model.shape_fit_ == shape
    assert model.score(rows[:5000], labels[:5000]) > 0.7
    assert peaks
    assert max(peaks) < 800e6


def watch_memory(client, peaks, over):
    while not over.wait(0.5):
        with contextlib.suppress(Exception):
            info = client.scheduler_info(n_workers=-1)["workers"].values()
            peaks.extend(each["metrics"]["memory"] for each in info)
