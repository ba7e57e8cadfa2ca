"""The examples of a shard: distinct rows, ordered by class, in the form that all shards have in common."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slackwater.examples import distinct_examples
from slackwater.gram.source import IndexArray
from slackwater.points import Points
from slackwater.shards.form import Form, Packed, joined, packed
from slackwater.shards.messages import Doubles
from slackwater.shards.pieces import InMemory, OnDisk, Pieces
from slackwater.workers import Workers


class OffGridError(ValueError):
    """Some of a shard's points are not on the grid of the others."""


class Rows(NamedTuple):
    """Some rows of the user's data; labels are class numbers."""

    X: Any
    codes: NDArray[np.intp]
    weights: Doubles
    first: int  # the number of the first row in the user's data


@dataclass(frozen=True)
class Examples:
    """Aligned arrays, an entry for each example; those of a class follow one another."""

    classes: Sequence[Pieces]  # the points of each class
    row_numbers: IndexArray  # in the user's data
    codes: NDArray[np.int32]
    weights: Doubles
    lots: Doubles  # tiny and random, by content: they decide ties, and whose turn it is
    held_out: NDArray[np.bool_]
    digest: str  # of their content
    form: Form
    dtype: np.dtype[Any]  # of kernel values

    @property
    def n(self) -> int:
        return len(self.codes)

    def take(self, numbers: IndexArray) -> Points:
        """Points of some examples, in any order."""
        codes, starts = self.codes[numbers], np.searchsorted(self.codes, np.arange(len(self.classes)))
        present = np.unique(codes)
        if len(present) == 1:
            return self.classes[int(present[0])].take(numbers - starts[present[0]])
        order = np.argsort(codes, kind="stable")
        parts = [packed(self.classes[c].take(numbers[codes == c] - starts[c])) for c in present]
        whole = self.form.unpacked(joined(parts)) if parts else self.classes[0].take(numbers)
        found: Points = whole.take(np.argsort(order))
        return found


class Part(NamedTuple):
    """The distinct examples of some rows, in the order of these."""

    points: Points
    row_numbers: IndexArray
    codes: NDArray[np.intp]
    weights: Doubles
    keys: Doubles


def distinct_part(rows: Rows, form: Form, workers: Workers) -> Part:
    """Rows in the common form, copies of one class merged; OffGridError where they do not fit it."""
    points = form.points(rows.X, workers)
    if points is None:
        raise OffGridError("points off the grid of the sample")
    as_given = points if form.grid is None else form.dense_points(rows.X)
    found = distinct_examples(as_given, rows.codes, rows.weights)
    kept = found.kept
    some = points if len(kept) == len(points) else points.take(kept)  # the rows of a partition may fill the memory
    return Part(some, rows.first + kept, rows.codes[kept], found.weights, found.keys)


class Gathering:
    """A shard's examples, part by part; with a folder, their points are kept there instead of in memory."""

    def __init__(self, form: Form, n_classes: int, folder: Path | None) -> None:
        self._form = form
        self._keep: _Memory | _Disk = _Memory(form, n_classes) if folder is None else _Disk(form, n_classes, folder)
        self._parts: list[tuple[Any, ...]] = []

    def add(self, part: Part) -> None:
        """Behind the others."""
        self._keep.add(part)
        self._parts.append((part.row_numbers, part.codes.astype(np.int32), part.weights, part.keys))

    def examples(self, seed: Sequence[int], held_out: float) -> Examples:
        """All of them; chance and order are by content, not by where rows stand."""
        nothing = np.empty(0, np.intp), np.empty(0, np.int32), np.empty(0), np.empty(0)
        row_numbers, codes, weights, keys = (np.concatenate(each) for each in zip(nothing, *self._parts, strict=True))
        self._parts = []
        by_class = np.argsort(codes, kind="stable")
        row_numbers, codes, weights, keys = (each[by_class] for each in (row_numbers, codes, weights, keys))
        order, rng = np.argsort(keys, kind="stable"), np.random.default_rng(seed)
        lots, hold = np.empty(len(codes)), np.zeros(len(codes), dtype=bool)
        lots[order] = 1e-9 * rng.random(len(codes))
        if held_out > 0.0:
            hold[order] = rng.random(len(codes)) < held_out
        digest = _digest(keys, weights, codes, hold)
        classes = self._keep.classes()
        return Examples(
            classes, row_numbers, codes, weights, lots, hold, digest, self._form, np.dtype(self._form.values)
        )


def gather(
    parts: Iterable[Part], form: Form, n_classes: int, seed: Sequence[int], held_out: float, folder: Path | None
) -> Examples:
    """One shard's examples from all of its parts."""
    gathering = Gathering(form, n_classes, folder)
    for part in parts:
        gathering.add(part)
    return gathering.examples(seed, held_out)


def _digest(*arrays: NDArray[Any]) -> str:
    found = hashlib.blake2b(digest_size=16)
    for each in arrays:
        found.update(np.ascontiguousarray(each).view(np.uint8).data)
    return found.hexdigest()


class _Memory:
    def __init__(self, form: Form, n_classes: int) -> None:
        self._form = form
        self._parts: list[list[Packed]] = [[] for _ in range(n_classes)]

    def add(self, part: Part) -> None:
        for code, of_class in enumerate(self._parts):
            chosen = np.flatnonzero(part.codes == code)
            if len(chosen) or not of_class:
                of_class.append(packed(part.points.take(chosen)))

    def classes(self) -> Sequence[Pieces]:
        found: list[Pieces] = []
        for of_class in self._parts:
            found.append(InMemory(self._form.unpacked(joined(of_class))))
            of_class.clear()
        return found


class _Disk:
    def __init__(self, form: Form, n_classes: int, folder: Path) -> None:
        self._classes = [OnDisk(folder, f"class{code}", form) for code in range(n_classes)]

    def add(self, part: Part) -> None:
        for code, pieces in enumerate(self._classes):
            chosen = np.flatnonzero(part.codes == code)
            if len(chosen) or len(pieces) == 0:
                pieces.append(part.points.take(chosen))

    def classes(self) -> Sequence[Pieces]:
        return self._classes
