"""One door to all formats."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from slackwater.data_io.arrays import read_npy, read_npz
from slackwater.data_io.columns import Wanted
from slackwater.data_io.delimited import read_delimited
from slackwater.data_io.parquet import read_parquet
from slackwater.data_io.streams import STDIN, Progress, opened
from slackwater.data_io.svmlight import read_svmlight
from slackwater.data_io.table import LabelledData
from slackwater.errors import DataError

FORMATS = ("svmlight", "csv", "tsv", "parquet", "npz", "npy")
_PACKINGS = {".gz", ".bz2", ".xz"}
_BY_ENDING = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".npz": "npz",
    ".npy": "npy",
}


def format_of(path: str | Path) -> str:
    """The format that a file's name says it has; svmlight if it says nothing."""
    endings = [ending.lower() for ending in Path(path).suffixes]
    while endings and endings[-1] in _PACKINGS:
        endings.pop()
    return _BY_ENDING.get(endings[-1], "svmlight") if endings else "svmlight"


def read_data(
    path: str | Path,
    *,
    format: str | None = None,
    label: str | int | None = None,
    header: str = "auto",
    ignore: Sequence[str] = (),
    features: Sequence[str] | None = None,
    n_features: int | None = None,
    indices: str = "auto",
    string_labels: bool = False,
    needs_labels: bool = True,
    progress: Progress | None = None,
    n_jobs: int | None = None,
) -> LabelledData:
    """Read examples and labels from a file.

    Parameters
    ----------
    path : path or "-"
        "-" is standard input. Text may be packed by gzip, bzip2 or xz.
    format : {"svmlight", "csv", "tsv", "parquet", "npz", "npy"}, optional
        By default what the name says: ``.csv``, ``.tsv``, ``.parquet``, ``.npz``, ``.npy``, and svmlight for all else.
    label : str or int, optional
        Of csv, tsv, parquet and npy: the column of the labels, by name or number (1 is the first, -1 the last). By
        default the column that is called label, target, class or y.
    header : {"auto", "yes", "no"}, default="auto"
        Of csv and tsv: whether the first row has names.
    ignore : sequence of str
        Of csv, tsv, parquet and npy: columns to leave out.
    features : sequence of str, optional
        The columns to use, in this order, where the file has names.
    n_features : int, optional
        How many there must be; in svmlight, where columns of zeros are not written, there may be fewer.
    indices : {"auto", "one", "zero"}, default="auto"
        Of svmlight: the index of the first feature.
    string_labels : bool, default=False
        Take labels for words even where they are numbers.
    needs_labels : bool, default=True
        Refuse a file without labels.
    progress : callable, optional
        Shown how much has been read and of how much.
    n_jobs : int, optional
        Threads.

    Returns
    -------
    LabelledData
        ``X`` (CSR from svmlight and sparse arrays, else dense), ``y``, ``feature_names``.

    Raises
    ------
    DataError
        File, place, what was expected, what was found, what to do.
    """
    kind = format_of(path) if format is None else format
    if kind not in FORMATS:
        raise ValueError(f"format must be one of {', '.join(FORMATS)}, got {format!r}.")
    wanted = Wanted(None if label is None else str(label), features, n_features, tuple(ignore), needs_labels)
    if kind in ("svmlight", "csv", "tsv"):
        with opened(path, progress) as source:
            if kind == "svmlight":
                return read_svmlight(
                    source, n_features=n_features, indices=indices, string_labels=string_labels, n_jobs=n_jobs
                )
            delimiter = "\t" if kind == "tsv" else None
            found = read_delimited(
                source, wanted=wanted, delimiter=delimiter, header=header, string_labels=string_labels
            )
    else:
        found = _read_binary(path, kind, wanted, string_labels, progress)
    _require_features(path, found, n_features)
    return found


def _read_binary(
    path: str | Path, kind: str, wanted: Wanted, string_labels: bool, progress: Progress | None
) -> LabelledData:
    if str(path) == STDIN:
        raise DataError(f"<stdin>: {kind} is not read from standard input. Give the name of a file.")
    file = Path(path)
    if not file.is_file():
        raise DataError(f"{path}: no such file.")
    if kind == "parquet":
        return read_parquet(file, wanted=wanted, string_labels=string_labels, progress=progress)
    if kind == "npz":
        return read_npz(file, wanted=wanted, string_labels=string_labels)
    return read_npy(file, wanted=wanted)


def _require_features(path: str | Path, found: LabelledData, n_features: int | None) -> None:
    if n_features is not None and found.X.shape[1] != n_features:
        raise DataError(f"{path}: {found.X.shape[1]} features found, expected {n_features}.")
