"""Race svm_path against independent fits of the same values of C, in one run, with the test error of every point.

    python bench/path.py [--data adult mnist] [--rows 10000] [--points 20] [--tol 1e-3] [--races proven default]

Two races for each data set: every point proven to the gap --tol, by the path and by each fit; and both by their
defaults, where a path takes a tested tolerance and fits take what strategies their data allow. CPU seconds are given
beside wall-clock ones: on a machine with other work to do they are the ones to compare.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from slackwater import SVC
from slackwater.datasets import load_dataset
from slackwater.path import svm_path

GAMMAS = {"adult": 0.05, "mnist": 0.02}


def timed(work: Callable[[], Any]) -> tuple[float, float, Any]:
    """Wall-clock and CPU seconds, and what came out."""
    wall, cpu = time.perf_counter(), time.process_time()
    found = work()
    return time.perf_counter() - wall, time.process_time() - cpu, found


def race(name: str, rows: int | None, n_points: int, tol: float | None) -> None:
    """The path, then a fit for each of its values of C; ``tol`` None is the default of both."""
    X, y, X_test, y_test = load_dataset(name)
    if rows is not None:
        part = np.sort(np.random.default_rng(1).permutation(len(y))[:rows])
        X, y = X[part], y[part]
    gamma, Cs = GAMMAS[name], np.geomspace(0.1, 1000.0, n_points)
    few = np.concatenate([np.flatnonzero(y == label)[:500] for label in np.unique(y)])
    svm_path(X[few], y[few], Cs=[1.0], gamma=gamma)  # what is compiled, and the first use of threads
    SVC(gamma=gamma).fit(X[few], y[few])
    wall, cpu, path = timed(lambda: svm_path(X, y, Cs=Cs, gamma=gamma, tol=tol))
    fits_wall, fits_cpu, evaluations = 0.0, 0.0, 0
    print(
        f"{name}, {len(y)} rows, gamma {gamma}, tol {tol}: C, test error, gap and strategy of the path, and of a "
        "separate fit"
    )
    for C in path.C:
        seconds, used, model = timed(lambda C=C: SVC(C=C, gamma=gamma, tol=tol).fit(X, y))
        fits_wall, fits_cpu = fits_wall + seconds, fits_cpu + used
        evaluations += model.n_kernel_evals_
        place = int(np.searchsorted(path.C, C))
        errors = 1 - path.at(C).score(X_test, y_test), 1 - model.score(X_test, y_test)
        ours, theirs = (
            f"{errors[0]:7.2%} {path.gap[place]:8.1e} {path.strategy[place]:8}",
            f"{errors[1]:7.2%} {model.gap_:8.1e}",
        )
        print(f"  {C:9.3f}  {ours}  {theirs} {seconds:7.2f} s  {model.strategy_}")
    print(f"  path {wall:.2f} s ({cpu:.2f} s CPU), fits {fits_wall:.2f} s ({fits_cpu:.2f} s CPU): "
          f"ratio {fits_wall / wall:.2f} (CPU {fits_cpu / cpu:.2f}); kernel evaluations {path.n_kernel_evals:.3g} and "
          f"{evaluations:.3g}, ratio {evaluations / path.n_kernel_evals:.1f}", flush=True)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", default=["adult", "mnist"], choices=sorted(GAMMAS))
    parser.add_argument("--rows", type=int, default=None, help="Of the training set; all by default.")
    parser.add_argument("--points", type=int, default=20)
    parser.add_argument("--tol", type=float, default=1e-3, help="Of the race to a proven gap.")
    parser.add_argument("--races", nargs="+", default=["proven", "default"], choices=["proven", "default"])
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    for name in options.data:
        for kind in options.races:
            race(name, options.rows, options.points, options.tol if kind == "proven" else None)


if __name__ == "__main__":
    main()
