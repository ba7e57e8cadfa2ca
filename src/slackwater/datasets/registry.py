"""The data sets of arXiv:1204.0566, Table 2: where a copy is looked for, how it is checked and read."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Archive = dict[str, NDArray[Any]]


class Dataset(NamedTuple):
    """Training and test part of a binary problem, labels ±1."""

    X_train: Any
    y_train: NDArray[np.int8]
    X_test: Any
    y_test: NDArray[np.int8]


class _Entry(NamedTuple):
    file: str
    sha256: str
    read: Callable[[Archive], Dataset]


def _read_sparse(archive: Archive) -> Dataset:
    def part(name: str) -> tuple[Any, NDArray[np.int8]]:
        y = archive[f"{name}_y"]
        entries = (
            archive[f"{name}_data"],
            archive[f"{name}_indices"].astype("i4"),
            archive[f"{name}_indptr"],
        )
        return sparse.csr_matrix(entries, shape=(len(y), int(archive["n_features"])), dtype=np.float32), y

    return Dataset(*part("train"), *part("test"))


def _read_mnist(archive: Archive) -> Dataset:
    """Pixels in [0, 1]; the digit 8 against the rest."""
    digits = _read_digits(archive)
    return digits._replace(y_train=_signs(digits.y_train == 8), y_test=_signs(digits.y_test == 8))


def _read_digits(archive: Archive) -> Dataset:
    """Pixels in [0, 1]; ten classes."""

    def part(name: str) -> tuple[NDArray[np.float32], NDArray[np.int8]]:
        pixels = archive[f"{name}_x"].reshape(len(archive[f"{name}_y"]), -1).astype(np.float32)
        return pixels / np.float32(255), archive[f"{name}_y"].astype(np.int8)

    return Dataset(*part("train"), *part("test"))


def _read_forest(archive: Archive) -> Dataset:
    """Raw features; class 2 against the rest."""
    held_out = np.zeros(len(archive["y"]), dtype=bool)
    held_out[archive["test_idx"]] = True
    X, y = archive["x"].astype(np.float32), _signs(archive["y"] == 2)
    return Dataset(X[~held_out], y[~held_out], X[held_out], y[held_out])


def _signs(positive: NDArray[np.bool_]) -> NDArray[np.int8]:
    return np.where(positive, 1, -1).astype(np.int8)


_REGISTRY = {
    "adult": _Entry("adult.npz", "49f89b5ba11faa640b6efc8876cb2989241f00324ebc05b40d3b5c7da6e46922", _read_sparse),
    "reuters": _Entry("reuters.npz", "fb5cb3f246a63e4321b01412b44cc920d52df9e564c7a3f163e2bbe91698e85b", _read_sparse),
    "mnist": _Entry("mnist.npz", "c91d9b6a5aacf4f86afe11de6f7eb96b41f88d9dd50f900b0ff0429186558278", _read_mnist),
    "mnist10": _Entry("mnist.npz", "c91d9b6a5aacf4f86afe11de6f7eb96b41f88d9dd50f900b0ff0429186558278", _read_digits),
    "forest": _Entry("covtype.npz", "74a83f48abaf0630c2cba2637893e1516951d91db5b6173a2fd0878b82934a86", _read_forest),
}


def load_dataset(name: str) -> Dataset:
    """Read one of the paper's data sets from a local copy, whose checksum is verified."""
    if name not in _REGISTRY:
        raise ValueError(f"name must be one of {', '.join(_REGISTRY)}, got {name!r}.")
    path = _find(_REGISTRY[name].file)
    if path is None:
        places = ", ".join(str(place) for place in _places())
        raise FileNotFoundError(
            f"{_REGISTRY[name].file} was not found in {places}. Set SLACKWATER_DATA to the folder that holds it."
        )
    return _read(_REGISTRY[name], path)


def available(name: str) -> bool:
    """Whether a local copy is present."""
    return _find(_REGISTRY[name].file) is not None


def _read(entry: _Entry, path: Path) -> Dataset:
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if found != entry.sha256:
        raise ValueError(
            f"{path} must have the SHA-256 {entry.sha256[:12]}…, got {found[:12]}…. "
            "It is damaged or another version; replace it."
        )
    with np.load(path, allow_pickle=False) as archive:
        return entry.read(dict(archive))


def _places() -> list[Path]:
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "slackwater"
    named = [Path(os.environ["SLACKWATER_DATA"])] if "SLACKWATER_DATA" in os.environ else []
    return [*named, cache, Path.cwd().parent / "shared" / "data"]


def _find(file: str) -> Path | None:
    return next((place / file for place in _places() if (place / file).is_file()), None)
