"""Freed memory stays with a worker as long as it holds a shard, and no longer."""

from __future__ import annotations

import os
import platform
import subprocess
import sys

import pytest

from slackwater.dask.allocator import VARIABLE

pytest.importorskip("distributed")
glibc = pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="what is set is glibc's")
PROBE = """
import resource
import numpy as np
from slackwater.dask import allocator

def fresh_pages():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(20):
        np.ones(100_000)  # 196 pages
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

found = [fresh_pages()]
allocator.hold()
allocator.hold()
found.append(fresh_pages())
allocator.let_go()
found.append(fresh_pages())
allocator.let_go()
print(*found, fresh_pages())
"""


def pages(variable):
    """Pages touched for the first time by the same twenty arrays: before, with two holders, with one, with none."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MALLOC_")}
    ran = subprocess.run(
        [sys.executable, "-c", PROBE], env={**environment, **variable}, capture_output=True, text=True, timeout=120
    )
    assert ran.returncode == 0, ran.stderr
    return list(map(int, ran.stdout.split()))


@glibc
def test_arrays_are_made_of_pages_that_were_used_before_while_anybody_holds():
    before, two, one, nobody = pages({VARIABLE: "65536"})
    assert min(before, nobody) > 20 * 190
    assert max(two, one) < 400  # the first of them


@glibc
def test_nothing_is_changed_where_dask_has_changed_nothing():
    assert max(pages({})[2:]) < 400  # as glibc does it by itself


@glibc
def test_a_host_holds_from_when_its_shard_is_made_until_it_is_gone(monkeypatch):
    from slackwater.dask import host as module

    changes = []
    monkeypatch.setattr(module.allocator, "hold", changes.append)
    monkeypatch.setattr(module.allocator, "let_go", lambda: changes.append("gone"))
    monkeypatch.setattr(module, "Shard", lambda *_: _Shard())
    monkeypatch.setattr(module.Gathering, "examples", lambda *_: None)
    host = module.Host(module.Assignment(("fit", 0), 0, _Plan(), 0, 0, False, 1, 2**30))
    assert changes == []
    host.finish()
    host.finish()
    assert changes == [2**30]
    del host
    assert changes == [2**30, "gone"]


def test_a_worker_of_little_memory_keeps_little_of_it(monkeypatch):
    from slackwater.dask import allocator

    found = []
    monkeypatch.setenv(VARIABLE, "65536")
    monkeypatch.setattr(allocator, "_set", lambda free, largest, trim: found.append((free, largest)))
    for limit in (0, 2**36, 640 * 2**20):
        allocator.hold(limit)
        allocator.let_go()
    assert found[::2] == [(2**26, 2**25), (2**26, 2**25), (10 * 2**20, 5 * 2**20)]


class _Plan:
    form, n_classes, seed, held_out = None, 2, 0, 0.0


class _Shard:
    def sizes(self):
        return []
