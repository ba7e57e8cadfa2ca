"""The part of a kernel matrix that is kept: as it would be if it were copied, whoever has come and gone."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slackwater.fitting import kept_part
from slackwater.fitting.kept_part import KeptPart
from slackwater.workers import Workers

M = 900


class Working(SimpleNamespace):
    """As much of a working set as a part of its matrix needs."""

    def __len__(self) -> int:
        return M


def part_of(workers: Workers | None = None) -> KeptPart:
    """None yet, of a matrix with room for more examples than there are, as a working set has it."""
    root = np.random.default_rng(0).standard_normal((M, 5)).astype(np.float32)
    values = np.zeros((M + 10, M + 26), np.float32)
    values[:M, :M] = np.round(8.0 * (root @ root.T))  # symmetric to the bit
    working: Any = Working(values=values, features=SimpleNamespace(workers=workers or Workers()))
    return KeptPart(working)


@given(st.lists(st.integers(0, 2**31), min_size=1, max_size=6), st.floats(0.0, 0.4))
def test_values_are_those_of_the_examples_asked_for_and_of_few_others(seeds: list[int], turnover: float) -> None:
    kept, chosen = part_of(), np.arange(0, M, 2)
    for seed in seeds:
        rng = np.random.default_rng(seed)
        stay = chosen[rng.random(len(chosen)) > turnover]
        come = np.setdiff1d(np.arange(M), chosen)
        chosen = np.sort(np.concatenate([stay, come[rng.random(len(come)) < turnover * rng.random()]]))
        places, values = kept.holding(chosen)
        assert set(chosen) <= set(places)
        assert len(set(places)) == len(places) <= (1.0 + kept_part._MAX_IDLE) * len(chosen) + 1
        size = len(places)
        np.testing.assert_array_equal(values[:size, :size], kept.working.values[np.ix_(places, places)])


def test_newcomers_take_the_places_of_those_who_left_and_others_stay_where_they_are() -> None:
    kept = part_of()
    before = kept.holding(np.arange(100))[0].copy()
    places, _ = kept.holding(np.concatenate([np.arange(5, 100), [200, 201, 202]]))
    assert np.count_nonzero(places != before) == 3
    assert len(places) == 100


def test_nothing_is_copied_for_a_part_of_those_who_are_there(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = part_of()
    kept.holding(np.arange(100))
    monkeypatch.setattr(KeptPart, "_by_rows", lambda *arguments: pytest.fail("values were copied"))
    places, _ = kept.holding(np.arange(3, 98))
    assert len(places) == 100


def test_several_threads_write_the_same_values() -> None:
    found = []
    for threads in (1, 2):
        with Workers(threads) as workers:
            kept = part_of(workers)
            kept.holding(np.arange(0, 800))
            places, values = kept.holding(np.arange(20, 840))
            found.append(values[: len(places), : len(places)].copy())
    np.testing.assert_array_equal(*found)
