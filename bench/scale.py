"""How long a round and a fit would take on larger clusters: from costs measured here, checked at 1 and 2 workers.

    python bench/scale.py [--rows 200000] [--features 54] [--bandwidth 1.25e9]

Measured, with one worker and half of the rows: a kernel value, the look at an example after a round, the driver's work
on a block, a message without content, and a byte of a message. A round of n examples on W workers is then

    driver + calls (W message) + bytes byte + n / W (moved value + look)

because the driver sends to, and hears from, one worker after the other. That is compared with rounds of all rows on one
and on two workers. ``--bandwidth`` is that of the driver's network for the clusters that are not here, in bytes a
second. Prints the tables of docs/scale.md and writes results/scale.csv. Two minutes on a quiet machine with two cores.
"""

from __future__ import annotations

import argparse
import csv
import logging
import math
import statistics
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np

import slackwater.dask
from slackwater.dask.transport import DaskTransport
from slackwater.kernels.blocks import block
from slackwater.kernels.registry import make_kernel
from slackwater.points import as_points
from slackwater.shards.session import Session
from slackwater.workers import Workers

MOVED = 400  # rows that move in a round, of a block of 512 and 256 others
ROUNDS_PER_SUPPORT_VECTOR = 39 / 3997  # MNIST, one class against the rest
WINDOWS = 2 * 1024 * 16  # bytes of responses near the levels, of all shards together
SIZES, WORKERS = (10**6, 10**8, 10**9), (1, 8, 64, 512)
OPTIONS = {"threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": logging.CRITICAL}
PARAMETERS: dict[str, Any] = {"C": 1.0, "gamma": 0.02, "strategy": "exact", "n_jobs": 1, "cache_size": 0}


class Costs(NamedTuple):
    """In seconds, but for the last."""

    value: float  # a kernel value
    look: float  # at an example, after a round
    driver: float  # choosing and solving a block
    message: float  # there and back, without content
    byte: float
    calls: float  # a round, with the further looks at the level

    def a_round(self, n: int, workers: int, features: int, moved: float = MOVED) -> dict[str, float]:
        """The parts of a round."""
        return {
            "driver": self.driver,
            "messages": self.calls * workers * self.message,
            "bytes": self.byte * bytes_of_round(workers, features, moved),
            "workers": n / workers * (moved * self.value + self.look),
        }


class Seen(NamedTuple):
    """Rounds on a cluster that is here: the quickest, since others may be at work on this machine."""

    round: float
    moved: float
    driver: float  # of a round, without waiting for shards
    calls: float
    message: float
    byte: float


def bytes_of_round(workers: int, features: int, moved: float) -> float:
    """To and from all workers: rows that move, rows that are offered, responses near the levels."""
    row = 4 * features + 64
    offered = min(512.0, 768 / workers + 32) if workers > 1 else 512.0
    return workers * (moved + offered) * row + WINDOWS


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--features", type=int, default=54)
    parser.add_argument("--bandwidth", type=float, default=1.25e9)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((arguments.rows, arguments.features)).astype(np.float32)
    y = (X[:, 0] * X[:, 1] + 0.5 * rng.standard_normal(arguments.rows) > 0).astype(int)
    half = arguments.rows // 2
    costs = costs_of(observed(X[:half], y[:half], 1), X[:half])
    print_table(["cost", "measured"], shown(costs))
    print_table(["workers", "predicted, ms a round", "seen"], [checked(costs, X, y, workers) for workers in (1, 2)])
    elsewhere = costs._replace(byte=max(costs.byte, 1.0 / arguments.bandwidth))
    lines = [line(elsewhere, n, workers, arguments.features) for n in SIZES for workers in WORKERS]
    keep(lines)
    print_table(list(lines[0]), [list(each.values()) for each in lines])
    limits = [limits_of(elsewhere, n, arguments.features) for n in SIZES]
    print_table(["rows", "half of the workers' time is lost from", "shortest round with", "and it takes, s"], limits)


# ---- what is predicted


def line(costs: Costs, n: int, workers: int, features: int) -> dict[str, Any]:
    """A round, and a fit of 10,000 and of 100,000 support vectors."""
    parts = costs.a_round(n, workers, features)
    total = sum(parts.values())
    alone = sum(costs.a_round(n, 1, features).values())
    hours = {k: total * k * ROUNDS_PER_SUPPORT_VECTOR / 3600 for k in (10_000, 100_000)}
    return {
        "rows": f"{n:.0e}".replace("e+0", "e"),
        "workers": workers,
        **{f"{name}, s": f"{value:.2g}" for name, value in parts.items()},
        "round, s": f"{total:.3g}",
        "most of it": max(parts, key=lambda name: parts[name]),
        "efficiency": f"{alone / total / workers:.2f}",
        **{f"fit of {k:,} support vectors, h": f"{value:.2g}" for k, value in hours.items()},
        "memory of a worker, GB": f"{n / workers * (4 * features + 100) / 1e9:.2g}",
    }


def limits_of(costs: Costs, n: int, features: int) -> list[Any]:
    """With how many workers half of their time is lost, and with how many a round is shortest."""
    alone = sum(costs.a_round(n, 1, features).values())
    counts = np.unique(np.geomspace(1, 10**6, 2000).astype(int)).tolist()
    rounds = [sum(costs.a_round(n, each, features).values()) for each in counts]
    lost = next((w for w, r in zip(counts, rounds, strict=True) if alone / r / w < 0.5), math.inf)
    best = int(np.argmin(rounds))
    return [f"{n:.0e}".replace("e+0", "e"), lost, counts[best], f"{rounds[best]:.2g}"]


