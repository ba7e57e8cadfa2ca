"""Downloads, from a server on this machine: tests never reach further."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import struct
import sys
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file

from slackwater.datasets import available, load_dataset, registry
from slackwater.datasets import download as downloads
from slackwater.datasets.convert import digest, from_covertype, from_idx, from_svmlight
from slackwater.datasets.download import Web, download
from slackwater.datasets.registry import _CHECKS

pytest.importorskip("pooch")

TRAIN_TEXT = b"+1 1:1 3:1\n-1 2:1\n+1 1:1 2:1\n"
TEST_TEXT = b"-1 1:1 3:0\n"


@pytest.fixture
def nowhere(monkeypatch, tmp_path):
    """A machine without any copy."""
    monkeypatch.setenv("SLACKWATER_DATA", str(tmp_path / "named"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture
def server(tmp_path):
    """An address, and the folder that is served there."""
    folder = tmp_path / "served"
    folder.mkdir()
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(QuietHandler, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", folder
    server.shutdown()
    thread.join()
    server.server_close()


def small_source(address, **checksums):
    files = {"small.trn.bz2": checksums.get("train"), "small.tst.bz2": None}
    return Web(address, files, partial(from_svmlight, values=np.uint8))


@pytest.fixture
def small(server, monkeypatch):
    """A data set of four rows takes Adult's place."""
    address, folder = server
    (folder / "small.trn.bz2").write_bytes(bz2.compress(TRAIN_TEXT))
    (folder / "small.tst.bz2").write_bytes(bz2.compress(TEST_TEXT))
    content = digest(from_svmlight([folder / "small.trn.bz2", folder / "small.tst.bz2"], np.uint8))
    monkeypatch.setitem(downloads.SOURCES, "adult.npz", (small_source(address),))
    monkeypatch.setitem(registry._CHECKS, "adult.npz", registry._Checks("unknown", content))
    return address, folder, content


def test_a_data_set_that_is_absent_is_downloaded_once_and_said_so(nowhere, small, capsys, monkeypatch):
    assert not available("adult")
    data = load_dataset("adult")
    assert small[0] in capsys.readouterr().err
    assert data.X_train.toarray().tolist() == [[1, 0, 1], [0, 1, 0], [1, 1, 0]]
    assert data.X_test.toarray().tolist() == [[1, 0, 0]]
    assert (data.y_train.tolist(), data.y_test.tolist()) == ([1, -1, 1], [-1])
    monkeypatch.setitem(downloads.SOURCES, "adult.npz", ())  # the second time nothing is asked of the network
    assert available("adult")
    assert (load_dataset("adult").X_train != data.X_train).nnz == 0


def test_nothing_but_the_copy_is_left_in_the_cache(nowhere, small):
    load_dataset("adult")
    assert [path.name for path in (nowhere / "cache" / "slackwater").iterdir()] == ["adult.npz"]


def test_the_next_mirror_is_tried(small, tmp_path, monkeypatch):
    address, _, content = small
    monkeypatch.setitem(downloads.SOURCES, "adult.npz", (small_source(f"{address}/gone"), small_source(address)))
    assert download("adult.npz", content, tmp_path / "cache").is_file()


def test_a_failed_download_names_address_file_and_remedy(small, nowhere, monkeypatch):
    (small[1] / "small.tst.bz2").unlink()
    with pytest.raises(FileNotFoundError, match=r"adult\.npz.*SLACKWATER_DATA.*http://127\.0\.0\.1.*404"):
        load_dataset("adult")
    monkeypatch.setitem(downloads.SOURCES, "adult.npz", (small_source("http://127.0.0.1:9"),))
    with pytest.raises(FileNotFoundError, match=r"SLACKWATER_DATA.*127\.0\.0\.1:9"):
        load_dataset("adult")
    assert not available("adult")


@pytest.mark.parametrize("content", [b"no bz2 file at all", bz2.compress(TRAIN_TEXT)[:-9], bz2.compress(b"+1 1:1\n")])
def test_other_content_is_refused(small, nowhere, content):
    (small[1] / "small.trn.bz2").write_bytes(content)
    with pytest.raises(FileNotFoundError, match="SLACKWATER_DATA"):
        load_dataset("adult")
    assert not available("adult")


