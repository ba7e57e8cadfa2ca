"""Small data in place of the paper's, for tests of what is done with them."""

from __future__ import annotations

import numpy as np
import pytest
from slackwater.datasets import Dataset


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
    monkeypatch.setattr("sbp_paper.experiments.data.load_dataset", lambda name: data)
    return data


@pytest.fixture(scope="session")
def blobs():
    """Two overlapping clouds in the plane, 200 rows to train on and 100 to test."""
    rng = np.random.default_rng(0)
    y = np.where(rng.random(300) < 0.4, 1, -1).astype(np.int8)
    X = (rng.standard_normal((300, 2)) + y[:, None]).astype(np.float32)
    return Dataset(X[:200], y[:200], X[200:], y[200:])
