"""Pieces of HTML. Text is given as HTML, values that come from records are escaped by ``text``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any


def text(value: Any) -> str:
    return "–" if value is None or value == "" else escape(str(value))


def table(head: Sequence[str], rows: Iterable[Sequence[str]], caption: str = "", words: int = 1) -> str:
    """A table whose first ``words`` columns are words and whose others are numbers; scrolls sideways on a phone."""
    kinds = ["word" if k < words else "number" for k in range(len(head))]
    titles = "".join(f'<th scope="col" class="{kind}">{title}</th>' for kind, title in zip(kinds, head, strict=True))
    body = "".join(
        "<tr>" + "".join(f'<td class="{k}">{cell}</td>' for k, cell in zip(kinds, row, strict=True)) + "</tr>"
        for row in rows
    )
    title = f"<caption>{caption}</caption>" if caption else ""
    return f'<div class="wide"><table>{title}<thead><tr>{titles}</tr></thead><tbody>{body}</tbody></table></div>'


def grouped(rows: Sequence[Sequence[str]]) -> list[list[str]]:
    """The same rows, the first cell left empty where it repeats the one above."""
    above: str | None = None
    found = []
    for first, *rest in rows:
        found.append(["" if first == above else first, *rest])
        above = first
    return found


def section(anchor: str, title: str, *content: str) -> str:
    return f'<section id="{anchor}"><h2>{title}</h2>{"".join(content)}</section>'


def paragraph(content: str, kind: str = "") -> str:
    return f'<p class="{kind}">{content}</p>' if kind else f"<p>{content}</p>"


def beside(said: str, where: str, found: str) -> str:
    """The paper's statement in our words, and what came out here."""
    return (
        '<div class="beside">'
        f'<div class="said"><h3>The paper says <span class="where">{where}</span></h3>{said}</div>'
        f'<div class="found"><h3>This reproduction finds</h3>{found}</div>'
        "</div>"
    )


def bullets(items: Iterable[str]) -> str:
    return "<ul>" + "".join(f"<li>{item}</li>" for item in items) + "</ul>"


def look(content: str) -> str:
    return f'<p class="look"><strong>What to look at.</strong> {content}</p>'


def not_run(*parts: str) -> str:
    command = f"sbp-paper {' '.join(parts)}"
    return f'<p class="not-run">Not run. <code>{command}</code> makes this part.</p>'


def verdict(kind: str) -> str:
    return f'<span class="verdict {kind}">{VERDICTS[kind]}</span>'


VERDICTS = {"yes": "yes", "no": "no", "partly": "partly", "open": "undecided", "not-run": "not run"}
