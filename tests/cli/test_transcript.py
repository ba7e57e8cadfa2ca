"""Sessions of the documentation's pages, line by line."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from data_files import write_iris, write_moons
from doc_pages import ROOT, name_of, pages, transcript

SESSIONS = [page for page in pages() if transcript(page)]


@pytest.fixture
def folder(tmp_path):
    place = tmp_path
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


def test_the_page_of_the_command_shows_its_subcommands():
    commands = [command for command, _ in transcript(ROOT / "docs" / "command.md")]
    assert len(commands) >= 10
    assert {command.split()[1] for command in commands if command.startswith("slackwater")} >= {
        "train", "predict", "evaluate", "export",
    }  # fmt: skip


@pytest.mark.parametrize("page", SESSIONS, ids=name_of)
def test_the_session_prints_what_the_page_says(page, folder):
    path = f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
    for command, expected in transcript(page):
        done = subprocess.run(
            command, shell=True, cwd=folder, check=False, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            env=os.environ | {"PATH": path, "LC_ALL": "C"},
        )  # fmt: skip
        found = done.stdout + (f"[exit code {done.returncode}]\n" if done.returncode else "")
        assert rough(found) == rough(expected), command
