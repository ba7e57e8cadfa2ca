"""Rows of a changing selection are those of the kernel, however they were moved about in memory."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slackwater.gram import cache, source
from slackwater.gram import features as features_module
from slackwater.gram.cache import TWO_BYTE_ROUNDING
from slackwater.gram.features import Features, worth_keeping
from slackwater.gram.ledger import EvaluationLedger
from slackwater.gram.storage import compacted
from slackwater.kernels import Gaussian, Linear
from slackwater.points import DensePoints
from slackwater.workers import Workers


def features_of(X, cache_bytes=10**6, workers=None, kernel=None):
    kernel, workers, names = kernel or Gaussian(1.0), workers or Workers(), np.arange(len(X))
    return Features(kernel, DensePoints(X), EvaluationLedger(), workers, cache_bytes, 0, names)


def points(n, seed=0):
    return np.random.default_rng(seed).random((n, 3)).astype(np.float32)


def held(block):
    return block.step * block.base[block.places]


def gaussian(X):
    return np.exp(-((X[:, None].astype(float) - X[None].astype(float)) ** 2).sum(axis=2))


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(5, 80), two_bytes=st.booleans(), room=st.floats(0.01, 2.0))
def test_rows_survive_any_change_of_the_selection(seed, n, two_bytes, room):
    rng = np.random.default_rng(seed)
    X = points(n, seed)
    K = gaussian(X)
    tolerance = 1e-5 if two_bytes else 1e-6
    with Workers(2) as workers:
        features = features_of(X, int(room * 4 * n * n), workers)
        memory = features.row_memory()
        active = np.sort(rng.permutation(n)[: rng.integers(2, n)])
        rows = features.part(active).rows(memory, two_bytes)
        for _ in range(4):
            for _ in range(2):
                wanted = rng.permutation(len(active))[: rng.integers(1, len(active) + 1)]
                block = rows.fetch(wanted, None, rng.random(len(wanted)) < 0.5)
                expected = K[np.ix_(active[wanted], active)]
                np.testing.assert_allclose(held(block), expected, atol=tolerance)
            kept = np.union1d([0], np.flatnonzero(rng.random(len(active)) < rng.choice([0.3, 0.8, 1.0])))
            aside = np.setdiff1d(np.arange(n), active)
            newcomers = rng.permutation(aside)[: rng.integers(0, len(aside) + 1)]
            carried = kept[rng.random(len(kept)) < 0.7]
            kept = compacted(kept)
            active = np.concatenate([active[kept], newcomers])
            rows = rows.carried_over(features.part(active).direct_rows(), kept, carried)


@given(kept=st.sets(st.integers(0, 30), min_size=1))
def test_columns_are_compacted_by_moving_only_those_that_must(kept):
    kept = np.array(sorted(kept))
    order = compacted(kept)
    np.testing.assert_array_equal(np.sort(order), kept)
    moved = order != np.arange(len(kept))
    assert np.all(order[moved] >= len(kept))  # none that could stay moved, and no source is a target


def test_rows_that_are_cheap_to_recompute_take_little_memory(monkeypatch):
    monkeypatch.setattr(features_module, "_BYTES_PER_COORDINATE", 100)

    def room(coordinates, cache_bytes, kernel=None, problems=1):
        X = np.zeros((60, coordinates), dtype=np.float32)
        features = features_of(X, cache_bytes, kernel=kernel)
        memory = features.row_memory(worth_keeping(features, problems))
        return len(memory.values(np.dtype(np.uint8)))

    assert room(3, 10**6) == 2500  # as of 25 coordinates
    assert room(40, 10**6) == 4000
    assert room(40, 10**6, problems=3) == 8000  # which share them
    assert room(400, 10**6) == 4 * 60**2  # all of them
    assert room(40, 3000) == 3000
    assert room(40, 10**6, Linear()) == 4 * 60**2  # not known to be quick


@pytest.mark.parametrize("two_bytes", [False, True])
def test_sums_of_rows_are_those_of_the_kernel(two_bytes):
    X = points(300)
    rows = features_of(X).rows(two_bytes=two_bytes)
    coefficients = np.random.default_rng(1).standard_normal((3, 200))
    wanted = np.random.default_rng(2).permutation(300)[:200]
    found = rows.fetch(wanted).combinations(coefficients, 40)
    np.testing.assert_allclose(found, coefficients @ gaussian(X)[wanted][:, 40:], atol=1e-3)
    chosen = wanted[:150]
    np.testing.assert_allclose(rows.fetch(chosen).among(chosen), gaussian(X)[np.ix_(chosen, chosen)], atol=1e-5)
    labels = np.where(X[:, 0] > 0.5, 1, -1).astype(np.int8)
    responses = np.zeros(300)
    rows.fetch(wanted).add_to(responses, labels, coefficients[0])
    np.testing.assert_allclose(responses, labels * (coefficients[0] @ gaussian(X)[wanted]), atol=1e-3)


def test_only_what_is_new_is_computed():
    X = points(50)
    features = features_of(X)
    active = np.arange(30)
    rows = features.part(active).rows(features.row_memory(), two_bytes=True)
    rows.fetch([3, 5, 7])
    assert features.ledger.train == 3 * 30
    kept = compacted(np.arange(2, 30))  # the last two have taken the places of 0 and 1
    newcomers = features.part(np.concatenate([kept, np.arange(30, 40)]))
    rows = rows.carried_over(newcomers.direct_rows(), kept, np.array([3, 7, 9]))
    assert features.ledger.train == 3 * 30 + 2 * 10  # the new columns of two rows; 9 was not held
    rows.fetch([3, 7])
    assert features.ledger.train == 3 * 30 + 2 * 10
    rows.fetch([5])
    assert features.ledger.train == 3 * 30 + 2 * 10 + 38


def test_the_row_least_recently_used_makes_room():
    X = points(20)
    features = features_of(X, cache_bytes=3 * 20 * 4)
    rows = features.rows()
    assert rows.slots == 3
    for index in (0, 1, 2, 0, 3):
        rows.fetch([index])
    charged = features.ledger.train
    rows.fetch([0, 3])
    assert features.ledger.train == charged
    rows.fetch([1])
    assert features.ledger.train == charged + 20


def test_transient_rows_make_room_before_any_other_and_before_fresh_memory():
    X = points(40)
    rows = features_of(X).rows()
    rows.fetch([0, 1, 2, 3], None, np.array([False, True, False, True]))
    assert np.flatnonzero(rows.held).tolist() == [0, 1, 2, 3]
    rows.fetch([4, 1], None, np.array([False, True]))  # 1 is wanted still: only 3 can go
    assert np.flatnonzero(rows.held).tolist() == [0, 1, 2, 4]
    block = rows.fetch([1, 5])  # 1 is kept from now on
    assert np.flatnonzero(rows.held).tolist() == [0, 1, 2, 4, 5]
    np.testing.assert_allclose(held(block), gaussian(X)[[1, 5]], atol=1e-6)
    rows.fetch([6], None, np.array([True]))
    assert rows.ledger.train == 7 * len(X)
    assert rows.held.sum() == 6


def test_a_failure_leaves_no_slot_that_two_rows_would_share(monkeypatch):
    X = points(40)
    rows = features_of(X).rows(features_of(X).row_memory(2 * 40 * 4))
    assert rows.slots == 2
    for wanted in ([0], [1], [0]):
        rows.fetch(wanted)
    with monkeypatch.context() as failing:
        failing.setattr(rows.source, "write_into", lambda *arguments: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            rows.fetch([2])
    for wanted in ([0, 3], [1, 3], [2, 1]):
        block = rows.fetch(wanted)
        assert len(np.unique(block.places)) == 2
        np.testing.assert_allclose(held(block), gaussian(X)[wanted], atol=1e-6)


@pytest.mark.parametrize(("coordinates", "kernel"), [(3, Linear()), (300, Gaussian(1.0))])
def test_rows_that_take_long_are_kept_in_any_case(coordinates, kernel):
    X = np.random.default_rng(0).random((40, coordinates)).astype(np.float32)
    rows = features_of(X, kernel=kernel).rows()
    for _ in range(2):
        rows.fetch([0, 1], None, np.array([True, True]))
        rows.fetch([2], None, np.array([True]))
    assert rows.held.sum() == 3
    assert rows.ledger.train == 3 * len(X)


def test_more_rows_than_there_is_room_for_come_in_memory_of_their_own():
    X = points(20)
    features = features_of(X, cache_bytes=3 * 20 * 4)
    rows = features.rows(two_bytes=True)
    found = held(rows.fetch(np.arange(20)))
    np.testing.assert_allclose(found, gaussian(X), atol=1e-6)


def test_rounding_is_as_large_as_it_is_said_to_be():
    X = points(400)
    rows = features_of(X).rows(two_bytes=True)
    error = held(rows.fetch(np.arange(400))) - gaussian(X)
    assert np.sqrt(np.mean(error[~np.eye(400, dtype=bool)] ** 2)) == pytest.approx(TWO_BYTE_ROUNDING, rel=0.1)


def test_values_that_may_be_larger_than_one_are_not_kept_in_two_bytes():
    features = features_of(points(20), kernel=Linear())
    with pytest.raises(ValueError, match="bounded_by_one"):
        features.rows(two_bytes=True)


def test_memory_that_holds_not_even_a_row_still_serves():
    X = points(30)
    features = features_of(X, cache_bytes=10)
    rows = features.rows()
    assert rows.slots == 0
    np.testing.assert_allclose(held(rows.fetch([4])), gaussian(X)[[4]], atol=1e-6)


@pytest.mark.parametrize("two_bytes", [False, True])
def test_threads_that_share_the_work_change_nothing(monkeypatch, two_bytes):
    monkeypatch.setattr(source, "_MIN_SHARED", 1)
    X = points(301)
    wanted = np.random.default_rng(2).permutation(301)[:203]
    amounts = np.random.default_rng(1).standard_normal((3, 203))
    labels = np.where(X[:, 0] > 0.5, 1, -1).astype(np.int8)
    found = []
    for threads in (1, 3):
        with Workers(threads) as workers:
            features = features_of(X, workers=workers)
            block = features.rows(two_bytes=two_bytes).fetch(wanted)
            responses = np.zeros(301)
            block.add_to(responses, labels, amounts[0])
            found.append((block.among(wanted), responses, block.combinations(amounts, 17)))
    for alone, shared in zip(*found, strict=True):
        np.testing.assert_allclose(shared, alone, rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(found[0][0], found[1][0])
    np.testing.assert_array_equal(found[0][1], found[1][1])


def test_rows_can_be_trusted_after_a_failure(monkeypatch):
    X = points(20)
    features = features_of(X, cache_bytes=4 * 20 * 4)
    rows = features.rows()
    rows.fetch([0, 1, 2])

    def failing(*args):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(rows.source, "write_into", failing)
        with pytest.raises(KeyboardInterrupt):
            rows.fetch([2, 3, 4])
    for wanted in ([0, 19], [3, 4], [1, 2, 19], [5, 6, 7, 8], [19, 3]):
        np.testing.assert_allclose(held(rows.fetch(wanted)), gaussian(X)[wanted], atol=1e-6)


def test_values_that_are_cheap_to_recompute_are_not_gathered_from_rows():
    """Only of few coordinates in single precision, and where evaluations have no limit."""
    for kind, coordinates, limit, computed in (
        (np.float32, 4, None, True),
        (np.float64, 4, None, False),
        (np.float32, 300, None, False),
        (np.float32, 4, 10**6, False),
    ):
        X = np.random.default_rng(0).random((60, coordinates)).astype(kind)
        features = features_of(X)
        features.ledger.limit = limit
        rows = features.rows(two_bytes=True)
        rows.fetch(np.arange(30))
        before = features.ledger.train
        np.testing.assert_allclose(rows.square(np.arange(30)), gaussian(X)[:30, :30], atol=1e-5)
        assert features.ledger.train - before == (900 if computed else 0)


@pytest.mark.parametrize("two_bytes", [False, True])
@pytest.mark.parametrize("n_threads", [1, 2])
def test_of_a_square_only_what_no_row_holds_is_computed(two_bytes, n_threads, monkeypatch):
    monkeypatch.setattr(cache, "_MIN_GATHERED_BY_THREADS", 1)
    X = np.random.default_rng(0).random((80, 300)).astype(np.float32)
    with Workers(n_threads) as workers:
        features = features_of(X, workers=workers)
        rows = features.rows(two_bytes=two_bytes)
        rows.fetch(np.arange(10, 40))
        chosen = np.random.default_rng(1).permutation(60)[:50]
        before = features.ledger.train
        found = rows.square(chosen)
        held = np.isin(chosen, np.arange(10, 40))
        assert 0 < held.sum() < 50
        assert features.ledger.train - before == (~held).sum() ** 2
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, gaussian(X)[np.ix_(chosen, chosen)], atol=1e-5)
        np.testing.assert_array_equal(found, found.T)
