"""Test error of slackwater.SVC against its budget: does more time ever make the model worse?

    python bench/budgets.py [--tol 1e-3] [--early-stopping] [SET ...]

Prints a row for each data set, with the error in per cent for each budget of blocks (max_iter) and of seconds
(max_time), and marks by ! an error that is more than one point above that of a smaller budget. Some sets are .npz files
(train_x, train_y, test_x, test_y) in the folder $SLACKWATER_SETS, by default ./sets.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from slackwater import SVC
from slackwater.datasets import load_dataset

STEPS = (1, 2, 5, 10, 20, 30, 50)
SECONDS = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 4.0)
MOST_ROWS, MOST_TESTED = 20_000, 5_000
SETS: dict[str, dict[str, Any]] = {
    "classification": {"C": 1.0},
    "adult": {"C": 100.0, "gamma": 0.05},
    "mnist": {"C": 1.0, "gamma": 0.02},
    "forest": {"C": 10.0, "gamma": 0.3},
    "elec": {"C": 10.0},
    "creditdefault": {"C": 1.0},
    "eeg": {"C": 100.0},
    "higgs": {"C": 1.0},
}


def load(name: str) -> tuple[Any, Any, Any, Any]:
    """At most MOST_ROWS examples (all of Adult) to train with; standardised, but for pixels and indicators."""
    rng = np.random.default_rng(0)
    if name == "classification":
        from sklearn.datasets import make_classification

        X, y = make_classification(20_000, 10, n_informative=5, random_state=3)
        return X[:15_000], y[:15_000], X[15_000:], y[15_000:]
    if name in ("adult", "mnist", "forest"):
        X, y, X_test, y_test = load_dataset(name)
    else:
        sets = Path(os.environ.get("SLACKWATER_SETS", "sets"))
        with np.load(sets / f"{name}.npz") as data:
            X, y, X_test, y_test = (data[key] for key in ("train_x", "train_y", "test_x", "test_y"))
    if name != "adult":
        rows = rng.permutation(len(y))[:MOST_ROWS]
        X, y = X[rows], y[rows]
    rows = rng.permutation(len(y_test))[:MOST_TESTED]
    X_test, y_test = X_test[rows], y_test[rows]
    if name not in ("adult", "mnist"):
        mean, spread = X.mean(axis=0, dtype=np.float64), X.std(axis=0, dtype=np.float64)
        spread[spread == 0.0] = 1.0
        X, X_test = (((each - mean) / spread).astype(np.float32) for each in (X, X_test))
    return X, y, X_test, y_test


def errors(name: str, budgets: dict[str, tuple[float, ...]], parameters: dict[str, Any]) -> dict[str, list[float]]:
    """In per cent, for the budgets of each kind and without any."""
    X, y, X_test, y_test = load(name)
    SVC(**SETS[name]).fit(X[:3000], y[:3000]).predict(X_test[:10])  # what is compiled is not training
    found: dict[str, list[float]] = {}
    for kind, limits in [*budgets.items(), ("none", (None,))]:
        found[kind] = []
        for limit in limits:
            given = {} if limit is None else {kind: limit}
            model = SVC(random_state=0, **SETS[name], **parameters, **given)
            start = time.perf_counter()
            model.fit(X, y)
            seconds = time.perf_counter() - start
            found[kind].append(100.0 * (1.0 - model.score(X_test, y_test)))
    found["seconds"] = [seconds]
    return found


def marked(values: list[float]) -> str:
    """Errors, those with ! that are more than a point above an earlier one."""
    least = np.minimum.accumulate(values)
    return " ".join(f"{each:5.1f}{'!' if each > low + 1.0 else ' '}" for each, low in zip(values, least, strict=True))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", default=list(SETS))
    parser.add_argument("--tol", type=float)
    parser.add_argument("--early-stopping", action="store_true", help="instead of budgets")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    parameters: dict[str, Any] = {"tol": arguments.tol}
    budgets: dict[str, tuple[float, ...]] = {"max_iter": STEPS, "max_time": SECONDS}
    if arguments.early_stopping:
        budgets = {"early_stopping": (True,)}
    print("set".ljust(15), *(f"{kind}: {' '.join(map(str, limits))}" for kind, limits in budgets.items()), sep="  ")
    for name in arguments.sets:
        found = errors(name, budgets, parameters)
        shown = " | ".join(marked(found[kind] + found["none"]) for kind in budgets)
        print(f"{name:15}  {shown}  (the last: without budget, {found['seconds'][0]:.1f} s)", flush=True)


if __name__ == "__main__":
    main()
