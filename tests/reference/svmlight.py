"""svmlight text by plain Python: what the compiled parser must give, or that it must refuse."""

from __future__ import annotations

import math
import re

import numpy as np

_DECIMAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_BLANKS = re.compile(r"[ \t\r]+")
_LARGEST_INDEX = 2**31 - 1


def decimal(token: str) -> float:
    """A finite decimal number, or ValueError."""
    if not _DECIMAL.fullmatch(token) or math.isinf(float(token)):
        raise ValueError(token)
    return float(token)


def parse(text: str) -> tuple[list[str], list[list[tuple[int, float]]]]:
    """Labels as they are written, and each row's (index, value) pairs as written; ValueError for anything else."""
    labels, rows = [], []
    for line in text.split("\n"):
        tokens = [token for token in _BLANKS.split(line.split("#", 1)[0]) if token]
        if not tokens:
            continue
        if ":" in tokens[0]:
            raise ValueError(tokens[0])
        labels.append(tokens[0])
        pairs = tokens[2:] if len(tokens) > 1 and tokens[1].startswith("qid:") else tokens[1:]
        rows.append(_entries(pairs))
    return labels, rows


def _entries(tokens: list[str]) -> list[tuple[int, float]]:
    entries, previous = [], -1
    for token in tokens:
        index, colon, value = token.partition(":")
        if not (colon and index.isascii() and index.isdigit() and previous < int(index) <= _LARGEST_INDEX):
            raise ValueError(token)
        previous = int(index)
        entries.append((previous, decimal(value)))
    return entries


def dense(rows: list[list[tuple[int, float]]]) -> np.ndarray:
    """Rows as a matrix, the first feature being index 0 if there is such an index, else index 1."""
    found = [index for row in rows for index, _ in row]
    first = 0 if 0 in found else 1
    matrix = np.zeros((len(rows), max(found, default=first - 1) + 1 - first))
    for k, row in enumerate(rows):
        for index, value in row:
            matrix[k, index - first] = value
    return matrix
