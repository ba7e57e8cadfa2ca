"""The data of an experiment: a set of the paper's, whole or a fixed random part of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slackwater.datasets import load_dataset
from slackwater.datasets.registry import Dataset
from slackwater.reproduction.job import Mode, Record

_SUBSET_SEED = 1204_0566  # which rows a part consists of; the same ones in every experiment
QUICK_ROWS = {"reuters": 2000, "adult": 3000, "mnist": 3000, "forest": 5000}
QUICK_TEST_ROWS = 3000

_held: dict[Selection, Dataset] = {}


@dataclass(frozen=True)
class Selection:
    """Rows of a data set; None stands for all of them. Called, it keeps them in memory for a ``with`` block."""

    name: str
    train_rows: int | None = None
    test_rows: int | None = None

    def load(self) -> Dataset:
        """Read the rows, unless they are held already."""
        return _held[self] if self in _held else self._read()

    @contextmanager
    def __call__(self) -> Iterator[None]:
        if self in _held:
            yield
            return
        _held[self] = self._read()
        try:
            yield
        finally:
            del _held[self]

    def as_settings(self) -> Record:
        return asdict(self)

    def _read(self) -> Dataset:
        data = load_dataset(self.name)
        rng = np.random.default_rng(_SUBSET_SEED)
        train = _chosen(len(data.y_train), self.train_rows, rng)
        test = _chosen(len(data.y_test), self.test_rows, rng)
        return Dataset(data.X_train[train], data.y_train[train], data.X_test[test], data.y_test[test])


def selection(name: str, mode: Mode) -> Selection:
    """All rows, or a few thousand for a quick look."""
    return Selection(name) if mode == "full" else Selection(name, QUICK_ROWS[name], QUICK_TEST_ROWS)


def _chosen(available: int, wanted: int | None, rng: np.random.Generator) -> slice | NDArray[Any]:
    if wanted is None or wanted >= available:
        return slice(None)
    return np.sort(rng.choice(available, size=wanted, replace=False))
