"""Time of predictions beside scikit-learn's SVC, for models of the same size.

    python bench/predict.py [--repeats 200]

For each model both sides have the same support vectors, coefficients and intercept; labels are compared. One row is
predicted many times, and many rows a few times. The best of all runs counts, the two sides taking turns. Writes
results/predict.csv and prints it.
"""

from __future__ import annotations

import argparse
import csv
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import sklearn.svm

from slackwater import SVC

MODELS = {  # examples, features, classes, whether coordinates are pixels
    "small": (200, 4, 2, False),
    "medium": (2000, 20, 2, False),
    "large": (6000, 50, 2, False),
    "three classes": (2000, 20, 3, False),
    "pixels": (4000, 784, 2, True),
}
COLUMNS = ["model", "rows", "support", "features", "ms", "ms_scikit_learn", "ratio", "labels_differ"]


def data(n: int, d: int, classes: int, pixels: bool) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n + 2000, d))
    y = np.digitize(
        X[:, 0] + np.sin(2 * X[:, 1]) + rng.standard_normal(n + 2000), np.linspace(-1, 1, classes + 1)[1:-1]
    )
    if pixels:
        X = np.clip(np.rint(100 * X), 0, 255) / 255
    return X.astype(np.float32 if pixels else np.float64), y


def best(sides: list[Callable[[], object]], repeats: int) -> list[float]:
    """The least time of each side, which take turns."""
    times = [[] for _ in sides]
    for _ in range(repeats):
        for side, own in zip(sides, times, strict=True):
            start = time.perf_counter()
            side()
            own.append(time.perf_counter() - start)
    return [min(own) for own in times]


def compare(name: str, repeats: int):
    n, d, classes, pixels = MODELS[name]
    X, y = data(n, d, classes, pixels)
    gamma = 1.0 / (d * X.var())
    theirs = sklearn.svm.SVC(C=1.0, gamma=gamma).fit(X[:n], y[:n])
    ours = SVC(C=1.0, gamma=gamma).fit(X[:n], y[:n])
    for rows in (1, 2000):
        Z = X[n : n + rows]
        differ = int(np.sum(ours.predict(X[n:]) != theirs.predict(X[n:])))
        mine, other = best([lambda Z=Z: ours.predict(Z), lambda Z=Z: theirs.predict(Z)], repeats if rows == 1 else 5)
        support = f"{len(ours.support_)}/{len(theirs.support_)}"
        yield [name, rows, support, d, round(1e3 * mine, 3), round(1e3 * other, 3), round(mine / other, 2), differ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--repeats", type=int, default=200)
    options = parser.parse_args()
    out = Path("results/predict.csv")
    out.parent.mkdir(exist_ok=True)
    with out.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(COLUMNS)
        print("  ".join(f"{c:>15}" for c in COLUMNS))
        for name in options.models:
            for row in compare(name, options.repeats):
                writer.writerow(row)
                print("  ".join(f"{v!s:>15}" for v in row), flush=True)
    print(f"written to {out}")


if __name__ == "__main__":
    main()
