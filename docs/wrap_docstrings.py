"""Wrap the docstrings of classes for ``help`` in a terminal of 100 columns: ``wrap_docstrings.py FILE ...``."""

from __future__ import annotations

import ast
import re
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

WIDTH = 100  # help() puts " |  " where the source has four spaces
_SECTIONS = ("Parameters", "Attributes")


def wrapped(lines: list[str]) -> Iterator[str]:
    """The lines of a docstring, its running text wrapped; formulas, headings, names and examples as they are."""
    section = ""
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        if following.strip() and not following.strip("- "):
            section = line.strip()
        keeps = section == "Examples" or not line.strip("- ") or (following.strip() and not following.strip("- "))
        names = section in _SECTIONS and re.match(r"    \S", line)
        yield ("\0" if keeps or names or "\\" in line or ".. " in line else "") + line


def paragraphs(lines: list[str]) -> Iterator[str]:
    """Marked lines alone; others joined as long as they have one indent, a bullet beginning a paragraph."""
    text: list[str] = []
    for line in [*wrapped(lines), "\0"]:
        begins = line.startswith("\0") or re.match(r" *- ", line)
        if text and (begins or _indent(line) != _inner(text[0])):
            yield from textwrap.wrap(
                " ".join(each.strip() for each in text), WIDTH, break_long_words=False, break_on_hyphens=False,
                initial_indent=" " * _indent(text[0]), subsequent_indent=" " * _inner(text[0]),
            )  # fmt: skip
            text = []
        if line.startswith("\0"):
            yield line[1:]
        else:
            text.append(line)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _inner(line: str) -> int:
    return _indent(line) + (2 if line.lstrip().startswith("- ") else 0)


def rewrap(source: str) -> str:
    lines = source.splitlines()
    for node in reversed([each for each in ast.parse(source).body if isinstance(each, ast.ClassDef)]):
        if ast.get_docstring(node) and node.body[0].end_lineno != node.body[0].lineno:
            first, last = node.body[0].lineno, node.body[0].end_lineno - 1
            lines[first:last] = list(paragraphs(lines[first:last]))[:-1]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    for name in sys.argv[1:]:
        path = Path(name)
        path.write_text(rewrap(path.read_text(encoding="utf-8")), encoding="utf-8")
