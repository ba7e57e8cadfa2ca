"""What this machine has: threads, memory, and a description that names no particular one."""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_info


def thread_count() -> int:
    """As many as BLAS may use at present: limits that are set for a process are obeyed."""
    return max((pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"), default=1)


def available_memory() -> int | None:
    """Bytes; None where the system does not tell."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return None


def described() -> dict[str, Any]:
    """Processor, cores, memory and system."""
    memory = available_memory()
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "memory": None if memory is None else f"{memory / 2**30:.0f} GiB",
        "system": _system(),
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    named = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.processor() or platform.machine()


def _system() -> str:
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):
        return f"{platform.system()} {platform.release()}"
