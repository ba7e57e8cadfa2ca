"""Settings of the quick way that let it be tested on few examples."""

from __future__ import annotations

import pytest

from slackwater.training import quick, spanning, trial


@pytest.fixture
def growth_of_few(monkeypatch):
    """Let examples be set aside with as few as the tests have, unless most of them are support vectors.

    So few unseen examples tell differences of two points, not of two in a thousand; and a span may have as many points
    as there are support vectors.
    """
    monkeypatch.setattr(spanning, "_FEWEST_EXAMPLES", 0)
    monkeypatch.setattr(spanning, "_FEWEST_SUPPORT_VECTORS", 0)
    monkeypatch.setattr(trial, "SUBSPACE_MARGIN", 0.02)
    monkeypatch.setattr(trial, "TOLERANCE_MARGIN", 0.02)
    monkeypatch.setattr(quick, "_FEWEST_TO_GROW", 7000)
    monkeypatch.setattr(quick, "_FEWEST_IF_SOON", 7000)
