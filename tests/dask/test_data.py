"""What users pass to SVC on a cluster: partitions of every shape, and errors that say what is wrong with some."""

from __future__ import annotations

import asyncio
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_moons
from sklearn.exceptions import NotFittedError

import slackwater
from slackwater.dask import SVC
from slackwater.errors import ClusterError

LocalSVC = slackwater.SVC
dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
pd = pytest.importorskip("pandas")
distributed = pytest.importorskip("distributed")
pytestmark = pytest.mark.filterwarnings("default")  # of Dask and what it uses
PARAMETERS = {"C": 2.0, "gamma": 2.0, "tol": 1e-4}
N = 800


@pytest.fixture(scope="module")
def data():
    return make_moons(N, noise=0.3, random_state=0)


@pytest.fixture(scope="module")
def fitted(client, data):
    return SVC(**PARAMETERS).fit(*in_chunks(*data))


def in_chunks(X, y, size=200):
    return da.from_array(X, chunks=(size, -1)), da.from_array(y, chunks=size)


def frame(X, columns, partitions=4):
    return dd.from_pandas(pd.DataFrame(X, columns=columns), npartitions=partitions)


def assert_same(model, reference, X):
    np.testing.assert_allclose(model.decision_function(X), reference.decision_function(X), atol=0.01)


# ---- partitions


def test_partitions_without_rows_or_without_weight_are_passed_over(client, data):
    X, y = data
    chunks = in_chunks(X, y)
    for chosen in (np.arange(N) >= 300, (np.arange(N) < 190) | (np.arange(N) >= 610)):
        mask = da.from_array(chosen, chunks=200)
        model = SVC(**PARAMETERS).fit(*(each[mask] for each in chunks))
        assert_same(model, LocalSVC(**PARAMETERS).fit(X[chosen], y[chosen]), X)
        assert model.predict(chunks[0][mask]).compute().shape == (chosen.sum(),)
        weighted = SVC(**PARAMETERS).fit(*chunks, da.from_array(chosen.astype(float), chunks=200))
        assert_same(weighted, model, X)


def test_partitions_of_one_class_each(client, data, fitted):
    X, y = data
    order = np.argsort(y, kind="stable")
    assert_same(SVC(**PARAMETERS).fit(*in_chunks(X[order], y[order])), fitted, X)


def test_rows_in_memory_may_be_of_any_format(client, data, fitted):
    X, y = data
    for rows in (X.tolist(), sparse.coo_matrix(X), sparse.csc_array(X), pd.DataFrame(X)):
        assert_same(SVC(**PARAMETERS).fit(rows, y), fitted, X)


def test_a_weight_may_be_one_number_for_all_rows(client, data):
    X, y = data
    reference = LocalSVC(**PARAMETERS).fit(X, y, 2.0)
    for weight in (2.0, np.array(2.0)):
        assert_same(SVC(**PARAMETERS).fit(*in_chunks(X, y), weight), reference, X)


# ---- names of columns


def test_columns_in_another_order_are_refused_by_predictions_and_between_partitions(client, data):
    X, y = data
    labels = dd.from_pandas(pd.Series(y), npartitions=4)
    model = SVC(**PARAMETERS).fit(frame(X, ["a", "b"]), labels)
    for method in (model.predict, model.decision_function):
        with pytest.raises(ValueError, match="feature names should match"):
            method(frame(X, ["a", "b"])[["b", "a"]])  # before anything is computed
    halves = [dask.delayed(pd.DataFrame(X[k::2], columns=list(names))) for k, names in enumerate(["ab", "ba"])]
    crossed = dd.from_delayed(halves, meta=pd.DataFrame(X[:0], columns=["a", "b"]), verify_meta=False)
    with pytest.raises(ValueError, match=r"same columns in the same order.*partition 0.*partition 1"):
        SVC(**PARAMETERS).fit(crossed, dd.from_pandas(pd.Series(np.concatenate([y[::2], y[1::2]])), npartitions=2))


