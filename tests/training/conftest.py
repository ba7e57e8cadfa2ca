"""Settings of the quick way that let it be tested on few examples."""

from __future__ import annotations

import pytest

from slackwater.training import quick


@pytest.fixture
def growth_of_few(monkeypatch):
    """Let examples be set aside with as few as the tests have, unless most of them are support vectors."""
    monkeypatch.setattr(quick, "_FEWEST_TO_GROW", 7000)
    monkeypatch.setattr(quick, "_FEWEST_IF_SOON", 7000)
