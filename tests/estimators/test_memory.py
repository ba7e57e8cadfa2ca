"""A fit adds no more to the resident memory than copies of the data, ``cache_size`` and a constant.

Measured in processes of their own, by what the kernel of the system says was resident at the peak. The matrix of all
kernel values would be many times as large as what is allowed.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import make_classification

from slackwater import SVC

linux = pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="peaks are measured by Linux")

MB = 2**20
COPIES = 3  # of the data, in the form that is computed with: of the examples at work, packed for products, the model
CONSTANT = 96 * MB  # as docs/guide/big_data.md states it; measured are 75 at most
N = 40_000  # a matrix of 6.4 GB in single precision
SIZES = {"chunking": 3000, "chunking, linear": 3000, "small pairs": 9000, "pairs side by side": 24_000}
EVERY_WAY = [
    "auto",
    "tol",
    "exact",
    "screening",
    "subspace",
    "sparse_kernel",
    "chunking",
    "chunking, linear",
    "small pairs",
    "pairs side by side",
    "one-vs-one",
    "one-vs-rest",
    "SBP",
    "SMO",
    "SDCA",
    "Pegasos",
]


def peak(way: str, cache_size: float, *shape: Any) -> dict[str, int]:
    """What the fit added, in bytes. Freed memory is given back to the system at once, so that it is not counted."""
    script = str(Path(__file__).with_name("peak_memory.py"))
    environment = {**os.environ, "MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "65536"}
    n, *form = shape or (SIZES.get(way, N),)
    arguments = [sys.executable, script, way, str(cache_size), str(n), *(str(each) for each in form)]
    ran = subprocess.run(arguments, env=environment, capture_output=True, text=True, timeout=600, check=False)
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


def require_within(way: str, cache_size: float, *shape: Any) -> None:
    found = peak(way, cache_size, *shape)
    allowed = COPIES * found["data"] + cache_size * MB + CONSTANT
    assert found["support"] > 1
    assert found["added"] <= allowed, f"{found['added'] / MB:.0f} MB, {allowed / MB:.0f} are allowed"


@linux
@pytest.mark.parametrize(("way", "cache_size"), [("pairs side by side", 5), ("screening", 5), ("SBP", 5)])
def test_a_fit_keeps_to_the_memory_it_was_given(way, cache_size):
    require_within(way, cache_size)


@linux
@pytest.mark.slow
@pytest.mark.parametrize("cache_size", [20, 100, 400])
@pytest.mark.parametrize("way", EVERY_WAY)
def test_every_strategy_keeps_to_the_memory_it_was_given(way, cache_size):
    if way == "subspace" and cache_size < 160:  # its coordinates have half of it
        pytest.skip("refused: 82 MB of coordinates do not fit")
    require_within(way, cache_size)


WIDE = [
    ("SIMBA", "float64"),
    ("SBP", "float64"),
    *(
        pytest.param(way, form, marks=pytest.mark.slow)
        for way in ("auto", "exact", "screening", "one-vs-rest", "one-vs-one")
        for form in ("float32", "float64", "csr")
    ),
]


@linux
@pytest.mark.parametrize(("way", "form"), WIDE)
def test_of_data_that_take_more_than_the_cache_there_are_few_copies(way, form):
    require_within(way, 40, 16_000, 1000, form)


@pytest.fixture(scope="module")
def noisy():
    X, y = make_classification(20_000, 8, n_informative=6, flip_y=0.3, random_state=0)
    return X.astype(np.float32), y


@pytest.mark.parametrize("strategy", ["subspace", "sparse_kernel"])
def test_a_strategy_whose_matrix_does_not_fit_is_refused_though_it_is_forced(strategy, noisy):
    with pytest.raises(ValueError, match=r"memory for .*, MB is .*, not <= .*larger cache_size"):
        SVC(strategy=strategy, cache_size=10, gamma=1.0).fit(*noisy)


def test_a_strategy_whose_matrix_does_not_fit_is_declined_by_a_decision(noisy):
    model = SVC(cache_size=10).fit(*noisy)
    assert "subspace" not in model.strategy_
    assert any(each.measured.startswith("memory for") and not each.positive for each in model.decisions_)


@pytest.mark.parametrize(("cache_size", "taken"), [(2, False), (200, True)])
def test_a_working_set_that_does_not_fit_gives_way_to_rows(cache_size, taken):
    X, y = make_classification(2500, 8, random_state=0)
    model = SVC(cache_size=cache_size).fit(X, y)
    declined = [each for each in model.decisions_ if each.measured == "memory for the first working set, MB"]
    assert (declined == []) == taken
    reference = SVC(cache_size=1000).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), reference.decision_function(X), atol=0.02)


def test_pairs_are_fitted_one_after_the_other_where_two_do_not_fit(monkeypatch):
    from slackwater.fitting import one_vs_one

    X, y = make_classification(9000, 8, n_informative=6, n_classes=3, random_state=0)
    found = []
    threads = one_vs_one._Joint._threads
    monkeypatch.setattr(one_vs_one._Joint, "_threads", lambda joint, pairs: found.append(threads(joint, pairs)) or 1)
    for cache_size in (50, 4000):
        SVC(cache_size=cache_size, n_jobs=2).fit(X, y)
    assert found == [1, 2]


@pytest.mark.parametrize("cache_size", [14, 20, 40, 200])
def test_a_working_set_that_most_examples_would_join_has_room_for_so_many(cache_size):
    X = np.random.default_rng(0).standard_normal((3000, 5))
    y = np.random.default_rng(1).integers(0, 2, 3000)  # all become support vectors
    model = SVC(cache_size=cache_size, C=0.1).fit(X.astype(np.float32), y)
    assert model.stop_reason_ == "tol"
    assert len(model.support_) > 2000


@contextlib.contextmanager
def cycles_kept() -> Iterator[list[np.ndarray]]:
    """The large arrays that only the garbage collector would free after the block, listed at its end."""
    found: list[np.ndarray] = []
    gc.collect()
    gc.disable()
    try:
        yield found
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        referents = (each for unreachable in gc.garbage for each in gc.get_referents(unreachable))
        found += [each for each in referents if isinstance(each, np.ndarray) and each.nbytes >= MB]
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("max_time", [0.1, 0.4, None])
@pytest.mark.parametrize("strategy", ["auto", "exact", "screening", "sparse_kernel", "subspace"])
def test_a_fit_leaves_no_arrays_to_the_garbage_collector(strategy, max_time):
    """Its rows are gone with it, also where its time is up in the middle of a step: an error knows its frames."""
    X, y = make_classification(12000, 50, n_informative=10, flip_y=0.1, random_state=0)
    X = X.astype(np.float32)
    with cycles_kept() as found:
        SVC(gamma=0.02, strategy=strategy, max_time=max_time, n_jobs=2).fit(X, y)
    assert [each.shape for each in found] == []


def test_arrays_in_a_cycle_are_found():
    class Cycle:
        def __init__(self):
            self.own, self.rows = self, np.zeros(MB)

    with cycles_kept() as found:
        Cycle()
    assert [each.nbytes for each in found] == [8 * MB]
