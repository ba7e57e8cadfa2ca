"""Exact single-step SBP on the paper's data: error, kernel evaluations, time and memory beside the steps.

    python bench/sbp.py [--data adult mnist forest] [--steps 20000] [--seeds 1]

Writes results/sbp.csv and prints it. One row for each data set, seed and number of steps: one run, continued.
"""

from __future__ import annotations

import argparse
import csv
import resource
import time
import warnings
from pathlib import Path

import numpy as np

from slackwater import SBPClassifier
from slackwater.datasets import available, load_dataset
from slackwater.errors import ConvergenceWarning

SETTINGS = {  # Table 2 of the paper, without bias but for Forest
    "reuters": {"nu": 6.34e-4, "gamma": 1.0},
    "adult": {"nu": 1.10e-2, "gamma": 0.05},
    "mnist": {"nu": 2.21e-4, "gamma": 0.02},
    "forest": {"nu": 7.62e-10, "gamma": 1e-4, "fit_intercept": True},
}
LOOKED_AT = (500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000, 1_000_000)  # steps
COLUMNS = [
    "data", "seed", "steps", "seconds", "test_error", "rows_fetched", "evaluations", "gap", "support", "peak_gb",
]  # fmt: skip


def run(name: str, seed: int, steps: int):
    data = load_dataset(name)
    few = np.r_[np.flatnonzero(data.y_train > 0)[:50], np.flatnonzero(data.y_train < 0)[:50]]
    SBPClassifier(max_iter=20).fit(data.X_train[few], data.y_train[few], np.arange(1, 101)).predict(data.X_test[:9])
    model = SBPClassifier(**SETTINGS[name], tol=0.0, random_state=seed, warm_start=True)
    seconds, done = 0.0, 0
    for target in sorted({min(each, steps) for each in (*LOOKED_AT, steps)}):
        start = time.perf_counter()
        model.set_params(max_iter=target - done).fit(data.X_train, data.y_train)
        seconds += time.perf_counter() - start
        done = target
        evaluations = model.n_kernel_evals_
        error = float(np.mean(model.predict(data.X_test) != data.y_test))
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        yield [
            name, seed, done, round(seconds, 2), round(error, 5), round(evaluations / len(data.y_train)), evaluations,
            round(float(model.gap_), 4), len(model.support_), round(peak, 2),
        ]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", choices=SETTINGS, default=[n for n in SETTINGS if available(n)])
    parser.add_argument("--steps", type=int, default=20_000)
    parser.add_argument("--seeds", type=int, default=1)
    options = parser.parse_args()
    if not options.data:
        parser.exit(1, "No data sets found. Set SLACKWATER_DATA to the folder that holds them.\n")
    warnings.simplefilter("ignore", ConvergenceWarning)
    out = Path("results/sbp.csv")
    out.parent.mkdir(exist_ok=True)
    with out.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(COLUMNS)
        print("  ".join(f"{c:>12}" for c in COLUMNS))
        for name in options.data:
            for seed in range(options.seeds):
                for row in run(name, seed, options.steps):
                    writer.writerow(row)
                    stream.flush()
                    print("  ".join(f"{v!s:>12}" for v in row), flush=True)
    print(f"written to {out}")


if __name__ == "__main__":
    main()
