"""Data files that several tests write, and how much memory reading one takes."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import pytest
from sklearn.datasets import dump_svmlight_file, load_iris, make_moons

from slackwater.errors import DataError


def write_moons(place: Path) -> None:
    """``moons``, 400 rows of classes -1 and 1, and ``moons.t``, 200 more, as svmlight text."""
    X, y = make_moons(600, noise=0.2, random_state=0)
    dump_svmlight_file(X[:400], 2 * y[:400] - 1, str(place / "moons"), zero_based=False)
    dump_svmlight_file(X[400:], 2 * y[400:] - 1, str(place / "moons.t"), zero_based=False)


def write_iris(place: Path) -> None:
    """``iris.csv``, with names and, last, the species."""
    iris = load_iris()
    lines = ["sepal_length,sepal_width,petal_length,petal_width,species"]
    for row, k in zip(iris.data.tolist(), iris.target, strict=True):
        lines.append(",".join(map(str, row)) + f",{iris.target_names[k]}")
    (place / "iris.csv").write_text("\n".join(lines) + "\n")


def peak_of(work) -> int:
    """Bytes at most allocated at a time during ``work``, by Python and NumPy."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def peak_of_refusal(read) -> int:
    """Bytes at most allocated at a time while ``read`` finds out that it must refuse."""

    def refused() -> None:
        with pytest.raises(DataError):
            read()

    return peak_of(refused)
