"""Rows kept as sixteen-bit fractions are those of their source, rounded; and cost what those cost."""

from __future__ import annotations

import numpy as np
import pytest

from slackwater.gram.cached import CachedRows
from slackwater.gram.direct import DirectRows
from slackwater.gram.fractions import FractionRows
from slackwater.gram.ledger import EvaluationLedger
from slackwater.kernels import Gaussian, as_points
from slackwater.workers import Workers

ROUNDING = 0.5 / 65535 + 1e-7


def source_of(n=300, d=5) -> DirectRows:
    X = np.random.default_rng(0).normal(size=(n, d)).astype(np.float32)
    return DirectRows(Gaussian(0.2), as_points(X), EvaluationLedger(), Workers())


@pytest.fixture
def pair() -> tuple[FractionRows, CachedRows]:
    return FractionRows(source_of(), 2**20), CachedRows(source_of(), 2**20)


def test_rows_are_those_of_the_source_to_within_the_rounding(pair):
    short, exact = pair
    wanted = np.arange(280)  # more than are computed together
    np.testing.assert_allclose(short.rows(wanted), exact.rows(wanted), atol=ROUNDING)
    np.testing.assert_allclose(short.rows([3], columns=[7, 3]), exact.rows([3], columns=[7, 3]), atol=ROUNDING)
    out = np.empty((2, 300), np.float32)
    short.fill_rows([5, 290], out)
    np.testing.assert_allclose(out, exact.rows([5, 290]), atol=ROUNDING)


def test_zero_and_one_are_kept_exactly():
    X = np.array([[0.0], [1000.0]], dtype=np.float32)
    short = FractionRows(DirectRows(Gaussian(1.0), as_points(X), EvaluationLedger(), Workers()), 2**10)
    assert short.rows([0, 1]).tolist() == [[1.0, 0.0], [0.0, 1.0]]


def test_blocks_add_and_deliver_the_same_values(pair):
    short, exact = pair
    labels = np.where(np.arange(300) % 3, 1, -1).astype(np.int8)
    amounts = np.array([0.5, -2.0, 3.0])
    sums = np.zeros((2, 300))
    for responses, rows in zip(sums, pair, strict=True):
        block = rows.fetch([4, 9, 200]).part(np.array([2, 0, 1]))
        block.add_to(responses, labels, amounts)
    np.testing.assert_allclose(sums[0], sums[1], atol=5.5 * ROUNDING)
    columns = np.array([200, 0, 4])
    np.testing.assert_allclose(short.fetch([4]).at(columns), exact.fetch([4]).at(columns), atol=ROUNDING)


def test_a_row_takes_half_the_memory_and_is_charged_once(pair):
    short, exact = pair
    assert short.row_bytes == exact.row_bytes // 2
    short.fetch([1, 2])
    short.fetch([2, 1])
    assert short.ledger.train == 600


def test_a_request_beyond_the_budget_is_answered_all_the_same():
    short, exact = FractionRows(source_of(), 2000), CachedRows(source_of(), 2**20)
    wanted = np.arange(50)
    columns = np.arange(300)
    np.testing.assert_allclose(short.fetch(wanted).at(columns), exact.rows(wanted), atol=ROUNDING)
