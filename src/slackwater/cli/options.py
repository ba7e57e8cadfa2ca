"""Options that several subcommands have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer

from slackwater.cli.console import RefusedError
from slackwater.cli.progress import shown
from slackwater.data_io import FORMATS, LabelledData, read_data

_READING = "Reading data"
_MANY_COLUMNS = 2**21
_COLUMNS_AN_ENTRY = 8

Data = Annotated[
    str,
    typer.Argument(
        help="svmlight/LIBSVM text (plain, .gz, .bz2, .xz), .csv, .tsv, .parquet, .npz, .npy; - is standard input.",
        show_default=False,
    ),
]
ModelFile = Annotated[
    Path, typer.Argument(help="A model of slackwater train, or of LIBSVM's svm-train.", show_default=False)
]
Format = Annotated[
    str | None,
    typer.Option(
        "--format", help=f"One of {', '.join(FORMATS)}; by default what the name says.", rich_help_panel=_READING
    ),
]
Label = Annotated[
    str | None,
    typer.Option(
        "--label",
        help="Column of the labels, by name or number (1 is the first, -1 the last). By default the one that is called "
        "label, target, class or y.",
        rich_help_panel=_READING,
    ),
]
Header = Annotated[
    str, typer.Option("--header", help="Whether a table has names: auto, yes or no.", rich_help_panel=_READING)
]
Ignore = Annotated[
    list[str] | None,
    typer.Option("--ignore", help="A column to leave out; may be repeated.", rich_help_panel=_READING),
]
Indices = Annotated[
    str,
    typer.Option(
        "--indices",
        help="The first index of svmlight text: one, zero, or auto (zero if a 0 is found).",
        rich_help_panel=_READING,
    ),
]
StringLabels = Annotated[
    bool,
    typer.Option("--string-labels", help="Take labels for words, also if they are numbers.", rich_help_panel=_READING),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no summary.")]
Json = Annotated[bool, typer.Option("--json", help="The result as one JSON object.")]
Jobs = Annotated[int | None, typer.Option("--n-jobs", help="Threads; -1 is all.")]
Confidence = Annotated[float, typer.Option("--confidence", help="Of the intervals.")]


def check_confidence(confidence: float) -> None:
    """Before anything is read."""
    if not 0.5 <= confidence < 1:
        raise RefusedError(f"--confidence must be from 0.5 to below 1, got {confidence}.")


class Reading(NamedTuple):
    """How a data file is to be read."""

    path: str
    format: str | None = None
    label: str | None = None
    header: str = "auto"
    ignore: list[str] | None = None
    indices: str = "auto"
    string_labels: bool = False

    def read(self, quiet: bool = False, **more: Any) -> LabelledData:
        """The data, with progress."""
        options = self._asdict() | {"ignore": self.ignore or ()}
        path = options.pop("path")
        try:
            with shown(f"Reading {path}", quiet=quiet) as update:
                found = read_data(path, progress=update, **(options | more))
        except ValueError as error:
            raise RefusedError(str(error)) from error
        _require_compact(path, found)
        return found


def _require_compact(path: str, data: LabelledData) -> None:
    """Estimators need some memory for each column, and a file of a hundred bytes can have an index of two billion."""
    columns = int(data.X.shape[1])
    if not isinstance(data.X, np.ndarray) and columns > max(_MANY_COLUMNS, _COLUMNS_AN_ENTRY * data.X.nnz):
        raise RefusedError(
            f"{path}: {columns} features, and only {data.X.nnz} entries. Memory grows with the largest index: number "
            "the features anew, from 1 to how many there are."
        )
