"""Time Gaussian values in one pass (kernels/_tile_loops.py, _grid_loops.py) beside BLAS and a second pass.

    python bench/tiles.py [--coordinates 8 20 54 123 784] [--rows 200 512] [--points 8192]

One thread. Of points on a grid (whole numbers up to 255) and of others, nanoseconds a value.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
from threadpoolctl import threadpool_limits

from slackwater.kernels import Gaussian, _loops, as_points
from slackwater.kernels.destinations import Destinations
from slackwater.kernels.products import flatten, inner_products
from slackwater.workers import Workers


def least_seconds(function: Callable[[], None], repeats: int = 7) -> float:
    function()
    best = np.inf
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        best = min(best, time.perf_counter() - start)
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--coordinates", nargs="+", type=int, default=[8, 20, 54, 123, 784])
    parser.add_argument("--rows", nargs="+", type=int, default=[200, 512])
    parser.add_argument("--points", type=int, default=8192)
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    for d in options.coordinates:
        whole = rng.integers(0, 256, (options.points, d)).astype(np.float32)
        kernel = Gaussian(1.0 / (d * float(whole.var())))
        grid, dense = kernel.on_grid(Workers(), as_points(whole)), as_points(whole)
        for rows in options.rows:
            out = np.zeros((rows, options.points), np.float32)
            first, first_codes = dense.slice(0, rows), None if grid is None else grid[0].slice(0, rows)

            def by_blas(first=first, dense=dense, kernel=kernel, out=out) -> None:
                for start in range(0, len(dense), 1024):  # a part that stays in cache for the second pass
                    part, right = out[:, start : start + 1024], dense.slice(start, start + 1024)
                    inner_products(first, right, part)
                    terms = kernel._terms(first, right, part.dtype)
                    _loops.gaussian_finish32(*flatten(part), *terms, part.dtype.type(2 * kernel.gamma))

            def in_one_pass(first=first, dense=dense, kernel=kernel, out=out) -> None:
                kernel._write_dense(first, dense, Destinations.of_block(out), apart=False)

            found = {"BLAS": by_blas, "one pass": in_one_pass}
            if grid is not None:

                def on_grid(left=first_codes, right=grid[0], kernel=kernel, out=out) -> None:
                    kernel._write_on_grid(left, right, Destinations.of_block(out))

                found["on a grid"] = on_grid
            with threadpool_limits(1):
                times = {name: least_seconds(function) / out.size * 1e9 for name, function in found.items()}
            words = "  ".join(f"{name} {value:.2f}" for name, value in times.items())
            print(f"{d:5d} coordinates, {rows:4d} rows, ns a value: {words}", flush=True)


if __name__ == "__main__":
    main()
