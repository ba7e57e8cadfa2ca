"""How long a round and a fit would take on larger clusters: from costs measured here, checked at 1 and 2 workers.

    python bench/scale.py [--rows 200000] [--features 54] [--bandwidth 1.25e9]

Measured are: a kernel value, the look at an example after a round, the driver's work on a block, a message without
content, and a byte of a message. A round of n examples on W workers is then

    driver + W message + W (down + up) byte + n / W (moved value + look)

because the driver sends to, and hears from, one worker after the other. ``--bandwidth`` is that of the driver's network
for the clusters that are not here, in bytes a second. Writes results/scale.csv.
"""

from __future__ import annotations

import argparse
import csv
import logging
import pickle
import statistics
import time
import warnings
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
SIZES, WORKERS = (10**6, 10**8, 10**9), (1, 8, 64, 512)


class Costs(NamedTuple):
    """In seconds."""

    value: float  # a kernel value
    look: float  # at an example, after a round
    driver: float  # choosing and solving a block
    message: float  # there and back, without content
    byte: float

    def a_round(self, n: int, workers: int, features: int, moved: int = MOVED) -> dict[str, float]:
        """The parts of a round."""
        row = 4 * features + 64
        offered = min(512, 768 / workers + 32) if workers > 1 else 512
        wire = workers * (moved * row + offered * row + 2 * 256 * 16)
        return {
            "driver": self.driver,
            "messages": workers * self.message,
            "wire": wire * self.byte,
            "workers": n / workers * (moved * self.value + self.look),
        }


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
    seen = {workers: observed(X, y, workers) for workers in (1, 2)}
    costs = costs_of(seen[1], X)
    print(costs)
    for workers, found in seen.items():
        parts = costs.a_round(arguments.rows, workers, arguments.features, round(found["moved"]))
        print(
            f"{workers} workers: predicted {1e3 * sum(parts.values()):.0f} ms a round, seen {1e3 * found['round']:.0f}"
        )
    elsewhere = costs._replace(byte=max(1.0 / arguments.bandwidth, 0.0))
    lines = [line(elsewhere, n, workers, arguments.features) for n in SIZES for workers in WORKERS]
    Path("results").mkdir(exist_ok=True)
    with Path("results/scale.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(lines[0]))
        writer.writeheader()
        writer.writerows(lines)
    for each in lines:
        print("  ".join(f"{name} {value}" for name, value in each.items()))


def line(costs: Costs, n: int, workers: int, features: int) -> dict[str, Any]:
    """A round, and a fit of 10,000 and of 100,000 support vectors."""
    parts = costs.a_round(n, workers, features)
    total = sum(parts.values())
    alone = sum(costs.a_round(n, 1, features).values())
    shares = {f"{name}_s": float(f"{value:.3g}") for name, value in parts.items()}
    fits = {
        f"fit_{support // 1000}k_sv_h": float(f"{total * support * ROUNDS_PER_SUPPORT_VECTOR / 3600:.3g}")
        for support in (10_000, 100_000)
    }
    efficiency = float(f"{alone / total / workers:.2g}")
    return {
        "rows": f"{n:.0e}",
        "workers": workers,
        **shares,
        "round_s": float(f"{total:.3g}"),
        "efficiency": efficiency,
        **fits,
    }


def observed(X: Any, y: Any, workers: int) -> dict[str, float]:
    """Rounds on so many workers of one thread: how long they take, what moves, what a worker spends, what is empty."""
    import dask.array as da
    from distributed import Client, LocalCluster

    rounds: list[float] = []
    moved: list[int] = []
    sizes: list[int] = []
    original = Session.round

    def watched(session: Any) -> None:
        moved.append(sum(len(each.moved) for each in session._pending.values()))
        original(session)

    def weighed(transport: Any, calls: Any, catch_up: Any, send: Any = DaskTransport.call) -> Any:
        answers = send(transport, calls, catch_up)
        sizes.append(len(pickle.dumps(calls[0])) + len(pickle.dumps(answers[0])))
        return answers

    options = {"threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": logging.CRITICAL}
    with LocalCluster(n_workers=workers, **options) as cluster, Client(cluster):
        rows, labels = (
            da.from_array(X, chunks=(len(X) // 4, -1)).persist(),
            da.from_array(y, chunks=len(X) // 4).persist(),
        )
        parameters = {"C": 1.0, "gamma": 0.02, "strategy": "exact", "n_jobs": 1, "cache_size": 0}
        slackwater.dask.SVC(**parameters, max_iter=2).fit(rows, labels)
        with patch.object(Session, "round", watched):
            model = slackwater.dask.SVC(**parameters, max_iter=14).fit(rows, labels)
        rounds = np.diff(model.history_["seconds"]).tolist()
        empty, byte = messages(rows, labels, parameters)
    return {
        "round": statistics.median(rounds[2:]),
        "moved": statistics.median(moved[2:]),
        "message": empty / workers,
        "byte": byte,
    }


def messages(rows: Any, labels: Any, parameters: dict[str, Any]) -> tuple[float, float]:
    """Seconds of a round without content, and of a byte."""
    found: dict[str, float] = {}
    original = DaskTransport.call

    def once(transport: Any, calls: Any, catch_up: Any) -> Any:
        if not found:
            found["empty"] = min(timed(transport, 0) for _ in range(20))
            found["byte"] = (min(timed(transport, 2**24) for _ in range(3)) - found["empty"]) / 2**24 / transport.count
        return original(transport, calls, catch_up)

    def timed(transport: Any, size: int) -> float:
        began = time.perf_counter()
        sent = [each.host.call("__getattribute__", (b"\0" * size,)) for each in transport._placed]
        for each in sent:
            each.result(timeout=60)
        return time.perf_counter() - began

    with patch.object(DaskTransport, "call", once):
        slackwater.dask.SVC(**parameters, max_iter=1).fit(rows, labels)
    return found["empty"], found["byte"]


def costs_of(seen: dict[str, float], X: Any) -> Costs:
    """A kernel value by itself; the look at examples and the driver's work from what is left of a round."""
    points = as_points(X)
    kernel = make_kernel("rbf", gamma=0.02, degree=3, coef0=0.0, points=points)
    left = points.take(np.arange(512))
    best = min(_timed(lambda: block(kernel, left, points.slice(0, 100_000), workers=Workers())) for _ in range(3))
    value = best / 512 / 100_000
    small = min(_timed(lambda: block(kernel, left, left, workers=Workers())) for _ in range(5))
    driver = 0.01 + small
    rest = seen["round"] - driver - seen["message"] - len(X) * seen["moved"] * value
    return Costs(value, max(rest, 0.0) / len(X), driver, seen["message"], seen["byte"])


def _timed(function: Any) -> float:
    began = time.perf_counter()
    function()
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
