"""A bounded share of ``make fuzz``."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

_PATH = Path(__file__).parent.parent / "fuzz" / "fuzz_data.py"


def load():
    found = importlib.util.spec_from_file_location("fuzz_data", _PATH)
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def test_damaged_files_are_read_or_refused():
    totals = load().run(3000, seed=1)
    assert sum(found.total() for found in totals.values()) == 3000
    for kind, found in totals.items():
        assert found["refused"] > 0, kind
        assert found["read"] > 0, kind


@pytest.mark.slow
def test_many_damaged_files_are_read_or_refused():
    assert sum(found.total() for found in load().run(60_000, seed=2).values()) == 60_000
