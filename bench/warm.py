"""Going on from a fitted SVC, against starting over: seconds, kernel evaluations, test error and support vectors.

    python bench/warm.py [--data adult mnist mnist-10 scaled-forest] [--changes rows C gamma time] [--seeds 1]

``rows``: fitted to 10/11 of the rows (90.9 %), then to all of them. ``C``: to twice the C. ``gamma``: to 1.1 times the
gamma. ``time``: under ``max_time``, half of what a fit takes, then without. ``over`` is a fit of the same rows and
parameters from scratch. Writes results/warm.csv and prints it.
"""

from __future__ import annotations

import argparse
import csv
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from slackwater import SVC
from slackwater.errors import ConvergenceWarning
from tasks import RACES, load

DATA = ("adult", "mnist", "mnist-10", "scaled-forest")
CHANGES = ("rows", "C", "gamma", "time")
COLUMNS = [
    "data", "change", "seed", "rows", "strategy", "strategy_over", "cpu", "cpu_over", "ratio", "seconds",
    "seconds_over", "evaluations", "evaluations_over", "ratio_evaluations", "error", "error_over", "support",
    "support_over",
]  # fmt: skip


def timed(model: SVC, X: Any, y: Any) -> tuple[float, float]:
    """Processor seconds and seconds of a fit."""
    cpu, start = time.process_time(), time.perf_counter()
    model.fit(X, y)
    return time.process_time() - cpu, time.perf_counter() - start


def run(name: str, change: str, seed: int) -> list[Any]:
    race = RACES[name]
    X, y, X_test, y_test = load(race, seed)
    order = np.random.default_rng(seed).permutation(len(y))
    X, y = X[order], y[order]
    parameters = {"C": race["C"], "gamma": race["gamma"], "random_state": seed}
    first = len(y) * 10 // 11 if change == "rows" else len(y)
    warmed = timed(SVC(**parameters), X[:first], y[:first])[1]  # whatever is to be compiled
    changed = {"C": {"C": 2.0 * race["C"]}, "gamma": {"gamma": 1.1 * race["gamma"]}}.get(change, {})
    model, over = SVC(**parameters, warm_start=True), SVC(**{**parameters, **changed})
    if change == "time":
        model.set_params(max_time=0.5 * warmed)
    timed(model, X[:first], y[:first])
    before = model.n_kernel_evals_
    cpu, seconds = timed(model.set_params(max_time=None, **changed), X, y)
    cpu_over, seconds_over = timed(over, X, y)
    evaluations = model.n_kernel_evals_ - before
    errors = [float(np.mean(each.predict(X_test) != y_test)) for each in (model, over)]
    return [
        name, change, seed, len(y), model.strategy_, over.strategy_, round(cpu, 2), round(cpu_over, 2),
        round(cpu / cpu_over, 3), round(seconds, 2), round(seconds_over, 2), evaluations, over.n_kernel_evals_,
        round(evaluations / over.n_kernel_evals_, 3), *(round(each, 5) for each in errors), len(model.support_),
        len(over.support_),
    ]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", choices=sorted(RACES), default=list(DATA))
    parser.add_argument("--changes", nargs="+", choices=CHANGES, default=list(CHANGES))
    parser.add_argument("--seeds", type=int, default=1)
    options = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    out = Path("results/warm.csv")
    out.parent.mkdir(exist_ok=True)
    with out.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(COLUMNS)
        for name in options.data:
            for change in options.changes:
                for seed in range(options.seeds):
                    row = run(name, change, seed)
                    writer.writerow(row)
                    stream.flush()
                    print("  ".join(f"{c} {v}" for c, v in zip(COLUMNS, row, strict=True)), flush=True)
    print(f"written to {out}")


if __name__ == "__main__":
    main()
