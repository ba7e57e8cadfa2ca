"""Direct and precomputed rows: values, views, and what they refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse
from sklearn.metrics.pairwise import rbf_kernel

from slackwater.errors import KernelError
from slackwater.gram import DirectRows, EvaluationLedger, PrecomputedRows, RowCache, RowMemory
from slackwater.kernels import Custom, Gaussian, Linear, as_points
from slackwater.workers import Workers

X = np.random.default_rng(0).random((40, 3))
K = rbf_kernel(X, gamma=0.7)


def sources() -> list[Any]:
    ledger = EvaluationLedger()
    computed = [DirectRows(Gaussian(0.7), as_points(form(X)), ledger) for form in (np.asarray, scipy.sparse.csr_matrix)]
    plain = [*computed, PrecomputedRows(K, ledger)]
    return plain + [RowCache(source, RowMemory(budget)) for source in plain for budget in (0, 40 * 8 * 7, 10**6)]


@pytest.mark.parametrize("source", sources(), ids=lambda source: type(source).__name__)
@pytest.mark.parametrize("indices", [[3], [5, 6, 7], [9, 2, 9, 31], list(range(40)), []])
def test_every_source_delivers_the_rows_asked_for(source: Any, indices: list[int]) -> None:
    values = source.rows(indices)
    np.testing.assert_allclose(values, K[indices], rtol=1e-13)
    np.testing.assert_allclose(source.rows(indices, columns=[4, 0]), K[indices][:, [4, 0]], rtol=1e-13)
    out = np.empty((len(indices), 40))
    source.fill_rows(indices, out)
    np.testing.assert_allclose(out, K[indices], rtol=1e-13)


@pytest.mark.parametrize("source", sources(), ids=lambda source: type(source).__name__)
def test_rows_cannot_be_written_to(source: Any) -> None:
    for values in (source.rows([1]), source.rows([3, 1]), source.rows([1, 0], columns=[2])):
        with pytest.raises(ValueError, match="read-only"):
            values[0, 0] = 5


@pytest.mark.parametrize("source", sources(), ids=lambda source: type(source).__name__)
def test_every_source_delivers_the_diagonal(source: Any) -> None:
    assert source.diagonal().dtype == np.float64
    np.testing.assert_allclose(source.diagonal(), 1)


@pytest.mark.parametrize("source", sources()[:4], ids=lambda source: type(source).__name__)
@pytest.mark.parametrize("indices", [[40], [-1]])
def test_rows_that_do_not_exist_are_refused(source: Any, indices: list[int]) -> None:
    with pytest.raises(IndexError, match="between 0 and 39"):
        source.rows(indices)


def test_indices_must_be_whole_numbers() -> None:
    with pytest.raises(ValueError, match="integers"):
        sources()[0].rows([0.5])


@pytest.mark.parametrize("columns", [None, [7, 3]])
def test_values_that_are_not_finite_are_named_by_row_and_column(columns: Any) -> None:
    data = X.copy()
    data[7, 0] = np.nan
    source = DirectRows(Gaussian(1.0), as_points(data), EvaluationLedger())
    with pytest.raises(KernelError, match="points 2 and 7 is nan"):
        source.rows([2, 3], columns=columns)


def test_overflow_is_named_too() -> None:
    data = X.astype(np.float32)
    data[5] = 1e30
    source = DirectRows(Linear(), as_points(data), EvaluationLedger())
    with pytest.raises(KernelError, match="points 5 and 5 is inf"):
        source.rows([5])


def test_large_finite_values_whose_sum_overflows_are_accepted() -> None:
    source = DirectRows(Linear(), as_points(np.full((10, 1), 1e19, np.float32)), EvaluationLedger())
    assert np.all(source.rows([0]) == np.float32(1e19) * np.float32(1e19))


def test_a_diagonal_that_is_not_finite_is_refused() -> None:
    source = DirectRows(Linear(), as_points(np.array([[1.0], [np.inf]])), EvaluationLedger())
    with pytest.raises(KernelError, match="points 1 and 1"):
        source.diagonal()


def test_threads_do_not_change_direct_rows() -> None:
    points = as_points(np.random.default_rng(1).random((5000, 4), dtype=np.float32))
    alone = DirectRows(Gaussian(1.0), points, EvaluationLedger()).rows([3, 4000])
    with Workers(2) as workers:
        together = DirectRows(Gaussian(1.0), points, EvaluationLedger(), workers).rows([3, 4000])
    np.testing.assert_array_equal(alone, together)


def test_words_have_rows_too() -> None:
    def same_letter(A: list[str], B: list[str]) -> np.ndarray:
        return np.array([[float(a[0] == b[0]) for b in B] for a in A])

    source = DirectRows(Custom(same_letter), as_points(["ab", "ac", "bc"]), EvaluationLedger())
    np.testing.assert_array_equal(source.rows([0, 2]), [[1, 1, 0], [0, 0, 1]])


def test_neighbouring_precomputed_rows_are_views() -> None:
    source = PrecomputedRows(K, EvaluationLedger())
    assert np.shares_memory(source.rows([5]), K)
    assert np.shares_memory(source.rows([5, 6]), K)


@pytest.mark.parametrize("shape", [(3, 4), (3,), (2, 2, 2)])
def test_a_precomputed_kernel_must_be_square(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="square"):
        PrecomputedRows(np.ones(shape), EvaluationLedger())


def test_a_precomputed_kernel_must_be_finite() -> None:
    broken = K.copy()
    broken[3, 5] = np.nan
    with pytest.raises(KernelError, match=r"nan at \[3, 5\]"):
        PrecomputedRows(broken, EvaluationLedger())


@pytest.mark.parametrize("n", [40, 600])
def test_a_precomputed_kernel_must_be_symmetric(n: int) -> None:
    broken = np.eye(n)
    broken[n - 1, 2] = 0.1
    with pytest.raises(KernelError, match="symmetric"):
        PrecomputedRows(broken, EvaluationLedger())


def test_rounding_is_no_asymmetry_and_integers_are_converted() -> None:
    PrecomputedRows((K * (1 + 1e-7 * np.random.default_rng(0).random(K.shape))).astype(np.float32), EvaluationLedger())
    assert PrecomputedRows(np.eye(3, dtype=int), EvaluationLedger()).dtype == np.float64


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("kind", [np.float64, np.uint16])
def test_rows_are_written_into_the_slots_from_a_column_on(threads: int, kind: Any) -> None:
    points = np.random.default_rng(1).random((5000, 3))
    with Workers(threads) as workers:
        source = DirectRows(Gaussian(0.7), as_points(points), EvaluationLedger(), workers)
        chosen, slots = (np.random.default_rng(seed).permutation(5000)[:1100] for seed in (2, 3))
        slab = np.full((5000, 5000), 7, kind)
        source.write_into(slab, slots, chosen, 30)
    assert (slab[:, :30] == 7).all()
    assert (np.delete(slab, slots, axis=0) == 7).all()
    values = slab[slots, 30:] / (65535.0 if kind == np.uint16 else 1.0)
    tolerance = 8e-6 if kind == np.uint16 else 1e-12
    np.testing.assert_allclose(values, rbf_kernel(points[chosen], points[30:], gamma=0.7), atol=tolerance)
    assert source.ledger.train == 1100 * 4970


def test_a_value_that_is_not_finite_is_named_by_the_numbers_of_its_points() -> None:
    points = np.zeros((40, 1), np.float32)
    points[[7, 21]] = 1e30
    source = DirectRows(Linear(), as_points(points), EvaluationLedger())
    with pytest.raises(KernelError, match="points 21 and 7 is inf"):
        source.write_into(np.empty((2, 40), np.float32), np.array([0, 1]), np.array([3, 21]), 5)


@pytest.mark.parametrize("threads", [1, 2])
def test_a_square_is_the_values_of_its_points_with_one_another(threads: int) -> None:
    X = np.random.default_rng(0).standard_normal((700, 4)).astype(np.float32)
    ledger = EvaluationLedger()
    numbers = np.random.default_rng(1).permutation(700)[:600]
    with Workers(threads) as workers:
        rows = DirectRows(Gaussian(0.3), as_points(X), ledger, workers)
        square = rows.square(numbers)
    assert ledger.train == 600**2
    np.testing.assert_allclose(square, rows.rows(numbers, numbers), atol=1e-6)
    np.testing.assert_array_equal(square.diagonal(), 1.0)
    np.testing.assert_array_equal(square, square.T)
