"""Distinct examples: merging copies, and an order that does not depend on the rows' order."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from fake_time import FakeTime
from slackwater.deadline import Clock, CutShort, Deadline, working_until
from slackwater.examples import _by_key, distinct_examples, row_keys
from slackwater.points import as_points


@given(st.integers(0, 10_000), st.booleans())
def test_copies_are_merged_and_their_weights_added(seed, as_sparse):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (12, 3)).astype(float)
    codes = rng.integers(0, 2, 12)
    weights = rng.integers(0, 4, 12).astype(float)
    weights[0] = 1.0
    points = as_points(sparse.csr_matrix(X) if as_sparse else X)
    found = distinct_examples(points, codes, weights)
    expected: dict[tuple, float] = {}
    for row, code, weight in zip(X.tolist(), codes.tolist(), weights.tolist(), strict=True):
        if weight > 0:
            expected[(*row, code)] = expected.get((*row, code), 0.0) + weight
    got = {(*X[i].tolist(), int(codes[i])): w for i, w in zip(found.kept, found.weights, strict=True)}
    assert got == expected
    assert sorted(found.order.tolist()) == list(range(len(found.kept)))
    assert (np.diff(found.kept) > 0).all()


def test_drawing_order_follows_the_content_not_the_position():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 4))
    shuffle = rng.permutation(30)
    codes, weights = np.zeros(30, dtype=np.intp), np.ones(30)
    one = distinct_examples(as_points(X), codes, weights)
    other = distinct_examples(as_points(X[shuffle]), codes, weights)
    np.testing.assert_array_equal(X[one.kept[one.order]], X[shuffle][other.kept[other.order]])


def test_dense_and_sparse_rows_have_the_same_keys():
    X = np.random.default_rng(1).standard_normal((20, 6)) * (np.random.default_rng(2).random((20, 6)) < 0.4)
    np.testing.assert_array_equal(row_keys(as_points(X)), row_keys(as_points(sparse.csr_matrix(X))))


def test_objects_are_kept_as_they_are():
    found = distinct_examples(as_points(["a", "b", "a"]), np.zeros(3, dtype=np.intp), np.array([1.0, 0.0, 2.0]))
    assert found.kept.tolist() == [0, 2]
    assert found.weights.tolist() == [1.0, 2.0]


def test_rows_of_equal_keys_are_sorted_by_group_and_number():
    rng = np.random.default_rng(0)
    keys, groups = rng.integers(0, 400, 1000).astype(float), rng.integers(0, 3, 1000)
    used = np.flatnonzero(rng.random(1000) < 0.9)
    np.testing.assert_array_equal(_by_key(keys, groups, used), used[np.lexsort((groups[used], keys[used]))])


@pytest.mark.parametrize("looks", [0, 4, 5, 9])
def test_merging_looks_at_the_clock(looks):
    """Between pieces of rows whose keys are computed, after sorting, between pieces of rows that are compared."""
    X = np.zeros((10_000, 1000), dtype=np.float32)
    deadline = Deadline(Clock(now=FakeTime(tick=1.0)), looks + 0.5)
    with working_until(deadline), pytest.raises(CutShort):
        distinct_examples(as_points(X), np.zeros(10_000, dtype=np.intp), np.ones(10_000))
