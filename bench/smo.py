"""SMOClassifier against scikit-learn's SVC (LIBSVM): same data, same tolerance, same run.

    python bench/smo.py [--rows 5000] [--seeds 3]

Prints, for each problem, the median seconds of both over the seeds, their ratio, and beside it what shows that both
have solved the same problem: primal objective, test error, support vectors, steps. Both stop at LIBSVM's rule, a
violation of the optimality conditions of 1e-3, with 200 MB of cache. One thread; the first fit, which compiles, is not
timed.
"""

from __future__ import annotations

import argparse
import statistics
import time

import numpy as np
from sklearn.datasets import make_classification
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from slackwater.baselines import SMOClassifier
from slackwater.datasets import available, load_dataset

TOL = 1e-3
SYNTHETIC = {  # flip_y, C, gamma
    "clean": (0.0, 1.0, 0.05),
    "noisy": (0.2, 1.0, 0.05),
    "large C": (0.05, 100.0, 0.05),
}
PAPER = {"adult": (1.0, 0.05), "mnist": (1.0, 0.02)}  # C, gamma


def synthetic(name: str, rows: int, seed: int):
    flip, C, gamma = SYNTHETIC[name]
    X, y = make_classification(2 * rows, 20, n_informative=8, flip_y=flip, random_state=seed)
    return X[:rows], y[:rows], X[rows:], y[rows:], C, gamma


def part_of_paper(name: str, rows: int, seed: int):
    data = load_dataset(name)
    chosen = np.random.default_rng(seed).permutation(len(data.y_train))[:rows]
    return data.X_train[chosen], data.y_train[chosen], data.X_test, data.y_test, *PAPER[name]


def objective(model, X, y, C: float, gamma: float) -> float:
    beta = model.dual_coef_ if isinstance(model.dual_coef_, np.ndarray) else model.dual_coef_.toarray()
    K = rbf_kernel(model.support_vectors_, gamma=gamma)
    signs = np.where(y == model.classes_[1], 1, -1)
    loss = np.maximum(0.0, 1.0 - signs * model.decision_function(X)).sum()
    return 0.5 * float(beta[0] @ K @ beta[0]) + C * loss


def judged(model, X, y, X_test, y_test, C: float, gamma: float) -> dict[str, float]:
    start = time.perf_counter()
    model.fit(X, y)
    seconds = time.perf_counter() - start
    return {
        "seconds": seconds,
        "objective": objective(model, X, y, C, gamma),
        "error": 100.0 * float(np.mean(model.predict(X_test) != y_test)),
        "support": len(model.support_),
        "steps": int(np.max(model.n_iter_)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=5000)
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    races = dict.fromkeys(SYNTHETIC, synthetic) | {name: part_of_paper for name in PAPER if available(name)}
    print(" problem             seconds  ratio    objective  error %  support    steps")
    for name, load in races.items():
        found: dict[str, list[dict[str, float]]] = {"SMO": [], "sklearn": []}
        for seed in range(options.seeds):
            X, y, X_test, y_test, C, gamma = load(name, options.rows, seed)
            few = np.r_[np.flatnonzero(y == y.max())[:50], np.flatnonzero(y != y.max())[:50]]
            SMOClassifier(C, gamma=gamma, n_jobs=1).fit(X[few], y[few]).predict(X_test[:5])  # compile
            contestants = {
                "SMO": SMOClassifier(C, gamma=gamma, tol=TOL, n_jobs=1),
                "sklearn": SVC(C=C, gamma=gamma, tol=TOL, cache_size=200),
            }
            for who, model in contestants.items():
                with threadpool_limits(1):
                    found[who].append(judged(model, X, y, X_test, y_test, C, gamma))
        medians = {who: {k: statistics.median(row[k] for row in rows) for k in rows[0]} for who, rows in found.items()}
        ratio = statistics.median(
            a["seconds"] / b["seconds"] for a, b in zip(found["SMO"], found["sklearn"], strict=True)
        )
        for who, row in medians.items():
            shown = f"{ratio:6.2f}" if who == "SMO" else " " * 6
            print(
                f"{name:>8} {who:>10} {row['seconds']:8.2f} {shown} {row['objective']:12.4f} {row['error']:8.2f} "
                f"{row['support']:8.0f} {row['steps']:8.0f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