# ---- what is measured


def checked(costs: Costs, X: Any, y: Any, workers: int) -> list[Any]:
    """A prediction beside what happens."""
    seen = observed(X, y, workers)
    predicted = sum(costs.a_round(len(X), workers, X.shape[1], seen.moved).values())
    return [workers, f"{1e3 * predicted:.0f}", f"{1e3 * seen.round:.0f}"]


def observed(X: Any, y: Any, workers: int) -> Seen:
    """Rounds on so many workers of one thread."""
    import dask.array as da
    from distributed import Client, LocalCluster

    watch = Watch()
    with LocalCluster(n_workers=workers, **OPTIONS) as cluster, Client(cluster):
        size = -(-len(X) // 4)
        rows = da.from_array(X, chunks=(size, -1)).persist()
        labels = da.from_array(y, chunks=size).persist()
        slackwater.dask.SVC(**PARAMETERS, max_iter=2).fit(rows, labels)  # compiled
        with patch.object(Session, "round", watch.round), patch.object(DaskTransport, "call", watch.call):
            slackwater.dask.SVC(**PARAMETERS, max_iter=14).fit(rows, labels)
        message, byte = messages(rows, labels)
    rounds, waited = np.diff(watch.began)[2:], np.array(watch.waited)[2:-1]
    return Seen(
        round=float(rounds.min()),
        moved=statistics.median(watch.moved[2:]),
        driver=float((rounds - waited).min()),
        calls=statistics.fmean(watch.calls[2:-1]),
        message=message / workers,
        byte=byte,
    )


class Watch:
    """What rounds consist of, from the beginning of each to that of the next."""

    def __init__(self) -> None:
        self.began: list[float] = []
        self.moved: list[int] = []  # rows
        self.calls: list[int] = []  # to shards,
        self.waited: list[float] = []  # and seconds spent waiting for them
        own = self
        a_round, a_call = Session.round, DaskTransport.call

        def watched_round(session: Session) -> None:
            own.moved.append(sum(len(each.moved) for each in session._pending.values()))
            own.began.append(time.perf_counter())
            own.calls.append(0)
            own.waited.append(0.0)
            a_round(session)

        def watched_call(transport: DaskTransport, calls: Sequence[Any], catch_up: Any) -> list[Any]:
            began = time.perf_counter()
            answers = a_call(transport, calls, catch_up)
            if own.calls:
                own.calls[-1] += 1
                own.waited[-1] += time.perf_counter() - began
            return answers

        self.round, self.call = watched_round, watched_call


def messages(rows: Any, labels: Any) -> tuple[float, float]:
    """Seconds of one message to each shard without content, and of a byte."""
    found: dict[str, float] = {}
    original = DaskTransport.call

    def once(transport: Any, calls: Any, catch_up: Any) -> Any:
        if not found:
            found["empty"] = min(timed(transport, 0) for _ in range(20))
            found["byte"] = (min(timed(transport, 2**24) for _ in range(3)) - found["empty"]) / 2**24 / transport.count
        return original(transport, calls, catch_up)

    def timed(transport: Any, size: int) -> float:
        began = time.perf_counter()
        sent = [each.host.call("digest", (b"\0" * size,) if size else ()) for each in transport._placed]
        for each in sent:  # an error of its arguments, with content: the bytes have travelled
            each.result(timeout=60)
        return time.perf_counter() - began

    with patch.object(DaskTransport, "call", once):
        slackwater.dask.SVC(**PARAMETERS, max_iter=1).fit(rows, labels)
    return found["empty"], found["byte"]


def costs_of(seen: Seen, X: Any) -> Costs:
    """A kernel value by itself; the look at an example is what is left of the wait for the shards."""
    points = as_points(X)
    kernel = make_kernel("rbf", gamma=0.02, degree=3, coef0=0.0, points=points)
    left, right = points.take(np.arange(512)), points.slice(0, min(len(X), 5000))
    value = min(_timed(lambda: block(kernel, left, right, workers=Workers())) for _ in range(100)) / 512 / len(right)
    wire = seen.calls * seen.message + seen.byte * bytes_of_round(1, X.shape[1], seen.moved)
    rest = seen.round - seen.driver - wire - len(X) * seen.moved * value
    return Costs(value, max(rest, 0.0) / len(X), seen.driver, seen.message, seen.byte, seen.calls)


def _timed(function: Any) -> float:
    began = time.perf_counter()
    function()
    return time.perf_counter() - began


# ---- tables


def shown(costs: Costs) -> list[list[str]]:
    return [
        ["a kernel value", f"{1e9 * costs.value:.2f} ns"],
        ["the look at an example after a round", f"{1e9 * costs.look:.0f} ns"],
        ["the driver's work on a block", f"{1e3 * costs.driver:.1f} ms"],
        ["a message there and back, without content", f"{1e3 * costs.message:.2f} ms"],
        ["a byte", f"{1e9 * costs.byte:.2f} ns"],
        ["calls a round", f"{costs.calls:.1f}"],
    ]


def keep(lines: list[dict[str, Any]]) -> None:
    Path("results").mkdir(exist_ok=True)
    with Path("results/scale.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(lines[0]))
        writer.writeheader()
        writer.writerows(lines)


def print_table(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    print("\n| " + " | ".join(names) + " |\n|" + "---|" * len(names))
    for row in rows:
        print("| " + " | ".join(str(value) for value in row) + " |")
    print(flush=True)


if __name__ == "__main__":
    main()
