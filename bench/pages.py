"""Seconds to write to a stretch of memory for the first time: as NumPy takes it, and in small pages.

    python bench/pages.py [--gigabytes 1.0] [--rounds 4] [--pause 5]

By turns, with pauses, in which a virtual machine may hand pages back to its host. ``slackwater.memory`` takes whatever
is large in small pages; this tells whether that is right for the machine at hand.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from slackwater.memory import untouched

WAYS: dict[str, Callable[..., Any]] = {"np.empty": np.empty, "untouched": untouched}


def seconds_to_touch(make: Callable[..., Any], n_bytes: int) -> tuple[float, float]:
    """To write one value into each page of a fresh array, and to read the whole afterwards."""
    array = make(n_bytes, np.uint8)
    begin = time.perf_counter()
    array[::4096] = 1
    touched = time.perf_counter()
    array.view(np.float64).sum()
    return touched - begin, time.perf_counter() - touched


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gigabytes", type=float, default=1.0)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--pause", type=float, default=5.0, help="seconds before each")
    options = parser.parse_args()
    n_bytes = int(options.gigabytes * 2**30) // 8 * 8
    for _ in range(options.rounds):
        for name, make in WAYS.items():
            time.sleep(options.pause)
            touched, read = seconds_to_touch(make, n_bytes)
            each = options.gigabytes
            print(f"{name:>10}: {touched / each:.2f} s a GB first written to, {read / each:.2f} s read", flush=True)


if __name__ == "__main__":
    main()
