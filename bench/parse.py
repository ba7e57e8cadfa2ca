"""Time to read svmlight text beside scikit-learn's load_svmlight_file, in the same run.

    python bench/parse.py [--megabytes 200]

A file is written with as many digits as its kind says; both sides read it by turns and their arrays are compared bit
for bit. Prints a table and writes results/parse.csv.
"""

from __future__ import annotations

import argparse
import csv
import tempfile
import time
from pathlib import Path

import numpy as np
from sklearn.datasets import load_svmlight_file

from slackwater.data_io import read_data

KINDS = {  # features, entries a row, format of a value
    "counts, like Adult": (123, 14, "%d"),
    "short decimals, like a scaled LIBSVM file": (784, 150, "%.6g"),
    "doubles in full": (100, 60, "%.17g"),
}
COLUMNS = ["kind", "MB", "seconds", "MB_a_second", "seconds_scikit_learn", "MB_a_second_scikit_learn", "ratio", "equal"]


def write(path: Path, kind: str, size: int) -> None:
    """Blocks of the same thousand rows until the file is large enough."""
    features, entries, form = KINDS[kind]
    rng = np.random.default_rng(0)
    lines = []
    for _ in range(1000):
        where = np.sort(rng.choice(features, entries, replace=False)) + 1
        values = np.ones(entries) if form == "%d" else rng.standard_normal(entries)
        pairs = " ".join(f"{i}:{form % v}" for i, v in zip(where, values, strict=True))
        lines.append(f"{rng.choice([-1, 1]):+d} {pairs}\n")
    block = "".join(lines).encode()
    with path.open("wb") as stream:
        for _ in range(max(1, size // len(block))):
            stream.write(block)


def timed(read):
    start = time.perf_counter()
    result = read()
    return time.perf_counter() - start, result


def race(path: Path, repeats: int) -> tuple[float, float, bool]:
    """The better of some runs of each side, by turns, and whether their arrays are the same."""
    ours, theirs, equal = [], [], True
    for _ in range(repeats):
        seconds, (X, y, _) = timed(lambda: read_data(path, format="svmlight"))
        ours.append(seconds)
        seconds, (Z, t) = timed(lambda: load_svmlight_file(str(path)))
        theirs.append(seconds)
        same = [np.array_equal(X.indptr, Z.indptr), np.array_equal(X.indices, Z.indices), np.array_equal(y, t)]
        equal = equal and all(same) and X.data.tobytes() == Z.data.tobytes()
    return min(ours), min(theirs), equal


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=200)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    options = parser.parse_args()
    out = Path("results/parse.csv")
    out.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, out.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(COLUMNS)
        print("  ".join(COLUMNS))
        path = Path(folder) / "data.svm"
        write(path, "counts, like Adult", 10**6)
        race(path, 1)  # compiles
        for kind in options.kinds:
            write(path, kind, options.megabytes * 10**6)
            size = path.stat().st_size / 1e6
            ours, theirs, equal = race(path, options.repeats)
            row = [kind, f"{size:.0f}", f"{ours:.2f}", f"{size / ours:.0f}", f"{theirs:.2f}", f"{size / theirs:.0f}"]
            row += [f"{theirs / ours:.1f}", equal]
            writer.writerow(row)
            print("  ".join(map(str, row)), flush=True)
    print(f"written to {out}")


if __name__ == "__main__":
    main()
