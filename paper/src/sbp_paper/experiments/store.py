"""Results on disk: one JSON file for each, written when it is complete."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

from sbp_paper.experiments.job import Job, Record


class Store:
    """A folder of results."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def get(self, job: Job) -> Record | None:
        """The job's record, if it is here and was made with the same settings."""
        path = self._path(job.key)
        if not path.is_file():
            return None
        try:
            stored = json.loads(path.read_text(encoding="utf-8"))
        except ValueError:  # torn by a full disk or another program: made anew
            return None
        same = isinstance(stored, dict) and stored.get("settings") == _as_json(job.settings)
        return stored.get("record") if same else None

    def put(self, job: Job, record: Record) -> None:
        """Store the record."""
        write_json(self._path(job.key), {"settings": job.settings, "record": record})

    def strangers(self, jobs: Sequence[Job]) -> list[str]:
        """Keys of files that belong to none of the jobs: torn, or of other settings, seeds or versions."""
        known = {job.key for job in jobs if self.get(job) is not None}
        parts = {job.part for job in jobs}
        files = [path for part in sorted(parts) for path in sorted((self.folder / part).rglob("*.json"))]
        return [key for path in files if (key := path.relative_to(self.folder).with_suffix("").as_posix()) not in known]

    def _path(self, key: str) -> Path:
        return self.folder / f"{key}.json"


def write_json(path: Path, content: Record) -> None:
    """Write a file so that it is there as a whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(f".{os.getpid()}.partial")
    partial.write_text(json.dumps(content, indent=1, ensure_ascii=False), encoding="utf-8")
    os.replace(partial, path)


def _as_json(settings: Record) -> Record:
    """As it would be read back: tuples as lists."""
    back: Record = json.loads(json.dumps(settings))
    return back
