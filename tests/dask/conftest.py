"""A small cluster of processes for the tests of a module."""

from __future__ import annotations

import logging

import pytest


@pytest.fixture(scope="module")
def client():
    distributed = pytest.importorskip("distributed")
    logging.getLogger("distributed").setLevel(logging.ERROR)  # workers are killed here
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=logging.CRITICAL
        ) as cluster,
        distributed.Client(cluster) as found,
    ):
        yield found


@pytest.fixture
def fails():
    """A block's function that fails once it was called so many times in all; it travels whole, not by its name."""

    def fails(block, path, after):
        import os

        with open(path, "a") as file:
            file.write("x")
        if os.path.getsize(path) > after:
            raise RuntimeError("the disk is on fire")
        return block

    return fails
