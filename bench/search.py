"""Time GridSearchCV over slackwater.SVC beside scikit-learn's SVC: many small fits, in processes of their own.

    python bench/search.py [--sizes 1000 5000] [--tasks mixture mnist letters] [--repeats 2]

Five folds, 20 settings (5 of C, 4 of gamma), n_jobs=2. The processes are started by a search of few rows before each
search that is timed, as they are in a session that goes on.
"""

from __future__ import annotations

import argparse
import statistics
import time
import warnings
from typing import Any

import numpy as np
import sklearn.svm
from sklearn.model_selection import GridSearchCV

from slackwater import SVC
from small import gamma_scale, named


def timed(estimator: Any, grid: dict[str, Any], X: Any, y: Any) -> tuple[float, GridSearchCV]:
    few = np.concatenate([np.flatnonzero(y == label)[:8] for label in np.unique(y)])
    GridSearchCV(estimator, grid, cv=2, n_jobs=2).fit(X[few], y[few])
    search = GridSearchCV(estimator, grid, cv=5, n_jobs=2)
    start = time.perf_counter()
    search.fit(X, y)
    return time.perf_counter() - start, search


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", nargs="+", type=int, default=[1000, 5000])
    parser.add_argument("--tasks", nargs="+", default=["mixture", "mnist", "letters"])
    parser.add_argument("--repeats", type=int, default=2)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    for task in options.tasks:
        X, y, _, _ = named(task)
        order, gamma = np.random.default_rng(1).permutation(len(y)), gamma_scale(X)
        grid = {"C": [0.1, 1.0, 10.0, 100.0, 1000.0], "gamma": [0.1 * gamma, 0.3 * gamma, gamma, 3.0 * gamma]}
        for size in options.sizes:
            part = np.sort(order[:size])
            found: dict[str, list[tuple[float, GridSearchCV]]] = {"slackwater": [], "sklearn": []}
            for _ in range(options.repeats):
                found["slackwater"].append(timed(SVC(), grid, X[part], y[part]))
                found["sklearn"].append(timed(sklearn.svm.SVC(cache_size=1000), grid, X[part], y[part]))
            ours, theirs = (statistics.median(seconds for seconds, _ in each) for each in found.values())
            chosen = [each[-1][1].best_params_ for each in found.values()]
            difference = np.abs(
                found["slackwater"][-1][1].cv_results_["mean_test_score"]
                - found["sklearn"][-1][1].cv_results_["mean_test_score"]
            ).max()
            print(
                f"{task:10s} {size:6d} rows: {ours:6.2f} s, scikit-learn {theirs:6.2f} s, ratio {ours / theirs:.2f}; "
                f"same best parameters: {chosen[0] == chosen[1]}; scores differ by {difference:.4f} at most",
                flush=True,
            )


if __name__ == "__main__":
    main()
