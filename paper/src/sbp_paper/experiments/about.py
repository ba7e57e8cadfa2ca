"""When, where and with what the stored results were made; kept beside them, since the page may be drawn elsewhere."""

from __future__ import annotations

import datetime
import json
import platform
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import slackwater

from sbp_paper.experiments.job import Mode
from sbp_paper.experiments.machine import described
from sbp_paper.experiments.store import write_json

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
        write_json(folder / FILE, {"mode": mode, "runs": []})


def note_run(folder: Path, parts: Sequence[str]) -> None:
    """Add a run to what is known of the folder; runs on the same machine with the same versions are told as one."""
    about = read_about(folder)
    if about is None:
        raise ValueError(f"{folder} must be claimed for a mode before a run is noted.")
    run = {"parts": list(parts), "finished": _now(), "machine": described(), "versions": versions()}
    runs = about["runs"]
    if runs and all(runs[-1][key] == run[key] for key in ("machine", "versions")):
        run["parts"] = sorted({*runs[-1]["parts"], *parts})
        runs.pop()
    runs.append(run)
    write_json(folder / FILE, about)


def versions() -> dict[str, str]:
    ours = {"slackwater": slackwater.__version__, "Python": platform.python_version()}
    return ours | {library: version(library) for library in LIBRARIES}


def _now() -> str:
    return datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
