"""What a kernel row costs: milliseconds a row by block size, split into matrix product and Gaussian finish.

Run as ``python bench/rows.py [--quick] [--threads K]``. MNIST is used where a copy is found (SLACKWATER_DATA), else
uniform random numbers of the same shape: the product does not care.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import scipy.sparse

from slackwater.gram import DirectRows, EvaluationLedger
from slackwater.kernels import Gaussian, Linear, as_points
from slackwater.points import Points
from slackwater.workers import Workers, thread_count

BLOCKS = (1, 8, 64, 256, 1024)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows, smaller blocks")
    parser.add_argument("--threads", type=int, default=None)
    options = parser.parse_args()
    n_threads = thread_count(options.threads)
    with Workers(n_threads) as workers:
        print(f"{n_threads} threads; best of several runs")
        blocks_of_images(options.quick, workers)
        sparse_against_dense(options.quick, workers)
    finishes()


def blocks_of_images(quick: bool, workers: Workers) -> None:
    """Dense float32, n = 60000, d = 784."""
    name, pixels = images()
    pixels = pixels[:6000] if quick else pixels
    points = as_points(pixels)
    print(f"\n{name}, n = {len(points)}, d = {pixels.shape[1]}, float32")
    print(f"{'rows':>6}{'ms/row':>10}{'product':>10}{'finish':>10}{'finish ns/value':>17}{'NumPy ms/row':>14}")
    for rows in BLOCKS[: 4 if quick else None]:
        whole, product = (
            row_times(points, rows, workers, Gaussian(0.02)),
            row_times(points, rows, workers, Linear()),
        )
        finish = (whole - product) / len(points) * 1e6
        plain = numpy_time(pixels, min(rows, 64)) if rows in (1, 64) else float("nan")
        print(f"{rows:>6}{whole:>10.3f}{product:>10.3f}{whole - product:>10.3f}{finish:>17.2f}{plain:>14.3f}")


def sparse_against_dense(quick: bool, workers: Workers) -> None:
    """Adult-like: n = 32561, d = 123, 14 ones a row."""
    rng = np.random.default_rng(0)
    n = 3256 if quick else 32561
    columns = np.sort(np.argsort(rng.random((n, 123)), axis=1)[:, :14], axis=1).ravel()
    ones = np.ones(columns.size, np.float32)
    sparse = scipy.sparse.csr_matrix((ones, columns.astype(np.int32), np.arange(0, 14 * n + 1, 14)), shape=(n, 123))
    both = {"sparse": as_points(sparse), "dense": as_points(sparse.toarray())}
    print(f"\nAdult-like, n = {n}, d = 123, 14 entries a row, float32")
    print(f"{'rows':>6}{'sparse ms/row':>15}{'dense ms/row':>15}")
    for rows in BLOCKS[: 4 if quick else None]:
        times = [row_times(points, rows, workers, Gaussian(0.05)) for points in both.values()]
        print(f"{rows:>6}{times[0]:>15.4f}{times[1]:>15.4f}")


def finishes() -> None:
    """Our exponentials against NumPy's, one thread, in cache."""
    from slackwater.kernels import _loops

    print("\nGaussian finish, one thread, 64 x 1024 values in cache, ns/value")
    for dtype, finish in ((np.float32, _loops.gaussian_finish32), (np.float64, _loops.gaussian_finish64)):
        block, left, right = np.zeros(65536, dtype), np.ones(64, dtype), np.ones(1024, dtype)
        values, out = np.full(65536, -1, dtype), np.empty(65536, dtype)
        ours = best(lambda: finish(block, 1024, left, right, dtype(0.5)), 30)  # noqa: B023
        theirs = best(lambda: np.exp(values, out=out), 30)  # noqa: B023
        print(f"{np.dtype(dtype).name}: fused {ours / 65536 * 1e9:.2f}, np.exp alone {theirs / 65536 * 1e9:.2f}")


def row_times(points: Points, rows: int, workers: Workers, kernel: Gaussian | Linear) -> float:
    """Milliseconds a row, computed in blocks of ``rows`` random rows."""
    source = DirectRows(kernel, points, EvaluationLedger(), workers)
    indices = np.random.default_rng(rows).choice(len(points), rows, replace=False)
    return best(lambda: source.rows(indices), 3 if rows > 100 else 6) / rows * 1e3


def numpy_time(pixels: np.ndarray, rows: int) -> float:
    """Milliseconds a row in plain NumPy: one thread of np.exp after the product."""
    norms = np.einsum("ij,ij->i", pixels, pixels)
    left = pixels[:rows]

    def compute() -> np.ndarray:
        return np.exp(-0.02 * (norms[:rows, None] + norms - 2 * (left @ pixels.T)))

    return best(compute, 3) / rows * 1e3


def best(task: Callable[[], object], repeats: int) -> float:
    """Seconds of the fastest run, the first (compilation, page faults) not counted."""
    task()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        task()
        times.append(time.perf_counter() - start)
    return min(times)


def images() -> tuple[str, np.ndarray]:
    """MNIST if there is a copy, else noise of its shape."""
    folders = [os.environ.get("SLACKWATER_DATA"), Path(__file__).resolve().parents[2] / "shared" / "data"]
    for folder in folders:
        path = Path(folder) / "mnist.npz" if folder else None
        if path is not None and path.exists():
            with np.load(path, allow_pickle=False) as data:
                pixels = data["train_x"].reshape(len(data["train_x"]), -1)
                return "MNIST", np.ascontiguousarray(pixels, dtype=np.float32) / np.float32(255)
    return "uniform noise", np.random.default_rng(0).random((60000, 784), dtype=np.float32)


if __name__ == "__main__":
    main()
