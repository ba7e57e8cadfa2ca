"""Race SVCCV against GridSearchCV over scikit-learn-intelex's SVC and over slackwater's, same grid and folds, one run.

    python bench/svccv.py [--data adult mnist mnist10] [--sizes 2000 10000] [--without-onedal] [--picture search.png]

Each GridSearchCV is run with n_jobs=1 (threads within fits) and n_jobs=2 (processes, started beforehand); its quicker
time counts. CPU seconds, for machines with other work to do, are those of n_jobs=1. Needs the extra "bench" for oneDAL.
Test errors are those of the model refitted with the parameters chosen.
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import GridSearchCV

from slackwater import SVC
from slackwater.datasets import load_dataset
from slackwater.path import SVCCV

CS = [0.1, 1.0, 10.0, 100.0, 1000.0]
CENTRES = {"adult": 0.05, "mnist": 0.02, "mnist10": 0.02}


class Timed(NamedTuple):
    """A search that is done."""

    wall: float
    cpu: float  # seconds of this process: not those of others that it has started
    search: Any


def timed(search: Any, X: Any, y: Any) -> Timed:
    wall, cpu = time.perf_counter(), time.process_time()
    search.fit(X, y)
    return Timed(time.perf_counter() - wall, time.process_time() - cpu, search)


def by_threads_and_processes(estimator: Any, grid: dict[str, Any], X: Any, y: Any) -> list[Timed]:
    """GridSearchCV by threads, and by two processes that are there already."""
    few = np.concatenate([np.flatnonzero(y == label)[:8] for label in np.unique(y)])
    found = []
    for n_jobs in (1, 2):
        GridSearchCV(estimator, grid, cv=2, n_jobs=n_jobs).fit(X[few], y[few])
        found.append(timed(GridSearchCV(estimator, grid, cv=5, n_jobs=n_jobs), X, y))
    return found


def rivals(onedal: bool) -> dict[str, Any]:
    found: dict[str, Any] = {"slackwater.SVC": SVC()}
    if onedal:
        import sklearnex.svm

        found["sklearnex.SVC"] = sklearnex.svm.SVC(cache_size=4000)
    return found


def race(name: str, size: int, onedal: bool, picture: str | None) -> None:
    X, y, X_test, y_test = load_dataset(name)
    part = np.sort(np.random.default_rng(1).permutation(len(y))[:size])
    X, y, centre = X[part], y[part], CENTRES[name]
    gammas = [centre / 16, centre / 4, centre, 4 * centre]
    SVCCV(CS, gammas).fit(X[:1000], y[:1000])  # what is compiled
    wall, cpu, ours = timed(SVCCV(CS, gammas), X, y)
    print(f"{name}, {size} rows, 20 settings, 5 folds: SVCCV {wall:.2f} s ({cpu:.2f} s CPU), {ours.best_params_}, "
          f"score {ours.best_score_:.4f}, test error {1 - ours.score(X_test, y_test):.2%}", flush=True)  # fmt: skip
    for rival, estimator in rivals(onedal).items():
        found = by_threads_and_processes(estimator, {"C": CS, "gamma": gammas}, X, y)
        theirs, their_wall, their_cpu = found[0].search, min(each.wall for each in found), found[0].cpu
        apart = np.abs(ours.cv_results_["mean_test_score"] - theirs.cv_results_["mean_test_score"]).max()
        print(f"  GridSearchCV({rival}) {their_wall:.2f} s ({their_cpu:.2f} s CPU), {theirs.best_params_}, "
              f"score {theirs.best_score_:.4f}, test error {1 - theirs.score(X_test, y_test):.2%}; "
              f"mean scores differ by {apart:.4f} at most; "
              f"ratio {wall / their_wall:.3f} (CPU {cpu / their_cpu:.3f})", flush=True)  # fmt: skip
    if picture is not None:
        ours.plot().figure_.savefig(picture, dpi=120)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", default=["adult", "mnist", "mnist10"], choices=sorted(CENTRES))
    parser.add_argument("--sizes", nargs="+", type=int, default=[2000, 10_000])
    parser.add_argument("--without-onedal", action="store_true")
    parser.add_argument("--picture", help="Draw the last search.")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    for name in options.data:
        for size in options.sizes:
            race(name, size, not options.without_onedal, options.picture)


if __name__ == "__main__":
    main()