def test_a_published_checksum_is_checked(small, nowhere, monkeypatch):
    address, folder, _ = small
    right = "md5:" + hashlib.md5((folder / "small.trn.bz2").read_bytes()).hexdigest()
    monkeypatch.setitem(downloads.SOURCES, "adult.npz", (small_source(address, train="md5:" + 32 * "0"),))
    with pytest.raises(FileNotFoundError, match="hash"):
        load_dataset("adult")
    monkeypatch.setitem(downloads.SOURCES, "adult.npz", (small_source(address, train=right),))
    assert len(load_dataset("adult").y_train) == 3


def test_without_pooch_the_remedy_is_named(small, nowhere, monkeypatch):
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(FileNotFoundError, match=r"pip install .slackwater\[data\]"):
        load_dataset("adult")


def test_unknown_names_are_refused_before_any_download():
    with pytest.raises(ValueError, match="name must be one of adult"):
        load_dataset("iris")


@pytest.mark.parametrize("content", [b"damaged", b"PK\x03\x04damaged"])
def test_a_damaged_copy_is_refused(monkeypatch, tmp_path, content):
    (tmp_path / "adult.npz").write_bytes(content)
    monkeypatch.setenv("SLACKWATER_DATA", str(tmp_path))
    with pytest.raises(ValueError, match="SHA-256"):
        load_dataset("adult")


def test_a_copy_with_other_values_is_refused(small, nowhere):
    load_dataset("adult")
    path = nowhere / "cache" / "slackwater" / "adult.npz"
    arrays = dict(np.load(path))
    arrays["train_y"] = -arrays["train_y"]
    np.savez_compressed(path, **arrays)
    with pytest.raises(ValueError, match="SHA-256"):
        load_dataset("adult")


def local_arrays(name):
    path = registry._find(registry._REGISTRY[name].file)
    with np.load(path, allow_pickle=False) as archive:
        return dict(archive)


def needs(name):
    return pytest.mark.skipif(not available(name), reason=f"no copy of {name} on this machine")


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "zero_based", "kind"),
    [
        pytest.param("adult", True, np.uint8, marks=needs("adult")),
        pytest.param("adult", False, np.uint8, marks=needs("adult")),  # as LIBSVM's a9a
        pytest.param("reuters", False, np.float64, marks=needs("reuters")),
    ],
)
def test_text_files_turn_into_the_local_copy(tmp_path, name, zero_based, kind):
    data, paths = load_dataset(name), [tmp_path / "part.trn.bz2", tmp_path / "part.tst.bz2"]
    arrays = local_arrays(name)
    for part, path, X, y in zip(("train", "test"), paths, data[::2], data[1::2], strict=True):
        X = X.astype(np.float64)
        X.data = arrays[f"{part}_data"].astype(np.float64)  # in full precision
        with bz2.open(path, "wb") as stream:
            dump_svmlight_file(X, y, stream, zero_based=zero_based)
    assert digest(from_svmlight(paths, kind)) == _CHECKS[f"{name}.npz"].content


@pytest.mark.data
@needs("mnist")
def test_idx_files_turn_into_the_local_copy(tmp_path):
    arrays, paths = local_arrays("mnist"), []
    for part in ("train", "test"):
        images = arrays[f"{part}_x"].reshape(-1, 28, 28)
        for values in (images, arrays[f"{part}_y"]):
            header = struct.pack(f">HBB{values.ndim}i", 0, 8, values.ndim, *values.shape)
            paths.append(tmp_path / f"{part}{values.ndim}.gz")
            paths[-1].write_bytes(gzip.compress(header + values.tobytes(), compresslevel=1))
    assert digest(from_idx(paths)) == _CHECKS["mnist.npz"].content


@pytest.mark.data
@needs("forest")
def test_covertype_turns_into_the_local_copy():
    arrays = local_arrays("forest")
    converted = from_covertype(arrays["x"].astype(np.float64), arrays["y"].astype(np.int32))
    assert digest(converted) == _CHECKS["covtype.npz"].content


def test_a_file_that_is_not_idx_is_refused(tmp_path):
    (tmp_path / "page.gz").write_bytes(gzip.compress(b"<html>"))
    with pytest.raises(ValueError, match=r"page\.gz must be an idx file"):
        from_idx([tmp_path / "page.gz"] * 4)
