"""Small data in place of the paper's, for tests of what is done with them."""

from __future__ import annotations

import numpy as np
import pytest

from slackwater.datasets.registry import Dataset


def _part(rng, n):
    y = np.where(rng.random(n) < 0.4, 1, -1).astype(np.int8)
    X = rng.standard_normal((n, 6)).astype(np.float32)
    X[:, :2] += 0.9 * y[:, None]
    return X, y


@pytest.fixture
def small_data(monkeypatch):
    """Two overlapping clouds, whatever name is asked for."""
    rng = np.random.default_rng(5)
    data = Dataset(*_part(rng, 300), *_part(rng, 200))
    monkeypatch.setattr("slackwater.reproduction.data.load_dataset", lambda name: data)
    return data
