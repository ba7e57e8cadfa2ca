"""Which versions of what is installed."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

_CORE = ("slackwater", "numpy", "scipy", "scikit-learn", "numba")


def installed_version(library: str, otherwise: str = "not installed") -> str:
    """Of a distribution, by its name."""
    try:
        return version(library)
    except PackageNotFoundError:
        return otherwise


def core_versions() -> dict[str, str]:
    """Of Python and of what every model needs; "unknown" where we run from a folder of sources."""
    return {"python": platform.python_version(), **{name: installed_version(name, "unknown") for name in _CORE}}
