"""The session of docs/command.md, line by line."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from data_files import write_iris, write_moons

PAGE = Path(__file__).parent.parent.parent / "docs" / "command.md"


def steps() -> list[tuple[str, str]]:
    (session,) = re.findall(r"```console\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)
    parts = re.split(r"^\$ (.*)\n", session, flags=re.MULTILINE)[1:]
    return list(zip(parts[::2], parts[1::2], strict=True))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("session")
    write_moons(place)
    write_iris(place)
    binaries = place / "bin"
    binaries.mkdir()
    (binaries / "slackwater").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m slackwater "$@"\n')
    (binaries / "slackwater").chmod(0o755)
    return place


def rough(text: str) -> str:
    """Without what rounding may change: gaps, and the sizes of files."""
    return re.sub(r"relative gap \S+|\d+ bytes", "…", text)


def test_the_page_has_a_session():
    assert len(steps()) >= 10
    assert {command.split()[1] for command, _ in steps() if command.startswith("slackwater")} >= {
        "train", "predict", "evaluate", "export",
    }  # fmt: skip


def test_the_session_prints_what_the_page_says(folder):
    path = f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
    for command, expected in steps():
        done = subprocess.run(
            command, shell=True, cwd=folder, check=False, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            env=os.environ | {"PATH": path, "LC_ALL": "C"},
        )  # fmt: skip
        found = done.stdout + (f"[exit code {done.returncode}]\n" if done.returncode else "")
        assert rough(found) == rough(expected), command
