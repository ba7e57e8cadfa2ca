"""What SVC, SBPClassifier and the baselines make of a limit of time: seconds spent, and the error of the model.

    python bench/budgets.py [--sets NAME ...] [--ways NAME ...] [--seconds S ...] [--repeat K] [--steps]

Prints a row for each data set and way to train, with seconds spent and test error in per cent for each budget. An
overshoot of more than 10 % and 0.3 s is marked by !, an error of more than a point above that of a smaller budget by ^.
The last lines say how many of each there were, and the largest overshoot. A strategy that cannot serve the data has no
row. With --steps, budgets are blocks (max_iter) instead of seconds, and only errors are shown.

Errors are of 20,000 test rows, where there are as many: with fewer, one of ten pairs of equally good models that
disagree on a fifth of the rows differs by more than a point.

Data sets are the paper's, all rows of them, and .npz files (train_x, train_y, test_x, test_y) in $SLACKWATER_SETS, by
default ./sets; features are standardised, but for pixels, indicators and Forest. Loops are compiled before.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from slackwater import SVC, SBPClassifier, baselines
from slackwater.datasets import load_dataset

STEPS = (1, 2, 5, 10, 20, 50)
SECONDS = (0.05, 0.2, 0.5, 1.0, 2.0, 5.0)
MOST_TESTED = 20_000
TOLERATED_SHARE, TOLERATED_SECONDS, TOLERATED_POINTS = 0.1, 0.3, 1.0


class Kernel(NamedTuple):
    C: float
    gamma: Any
    nu: float


SETS: dict[str, Kernel] = {
    "adult": Kernel(100.0, 0.05, 1e-2),
    "digits": Kernel(1.0, 0.02, 1e-3),
    "forest": Kernel(1e4, 1e-4, 1e-3),
    "donors": Kernel(10.0, "scale", 0.05),
    "skin": Kernel(10.0, "scale", 1e-2),
    "avila": Kernel(10.0, "scale", 0.05),
}


def svc(**parameters: Any) -> Callable[[Kernel], Any]:
    return lambda kernel: SVC(C=kernel.C, gamma=kernel.gamma, random_state=0, **parameters)


ENDLESS: dict[str, Any] = {"max_iter": 10**7, "tol": 1e-3, "random_state": 0}

WAYS: dict[str, Callable[[Kernel], Any]] = {
    "auto": svc(),
    "exact": svc(strategy="exact"),
    "tol": svc(tol=1e-3),
    "sparse_kernel": svc(strategy="sparse_kernel"),
    "subspace": svc(strategy="subspace"),
    "screening": svc(strategy="screening"),
    "one-vs-rest": svc(multi_class="ovr"),
    "SBP": lambda kernel: SBPClassifier(kernel.nu, gamma=kernel.gamma, **ENDLESS),
    "SMO": lambda kernel: baselines.SMOClassifier(kernel.C, gamma=kernel.gamma, max_iter=10**7, random_state=0),
    "SDCA": lambda kernel: baselines.SDCAClassifier(kernel.C, gamma=kernel.gamma, max_iter=10**7, random_state=0),
    "Pegasos": lambda kernel: baselines.PegasosClassifier(gamma=kernel.gamma, **ENDLESS),
    "NormBallSGD": lambda kernel: baselines.NormBallSGDClassifier(gamma=kernel.gamma, **ENDLESS),
    "Perceptron": lambda kernel: baselines.KernelPerceptron(gamma=kernel.gamma, epochs=100, random_state=0),
    "SIMBA": lambda kernel: baselines.SIMBAClassifier(kernel.nu, **ENDLESS),
    "Fourier": lambda kernel: baselines.FourierSVC(kernel.C, gamma=kernel.gamma, random_state=0),
    "laplacian": svc(kernel="laplacian"),
    "poly": svc(kernel="poly", coef0=1.0),
}


PAPER_DATA = {"adult": "adult", "forest": "forest", "digits": "mnist10"}


def load(name: str) -> tuple[Any, Any, Any, Any]:
    """All rows to train with, MOST_TESTED to test."""
    if name in PAPER_DATA:
        X, y, X_test, y_test = load_dataset(PAPER_DATA[name])
    else:
        with np.load(Path(os.environ.get("SLACKWATER_SETS", "sets")) / f"{name}.npz") as data:
            X, y, X_test, y_test = (data[key] for key in ("train_x", "train_y", "test_x", "test_y"))
    rows = np.random.default_rng(0).permutation(len(y_test))[:MOST_TESTED]
    X_test, y_test = X_test[rows], y_test[rows]
    if name not in PAPER_DATA:
        mean, spread = X.mean(axis=0, dtype=np.float64), X.std(axis=0, dtype=np.float64)
        spread[spread == 0.0] = 1.0
        X, X_test = (((each - mean) / spread).astype(np.float32) for each in (X, X_test))
    return X, y, X_test, y_test


class Outcome(NamedTuple):
    limit: float
    seconds: float
    error: float  # per cent

    @property
    def late(self) -> bool:
        return self.seconds - self.limit > max(TOLERATED_SHARE * self.limit, TOLERATED_SECONDS)


def outcome(
    make: Callable[[Kernel], Any], kernel: Kernel, data: Any, parameter: str, limit: float, repeat: int
) -> Outcome:
    """Of several fits the one that took longest."""
    X, y, X_test, y_test = data
    found = []
    for _ in range(repeat):
        model = make(kernel).set_params(**{parameter: limit})
        start = time.perf_counter()
        model.fit(X, y)
        seconds = time.perf_counter() - start
        found.append(Outcome(limit, seconds, 100.0 * (1.0 - model.score(X_test, y_test))))
    return max(found, key=lambda each: each.seconds)


def compile_loops(make: Callable[[Kernel], Any], kernel: Kernel, data: Any) -> None:
    """What is compiled is not training."""
    X, y, X_test, _ = data
    for rows in (2000, 20_000):
        make(kernel).set_params(max_time=2.0).fit(X[:rows], y[:rows]).predict(X_test[:10])


def spelled(row: list[Outcome], steps: bool) -> str:
    least = np.minimum.accumulate([each.error for each in row])
    cells = []
    for each, low in zip(row, least, strict=True):
        worse = "^" if each.error > low + TOLERATED_POINTS else " "
        cells.append(
            f"{each.error:5.1f}{worse}"
            if steps
            else f"{each.seconds:6.2f}{'!' if each.late else ' '}{each.error:5.1f}{worse}"
        )
    return " ".join(cells)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="*", default=list(SETS), choices=list(SETS))
    parser.add_argument("--ways", nargs="*", default=list(WAYS), choices=list(WAYS))
    parser.add_argument("--seconds", nargs="*", type=float, default=SECONDS)
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--steps", action="store_true", help="budgets of blocks instead of seconds")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    parameter, limits = ("max_iter", STEPS) if arguments.steps else ("max_time", arguments.seconds)
    print("set".ljust(8), "way".ljust(14), *(f"{limit:>12g}" for limit in limits))
    every: list[Outcome] = []
    worse = 0
    for name in arguments.sets:
        data = load(name)
        for way in arguments.ways:
            try:
                compile_loops(WAYS[way], SETS[name], data)
                row = [outcome(WAYS[way], SETS[name], data, parameter, limit, arguments.repeat) for limit in limits]
            except ValueError as error:
                if "cannot serve" not in str(error):
                    raise
                continue
            shown = spelled(row, arguments.steps)
            print(name.ljust(8), way.ljust(14), shown, flush=True)
            every += row
            worse += shown.count("^")
    print(f"{len(every)} fits: {worse} errors more than a point above that of a smaller budget", end="")
    if not arguments.steps and every:
        latest = max(every, key=lambda each: each.seconds - each.limit)
        print(
            f"; {sum(each.late for each in every)} late; the latest: {latest.seconds:.2f} s of {latest.limit:g}", end=""
        )
    print()


if __name__ == "__main__":
    main()
