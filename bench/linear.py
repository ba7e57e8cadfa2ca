"""The linear kernel with more rows than a kernel matrix in memory has room for: slackwater.SVC beside its peers.

    python bench/linear.py [--cases NAME ...] [--limit 60]

Peers: oneDAL's SVC (scikit-learn-intelex, 8 GB of cache) and scikit-learn's LinearSVC (LIBLINEAR, hinge loss, which
regularises the intercept as well and has no support vectors). Each contestant runs in a process of its own, after a fit
of few rows that loads its libraries, and is ended after --limit seconds. The objective is ½ ‖w‖² + C Σ losses, computed
here in double precision from coef_ and the decision values of the training rows; the error is that on rows held out.
"""

from __future__ import annotations

import argparse
import multiprocessing
import queue
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from slackwater.datasets import load_dataset

TRAINED = 0.75  # of the rows


def gaussian(n: int, d: int, scales: float = 0.0) -> tuple[Any, Any]:
    """Noisy labels by a plane; deviations of the features spread over so many powers of ten."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    y = X.sum(axis=1) + 0.5 * np.sqrt(d) * rng.standard_normal(n) > 0.0
    return X * np.logspace(-scales / 2, scales / 2, d), y.astype(int)


def paper_data(name: str, n: int) -> tuple[Any, Any]:
    X, y, _, _ = load_dataset(name)
    rows = np.random.default_rng(0).permutation(len(y))[:n]
    return X[rows], (y[rows] == np.unique(y)[1]).astype(int)


CASES: dict[str, tuple[Callable[[], tuple[Any, Any]], float]] = {
    "Gaussian, 7500 x 8, scales 1e-3 to 1e4": (lambda: gaussian(10_000, 8, 7.0), 1.0),
    "Gaussian, 75,000 x 20": (lambda: gaussian(100_000, 20), 1.0),
    "Gaussian, 75,000 x 20, C = 100": (lambda: gaussian(100_000, 20), 100.0),
    "Gaussian, 22,500 x 128": (lambda: gaussian(30_000, 128), 1.0),
    "Adult, 24,420 x 123 sparse": (lambda: paper_data("adult", 40_000), 1.0),
    "Forest raw, 15,000 x 54": (lambda: paper_data("forest", 20_000), 1.0),
    "Forest raw, 150,000 x 54": (lambda: paper_data("forest", 200_000), 1.0),
}


def ours(C: float) -> Any:
    from slackwater import SVC

    return SVC(C=C, kernel="linear")


def onedal(C: float) -> Any:
    from sklearnex.svm import SVC

    return SVC(C=C, kernel="linear", cache_size=8000)


def liblinear(C: float) -> Any:
    from sklearn.svm import LinearSVC

    return LinearSVC(C=C, loss="hinge", max_iter=100_000)


CONTESTANTS = {"slackwater": ours, "oneDAL": onedal, "LinearSVC": liblinear}


def contest(case: str, contestant: str, out: Any) -> None:
    warnings.simplefilter("ignore")
    make, C = CASES[case]
    X, y = make()
    cut = int(TRAINED * len(y))
    first = np.concatenate([np.flatnonzero(y[:cut] == label)[:100] for label in (0, 1)])
    CONTESTANTS[contestant](C).fit(X[first], y[first])
    model = CONTESTANTS[contestant](C)
    begun = time.perf_counter()
    model.fit(X[:cut], y[:cut])
    seconds = time.perf_counter() - begun
    shown = model.coef_.toarray() if hasattr(model.coef_, "toarray") else model.coef_
    weights, values = np.ravel(shown), np.ravel(model.decision_function(X[:cut]))
    margins = np.where(y[:cut] == 1, 1.0, -1.0) * values
    objective = 0.5 * weights @ weights + C * np.maximum(0.0, 1.0 - margins).sum()
    out.put((seconds, objective, 1.0 - model.score(X[cut:], y[cut:]), getattr(model, "gap_", None)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", nargs="+", default=list(CASES), choices=list(CASES))
    parser.add_argument("--limit", type=float, default=60.0)
    options = parser.parse_args()
    processes = multiprocessing.get_context("spawn")
    print("| data | contestant | fit, s | objective | test error, % | gap_ |\n|---|---|---|---|---|---|")
    for case in options.cases:
        for contestant in CONTESTANTS:
            out = processes.Queue()
            process = processes.Process(target=contest, args=(case, contestant, out))
            process.start()
            try:
                seconds, objective, error, gap = out.get(timeout=options.limit)
                found = f"{seconds:.3g} | {objective:.7g} | {100 * error:.2f} | {'' if gap is None else f'{gap:.1e}'}"
            except queue.Empty:
                found = f"more than {options.limit:g} | | |"
            process.kill()
            process.join()
            print(f"| {case} | {contestant} | {found} |", flush=True)


if __name__ == "__main__":
    main()
