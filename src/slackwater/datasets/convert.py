"""From the files in which the data sets are published to the arrays that are kept, and a digest that tells those apart.

Arrays are named as in the copies that the registry reads: ``{train,test}_{indptr,indices,data,y}`` and ``n_features``
for sparse data, ``{train,test}_{x,y}`` for images, ``x``, ``y`` and ``test_idx`` (rows of the test part) for Forest.
"""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

Archive = dict[str, NDArray[Any]]

FOREST_TEST_ROWS = 58_102
_IDX_BYTES = 0x08  # the type of an idx file's values: unsigned bytes


def from_svmlight(paths: Sequence[Path], values: DTypeLike) -> Archive:
    """A training and a test file in LIBSVM's text format, compressed or not, columns counted from zero or from one."""
    from sklearn.datasets import load_svmlight_files

    train_x, train_y, test_x, test_y = load_svmlight_files([str(path) for path in paths], zero_based="auto")
    archive: Archive = {"n_features": np.array(train_x.shape[1], dtype=np.int32)}
    for part, features, labels in (("train", train_x, train_y), ("test", test_x, test_y)):
        features.eliminate_zeros()  # some files name a column with a zero so that their width can be seen
        archive[f"{part}_indptr"] = features.indptr.astype(np.int32)
        archive[f"{part}_indices"] = features.indices.astype(np.uint16)
        archive[f"{part}_data"] = features.data.astype(values)
        archive[f"{part}_y"] = labels.astype(np.int8)
    return archive


def from_idx(paths: Sequence[Path]) -> Archive:
    """MNIST's own format, gzipped: images and labels of the training part, images and labels of the test part."""
    train_x, train_y, test_x, test_y = (_read_idx(path) for path in paths)
    return {
        "train_x": train_x.reshape(len(train_x), -1),
        "train_y": train_y,
        "test_x": test_x.reshape(len(test_x), -1),
        "test_y": test_y,
    }


def from_covertype(features: ArrayLike, classes: ArrayLike) -> Archive:
    """Forest in the order of the source, with a test part drawn by chance: the original split is not known."""
    x, y = np.asarray(features).astype(np.int16), np.asarray(classes).astype(np.uint8)
    shuffled = np.random.RandomState(0).permutation(len(y))
    return {"x": x, "y": y, "test_idx": np.sort(shuffled[-FOREST_TEST_ROWS:]).astype(np.int32)}


def digest(archive: Archive) -> str:
    """SHA-256 of names, types, shapes and values: the same for every way of compressing them."""
    found = hashlib.sha256()
    for name in sorted(archive):
        values = archive[name].astype(archive[name].dtype.newbyteorder("<"))
        found.update(f"{name} {values.dtype.str} {values.shape} ".encode())
        found.update(values.tobytes())
    return found.hexdigest()


def _read_idx(path: Path) -> NDArray[np.uint8]:
    content = gzip.decompress(path.read_bytes())
    if len(content) < 4 or content[:3] != bytes([0, 0, _IDX_BYTES]):
        raise ValueError(f"{path.name} must be an idx file of bytes, and begins with {content[:4].hex()}.")
    first_value = 4 + 4 * content[3]
    shape = np.frombuffer(content[4:first_value], dtype=">i4")
    return np.frombuffer(content, dtype=np.uint8, offset=first_value).reshape(tuple(shape.tolist()))
