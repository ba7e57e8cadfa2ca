"""Checkpoints of single states: the format of the file, without the journal of a fit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from slackwater.checkpoint import Arrays, Saved, encode, open_checkpoint, packed, saved_in
from slackwater.files import replace_file


def write_checkpoint(path: Path, fingerprint: str, states: list[Any], saved: Saved) -> None:
    """Replace the file at ``path`` in one move; a crash or a full disk leaves the former one as it was."""
    arrays: Arrays = {"history": saved.history}
    header = {
        "fingerprint": fingerprint,
        "evaluations": saved.evaluations,
        "seconds": saved.seconds,
        "states": [encode(state, f"state{k}", arrays) for k, state in enumerate(states)],
    }
    replace_file(path, packed(header, arrays))


def read_checkpoint(path: Path, fingerprint: str, moulds: list[Any]) -> tuple[list[Any], Saved]:
    """States and totals stored at ``path``; CheckpointError if they are damaged or of another problem."""
    stored = open_checkpoint(path, fingerprint)
    try:
        states = [stored.pour(s, m) for s, m in zip(stored.header["states"], moulds, strict=True)]
        saved = saved_in(stored.header, stored.arrays, "history")
    except (KeyError, ValueError, TypeError) as error:
        raise stored.damaged(error) from error
    return states, saved
