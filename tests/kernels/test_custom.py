"""A user's own kernel: any objects, and everything that can come back wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse
from sklearn.gaussian_process.kernels import RBF

from reference.kernels import common_prefix, pairwise
from slackwater.errors import KernelError
from slackwater.kernels import Custom, as_points, block
from slackwater.workers import Workers

WORDS = ["still", "stilt", "stream", "water", "wader", "wave", "", "s"]


def prefix_kernel(A: list[str], B: list[str]) -> np.ndarray:
    return pairwise(common_prefix, A, B)


def test_strings_are_compared_by_a_callable() -> None:
    points = as_points(WORDS)
    values = block(Custom(prefix_kernel), points.take(np.array([3, 0])), points)
    np.testing.assert_array_equal(values, prefix_kernel([WORDS[3], WORDS[0]], WORDS))
    np.testing.assert_allclose(Custom(prefix_kernel).diagonal(points), 1)


def test_a_callable_sees_arrays_and_csr_matrices_as_the_user_gave_them() -> None:
    seen: list[type] = []

    def watching(A: Any, B: Any) -> Any:
        seen.extend((type(A), type(B)))
        return A @ B.T

    for X in (np.eye(3, dtype=np.float32), scipy.sparse.csr_matrix(np.eye(3))):
        points = as_points(X)
        np.testing.assert_array_equal(block(Custom(watching), points, points), np.eye(3))
        assert set(seen) == {type(X)}
        seen.clear()


def test_diagonal_is_taken_from_diag_where_the_callable_has_it() -> None:
    points = as_points(np.random.default_rng(0).random((6, 2)))
    np.testing.assert_array_equal(Custom(RBF(0.5)).diagonal(points), np.ones(6))
    np.testing.assert_allclose(block(Custom(RBF(0.5)), points, points), RBF(0.5)(points.raw))


@pytest.mark.parametrize(
    ("returned", "complaint"),
    [
        (np.ones((3, 2)), r"shape \(3, 2\), expected .*shape \(2, 3\)"),
        (np.ones(2), r"shape \(2,\)"),
        (np.array([[1, np.nan, 1], [1, 1, 1]]), r"nan at \(0, 1\)"),
        (np.array([[1, 1, 1], [1, 1, -np.inf]]), r"-inf at \(1, 2\)"),
        (np.ones((2, 3), complex), "complex128"),
        (np.full((2, 3), "a"), "<U1"),
        (None, "NoneType"),
        ([[1, 2, 3], [1]], "list"),
        (scipy.sparse.csr_matrix(np.ones((3, 2))), r"shape \(3, 2\)"),
    ],
)
def test_what_is_no_kernel_block_is_refused_by_name(returned: Any, complaint: str) -> None:
    def broken(A: Any, B: Any) -> Any:
        return returned

    with pytest.raises(KernelError, match=complaint) as caught:
        block(Custom(broken), as_points(np.eye(2)), as_points(np.ones((3, 2))))
    assert "broken" in str(caught.value)


def test_a_callable_is_called_from_one_thread_unless_it_says_otherwise() -> None:
    import threading

    threads: set[int] = set()

    def spying(A: Any, B: Any) -> Any:
        threads.add(threading.get_ident())
        return A @ B.T

    points = as_points(np.ones((9000, 2)))
    with Workers(2) as workers:
        block(Custom(spying), points.slice(0, 1), points, workers=workers)
    assert threads == {threading.get_ident()}


def test_an_error_inside_the_callable_reaches_the_caller_through_threads() -> None:
    def failing(A: Any, B: Any) -> Any:
        raise LookupError("no such word")

    points = as_points(np.ones((9000, 2)))
    with Workers(2) as workers, pytest.raises(LookupError, match="no such word"):
        block(Custom(failing, reentrant=True), points.slice(0, 1), points, workers=workers)
