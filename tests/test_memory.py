"""Memory in small pages is memory like any other, and what threads borrow is theirs alone."""

from __future__ import annotations

import mmap
import pickle

import numpy as np
import pytest

from fake_time import FakeTime
from slackwater import memory
from slackwater.deadline import Clock, CutShort, Deadline, working_until
from slackwater.memory import Buffers, converted, rows_of, untouched

LARGE = 2**22 + 3  # numbers of four bytes or more: over 16 MB


@pytest.mark.parametrize("shape", [0, 5, (3, 4), (0, 7), LARGE, (LARGE // 8, 9)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.uint16])
def test_it_can_be_written_to_and_read_from_end_to_end(shape, dtype):
    array = untouched(shape, dtype)
    expected = np.empty(shape, dtype)
    assert array.shape == expected.shape
    assert array.dtype == expected.dtype
    assert array.flags.c_contiguous
    assert array.flags.writeable
    array[...] = 3
    assert (array == 3).all()


def test_two_stretches_do_not_overlap_and_can_be_stored():
    one, other = untouched(LARGE, np.float32), untouched(LARGE, np.float32)
    one[:], other[:] = 1.0, 2.0
    assert (one == 1.0).all()
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(other)), other)


@pytest.mark.skipif(not hasattr(mmap, "MADV_NOHUGEPAGE"), reason="no huge pages to do without")
def test_where_pages_are_refused_numpy_is_asked(monkeypatch):
    def refused(*args, **kwargs):
        raise OSError("no")

    monkeypatch.setattr(memory.mmap, "mmap", refused)
    array = untouched(LARGE, np.float32)
    assert array.base is None
    assert array.shape == (LARGE,)


@pytest.mark.parametrize("n", [10, 2**20])
def test_rows_are_those_that_an_index_gives(n):
    values = np.random.default_rng(0).random((1000, 6)).astype(np.float32)
    indices = np.random.default_rng(1).integers(1000, size=n)
    np.testing.assert_array_equal(rows_of(values, indices), values[indices])


@pytest.mark.parametrize("wrong", [-1, 1000])
def test_rows_that_are_not_there_are_refused(wrong):
    values = np.zeros((1000, 6), np.float32)
    indices = np.zeros(2**20, np.intp)
    indices[7] = wrong
    with pytest.raises(IndexError, match="between 0 and 999"):
        rows_of(values, indices)


def test_what_is_lent_belongs_to_the_borrower_until_it_is_given_back():
    buffers = Buffers(np.dtype(np.float32))
    with buffers.lent(3, 4) as one, buffers.lent(3, 4) as other:
        assert one.shape == other.shape == (3, 4)
        assert not np.shares_memory(one, other)
    with buffers.lent(2, 5) as again:
        assert np.shares_memory(again, one) or np.shares_memory(again, other)
    with buffers.lent(100, 100) as larger:
        larger[...] = 1.0
        assert larger.dtype == np.float32


def test_large_copies_look_at_the_clock():
    values = np.zeros((LARGE, 2), dtype=np.float32)
    copies = {
        "rows": lambda: rows_of(values, np.arange(LARGE)),
        "numbers of another type": lambda: converted(values, np.dtype(np.float64)),
    }
    for copy in copies.values():
        with working_until(Deadline(Clock(now=FakeTime(tick=1.0)), 0.5)), pytest.raises(CutShort):
            copy()
        assert len(copy()) == LARGE
