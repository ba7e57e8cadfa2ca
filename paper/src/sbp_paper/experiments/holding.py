"""Things that are kept in memory for a ``with`` block: forked processes find them there, without a copy."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

Thing = TypeVar("Thing")

_held: dict[Hashable, Any] = {}


@contextmanager
def holding(key: Hashable, make: Callable[[], Thing]) -> Iterator[Thing]:
    """Make the thing, unless an outer block holds it already, and hold it."""
    if key in _held:
        yield _held[key]
        return
    _held[key] = make()
    try:
        yield _held[key]
    finally:
        del _held[key]


def held_or_made(key: Hashable, make: Callable[[], Thing]) -> Thing:
    found: Thing = _held[key] if key in _held else make()
    return found
