"""The pages of the documentation and their code blocks, as tests run them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
_PROJECT = ROOT / "pyproject.toml"
LANGUAGES = {
    "python",  # run, one block after the other, in one namespace a page
    "pycon",  # run in the same namespace; what it prints is compared
    "console",  # run by a shell in a folder with data; what it prints is compared
    "sh",  # commands of a developer: their targets, extras and scripts must exist
    "text",  # no code
}


class Block(NamedTuple):
    language: str
    code: str
    line: int  # of the first line of code


def pages() -> list[Path]:
    """README, contributing guide and every page of the site that is written by hand."""
    docs = ROOT / "docs"
    made = {docs / "generated", docs / "gallery", docs / "notes"}
    site = [page for page in sorted(docs.rglob("*.md")) if not made & set(page.parents)]
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *site]


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def blocks(page: Path) -> list[Block]:
    """Fenced blocks that are not directives."""
    text = page.read_text(encoding="utf-8")
    found = re.finditer(r"^```([^\n`]*)\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)
    return [
        Block(match[1].strip(), match[2], text.count("\n", 0, match.start(2)) + 1)
        for match in found
        if not match[1].startswith("{")
    ]


def transcript(page: Path) -> list[tuple[str, str]]:
    """Commands and what they print, of all sessions of a page."""
    session = "".join(block.code for block in blocks(page) if block.language == "console")
    parts = re.split(r"^\$ (.*)\n", session, flags=re.MULTILINE)[1:]
    return list(zip(parts[::2], parts[1::2], strict=True))


def make_targets() -> set[str]:
    return set(re.findall(r"^([a-z][\w-]*):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))


def extras() -> set[str]:
    """Of pyproject.toml; Python 3.10 has no reader for it."""
    (table,) = re.findall(
        r"^\[project.optional-dependencies\]\n(.*?)^\[", _PROJECT.read_text(), re.MULTILINE | re.DOTALL
    )
    return set(re.findall(r"^([\w-]+) = ", table, re.MULTILINE))
