"""The cache never changes a value, stays under its budget, and makes rows free."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import tracemalloc
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slackwater.errors import KernelError
from slackwater.gram import DirectRows, EvaluationLedger, PrecomputedRows, RowCache, RowMemory, cache
from slackwater.kernels import Custom, Gaussian, as_points

N = 24
ROW = N * 8
MATRIX = np.cov(np.random.default_rng(0).normal(size=(N, 50)))


def cached(rows: int, limit: int | None = None) -> RowCache:
    return RowCache(PrecomputedRows(MATRIX, EvaluationLedger(limit)), RowMemory(rows * ROW))


def test_second_request_for_a_row_costs_no_evaluations() -> None:
    source = cached(8)
    source.rows([3, 5])
    source.rows([5])
    source.rows([5, 3, 3])
    assert source.ledger.train == 2 * N


def test_a_row_computed_again_after_eviction_is_charged_again() -> None:
    source = cached(3)
    for index in (0, 1, 2, 3):
        source.rows([index])
    assert 0 not in source
    source.rows([0])
    assert source.ledger.train == 5 * N


def test_the_row_least_recently_used_is_evicted_first() -> None:
    source = cached(3)
    for index in (0, 1, 2, 0, 3):
        source.rows([index])
    assert 0 in source
    assert 1 not in source


def test_columns_of_a_row_held_are_free_and_others_are_charged_by_column() -> None:
    source = cached(8)
    source.rows([3])
    np.testing.assert_array_equal(source.rows([3, 4, 3], columns=[1, 9]), MATRIX[[3, 4, 3]][:, [1, 9]])
    assert source.ledger.train == N + 2
    assert 4 not in source


def test_rows_ahead_are_computed_together_charged_once_and_free_afterwards() -> None:
    calls = []

    class Watched(PrecomputedRows):
        def write_into(self, slab: Any, slots: Any, indices: Any, first: int) -> None:
            calls.append(len(indices))
            super().write_into(slab, slots, indices, first)

    source = RowCache(Watched(MATRIX, EvaluationLedger()), RowMemory(20 * ROW))
    source.rows([3], ahead=lambda: [5, 3, 7, 5])
    assert calls == [3]
    assert source.ledger.train == 3 * N
    source.rows([7, 5, 3])
    assert source.ledger.train == 3 * N


def test_nobody_asks_ahead_while_rows_are_held() -> None:
    source = cached(8)
    source.rows([3])
    source.rows([3], ahead=lambda: pytest.fail("asked"))


def test_rows_ahead_are_limited_by_slots_block_and_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    everything = lambda: np.arange(N)  # noqa: E731
    by_slots = cached(16)
    by_slots.rows([0], ahead=everything)
    assert by_slots.ledger.train == (1 + by_slots.slots // 2) * N
    by_budget = cached(60, limit=12 * N + 5)  # a quarter of what is left may be spent on one block
    by_budget.rows([0], ahead=everything)
    assert by_budget.ledger.train == 3 * N
    monkeypatch.setattr(cache, "BLOCK_ROWS", 4)
    by_block = cached(60)
    by_block.rows([0], ahead=everything)
    assert by_block.ledger.train == 4 * N


def test_rows_ahead_never_evict_what_is_asked_for_and_the_most_urgent_stay_longest() -> None:
    source = cached(3)
    source.rows([0, 1], ahead=lambda: [10, 11, 12])
    assert [index in source for index in (0, 1, 10, 11)] == [True, True, True, False]
    wide = cached(4)
    wide.rows([0], ahead=lambda: [10, 11])
    wide.rows([1])
    for index, left in ((2, [10, 0]), (3, [0]), (4, [])):
        wide.rows([index])
        assert [other for other in (11, 10, 0) if other in wide] == left


@settings(max_examples=150, deadline=None)
@given(
    budget=st.integers(0, 30),
    requests=st.lists(
        st.tuples(
            st.lists(st.integers(0, N - 1), min_size=1, max_size=N + 3),
            st.none() | st.lists(st.integers(0, N - 1), min_size=1, max_size=5),
            st.lists(st.integers(0, N - 1), max_size=8),
        ),
        max_size=20,
    ),
)
def test_cache_on_and_off_agree_bit_for_bit(budget: int, requests: Any) -> None:
    source = cached(budget)
    for indices, columns, ahead in requests:
        values = source.rows(indices, columns, ahead=lambda ahead=ahead: ahead)
        expected = MATRIX[indices] if columns is None else MATRIX[np.ix_(indices, columns)]
        np.testing.assert_array_equal(values, expected)
        assert source.held.sum() <= source.slots <= budget


def test_a_single_row_is_a_view_of_its_slot() -> None:
    source = cached(8)
    source.rows([1])
    assert np.shares_memory(source.rows([1]), source._slab)


def test_fresh_blocks_are_delivered_without_a_copy() -> None:
    source = cached(40)
    assert np.shares_memory(source.rows([5, 2, 9]), source._slab)


@pytest.mark.parametrize("rows", [0, 1])
def test_a_budget_under_two_rows_passes_everything_through(rows: int) -> None:
    source = cached(rows)
    assert source.slots == 0
    assert np.shares_memory(source.rows([4], ahead=lambda: [1, 2]), MATRIX)
    source.rows([4])
    assert source.ledger.train == 2 * N


def test_more_rows_than_slots_are_delivered_and_those_held_are_free() -> None:
    source = cached(4)
    source.rows([7])
    np.testing.assert_array_equal(source.rows(np.arange(N)), MATRIX)
    assert source.ledger.train == N * N
    assert 7 in source


def test_an_error_while_computing_leaves_no_false_rows_behind() -> None:
    broken = False

    def kernel(A: Any, B: Any) -> Any:
        return np.full((len(A), len(B)), np.nan) if broken else A @ B.T

    X = np.random.default_rng(0).random((6, 2))
    source = RowCache(DirectRows(Custom(kernel), as_points(X), EvaluationLedger()), RowMemory(3 * 6 * 8))
    source.rows([0, 1])
    broken = True
    with pytest.raises(KernelError):
        source.rows([2, 3])
    broken = False
    for index in (2, 0, 3, 1):
        np.testing.assert_allclose(source.rows([index]), X[[index]] @ X.T)


def test_cached_blocks_agree_with_direct_rows_within_rounding() -> None:
    points = as_points(np.random.default_rng(0).random((500, 20), dtype=np.float32))
    direct = DirectRows(Gaussian(0.5), points, EvaluationLedger())
    source = RowCache(DirectRows(Gaussian(0.5), points, EvaluationLedger()), RowMemory(30 * 500 * 4))
    rng = np.random.default_rng(1)
    for _ in range(50):
        wanted = rng.integers(0, 500, rng.integers(1, 9))
        values = source.rows(wanted, ahead=lambda: rng.integers(0, 500, 10))
        np.testing.assert_allclose(values, direct.rows(wanted), atol=2e-6)


def use(n: int, budget: int) -> None:
    points = as_points(np.random.default_rng(0).random((n, 4), dtype=np.float32))
    source = RowCache(DirectRows(Gaussian(0.5), points, EvaluationLedger()), RowMemory(budget))
    rng = np.random.default_rng(1)
    for _ in range(30):
        source.fetch(rng.integers(0, n, 16), ahead=lambda: rng.integers(0, n, 40))
        source.rows(rng.integers(0, n, 1), ahead=lambda: rng.integers(0, n, 64))


def test_traced_memory_stays_under_the_budget() -> None:
    use(100, 10**5)  # compile first
    budget = 12 * 2**20  # a larger one would be mapped, which is not traced
    tracemalloc.start()
    use(20000, budget)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    packed = 20000 * 4 * 4
    assert budget * 0.9 < peak < budget + packed + 2**20  # beside it: the points, their norms, the left rows


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_resident_memory_stays_under_the_budget() -> None:
    code = """
        from pathlib import Path
        import numpy as np
        from slackwater.gram import DirectRows, EvaluationLedger, RowCache, RowMemory
        from slackwater.kernels import Gaussian, as_points
        def resident():
            lines = Path("/proc/self/status").read_text().splitlines()
            return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
        def use(n, budget):
            points = as_points(np.random.default_rng(0).random((n, 4), dtype=np.float32))
            source = RowCache(DirectRows(Gaussian(0.5), points, EvaluationLedger()), RowMemory(budget))
            rng = np.random.default_rng(1)
            for _ in range(20):
                source.rows(rng.integers(0, n, 48), ahead=lambda: rng.integers(0, n, 64))
        use(1000, 10**6)
        before = resident()
        use(50000, 100 * 2**20)
        print(resident() - before)
    """
    run = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=True)
    grown = int(run.stdout)
    assert 50 * 2**20 < grown < 112 * 2**20
