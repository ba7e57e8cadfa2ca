"""Points: what is copied and what is not, and the norms that go along."""

from __future__ import annotations

import gc
import subprocess
import sys
import tracemalloc
import weakref
from typing import Any

import numpy as np
import pytest
import scipy.sparse

from slackwater.kernels import Gaussian, as_points, block
from slackwater.points import DensePoints, ObjectPoints, SparsePoints
from slackwater.points.grid import on_grid
from slackwater.workers import Workers


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_contiguous_floats_are_used_as_they_are(dtype: Any) -> None:
    X = np.ones((5, 3), dtype)
    points = as_points(X)
    assert isinstance(points, DensePoints)
    assert points.values is X
    assert points.dtype == dtype


@pytest.mark.parametrize(
    ("X", "dtype"),
    [
        (np.asfortranarray(np.ones((4, 3), np.float32)), np.float32),
        (np.ones((4, 6), np.float64)[:, ::2], np.float64),
        (np.ones((4, 3), np.uint8), np.float64),
        (np.ones((4, 3), np.float16), np.float32),
        (np.ones((4, 3), bool), np.float64),
    ],
)
def test_other_arrays_become_contiguous_floats(X: np.ndarray, dtype: Any) -> None:
    points = as_points(X)
    assert points.raw.flags.c_contiguous
    assert points.dtype == dtype
    np.testing.assert_array_equal(points.raw, X.astype(dtype))


def test_slices_share_the_memory_of_dense_and_sparse_data() -> None:
    X = np.random.default_rng(0).random((20, 4))
    dense, sparse = as_points(X), as_points(scipy.sparse.csr_matrix(X))
    assert isinstance(sparse, SparsePoints)
    assert np.shares_memory(dense.slice(3, 9).raw, X)
    part = sparse.slice(3, 9)
    assert part.data is sparse.data
    assert part.indices is sparse.indices
    np.testing.assert_array_equal(part.raw.toarray(), X[3:9])


def test_slices_and_selections_of_slices_are_the_right_rows() -> None:
    X = scipy.sparse.random(40, 9, 0.3, format="csr", random_state=0)
    chosen = np.array([5, 0, 5, 11])
    for points in (as_points(X), as_points(X.toarray())):
        part = points.slice(10, 30).slice(2, 15)
        np.testing.assert_array_equal(part.take(chosen).dense(np.dtype(float)), X.toarray()[12:25][chosen])
        np.testing.assert_allclose(part.squared_norms, (X.toarray()[12:25] ** 2).sum(axis=1), rtol=1e-14)


@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_matrix])
def test_norms_are_computed_once_and_go_along(form: Any) -> None:
    points = as_points(form(np.random.default_rng(0).random((30, 4), dtype=np.float32)))
    norms = points.squared_norms
    assert norms.dtype == np.float64
    assert np.shares_memory(points.slice(4, 9).squared_norms, norms)
    np.testing.assert_array_equal(points.take(np.array([7, 2])).squared_norms, norms[[7, 2]])
    assert points.take(np.array([7])).largest_squared_norm == norms.max()


def test_a_selection_made_before_the_norms_computes_its_own() -> None:
    points = as_points(np.arange(12.0).reshape(4, 3))
    assert points.take(np.array([1])).squared_norms == pytest.approx([50.0])


def test_duplicate_entries_are_summed_without_touching_the_users_matrix() -> None:
    matrix = scipy.sparse.csr_matrix(([1.0, 2.0, 4.0], [1, 1, 0], [0, 3]), shape=(1, 3))
    points = as_points(matrix)
    np.testing.assert_array_equal(points.raw.toarray(), [[4.0, 3.0, 0.0]])
    assert matrix.nnz == 3
    assert points.squared_norms == pytest.approx([25.0])


def test_other_sparse_formats_and_sparse_arrays_are_understood() -> None:
    X = np.eye(3, dtype=np.float32)
    for form in (scipy.sparse.coo_matrix, scipy.sparse.csc_matrix, scipy.sparse.csr_array):
        points = as_points(form(X))
        assert isinstance(points, SparsePoints)
        np.testing.assert_array_equal(points.raw.toarray(), X)


def test_objects_stay_a_list_or_an_array() -> None:
    words = as_points(["a", "b", "c"])
    assert isinstance(words, ObjectPoints)
    assert words.take(np.array([2, 0])).raw == ["c", "a"]
    assert words.slice(1, 3).raw == ["b", "c"]
    assert isinstance(as_points(np.array(["a", "b"], dtype=object)).raw, np.ndarray)


@pytest.mark.parametrize("X", [3, "word", {"a": 1}, np.float64(2.0), np.array(5)])
def test_what_is_no_sequence_is_refused(X: Any) -> None:
    with pytest.raises(TypeError, match="sequence"):
        as_points(X)


def test_data_frames_are_tables_of_numbers_and_series_are_sequences() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [1.0, 2.0, 3.0], "b": [4.0, 5.0, 6.0]})
    np.testing.assert_array_equal(as_points(frame).raw, frame.to_numpy())
    assert list(as_points(pandas.Series(["x", "y"])).slice(1, 2).raw) == ["y"]


def test_single_precision_data_are_never_copied_to_double() -> None:
    X = np.random.default_rng(0).random((20000, 50), dtype=np.float32)
    block(Gaussian(0.1), as_points(X[:2]), as_points(X[:3]))  # compile first
    tracemalloc.start()
    points = as_points(X)
    block(Gaussian(0.1), points.take(np.arange(4)), points)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < X.nbytes / 2


def test_importing_kernels_does_not_import_the_compiler() -> None:
    code = "import sys, slackwater.kernels, slackwater.gram; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("kind", ["dense", "sparse", "grid"])
def test_points_are_gone_with_their_last_name(kind: str) -> None:
    """A cycle of references would keep the rows of a large set until the garbage collector comes by."""
    X = np.random.default_rng(0).integers(0, 50, (64, 8)).astype(np.float32)
    gc.collect()
    gc.disable()
    try:
        points: Any = as_points(scipy.sparse.csr_matrix(X) if kind == "sparse" else X)
        if kind == "grid":
            (points,) = on_grid(Workers(), 0.0, points) or [None]
        assert points.squared_norms.shape == (64,)
        cut, taken = points.slice(8, 24), points.take(np.arange(4))
        gone = [weakref.ref(each) for each in (points, cut, taken)]
        del points, cut, taken
        assert [each() for each in gone] == [None] * 3
    finally:
        gc.enable()
