"""slackwater info: what this installation is and has."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

import rich
from rich.table import Table

import slackwater
from slackwater.datasets import available
from slackwater.workers import thread_count

_LIBRARIES = ("numpy", "scipy", "scikit-learn", "numba", "threadpoolctl", "matplotlib")
_DATASETS = ("adult", "reuters", "mnist", "forest")


def info() -> None:
    """Show versions, threads and which of the paper's data sets are present."""
    table = Table(show_header=False, title=f"slackwater {slackwater.__version__}")
    table.add_row("Python", f"{platform.python_version()} on {platform.machine()}")
    for library in _LIBRARIES:
        table.add_row(library, _version(library))
    table.add_row("threads", str(thread_count(None)))
    present = [name for name in _DATASETS if available(name)]
    table.add_row("data sets found", ", ".join(present) or "none (set SLACKWATER_DATA)")
    rich.print(table)


def _version(library: str) -> str:
    try:
        return version(library)
    except PackageNotFoundError:
        return "not installed"
