"""Very many classes, one against one: time and memory of a fit and of a prediction.

    python bench/classes.py [--classes 1000 1700]

A class is twenty points around a centre, in 16 dimensions. Each number of classes runs in a process of its own, after a
small fit that compiles. As many rows as there are classes are predicted. Prints a table and writes results/classes.csv.
"""

from __future__ import annotations

import argparse
import csv
import json
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from slackwater import SVC

EACH, FEATURES = 20, 16


def points(classes: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(classes), EACH)
    return 3 * rng.standard_normal((classes, FEATURES))[y] + rng.standard_normal((len(y), FEATURES)), y


def run(classes: int) -> dict[str, float]:
    X, y = points(10)
    SVC(C=1).fit(X, y).predict(X)
    X, y = points(classes)
    start = time.perf_counter()
    model = SVC(C=1).fit(X, y)
    fitted = time.perf_counter()
    model.predict(X[::EACH])
    predicted = time.perf_counter()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    pairs = classes * (classes - 1) // 2
    return {"classes": classes, "pairs": pairs, "fit": fitted - start, "peak": peak, "predict": predicted - fitted}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--classes", nargs="+", type=int, default=[1000, 1700])
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(run(options.one)))
        return
    print("| classes | pairs | fit, s | peak memory, GB | prediction of as many rows, s |")
    print("|---|---|---|---|---|")
    rows = []
    for classes in options.classes:
        command = [sys.executable, __file__, "--one", str(classes)]
        row = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        rows.append(row)
        print(f"| {classes} | {row['pairs']:,} | {row['fit']:.1f} | {row['peak']:.1f} | {row['predict']:.1f} |")
    Path("results").mkdir(exist_ok=True)
    with Path("results/classes.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main()
