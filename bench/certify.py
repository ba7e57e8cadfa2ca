"""What a proof costs: ``certify`` beside the fit, on models whose gap is an estimate.

    python bench/certify.py [--races mnist adult checkers forest-25k]

A second fit in one process is timed, so that compilation is not in it. "floor" is the time of the kernel block of all
rows with the support vectors, the least that exact responses cost. Prints a table as docs/measurements.md has it and
writes results/certify.csv.
"""

from __future__ import annotations

import argparse
import csv
import time
import warnings
from pathlib import Path
from typing import Any

from race import floor
from slackwater import SVC
from tasks import RACES, load

COLUMNS = ("race", "strategy", "fit", "certify", "floor", "estimated", "proven")


def measured(name: str) -> dict[str, Any]:
    race = RACES[name]
    X, y, _, _ = load(race, seed=0)
    model = SVC(C=race["C"], gamma=race["gamma"]).fit(X, y)
    model.certify(X, y)  # compiles
    start = time.perf_counter()
    model.fit(X, y)
    fitted = time.perf_counter()
    estimated = model.gap_
    begin = time.perf_counter()
    proven = model.certify(X, y)
    certified = time.perf_counter()
    least = floor(X, model.support_, race["gamma"])
    values = (name, model.strategy_, fitted - start, certified - begin, least, estimated, proven)
    return dict(zip(COLUMNS, values, strict=True))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--races", nargs="+", choices=RACES, default=["mnist", "adult", "checkers", "forest-25k"])
    warnings.simplefilter("ignore")
    rows = []
    print("| race | strategy | fit, s | certify, s | floor, s | `gap_` before, estimated | proven |")
    print("|---|---|---|---|---|---|---|")
    for name in parser.parse_args().races:
        row = measured(name)
        rows.append(row)
        print("|", " | ".join(f"{v:.2g}" if isinstance(v, float) else str(v) for v in row.values()), "|", flush=True)
    Path("results").mkdir(exist_ok=True)
    with Path("results/certify.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main()
