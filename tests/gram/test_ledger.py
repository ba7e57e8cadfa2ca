"""The meter counts exactly what was computed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from slackwater.gram import DirectRows, EvaluationLedger, PrecomputedRows, RowCache, RowMemory
from slackwater.kernels import Custom, Gaussian, Linear, as_points

N = 30
X = np.random.default_rng(0).random((N, 3))


def direct(kernel: Any = None) -> DirectRows:
    return DirectRows(kernel or Gaussian(1.0), as_points(X), EvaluationLedger())


def test_a_row_costs_one_evaluation_a_point() -> None:
    source = direct()
    source.rows([4])
    assert source.ledger.train == N


def test_columns_cost_rows_times_columns() -> None:
    source = direct()
    source.rows([1, 2, 3], columns=[0, 5])
    assert source.ledger.train == 6


def test_without_a_cache_the_same_row_costs_again() -> None:
    source = direct()
    source.rows([4])
    source.rows([4, 4])
    assert source.ledger.train == 3 * N


def test_the_diagonal_is_free_where_it_is_one_by_formula() -> None:
    source = direct(Gaussian(1.0))
    np.testing.assert_array_equal(source.diagonal(), np.ones(N))
    assert source.ledger.total == 0


def test_the_diagonal_of_other_kernels_is_charged_once() -> None:
    source = direct(Linear())
    source.diagonal()
    source.diagonal()
    assert source.ledger.train == N


def test_the_meter_counts_exactly_the_values_a_callable_was_asked_for() -> None:
    asked = 0

    def counting(A: Any, B: Any) -> Any:
        nonlocal asked
        asked += len(A) * len(B)
        return A @ B.T

    source = RowCache(direct(Custom(counting)), RowMemory(8 * N * 8))
    rng = np.random.default_rng(1)
    source.diagonal()
    for _ in range(40):
        source.rows(rng.integers(0, N, rng.integers(1, 12)), ahead=lambda: rng.integers(0, N, 6))
        source.rows(rng.integers(0, N, 2), columns=rng.integers(0, N, 3))
    assert source.ledger.train == asked


def test_a_precomputed_matrix_charges_what_it_delivers() -> None:
    source = PrecomputedRows(X @ X.T, EvaluationLedger())
    source.rows([1, 2])
    source.rows([1], columns=[0, 1, 2])
    source.diagonal()
    assert source.ledger.train == 2 * N + 3 + N


def test_accounts_are_separate_and_the_usual_one_returns() -> None:
    source = direct()
    with source.ledger.charging("score"):
        source.rows([0])
    source.rows([1], columns=[0])
    assert (source.ledger.train, source.ledger.score, source.ledger.check) == (1, N, 0)


def test_the_account_returns_after_an_error_too() -> None:
    ledger = EvaluationLedger()
    with pytest.raises(KeyError), ledger.charging("check"):
        raise KeyError
    assert ledger.account == "train"


def test_what_remains_concerns_training_alone_and_never_falls_below_zero() -> None:
    ledger = EvaluationLedger(limit=10)
    ledger.charge("score", 100)
    assert ledger.remaining == 10
    ledger.charge("train", 25)
    assert ledger.remaining == 0
    assert EvaluationLedger().remaining is None


def test_unknown_accounts_and_negative_counts_are_refused() -> None:
    ledger = EvaluationLedger()
    with pytest.raises(ValueError, match="train, score, check"):
        ledger.charge("training", 1)
    with pytest.raises(ValueError, match="count must be >= 0"):
        ledger.charge("train", -1)
    with pytest.raises(ValueError, match="limit must be >= 0"):
        EvaluationLedger(limit=-1)
