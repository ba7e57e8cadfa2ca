"""SVC on a cluster beside SVC on one machine: what the cluster costs with one worker, and what a second one gains.

    python bench/cluster.py [mnist forest-200k scaled-forest-200k] [--repeats 3]

All sides are forced to the exact strategy and have one thread each: slackwater.SVC, one worker process, two. Rows are
on the workers before the clock starts. Forest is not solved to the end: workers make 60 steps, and the time of one
machine is that after which it has come as far, by its dual objective (its blocks, and so its steps, are smaller where
rows are long). Writes results/cluster.csv and prints it, with the bytes that cross the wire in a round and the time of
one that moves nothing.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import logging
import pickle
import signal
import statistics
import time
import warnings
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

import slackwater
import slackwater.dask
from slackwater.dask.transport import DaskTransport
from slackwater.tracing import watched_by
from tasks import load

TASKS: dict[str, dict[str, Any]] = {
    "mnist": {"data": "mnist", "C": 1.0, "gamma": 0.02},
    "forest-200k": {"data": "forest", "C": 1e4, "gamma": 1e-4, "rows": 200_000, "steps": 60},
    "scaled-forest-200k": {"data": "forest", "task": "scaled", "C": 10.0, "gamma": 0.5, "rows": 200_000, "steps": 60},
}
COLUMNS = [
    "task",
    "side",
    "seconds",
    "training",
    "error",
    "steps",
    "support",
    "bound",
    "down_kb",
    "up_kb",
    "empty_round_ms",
]
CHUNKS = 8


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tasks", nargs="*", default=list(TASKS))
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    lines = [line for name in arguments.tasks for line in race(name, arguments.repeats)]
    Path("results").mkdir(exist_ok=True)
    with Path("results/cluster.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        writer.writerows(lines)


def race(name: str, repeats: int) -> list[dict[str, Any]]:
    """The three sides, one after the other."""
    task = TASKS[name]
    data = load(task, 0)
    parameters = {"C": task["C"], "gamma": task["gamma"], "strategy": "exact", "n_jobs": 1}
    parameters["max_iter"] = task.get("steps", 10_000)
    lines = [on_workers(name, data, parameters, repeats, count) for count in (1, 2)]
    aim = min(line["bound"] for line in lines) if "steps" in task else None
    lines.insert(0, alone(name, data, {**parameters, "max_iter": 10 * parameters["max_iter"]}, repeats, aim))
    for line in lines:
        print("  ".join(f"{column} {line[column]}" for column in COLUMNS), flush=True)
    seconds = [line["seconds"] for line in lines]
    print(
        f"{name}: one worker {seconds[1] / seconds[0]:.2f} of one machine; two workers {seconds[1] / seconds[2]:.2f}x"
    )
    return lines


def alone(name: str, data: Any, parameters: dict[str, Any], repeats: int, aim: float | None) -> dict[str, Any]:
    """One machine: to the end, or until its dual objective reaches an aim."""
    X, y, test, test_y = data
    slackwater.SVC(**parameters).fit(X[:4000], y[:4000])  # compiled
    runs = []
    for _ in range(repeats):
        seen = Seen(aim)
        began = time.perf_counter()
        model = slackwater.SVC(**parameters)
        with watched_by(seen), contextlib.suppress(KeyboardInterrupt):
            model.fit(X, y)
        runs.append(time.perf_counter() - began if seen.at is None else seen.at - began)
    return _line(name, "one machine", runs, model, model.score(test, test_y))


class Seen:
    """When a dual objective was first seen to be as large."""

    def __init__(self, aim: float | None) -> None:
        self.aim, self.at = aim, None

    def assessed(self, row: Any) -> None:
        if self.aim is not None and self.at is None and row.bound >= self.aim:
            self.at = time.perf_counter()
            signal.raise_signal(signal.SIGINT)

    def tick(self, progress: Any) -> None:
        pass

    def ended(self) -> None:
        pass


def on_workers(name: str, data: Any, parameters: dict[str, Any], repeats: int, count: int) -> dict[str, Any]:
    import dask.array as da
    from distributed import Client, LocalCluster

    X, y, test, test_y = data
    options = {"threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": logging.CRITICAL}
    with LocalCluster(n_workers=count, **options) as cluster, Client(cluster):
        size = -(-X.shape[0] // CHUNKS)
        rows = da.from_array(X, chunks=(size, -1)).persist()
        labels = da.from_array(y, chunks=size).persist()
        slackwater.dask.SVC(**parameters).fit(rows[:4000], labels[:4000])  # compiled, on the workers, too
        runs, trainings = [], []
        for _ in range(repeats):
            began = time.perf_counter()
            model = slackwater.dask.SVC(**parameters).fit(rows, labels)
            runs.append(time.perf_counter() - began)
            trainings.append(float(model.history_["seconds"][-1]))
        line = _line(name, f"{count} worker{'s' * (count > 1)}", runs, model, model.score(test, test_y))
        seen = measured(rows, labels, {**parameters, "max_iter": 12})
    return {**line, "training": round(statistics.median(trainings), 3), **seen}


def measured(rows: Any, labels: Any, parameters: dict[str, Any]) -> dict[str, float]:
    """Bytes of a round to and from one worker, and the time of rounds that move nothing."""
    sizes: list[tuple[int, int]] = []
    empty: list[float] = []
    original = DaskTransport.call

    def weighed(transport: Any, calls: Any, catch_up: Any) -> list[Any]:
        answers = original(transport, calls, catch_up)
        if calls[0].method == "exchange" and calls[0].arguments[0].rows is not None:
            sizes.append((len(pickle.dumps(calls[0])), len(pickle.dumps(answers[0]))))
            began = time.perf_counter()
            original(transport, [calls[0]._replace(method="digest", arguments=())] * len(calls), catch_up)
            empty.append(time.perf_counter() - began)
        return answers

    with patch.object(DaskTransport, "call", weighed):
        slackwater.dask.SVC(**parameters).fit(rows, labels)
    down, up = np.median(sizes[2:], axis=0)
    return {
        "down_kb": round(down / 1e3, 1),
        "up_kb": round(up / 1e3, 1),
        "empty_round_ms": round(1e3 * statistics.median(empty), 2),
    }


def _line(name: str, side: str, runs: list[float], model: Any, score: float) -> dict[str, Any]:
    return {
        "task": name,
        "side": side,
        "seconds": round(statistics.median(runs), 3),
        "training": round(float(model.history_["seconds"][-1]), 3),
        "error": round(100 * (1 - score), 2),
        "steps": int(np.max(model.n_iter_)),
        "support": len(model.support_),
        "bound": float(model.history_["bound"][-1]),
        "down_kb": "",
        "up_kb": "",
        "empty_round_ms": "",
    }


if __name__ == "__main__":
    main()
