"""What the command writes where: results to standard output, everything else to standard error."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np
import typer

USERS_MISTAKE = 2


class RefusedError(Exception):
    """Something the user can put right: one line, exit code 2."""


class ReaderGoneError(Exception):
    """Whoever read our output has gone, as ``head`` does: no reason to complain."""


def write(text: str, err: bool = False) -> None:
    """As it is, to standard output or standard error."""
    try:
        typer.echo(text, nl=False, err=err)
    except BrokenPipeError as error:
        raise ReaderGoneError from error


def say(text: str) -> None:
    """A line of the result."""
    write(f"{text}\n")


def note(text: str) -> None:
    """A line that is not part of the result."""
    write(f"slackwater: {text}\n", err=True)


def say_json(result: Mapping[str, Any]) -> None:
    """The result for machines: one object. What is not a finite number is null."""
    say(json.dumps(plain(result), ensure_ascii=False, allow_nan=False))


def plain(value: Any) -> Any:
    """As JSON knows it."""
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def in_a_terminal() -> bool:
    """Whether somebody is watching standard error."""
    try:
        return sys.stderr.isatty()
    except (ValueError, AttributeError):
        return False


def one_line(error: BaseException) -> str:
    """A message without line breaks."""
    return " ".join(str(error).split()) or type(error).__name__
