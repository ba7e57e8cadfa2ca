"""Race SVCCV against GridSearchCV over scikit-learn-intelex's SVC and over slackwater's, same grid and folds, one run.

    python bench/svccv.py [--data adult mnist mnist10] [--sizes 2000 10000] [--without-onedal] [--picture search.png]

Each GridSearchCV is run with n_jobs=1 (threads within fits) and n_jobs=2 (processes, started beforehand); its quicker
time counts. Needs the extra "bench" for oneDAL. Test errors are those of the model refitted with the parameters chosen.
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any

import numpy as np
from sklearn.model_selection import GridSearchCV

from slackwater import SVC
from slackwater.datasets import load_dataset
from slackwater.path import SVCCV

CS = [0.1, 1.0, 10.0, 100.0, 1000.0]
CENTRES = {"adult": 0.05, "mnist": 0.02, "mnist10": 0.02}


def timed(search: Any, X: Any, y: Any) -> tuple[float, Any]:
    begun = time.perf_counter()
    search.fit(X, y)
    return time.perf_counter() - begun, search


def quicker(estimator: Any, grid: dict[str, Any], X: Any, y: Any) -> tuple[float, Any]:
    """GridSearchCV by threads, or by two processes that are there already."""
    few = np.concatenate([np.flatnonzero(y == label)[:8] for label in np.unique(y)])
    found = []
    for n_jobs in (1, 2):
        GridSearchCV(estimator, grid, cv=2, n_jobs=n_jobs).fit(X[few], y[few])
        found.append(timed(GridSearchCV(estimator, grid, cv=5, n_jobs=n_jobs), X, y))
    return min(found, key=lambda each: each[0])


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
    seconds, ours = timed(SVCCV(CS, gammas), X, y)
    print(f"{name}, {size} rows, 20 settings, 5 folds: SVCCV {seconds:.2f} s, {ours.best_params_}, "
          f"score {ours.best_score_:.4f}, test error {1 - ours.score(X_test, y_test):.2%}", flush=True)  # fmt: skip
    for rival, estimator in rivals(onedal).items():
        theirs_seconds, theirs = quicker(estimator, {"C": CS, "gamma": gammas}, X, y)
        apart = np.abs(ours.cv_results_["mean_test_score"] - theirs.cv_results_["mean_test_score"]).max()
        print(f"  GridSearchCV({rival}) {theirs_seconds:.2f} s, {theirs.best_params_}, score {theirs.best_score_:.4f}, "
              f"test error {1 - theirs.score(X_test, y_test):.2%}; mean scores differ by {apart:.4f} at most; "
              f"time ratio {seconds / theirs_seconds:.3f}", flush=True)  # fmt: skip
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
