"""A fit on a cluster can be watched, and ended, as one on a single machine."""

from __future__ import annotations

import io
import time

import numpy as np
import pytest
from sklearn.datasets import make_blobs, make_classification
from sklearn.exceptions import ConvergenceWarning

import slackwater
from slackwater.dask import SVC
from slackwater.progress import ProgressLine
from slackwater.tracing import watched_by

LocalSVC = slackwater.SVC
da = pytest.importorskip("dask.array")
pytestmark = pytest.mark.filterwarnings("default")  # of Dask and what it uses
N = 9000
PARAMETERS = {"C": 1.0, "gamma": 0.05}


@pytest.fixture(scope="module")
def data():
    return make_classification(N, 20, n_informative=10, flip_y=0.05, random_state=0)


def in_chunks(X, y, size=2250):
    return da.from_array(X, chunks=(size, -1)), da.from_array(y, chunks=size)


class Looks:
    """A callback of scikit-learn's: how good the models on the way are; asks for an end at the look of a number."""

    def __init__(self, X, y, stop_at=None):
        self.X, self.y, self.stop_at, self.scores = X, y, stop_at, []

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
        if context.task_name == "assessment":
            self.scores.append(fitted_estimator.score(self.X, self.y))
            return len(self.scores) == self.stop_at
        return False


@pytest.mark.parametrize("strategy", ["auto", "exact", "subspace"])
def test_callbacks_see_the_models_on_the_way(client, data, strategy):
    pytest.importorskip("sklearn.callback", reason="scikit-learn has callbacks from 1.9 on")
    X, y = data
    seen = Looks(X, y)
    model = SVC(**PARAMETERS, strategy=strategy).set_callbacks(seen).fit(*in_chunks(X, y))
    assert len(seen.scores) > 3
    assert min(seen.scores[:5]) > 0.85  # of the sample, where one is solved first
    assert seen.scores[-1] == pytest.approx(model.score(X, y), abs=0.02)
    ended = SVC(**PARAMETERS, strategy=strategy).set_callbacks(Looks(X, y, stop_at=2)).fit(*in_chunks(X, y))
    assert ended.stop_reason_ == "callback"
    assert ended.score(X, y) > 0.85


def test_models_on_the_way_have_all_classes(client):
    """Pairs are solved one after the other where each has a sample of its own."""
    pytest.importorskip("sklearn.callback", reason="scikit-learn has callbacks from 1.9 on")
    X, y = make_blobs(12500, centers=3, cluster_std=1.5, random_state=3)
    seen = Looks(X, y)
    model = SVC(C=1.0, gamma=0.5).set_callbacks(seen).fit(*in_chunks(X, y, 4200))
    assert np.isin(model.history_["problem"], [0, 1, 2]).all()
    assert len(np.unique(model.history_["problem"])) == 3
    assert seen.scores[0] < 0.9 < seen.scores[-1]  # of one pair, and of all


def test_the_history_is_that_of_the_single_machine(client, data):
    """A sample of all rows is solved as there; the last row is about the model itself."""
    X, y = data
    model, local = (each(**PARAMETERS, strategy="subspace") for each in (SVC, LocalSVC))
    model.fit(*in_chunks(X, y)), local.fit(X, y)
    assert model.history_["step"][-1] == model.n_iter_[0] == local.n_iter_[0]
    np.testing.assert_allclose(model.history_["objective"][-1], local.history_["objective"][-1], rtol=0.01)
    assert model.history_["gap"][-1] == model.gap_
    assert len(model.history_["step"]) == len(local.history_["step"])
    assert (np.diff(model.history_["evaluations"]) >= 0).all()


def test_steps_of_the_sample_count(client, data):
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        model = SVC(**PARAMETERS, max_iter=5).fit(*in_chunks(*data))
    assert (model.stop_reason_, model.n_iter_[0]) == ("max_iter", 5)
    assert model.score(*data) > 0.85


def test_progress_tells_of_partitions_shards_and_support_vectors(client, data):
    stream = io.StringIO()
    stream.isatty = lambda: True
    with watched_by(ProgressLine(stream)):
        SVC(**PARAMETERS, strategy="exact", tol=1e-2).fit(*in_chunks(*data))
    told = stream.getvalue()
    stages = ["looking at 4 partitions", "putting 9,000 rows into 2 shards", "exact, 9,000 examples on 2 shards"]
    places = [told.find(each) for each in [*stages, "fetching the support vectors", "done"]]
    assert places == sorted(places)
    assert min(places) >= 0


def test_a_limit_of_time_is_that_of_the_whole_fit(client, data):
    """Four partitions take half a second each, for statistics, for the shards and for the support vectors: 3 s."""
    X, y = data
    SVC(**PARAMETERS, strategy="exact", max_time=0.1).fit(*in_chunks(X, y))  # loops are compiled, workers warm

    def slowly(block):
        import time

        time.sleep(0.5)
        return block

    rows = in_chunks(X, y)[0].map_blocks(slowly, meta=np.empty((0, 20)))
    began = time.monotonic()
    model = SVC(**PARAMETERS, strategy="exact", tol=0.0, max_iter=-1, max_time=5.0).fit(rows, in_chunks(X, y)[1])
    assert time.monotonic() - began < 6.5  # 8 where neither reading is part of it; on a busy machine
    assert model.stop_reason_ == "max_time"
    assert model.history_["seconds"][0] > 2.0  # the clock runs from the beginning
    assert model.history_["seconds"][-1] < 4.5  # and time is kept for the end
