"""Race slackwater.SVC on small data, where scikit-learn's own solver is the one to beat.

    python bench/small.py [--sizes 200 500 1000 2000 4000 8000] [--tasks NAME ...] [--folder SETS] [--repeats 5]
                          [--settings 1:1 10:1] [--budget 60] [--out results/small.csv]

All contestants (slackwater, scikit-learn, oneDAL) fit the same rows in one process, by turns, after a fit that loads
their libraries; medians are printed. "limit" is the quicker peer's time; a line is marked SLOW where slackwater takes
2 ms more. A setting is C and a factor on gamma="scale". ``--folder`` takes data sets from .npz files (train_x, train_y,
test_x, test_y; or CSR parts) instead of those named here, standardised by their training part.
Needs: pip install ".[bench]".
"""

from __future__ import annotations

import argparse
import csv
import statistics
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from tasks import SYNTHETIC

BINARY = ("adult", "mnist", "forest", "mixture", "checkers", "surface")
SEVERAL = ("mnist10", "letters", "five_classes", "clusters", "blobs", "digits")
SIZES = (200, 500, 1000, 2000, 4000, 8000)


def named(task: str) -> tuple[Any, Any, Any, Any]:
    """Training and test part of one of the tasks named here."""
    if task in SYNTHETIC:
        X, y = SYNTHETIC[task](np.random.default_rng(0))
        half = len(y) // 2
        return X[:half], y[:half], X[half:], y[half:]
    if task == "digits":
        from sklearn.datasets import load_digits

        X, y = load_digits(return_X_y=True)
        order = np.random.default_rng(0).permutation(len(y))
        return X[order[:1200]], y[order[:1200]], X[order[1200:]], y[order[1200:]]
    from slackwater.datasets import load_dataset

    X, y, X_test, y_test = load_dataset(task)
    if task == "forest":
        mean, deviation = X.mean(axis=0), np.maximum(X.std(axis=0), 1e-6)
        X, X_test = (X - mean) / deviation, (X_test - mean) / deviation
    return X, y, X_test, y_test


def from_file(path: Path) -> tuple[Any, Any, Any, Any]:
    from scipy.sparse import csr_matrix

    data = np.load(path)
    parts = []
    for part in ("train", "test"):
        y = data[f"{part}_y"]
        if "sparse" in data.files:
            shape = (len(y), int(data["shape"][-1]))
            parts += [csr_matrix(tuple(data[f"{part}_{name}"] for name in ("data", "indices", "indptr")), shape), y]
        else:
            parts += [data[f"{part}_x"].astype(np.float32), y]
    X, y, X_test, y_test = parts
    if "sparse" not in data.files:
        mean, deviation = X.mean(axis=0), X.std(axis=0)
        deviation[deviation == 0.0] = 1.0
        X, X_test = (X - mean) / deviation, (X_test - mean) / deviation
    return X, y, X_test, y_test


def gamma_scale(X: Any) -> float:
    variance = X.multiply(X).mean() - X.mean() ** 2 if hasattr(X, "multiply") else X.var()
    return 1.0 / (X.shape[1] * float(variance))


def makers(C: float, gamma: float) -> dict[str, Any]:
    import sklearn.svm
    import sklearnex.svm

    from slackwater import SVC

    return {
        "slackwater": lambda: SVC(C=C, gamma=gamma),
        "sklearn": lambda: sklearn.svm.SVC(C=C, gamma=gamma, cache_size=1000),
        "onedal": lambda: sklearnex.svm.SVC(C=C, gamma=gamma, cache_size=4000),
    }


def raced(
    X: Any, y: Any, X_test: Any, y_test: Any, C: float, gamma: float, repeats: int, budget: float
) -> dict[str, Any]:
    """Median seconds and test error of each contestant; one that takes longer than the budget fits once."""
    seconds: dict[str, list[float]] = {}
    row: dict[str, Any] = {}
    labels = {}
    for turn in range(repeats):
        for name, make in makers(C, gamma).items():
            taken = seconds.setdefault(name, [])
            if taken and (sum(taken) > budget or turn * taken[0] > budget):
                continue
            model = make()
            start = time.perf_counter()
            model.fit(X, y)
            taken.append(time.perf_counter() - start)
            if turn == 0:
                labels[name] = np.asarray(model.predict(X_test))
                row[f"{name}_error"] = round(100.0 * float(np.mean(labels[name] != y_test)), 3)
                if name == "slackwater":
                    row["strategy"], row["support"] = model.strategy_, len(model.support_)
    for name, taken in seconds.items():
        row[name] = statistics.median(taken)
    row["equal"] = round(float(np.mean(labels["slackwater"] == labels["sklearn"])), 5)
    row["limit"] = min(row["sklearn"], row["onedal"])
    row["ratio"] = round(row["slackwater"] / row["limit"], 3)
    row["mark"] = "SLOW" if row["slackwater"] > row["limit"] + 0.002 else ""
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", nargs="+", type=int, default=SIZES)
    parser.add_argument("--tasks", nargs="+", default=[*BINARY, *SEVERAL])
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--settings", nargs="+", default=["1:1", "10:1"])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--budget", type=float, default=2.0, help="seconds of a contestant's fits on one line")
    parser.add_argument("--out", type=Path, default=Path("results/small.csv"))
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = []
    for task in options.tasks:
        X, y, X_test, y_test = named(task) if options.folder is None else from_file(options.folder / f"{task}.npz")
        order = np.random.default_rng(1).permutation(len(y))
        X_test, y_test = X_test[:2000], y_test[:2000]
        few = order[:300]
        for make in makers(1.0, gamma_scale(X)).values():
            make().fit(X[few], y[few]).predict(X_test[:5])
        for size in options.sizes:
            if size > len(y):
                continue
            part = np.sort(order[:size])
            for setting in options.settings:
                C, factor = map(float, setting.split(":"))
                gamma = factor * gamma_scale(X)
                row = {"task": task, "n": size, "classes": len(np.unique(y[part])), "setting": setting}
                row |= raced(X[part], y[part], X_test, y_test, C, gamma, options.repeats, options.budget)
                rows.append(row)
                print(
                    f"{task:12s} {size:6d} {row['classes']:3d} {setting:7s} {row['strategy']:12s}"
                    f" {1e3 * row['slackwater']:9.1f} {1e3 * row['sklearn']:9.1f} {1e3 * row['onedal']:9.1f} ms"
                    f"  {row['ratio']:6.2f}  error {row['slackwater_error']:6.2f} {row['sklearn_error']:6.2f}"
                    f"  equal {row['equal']:.4f} {row['mark']}",
                    flush=True,
                )
    options.out.parent.mkdir(parents=True, exist_ok=True)
    with options.out.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(dict.fromkeys(key for row in rows for key in row)))
        writer.writeheader()
        writer.writerows(rows)
    for several in (False, True):
        for size in options.sizes:
            ratios = [row["ratio"] for row in rows if (row["classes"] > 2) == several and row["n"] == size]
            slow = sum(row["mark"] != "" for row in rows if (row["classes"] > 2) == several and row["n"] == size)
            if ratios:
                kind = "several classes" if several else "two classes"
                print(
                    f"{kind}, {size} rows: median ratio {statistics.median(ratios):.2f}, {slow} of {len(ratios)} SLOW"
                )


if __name__ == "__main__":
    main()
