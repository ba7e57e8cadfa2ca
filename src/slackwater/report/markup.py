"""Pieces of HTML. Whatever is not written here goes through ``text``."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

_LONGEST = 200
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def text(value: Any) -> str:
    """A value as text that cannot be taken for markup."""
    found = str(value)
    return escape(found if len(found) <= _LONGEST else f"{found[:_LONGEST]}…")


def number(value: Any, digits: int = 4) -> str:
    """With few digits; a dash where it is not defined."""
    value = float(value)
    if math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}".replace("-", "−")
    mantissa, _, exponent = f"{value:.{digits}g}".partition("e")
    mantissa = mantissa.replace("-", "−")
    return f"{mantissa} × {power_of_ten(int(exponent))}" if exponent else mantissa


def power_of_ten(exponent: int) -> str:
    return {0: "1", 1: "10", 2: "100"}.get(exponent, "10" + str(exponent).translate(_SUPERSCRIPTS))


def percent(value: float, digits: int = 1) -> str:
    return "–" if math.isnan(value) else f"{100 * value:.{digits}f}\u00a0%"


def paragraph(content: str, kind: str = "") -> str:
    return f'<p class="{kind}">{content}</p>' if kind else f"<p>{content}</p>"


def section(anchor: str, title: str, *content: str) -> str:
    return (
        f'<section id="{anchor}" aria-labelledby="{anchor}-title">'
        f'<h2 id="{anchor}-title">{title}</h2>{"".join(content)}</section>'
    )


def left_out(why: str) -> str:
    """Instead of a figure or a table that would be empty."""
    return f'<p class="left-out">{why}</p>'


def scrolling(content: str, label: str) -> str:
    """What is wider than a phone scrolls by itself, by touch or by keyboard, and the page does not."""
    return f'<div class="scroll" role="region" tabindex="0" aria-label="{text(label)}">{content}</div>'


def table(label: str, head: Sequence[str], rows: Iterable[Sequence[str]], words: int = 1) -> str:
    """A table of HTML cells; the first ``words`` columns are words, the others numbers."""
    kinds = ["word" if k < words else "number" for k in range(len(head))]
    titles = "".join(f'<th scope="col" class="{kind}">{title}</th>' for kind, title in zip(kinds, head, strict=True))
    body = "".join(f"<tr>{_cells(kinds, row)}</tr>" for row in rows)
    return scrolling(f"<table><thead><tr>{titles}</tr></thead><tbody>{body}</tbody></table>", label)


def _cells(kinds: Sequence[str], row: Sequence[str]) -> str:
    first, *others = zip(kinds, row, strict=True)
    cells = "".join(f'<td class="{kind}">{cell}</td>' for kind, cell in others)
    return f'<th scope="row" class="{first[0]}">{first[1]}</th>{cells}'


def facts(label: str, pairs: Iterable[tuple[str, str]]) -> str:
    """Names and values, both HTML."""
    rows = "".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in pairs)
    return f'<dl class="facts" aria-label="{text(label)}">{rows}</dl>'


def beside(*parts: str, kind: str = "beside") -> str:
    """Side by side where there is room, else one below the other. "beside-wide" gives the first what it needs."""
    return f'<div class="{kind}">{"".join(f"<div>{part}</div>" for part in parts)}</div>'
