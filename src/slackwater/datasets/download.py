"""Where the data sets are published, and how a copy is fetched, verified and put into the user's cache.

What arrives is judged by the arrays it turns into, whose digest is known, so any of several mirrors will do; a file
that has a published checksum is checked against that as well.
"""

from __future__ import annotations

import logging
import os
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from slackwater.datasets.convert import Archive, digest, from_covertype, from_idx, from_svmlight

_TIMEOUT = 60.0  # seconds without an answer
_TICK = (
    "https://raw.githubusercontent.com/X-DataInitiative/tick-datasets/9d959b6e53e17145e93e9849ff1f9f6d2de8ae51/binary"
)
_LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary"
_IDX_FILES = {
    "train-images-idx3-ubyte.gz": "md5:f68b3c2dcbeaaa9fbdd348bbdeb94873",
    "train-labels-idx1-ubyte.gz": "md5:d53e105ee54ea40749a09fcbcd1e9432",
    "t10k-images-idx3-ubyte.gz": "md5:9fb629c4189551a2d022fa330f9573f3",
    "t10k-labels-idx1-ubyte.gz": "md5:ec29112dd5afa0611ce80d1b7f02629c",
}


class Source(Protocol):
    @property
    def origin(self) -> str:
        """Where it is, for people."""

    def obtain(self, folder: Path) -> Archive:
        """Download into a folder that will be removed, and convert."""


@dataclass(frozen=True)
class Web:
    """Files below an address, with their checksums where such are published, and what reads them."""

    origin: str
    files: Mapping[str, str | None]
    convert: Callable[[Sequence[Path]], Archive]

    def obtain(self, folder: Path) -> Archive:
        try:
            import pooch
        except ImportError as error:
            raise OSError('downloading needs pooch: pip install "slackwater[data]"') from error
        logging.getLogger("pooch").setLevel(logging.WARNING)  # it would print a hash for each file
        downloader = pooch.HTTPDownloader(timeout=_TIMEOUT)
        paths = [
            Path(pooch.retrieve(f"{self.origin}/{file}", known, file, folder, downloader=downloader))
            for file, known in self.files.items()
        ]
        return self.convert(paths)


@dataclass(frozen=True)
class Covertype:
    """By scikit-learn, which knows the checksum of UCI's file."""

    origin: str = "UCI's Covertype, by sklearn.datasets.fetch_covtype"

    def obtain(self, folder: Path) -> Archive:
        from sklearn.datasets import fetch_covtype

        return from_covertype(*fetch_covtype(data_home=folder, return_X_y=True))


_read_adult = partial(from_svmlight, values=np.uint8)
SOURCES: Mapping[str, Sequence[Source]] = {
    "adult.npz": (
        Web(f"{_TICK}/adult", {"adult.trn.bz2": None, "adult.tst.bz2": None}, _read_adult),
        Web(_LIBSVM, {"a9a": None, "a9a.t": None}, _read_adult),
    ),
    "reuters.npz": (
        Web(
            f"{_TICK}/reuters",
            {"reuters.trn.bz2": None, "reuters.tst.bz2": None},
            partial(from_svmlight, values=np.float64),
        ),
    ),
    "mnist.npz": (
        Web("https://ossci-datasets.s3.amazonaws.com/mnist", _IDX_FILES, from_idx),
        Web("https://storage.googleapis.com/cvdf-datasets/mnist", _IDX_FILES, from_idx),
    ),
    "covtype.npz": (Covertype(),),
}


def download(file: str, content: str, cache: Path) -> Path:
    """Put a copy of ``file`` whose arrays have the digest ``content`` into ``cache``; say so on standard error."""
    failures = []
    for source in SOURCES[file]:
        print(f"slackwater: downloading {file} from {source.origin} to {cache}", file=sys.stderr, flush=True)
        try:
            with tempfile.TemporaryDirectory() as folder:
                archive = source.obtain(Path(folder))
            if digest(archive) != content:
                raise ValueError("what arrived is not the data that was expected")
        except (OSError, ValueError, EOFError) as error:
            failures.append(f"{source.origin}: {error}")
            continue
        return _keep(archive, cache / file)
    raise FileNotFoundError(
        f"{file} is not on this machine and could not be downloaded. Set SLACKWATER_DATA to a folder that holds it, "
        "or try again with a connection to the internet. Tried " + "; ".join(failures)
    )


def _keep(archive: Archive, path: Path) -> Path:
    """Write so that the file is there as a whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial_path = path.with_name(f"{path.stem}.{os.getpid()}.partial.npz")
    arrays: dict[str, Any] = dict(archive)
    np.savez_compressed(partial_path, **arrays)
    os.replace(partial_path, path)
    return path