def test_names_of_columns_are_those_of_the_single_machine(client, data):
    X, y = data
    labels = dd.from_pandas(pd.Series(y), npartitions=4)
    assert not hasattr(SVC(**PARAMETERS).fit(frame(X, [0, 1]), labels), "feature_names_in_")
    with pytest.raises(TypeError, match="names are all strings, or none of them, got 1 beside 'a'"):
        SVC(**PARAMETERS).fit(frame(X, ["a", 1]), labels)
    model = SVC(**PARAMETERS).fit(frame(X, ["a", "b"]), labels)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        model.predict(in_chunks(X, y)[0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict(frame(X, ["a", "b"])).compute()


# ---- predictions


def test_scores_take_labels_of_every_shape(client, data, fitted):
    X, y = data
    rows, labels = in_chunks(X, y)
    expected = np.mean(fitted.predict(X) == y)
    column = dd.from_pandas(pd.DataFrame({"label": y}), npartitions=4)
    for each in (y, labels, labels[:, None], column):
        assert fitted.score(rows, each) == pytest.approx(expected)
    assert fitted.score(X, labels) == pytest.approx(expected)
    weights = np.arange(N) % 3
    assert fitted.score(rows, labels, da.from_array(weights, chunks=200)) == fitted.score(X, y, weights)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        fitted.score(rows, labels[:10])


def test_lazy_predictions_are_checked_at_once(client, data, fitted):
    with pytest.raises(NotFittedError):
        SVC().predict(in_chunks(*data)[0])
    with pytest.raises(ValueError, match="3 features, but SVC is expecting 2"):
        fitted.predict(da.ones((10, 3), chunks=5))
    with pytest.raises(ValueError, match=r"two axes or a data frame, got 1 axes.*adds an axis"):
        fitted.decision_function(da.ones(10, chunks=5))


def test_a_certificate_of_collections_is_that_of_their_rows(client, data, fitted):
    X, y = data
    gap = fitted.certify(*in_chunks(X, y))
    assert gap == pytest.approx(fitted.certify(X, y))
    assert gap <= 1e-4


# ---- errors


@pytest.mark.parametrize(
    ("change", "kind", "match"),
    [
        (lambda X, y: (X, None), ValueError, "y must have the label of each row of X, got None"),
        (lambda X, y: (None, np.zeros(3)), ValueError, "Expected 2D array"),
        (lambda X, y: (dask.delayed(1), y), TypeError, "X must be a Dask array or data frame.*got Delayed"),
        (lambda X, y: (X, y[:, None] * [1, 1]), ValueError, "1d array"),
        (lambda X, y: (X.astype(complex), y), ValueError, r"Complex data not supported.*partition \d of X"),
        (lambda X, y: (X, y.astype(float) * np.pi), ValueError, "Unknown label type"),
        (lambda X, y: (da.where(da.arange(N, chunks=200)[:, None] == 500, np.nan, X), y), ValueError, "X.*partition 2"),
        (
            lambda X, y: (X, y.map_blocks(lambda b: np.where(b == 0, None, 1))),
            ValueError,
            "Unknown label type.*partition",
        ),
    ],
)
def test_data_that_cannot_be_trained_on_are_named(client, data, change, kind, match):
    with pytest.raises(kind, match=f"(?s){match}"):
        SVC(**PARAMETERS).fit(*change(*in_chunks(*data)))


def test_labels_of_two_kinds_in_two_partitions_are_named(client, data):
    X, y = data
    texts = [np.array(["0", "1"])[y[:400]], y[400:]]
    for labels in (texts, [each.astype(object) for each in texts]):
        blocks = [da.from_delayed(dask.delayed(each), (400,), each.dtype) for each in labels]
        with pytest.raises(ValueError, match=r"labels of one kind.*y\.astype\(str\)"):
            SVC(**PARAMETERS).fit(in_chunks(X, y, 400)[0], mixed(blocks))


def mixed(blocks):
    """Blocks of several types as one array, which Dask would make of one type."""
    whole = da.concatenate([each.astype(object) for each in blocks])
    return whole.map_blocks(lambda block: np.array(block.tolist()) if isinstance(block[0], str) else block.astype(int))


@pytest.mark.parametrize(
    ("weights", "match"),
    [
        (np.ones((N, 1)), r"one weight for each row of X, got shape \(\d+, 1\)"),
        (np.ones(5), "one entry for each row of X, got 5"),
        ("heavy", "must have numbers"),
        (np.full(N, 1e306), "sum from 1e-280 to 1e300"),
        (np.full(N, 1e-290), "sum from 1e-280 to 1e300"),
    ],
)
def test_weights_that_cannot_be_summed_are_named(client, data, weights, match):
    with pytest.raises(ValueError, match=match):
        SVC(**PARAMETERS).fit(*in_chunks(*data), weights)


def test_a_matrix_that_points_outside_of_itself_is_refused(client, data):
    X, y = data

    def broken(block):  # travels whole: workers do not know this module
        found = sparse.csr_matrix(block)
        found.indices[-1] = 1000
        return found

    with pytest.raises(ValueError, match="X must be a valid sparse matrix"):
        SVC(**PARAMETERS).fit(in_chunks(X, y)[0].map_blocks(broken, meta=np.empty((0, 2))), in_chunks(X, y)[1])


def test_an_error_of_the_users_own_tasks_comes_as_it_is_whenever_it_comes(client, data, fails, tmp_path):
    X, y = data
    count = str(tmp_path / "count")

    for after in (0, 5):  # at the first look, and as shards are made
        (tmp_path / "count").write_text("")
        rows = in_chunks(X, y)[0].map_blocks(fails, count, after, meta=np.empty((0, 2)))
        model = SVC(**PARAMETERS)
        with pytest.raises(RuntimeError, match="the disk is on fire") as caught:
            model.fit(rows, in_chunks(X, y)[1])
        assert not isinstance(caught.value, ClusterError)
        with pytest.raises(NotFittedError):
            model.predict(X)


def test_clients_that_cannot_be_waited_for_are_refused(client, data):
    model = SVC(**PARAMETERS)
    model.client = "tcp://127.0.0.1:8786"
    with pytest.raises(TypeError, match=r"client must be a distributed.Client or None.*Client\(address\)"):
        model.fit(*data)

    async def fit():
        async with distributed.Client(client.scheduler.address, asynchronous=True) as other:
            model.client = other
            model.fit(*data)

    with pytest.raises(ValueError, match="client must be synchronous"):
        asyncio.run(fit())
    with distributed.Client(client.scheduler.address, set_as_default=False) as other:
        model.client = other
    with pytest.raises(ClusterError, match="client must be connected, got one that is closed"):
        model.fit(*data)


def test_a_script_that_worker_processes_cannot_import_is_told_what_it_lacks(monkeypatch, data):
    """Python refuses to start processes of a script that starts them as it is imported."""

    def refused(**options):
        raise RuntimeError("Nanny failed to start.")

    def nobody():
        raise ValueError("no client")

    monkeypatch.setattr(distributed, "get_client", nobody)
    monkeypatch.setattr(distributed, "LocalCluster", refused)
    with pytest.raises(ClusterError, match=r"could be started.*Nanny.*if __name__ == .__main__"):
        SVC(**PARAMETERS).fit(*data)
