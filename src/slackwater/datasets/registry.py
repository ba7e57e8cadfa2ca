"""The data sets of arXiv:1204.0566, Table 2: where a copy is looked for, how it is checked and read.

A copy is a file of arrays. One that is found must have a known SHA-256, or hold the very arrays (a download is
compressed anew, so that its bytes may differ). Where none is found, ``download`` makes one in the user's cache.
"""

from __future__ import annotations

import hashlib
import io
import os
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from slackwater.datasets.convert import Archive, digest
from slackwater.datasets.download import download


class Dataset(NamedTuple):
    """Training and test part of a binary problem, labels ±1."""

    X_train: Any
    y_train: NDArray[np.int8]
    X_test: Any
    y_test: NDArray[np.int8]


class _Checks(NamedTuple):
    sha256: str  # of the file
    content: str  # of the arrays in it, by ``digest``


class _Entry(NamedTuple):
    file: str
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
    "adult": _Entry("adult.npz", _read_sparse),
    "reuters": _Entry("reuters.npz", _read_sparse),
    "mnist": _Entry("mnist.npz", _read_mnist),
    "mnist10": _Entry("mnist.npz", _read_digits),
    "forest": _Entry("covtype.npz", _read_forest),
}
_CHECKS = {
    "adult.npz": _Checks(
        "49f89b5ba11faa640b6efc8876cb2989241f00324ebc05b40d3b5c7da6e46922",
        "ae99380a7c247f36636556d9b3769ec8a8ec3404673e1fedcad2d5785c271887",
    ),
    "reuters.npz": _Checks(
        "fb5cb3f246a63e4321b01412b44cc920d52df9e564c7a3f163e2bbe91698e85b",
        "4b8fd371408548e6fe1c75abce40a1825d623657785b915bad4e72093a3c5ac1",
    ),
    "mnist.npz": _Checks(
        "c91d9b6a5aacf4f86afe11de6f7eb96b41f88d9dd50f900b0ff0429186558278",
        "7f74fd8f7a2d433414c1d4cb6473d6f6961c1aede212fd60109def3ac58100b1",
    ),
    "covtype.npz": _Checks(
        "74a83f48abaf0630c2cba2637893e1516951d91db5b6173a2fd0878b82934a86",
        "ca1d721bb08f598907e6d84e50f623bda88e9c25e52cb931c558504f7e61d263",
    ),
}


def load_dataset(name: str) -> Dataset:
    """Read one of the paper's data sets, verified, from a local copy; if there is none, it is downloaded first.

    A copy is looked for in the folder that SLACKWATER_DATA names and in the user's cache.

    Parameters
    ----------
    name : {"adult", "reuters", "mnist", "mnist10", "forest"}
        mnist is the digit 8 against the rest, mnist10 all ten digits, forest class 2 of the covertype data.

    Returns
    -------
    Dataset
        ``X_train``, ``y_train``, ``X_test``, ``y_test``.
    """
    if name not in _REGISTRY:
        raise ValueError(f"name must be one of {', '.join(_REGISTRY)}, got {name!r}.")
    entry = _REGISTRY[name]
    path = _find(entry.file) or download(entry.file, _CHECKS[entry.file].content, _cache())
    return entry.read(_verified(path, _CHECKS[entry.file]))


def available(name: str) -> bool:
    """Whether a local copy is present.

    Parameters
    ----------
    name : str
        As of ``load_dataset``.

    Returns
    -------
    bool
        False if ``load_dataset`` would download.
    """
    return _find(_REGISTRY[name].file) is not None


def _verified(path: Path, checks: _Checks) -> Archive:
    content = path.read_bytes()
    found = hashlib.sha256(content).hexdigest()
    archive = _arrays(content)
    if archive is None or (found != checks.sha256 and digest(archive) != checks.content):
        raise ValueError(
            f"{path} must have the SHA-256 {checks.sha256[:12]}…, got {found[:12]}…, or hold the same arrays. "
            "It is damaged or another version; replace it, or remove it to have it downloaded."
        )
    return archive


def _arrays(content: bytes) -> Archive | None:
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as archive:
            return dict(archive)
    except (ValueError, EOFError, OSError, zipfile.BadZipFile, zlib.error):
        return None


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "slackwater"


def _places() -> list[Path]:
    named = [Path(os.environ["SLACKWATER_DATA"])] if "SLACKWATER_DATA" in os.environ else []
    return [*named, _cache(), Path.cwd().parent / "shared" / "data"]


def _find(file: str) -> Path | None:
    return next((place / file for place in _places() if (place / file).is_file()), None)
