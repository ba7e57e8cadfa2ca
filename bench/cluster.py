"""SVC on a cluster beside SVC on one machine: what the cluster costs, what a second worker gains, whether they agree.

    python bench/cluster.py [mnist forest-200k scaled-forest-200k] [--repeats 3] [--no-agreement]

The race: all sides are forced to the exact strategy and have one thread each: slackwater.SVC, one worker process, two.
Rows are on the workers before the clock starts. Forest is not solved to the end: workers make 60 steps, and the time of
one machine is that after which it has come as far, by its dual objective (its blocks, and so its steps, are smaller
where rows are long). On the way there the test error jumps by a point and more from one block to the next, so errors of
that race say nothing about agreement.

Agreement: the same three sides, each to its own end: objective, gap, test error, and how many test labels are those of
one machine.

Prints two tables as docs/measurements.md has them, with the bytes that cross the wire in a round and the time of one
that moves nothing; writes results/cluster.csv and results/agreement.csv. Minutes on a quiet machine with two cores: 4.
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
from collections.abc import Iterator
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
    "forest-200k": {"data": "forest", "C": 1e4, "gamma": 1e-4, "rows": 200_000, "steps": 60, "repeats": 1},
    "scaled-forest-200k": {
        "data": "forest",
        "task": "scaled",
        "C": 10.0,
        "gamma": 0.5,
        "rows": 200_000,
        "steps": 60,
        "repeats": 1,
    },
}
AGREEMENT: dict[str, dict[str, Any]] = {  # each to its end
    "MNIST 8 against the rest, 60,000 rows": {"data": "mnist", "C": 1.0, "gamma": 0.02, "strategy": "exact"},
    "scaled Forest, 50,000 rows": {
        "data": "forest",
        "task": "scaled",
        "C": 10.0,
        "gamma": 0.5,
        "rows": 50_000,
        "strategy": "exact",
    },
    "Forest, 25,000 rows": {"data": "forest", "C": 1e4, "gamma": 1e-4, "rows": 25_000, "strategy": "exact"},
    "Adult": {"data": "adult", "C": 1.0, "gamma": 0.05, "strategy": "subspace"},
}
CHUNKS = 8


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tasks", nargs="*", default=list(TASKS))
    parser.add_argument("--repeats", type=int, help="of each fit; by default 3 of MNIST and 1 of Forest")
    parser.add_argument("--no-agreement", dest="agreement", action="store_false")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    races = {name: race(name, arguments.repeats or TASKS[name].get("repeats", 3)) for name in arguments.tasks}
    _keep("cluster", [line for lines in races.values() for line in lines])
    _print_races(races)
    if arguments.agreement:
        lines = [line for name in AGREEMENT for line in agreement(name)]
        _keep("agreement", lines)
        _print_table(lines)


def _keep(name: str, lines: list[dict[str, Any]]) -> None:
    Path("results").mkdir(exist_ok=True)
    with Path(f"results/{name}.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(lines[0]))
        writer.writeheader()
        writer.writerows(lines)


def _print_races(races: dict[str, list[dict[str, Any]]]) -> None:
    """A line for each task."""
    rows = []
    for name, (alone, one, two) in races.items():
        row = {
            "task": name,
            "one machine, s": alone["seconds"],
            "one worker, s": one["seconds"],
            "ratio": f"{one['seconds'] / alone['seconds']:.2f}",
            "two workers, s": two["seconds"],
            "one worker / two": f"{one['seconds'] / two['seconds']:.2f}",
            "test error, %": f"{alone['error']} {one['error']} {two['error']}",
            "kB down, up a round": f"{one['down_kb']} {one['up_kb']}",
            "empty round, ms: one, two": f"{one['empty_round_ms']} {two['empty_round_ms']}",
        }
        rows.append(row)
    _print_table(rows)


def _print_table(rows: list[dict[str, Any]]) -> None:
    print("\n| " + " | ".join(rows[0]) + " |\n|" + "---|" * len(rows[0]))
    for row in rows:
        print("| " + " | ".join(str(value) for value in row.values()) + " |")
    print(flush=True)


@contextlib.contextmanager
def cluster_of(count: int) -> Iterator[None]:
    """So many worker processes of one thread."""
    from distributed import Client, LocalCluster

    options = {"threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": logging.CRITICAL}
    with LocalCluster(n_workers=count, **options) as cluster, Client(cluster):
        yield


def agreement(name: str) -> list[dict[str, Any]]:
    """Each side to its own end."""
    import dask.array as da

    task = AGREEMENT[name]
    X, y, test, truth = load(task, 0)
    parameters = {"C": task["C"], "gamma": task["gamma"], "strategy": task["strategy"], "n_jobs": 1}
    models = {"one machine": slackwater.SVC(**parameters).fit(X, y)}
    for count in (1, 2):
        with cluster_of(count):
            size = -(-X.shape[0] // CHUNKS)
            rows, labels = da.from_array(X, chunks=(size, -1)), da.from_array(y, chunks=size)
            models[f"{count} worker{'s' * (count > 1)}"] = slackwater.dask.SVC(**parameters).fit(rows, labels)
    expected = models["one machine"].predict(test)
    lines = []
    for side, model in models.items():
        predicted = model.predict(test)
        line = {
            "task": name,
            "side": side,
            "strategy": model.strategy_,
            "ended by": model.stop_reason_,
            "objective": f"{model.history_['objective'][-1]:.8g}" if len(model.history_["objective"]) else "",
            "gap": f"{model.gap_:.1e}",
            "test error, %": f"{100 * np.mean(predicted != truth):.3f}",
            "equal labels, %": f"{100 * np.mean(predicted == expected):.3f}",
            "support vectors": len(model.support_),
        }
        lines.append(line)
        print(line, flush=True)
    return lines


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
        print("  ".join(f"{column} {value}" for column, value in line.items()), flush=True)
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

    X, y, test, test_y = data
    with cluster_of(count):
        size = -(-X.shape[0] // CHUNKS)
        rows = da.from_array(X, chunks=(size, -1)).persist()
        labels = da.from_array(y, chunks=size).persist()
        slackwater.dask.SVC(**parameters).fit(rows[:4000], labels[:4000])  # compiled, on the workers, too
        runs, trainings = [], []
        for _ in range(repeats):
            began = time.perf_counter()
            model = slackwater.dask.SVC(**parameters).fit(rows, labels)
            runs.append(time.perf_counter() - began)
            trainings.append(_training(model))
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


def _training(model: Any) -> float:
    """Seconds from the first look at a model to the last."""
    seconds = model.history_["seconds"]
    return float(seconds[-1] - seconds[0])


def _line(name: str, side: str, runs: list[float], model: Any, score: float) -> dict[str, Any]:
    return {
        "task": name,
        "side": side,
        "seconds": round(statistics.median(runs), 3),
        "training": round(_training(model), 3),
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
