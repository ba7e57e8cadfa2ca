"""Five million rows through the cluster path on one machine.

    python bench/large.py [--rows 5000000] [--features 30] [--workers 2]

Two classes on two overlapping shells in 30 dimensions, generated on the workers block by block, so that no process ever
holds them all. Prints the time of each part, the largest memory of the workers and of this process, and the error on
rows that were not trained on.
"""

from __future__ import annotations

import argparse
import contextlib
import logging
import resource
import threading
import time
from typing import Any

import numpy as np

import slackwater.dask


def rows_of(block: Any, features: int) -> Any:
    """Rows and labels of one block, from its number."""
    rng = np.random.default_rng(int(block))
    n = 100_000
    X = rng.standard_normal((n, features), dtype=np.float32)
    y = rng.integers(0, 2, n)
    X[:, :3] *= (0.6 + 0.9 * y + 0.08 * rng.standard_normal(n))[:, None] / np.linalg.norm(X[:, :3], axis=1)[:, None]
    X[:, 3:] *= 0.3
    return X, y


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--features", type=int, default=30)
    parser.add_argument("--workers", type=int, default=2)
    arguments = parser.parse_args()
    import dask.array as da
    from distributed import Client, LocalCluster

    import dask

    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    with (
        LocalCluster(
            n_workers=arguments.workers, threads_per_worker=1, dashboard_address=":0", silence_logs=logging.CRITICAL
        ) as cluster,
        Client(cluster) as client,
    ):
        blocks = [dask.delayed(rows_of)(k, arguments.features) for k in range(arguments.rows // 100_000)]
        shape = (100_000, arguments.features)
        X = da.concatenate([da.from_delayed(each[0], shape, np.float32) for each in blocks])
        y = da.concatenate([da.from_delayed(each[1], (100_000,), np.int64) for each in blocks])
        peaks, over = [0], threading.Event()
        watcher = threading.Thread(target=watch, args=(client, peaks, over))
        watcher.start()
        began = time.perf_counter()
        model = slackwater.dask.SVC(C=1.0, gamma=0.5, n_jobs=1, verbose=1).fit(X, y)
        seconds = time.perf_counter() - began
        over.set()
        watcher.join()
    test, truth = rows_of(10**9, arguments.features)
    mine = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(model.decisions_)
    print(
        f"{X.shape[0]:,} x {arguments.features}: {seconds:.0f} s, "
        f"the last look at the model after {model.history_['seconds'][-1]:.0f} s, "
        f"{model.strategy_}, {model.stop_reason_}, gap {model.gap_:.2g}, {len(model.support_)} support vectors, "
        f"error {100 * (1 - model.score(test[:20000], truth[:20000])):.2f} %, workers {max(peaks) / 1e9:.2f} GB each, "
        f"driver {mine:.2f} GB"
    )


def watch(client: Any, peaks: list[int], over: threading.Event) -> None:
    while not over.wait(0.5):
        with contextlib.suppress(Exception):
            peaks.extend(each["metrics"]["memory"] for each in client.scheduler_info(n_workers=-1)["workers"].values())


if __name__ == "__main__":
    main()
