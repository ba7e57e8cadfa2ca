"""Threads: the same values by any number of them, errors that arrive, BLAS left as it was found."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from threadpoolctl import threadpool_info, threadpool_limits

from slackwater.kernels import Gaussian, Laplacian, as_points, block
from slackwater.workers import Workers, thread_count


def blas_threads() -> set[int]:
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


@pytest.mark.parametrize("kernel", [Gaussian(0.3), Laplacian(0.3)])
@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_matrix])
@pytest.mark.parametrize("rows", [1, 70])
def test_one_and_two_threads_give_the_same_bits(kernel: Any, form: Any, rows: int) -> None:
    X = np.random.default_rng(0).random((9000, 6), dtype=np.float32)
    points = as_points(form(X))
    for left, right in ((points.slice(0, rows), points), (points, points.slice(0, rows))):
        results = []
        for threads in (1, 2):
            with Workers(threads) as workers:
                results.append(block(kernel, left, right, workers=workers))
        np.testing.assert_array_equal(results[0], results[1])


def test_threads_share_blocks_of_many_rows_and_few_columns() -> None:
    """A tile is as wide as the block then, and there is nothing to share across."""
    meeting = threading.Barrier(2, timeout=10)  # broken unless two tiles are computed at once

    class Meeting(Gaussian):
        def fill(self, left: Any, right: Any, out: Any) -> None:
            meeting.wait()
            super().fill(left, right, out)

    points = as_points(np.random.default_rng(0).random((4096, 6)))
    with Workers(2) as workers:
        block(Meeting(0.3), points, points.slice(0, 300), workers=workers)


def test_results_come_in_the_order_of_the_items() -> None:
    with Workers(3) as workers:
        assert workers.run(lambda item: item * item, range(50)) == [item * item for item in range(50)]


def test_several_threads_take_part() -> None:
    meeting = threading.Barrier(2, timeout=10)  # broken unless two tasks run at once
    with Workers(2) as workers:
        workers.run(lambda _: meeting.wait(), range(2))


def test_without_a_context_work_is_done_inline() -> None:
    assert Workers(4).run(lambda _: threading.get_ident(), range(3)) == [threading.get_ident()] * 3


@pytest.mark.parametrize("threads", [1, 3])
def test_exceptions_propagate_and_stop_the_rest(threads: int) -> None:
    begun = []

    def fail(item: int) -> None:
        begun.append(item)
        raise KeyError(item)

    with Workers(threads) as workers:
        with pytest.raises(KeyError):
            workers.run(fail, range(1000))
        assert len(begun) < 1000
        assert workers.run(str, [1, 2]) == ["1", "2"]


def test_work_may_be_nested() -> None:
    with Workers(2) as workers:
        inner = lambda item: sum(workers.run(int, range(item)))  # noqa: E731
        assert workers.run(inner, range(8)) == [sum(range(item)) for item in range(8)]


def test_blas_is_limited_inside_and_restored_after_overlapping_uses() -> None:
    with threadpool_limits(2, user_api="blas"):
        first, second = Workers(1), Workers(2)
        first.__enter__()
        second.__enter__()
        assert blas_threads() == {1}
        first.__exit__(None, None, None)
        assert blas_threads() == {1}
        second.__exit__(None, None, None)
        assert blas_threads() == {2}


def test_two_python_threads_may_compute_at_the_same_time() -> None:
    X = np.random.default_rng(0).random((6000, 5))
    points = as_points(X)
    expected = block(Gaussian(0.5), points.slice(0, 40), points)

    def compute(_: int) -> np.ndarray:
        with Workers(2) as workers:
            return block(Gaussian(0.5), points.slice(0, 40), points, workers=workers)

    with ThreadPoolExecutor(2) as pool:
        for values in pool.map(compute, range(8)):
            np.testing.assert_array_equal(values, expected)


def test_thread_count_obeys_limits_set_by_others() -> None:
    with threadpool_limits(1, user_api="blas"):
        assert thread_count(None) == 1


def test_thread_count_counts_down_from_all_cores() -> None:
    assert thread_count(-1) >= 1
    assert thread_count(5) == 5


@pytest.mark.parametrize("n_jobs", [0, -100_000])
def test_impossible_numbers_of_jobs_are_refused_with_a_remedy(n_jobs: int) -> None:
    with pytest.raises(ValueError, match="Use -1 for all cores"):
        thread_count(n_jobs)


def test_a_pool_needs_a_thread() -> None:
    with pytest.raises(ValueError, match="n_threads must be >= 1"):
        Workers(0)
