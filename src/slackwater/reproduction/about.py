"""When, where and with what the stored results were made; kept beside them, since the page may be drawn elsewhere."""

from __future__ import annotations

import datetime
import json
import os
import platform
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import slackwater
from slackwater.reproduction.job import Mode

LIBRARIES = ("numpy", "scipy", "scikit-learn", "numba")
FILE = "about.json"


def read_about(folder: Path) -> dict[str, Any] | None:
    path = folder / FILE
    if not path.is_file():
        return None
    try:
        about = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:  # torn by a full disk or another program
        return None
    whole = isinstance(about, dict) and about.get("mode") in ("quick", "full") and isinstance(about.get("runs"), list)
    return about if whole else None


def claim(folder: Path, mode: Mode) -> None:
    """Note, before anything is stored, which mode the folder's results are of."""
    if read_about(folder) is None:
        _write(folder, {"mode": mode, "runs": []})


def note_run(folder: Path, parts: Sequence[str]) -> None:
    """Add a run to what is known of the folder; runs on the same machine with the same versions are told as one."""
    about = read_about(folder)
    if about is None:
        raise ValueError(f"{folder} must be claimed for a mode before a run is noted.")
    run = {"parts": list(parts), "finished": _now(), "machine": machine(), "versions": versions()}
    runs = about["runs"]
    if runs and all(runs[-1][key] == run[key] for key in ("machine", "versions")):
        run["parts"] = sorted({*runs[-1]["parts"], *parts})
        runs.pop()
    runs.append(run)
    _write(folder, about)


def _write(folder: Path, about: dict[str, Any]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    partial = folder / f"{FILE}.partial"
    partial.write_text(json.dumps(about, indent=1, ensure_ascii=False), encoding="utf-8")
    os.replace(partial, folder / FILE)


def machine() -> dict[str, Any]:
    """Processor, cores, memory and system; nothing that names this very machine."""
    return {"processor": _processor(), "cores": os.cpu_count(), "memory": _memory(), "system": _system()}


def versions() -> dict[str, str]:
    ours = {"slackwater": slackwater.__version__, "Python": platform.python_version()}
    return ours | {library: version(library) for library in LIBRARIES}


def _now() -> str:
    return datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    named = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.processor() or platform.machine()


def _memory() -> str | None:
    try:
        size = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):  # not everywhere can it be asked
        return None
    return f"{size / 2**30:.0f} GiB"


def _system() -> str:
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):
        return f"{platform.system()} {platform.release()}"
