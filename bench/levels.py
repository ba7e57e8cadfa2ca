"""How long a level takes, in units of one ``np.min`` over the same responses.

Run ``python bench/levels.py``. Each row is the median over many calls of the public function, with checks;
warm means: the guess is the answer before a small step, ``responses += 1e-3 * row`` with a random row in
[0, 1] as a kernel row has. The promise: n = 1,000,000, float32, ``level`` warm costs at most 8 times
``np.min``.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator

import numpy as np

from slackwater.water import c_level, c_level_and_bias, level, level_and_bias

TARGET = 8.0


def median_microseconds(call: Callable[[], object], repeats: int) -> float:
    """Median time of one call, after one to compile."""
    call()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return 1e6 * float(np.median(times))


def calls(before: np.ndarray, after: np.ndarray, labels: np.ndarray) -> Iterator[tuple[str, Callable[[], object]]]:
    """Every level, cold and warm, on the responses after the step."""
    volume, cost = 0.05 * after.size, 10.0 / after.size
    shifted_before, shifted = before + np.float32(1), after + np.float32(1)  # a C-level wants a positive sum
    gamma, pair = level(before, volume), level_and_bias(before, labels, volume)
    c_gamma, c_pair = c_level(shifted_before, cost), c_level_and_bias(shifted_before, labels, cost)
    yield "level warm", lambda: level(after, volume, guess=gamma)
    yield "level cold", lambda: level(after, volume)
    yield "level_and_bias warm", lambda: level_and_bias(after, labels, volume, guess=pair)
    yield "level_and_bias cold", lambda: level_and_bias(after, labels, volume)
    yield "c_level warm", lambda: c_level(shifted, cost, guess=c_gamma)
    yield "c_level cold", lambda: c_level(shifted, cost)
    yield "c_level_and_bias warm", lambda: c_level_and_bias(shifted, labels, cost, guess=c_pair)
    yield "c_level_and_bias cold", lambda: c_level_and_bias(shifted, labels, cost)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--repeats", type=int, default=100)
    arguments = parser.parse_args()
    print(f"{'n':>9} {'dtype':>8} {'function':<22} {'µs':>9} {'np.min µs':>10} {'ratio':>7}")
    for size in arguments.sizes:
        rng = np.random.default_rng(0)
        labels = np.where(rng.random(size) < 0.3, 1, -1).astype(np.int8)
        start, row = rng.normal(size=size), rng.random(size)
        for dtype in (np.float32, np.float64):
            before = start.astype(dtype)
            after = (start + 1e-3 * row).astype(dtype)
            for name, call in calls(before, after, labels):
                took = median_microseconds(call, arguments.repeats)
                least = median_microseconds(after.min, arguments.repeats)
                promised = name == "level warm" and size == 1_000_000 and dtype is np.float32
                verdict = ("  <= 8: kept" if took / least <= TARGET else "  > 8: BROKEN") if promised else ""
                row_start = f"{size:>9} {dtype.__name__:>8} {name:<22}"
                print(f"{row_start} {took:>9.1f} {least:>10.1f} {took / least:>7.1f}{verdict}")


if __name__ == "__main__":
    main()
