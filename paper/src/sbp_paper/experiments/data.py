"""The data of an experiment: a set of the paper's, whole or a fixed random part of it."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from slackwater.datasets import Dataset, load_dataset

from sbp_paper.experiments.holding import held_or_made, holding
from sbp_paper.experiments.job import Mode, Record

_SUBSET_SEED = 1204_0566  # which rows a part consists of; the same ones in every experiment
QUICK_ROWS = {"reuters": 2000, "adult": 3000, "mnist": 3000, "forest": 5000}
QUICK_TEST_ROWS = 3000


@dataclass(frozen=True)
class Selection:
    """Rows of a data set; None stands for all of them. Called, it keeps them in memory for a ``with`` block."""

    name: str
    train_rows: int | None = None
    test_rows: int | None = None

    def load(self) -> Dataset:
        """Read the rows, unless they are held already."""
        return held_or_made(self, self._read)

    def __call__(self) -> AbstractContextManager[Dataset]:
        return holding(self, self._read)

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
