"""Race slackwater.SVC against its peers in one run: time and error side by side.

    python bench/race.py [--races adult mnist ... | other | further | smaller] [--seeds 3]
                         [--peers sklearnex sklearn nystroem] [--before FOLDER ...] [--budget 600] [--curve]

Each contestant trains in a process of its own, one after the other, on the same data, after a fit of few examples that
loads its libraries (where slackwater's loops have not been compiled yet, run it twice); medians over the seeds are
printed and written to results/race.csv, and as a table for the documentation to results/race.md. With --curve,
slackwater.SVC also trains under growing limits of time, and results/curve.csv and results/curve.png show its test error
against seconds, the peers as points. With --before, the slackwater of other checkouts takes part, too, under the names
of their folders.

"floor" is the time BLAS and the finish need for the kernel block of all rows with the support vectors, which any method
pays that ends with exact responses (not measured where that block has more than 2e10 values). Needs:
pip install ".[bench]".
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import resource
import statistics
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from tasks import FURTHER, OTHER, RACES, SMALLER, load

SETS = {"other": OTHER, "further": FURTHER, "smaller": SMALLER}
PEERS = ("sklearnex", "sklearn", "nystroem")
COLUMNS = ["fit", "error", "support", "evaluations", "gap", "predict", "peak_gb", "floor"]


def contestant(name: str, C: float, gamma: float, seed: int) -> Any:
    if name not in PEERS:
        from slackwater import SVC

        return SVC(C=C, gamma=gamma, random_state=seed)
    if name == "sklearnex":
        from sklearnex.svm import SVC

        return SVC(C=C, gamma=gamma, cache_size=8000)
    if name == "sklearn":
        from sklearn.svm import SVC

        return SVC(C=C, gamma=gamma)
    from sklearn.kernel_approximation import Nystroem
    from sklearn.pipeline import make_pipeline
    from sklearn.svm import LinearSVC

    return make_pipeline(Nystroem(gamma=gamma, n_components=1000, random_state=seed), LinearSVC(C=C, random_state=seed))


def run_one(name: str, race: dict[str, Any], seed: int) -> dict[str, Any]:
    """Train and judge one contestant in this process."""
    warnings.simplefilter("ignore")
    X, y, X_test, y_test = load(race, seed)
    few = np.concatenate([np.flatnonzero(y == label)[:60] for label in np.unique(y)])
    contestant(name, race["C"], race["gamma"], seed).fit(X[few], y[few]).predict(X_test[:5])  # compile, load libraries
    model = contestant(name, race["C"], race["gamma"], seed)
    start = time.perf_counter()
    model.fit(X, y)
    fitted = time.perf_counter()
    error = float(np.mean(model.predict(X_test) != y_test))
    predicted = time.perf_counter()
    support = getattr(model, "support_", np.empty(0, dtype=int))
    return {
        "fit": fitted - start,
        "error": error,
        "support": len(support),
        "evaluations": float(getattr(model, "n_kernel_evals_", np.nan)),
        "gap": float(np.max(getattr(model, "gap_", np.nan))),
        "predict": predicted - fitted,
        "peak_gb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
        "floor": floor(X, support, race["gamma"]) if name == "slackwater" else np.nan,
        "strategy": getattr(model, "strategy_", ""),
    }


def floor(X: Any, support: Any, gamma: float) -> float:
    from slackwater.kernels.blocks import block
    from slackwater.kernels.gaussian import Gaussian
    from slackwater.points import as_points
    from slackwater.workers import Workers, thread_count

    points, kernel, total = as_points(X), Gaussian(gamma), 0.0
    if len(points) * len(support) > 2e10:
        return float("nan")
    with Workers(thread_count(None)) as workers:
        for start in range(0, len(support), 512):
            rows = points.take(support[start : start + 512])
            out = np.empty((len(rows), len(points)), dtype=points.dtype)
            begin = time.perf_counter()
            block(kernel, rows, points, out=out, workers=workers)
            total += time.perf_counter() - begin
    return total


def run_curve(race: dict[str, Any], seed: int) -> list[tuple[float, float]]:
    """Seconds of training and test error, for limits that double."""
    warnings.simplefilter("ignore")
    X, y, X_test, y_test = load(race, seed)
    contestant("slackwater", race["C"], race["gamma"], seed).fit(X, y)  # compile
    found, limit = [], 0.05
    while True:
        model = contestant("slackwater", race["C"], race["gamma"], seed).set_params(max_time=limit)
        start = time.perf_counter()
        model.fit(X, y)
        found.append((time.perf_counter() - start, float(np.mean(model.predict(X_test) != y_test))))
        if model.stop_reason_ != "max_time":
            return found
        limit *= 2


def draw_curves(curves: dict[str, list[tuple[float, float]]], peers: dict[str, dict[str, dict[str, Any]]]) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(curves), figsize=(4.2 * len(curves), 3.6), squeeze=False)
    for axis, (race, points) in zip(axes[0], curves.items(), strict=True):
        seconds, errors = zip(*points, strict=True)
        axis.plot(seconds, [100 * error for error in errors], "o-", label="slackwater.SVC, max_time")
        for name, row in peers[race].items():
            if name != "slackwater":
                axis.plot(row["fit"], 100 * row["error"], "s", label=name)
        axis.set(xscale="log", title=race, xlabel="seconds of training", ylabel="test error, %")
        axis.legend(fontsize=7)
    figure.tight_layout()
    figure.savefig("results/curve.png", dpi=130)


def in_own_process(name: str, race: str, seed: int, budget: float, checkout: Path | None) -> dict[str, Any] | None:
    arguments = [sys.executable, __file__, "--one", name, race, str(seed)]
    environment = None if checkout is None else {**os.environ, "PYTHONPATH": str(checkout / "src")}
    try:
        done = subprocess.run(arguments, capture_output=True, text=True, check=True, timeout=budget, env=environment)
    except subprocess.TimeoutExpired:
        return None
    except subprocess.CalledProcessError as error:
        print(f"{name} failed on {race}: {error.stderr.strip().splitlines()[-1]}", flush=True)
        return None
    result: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return result


def median(results: list[dict[str, Any]]) -> dict[str, Any]:
    row: dict[str, Any] = {column: statistics.median(result[column] for result in results) for column in COLUMNS}
    return {**row, "strategy": "/".join(sorted({result["strategy"] for result in results}))}


def as_markdown(tables: dict[str, dict[str, dict[str, Any]]]) -> str:
    """One line a race; where a cell has several numbers, they are the contestants' in order."""
    names = list(dict.fromkeys(name for table in tables.values() for name in table))
    lines = [
        f"Contestants: {', '.join(names)}.",
        "",
        "| race | strategy | fit, s | errors, % | support vectors | predict, s | gap_ |",
        "|---|---|---|---|---|---|---|",
    ]
    for race, table in tables.items():
        rows = [table[name] for name in names if name in table]
        if "slackwater" not in table:
            continue
        cells = [
            race,
            table["slackwater"]["strategy"],
            ", ".join(f"{row['fit']:.3g}" for row in rows),
            ", ".join(f"{100 * row['error']:.2f}" for row in rows),
            ", ".join(f"{row['support']:.0f}" for row in rows),
            ", ".join(f"{row['predict']:.2g}" for row in rows),
            f"{table['slackwater']['gap']:.2g}",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--races", nargs="+", choices=[*RACES, *SETS], default=["adult", "mnist"])
    parser.add_argument("--peers", nargs="*", choices=PEERS, default=["sklearnex", "nystroem"])
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--budget", type=float, default=600.0, help="seconds after which a contestant is taken out")
    parser.add_argument("--before", type=Path, nargs="+", default=[], help="other checkouts of slackwater")
    parser.add_argument("--curve", action="store_true", help="also test error against seconds")
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        name, race, seed = options.one
        print(json.dumps(run_one(name, RACES[race], int(seed))))
        return
    options.races = [name for race in options.races for name in SETS.get(race, [race])]
    Path("results").mkdir(exist_ok=True)
    tables: dict[str, dict[str, dict[str, Any]]] = {}
    with open("results/race.csv", "w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["race", "contestant", *COLUMNS, "ratio_to_onedal", "strategy"])
        print(f"{'race':<18}{'contestant':<12}" + "".join(f"{c:>13}" for c in [*COLUMNS, "to oneDAL"]) + "  strategy")
        for race in options.races:
            checkouts = {path.resolve().name: path for path in options.before}
            names = ["slackwater", *checkouts, *options.peers]
            runs: dict[str, list[dict[str, Any] | None]] = {name: [] for name in names}
            for seed in range(options.seeds):  # by turns, so that a slow spell of the machine meets all of them
                for name in names:
                    runs[name].append(in_own_process(name, race, seed, options.budget, checkouts.get(name)))
            finished = {name: [run for run in runs[name] if run is not None] for name in names}
            table = {name: median(found) for name, found in finished.items() if len(found) == options.seeds}
            for name, row in table.items():
                ratio = row["fit"] / table["sklearnex"]["fit"] if "sklearnex" in table else float("nan")
                writer.writerow([race, name, *(row[c] for c in COLUMNS), ratio, row["strategy"]])
                print(
                    f"{race:<18}{name:<12}"
                    + "".join(f"{row[c]:>13.4g}" for c in COLUMNS)
                    + f"{ratio:>13.3g}  {row['strategy']}",
                    flush=True,
                )
            stream.flush()
            tables[race] = table
    Path("results/race.md").write_text(as_markdown(tables))
    if options.curve:
        curves = {race: run_curve(RACES[race], 0) for race in options.races}
        with open("results/curve.csv", "w", newline="") as stream:
            writer = csv.writer(stream)
            writer.writerow(["race", "seconds", "error"])
            writer.writerows([race, *point] for race, points in curves.items() for point in points)
        draw_curves(curves, tables)


if __name__ == "__main__":
    main()
