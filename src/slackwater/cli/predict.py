"""slackwater predict: labels for the rows of a file, as svm-predict gives them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from slackwater.cli import options
from slackwater.cli.console import RefusedError, note, say_json, write
from slackwater.cli.interruption import terminable
from slackwater.cli.models import in_parts, known_labels, load_with_data
from slackwater.data_io.streams import STDIN
from slackwater.files import replace_file


def predict(
    data: options.Data,
    model: options.ModelFile,
    output: Annotated[
        str, typer.Argument(help="File for the labels, one a line; - is standard output.", show_default=True)
    ] = STDIN,
    format: options.Format = None,
    label: options.Label = None,
    header: options.Header = "auto",
    ignore: options.Ignore = None,
    indices: options.Indices = "auto",
    quiet: options.Quiet = False,
    json: options.Json = False,
) -> None:
    """Classify the rows of DATA by MODEL: one label a line, and the accuracy if DATA has labels.

    With a file for the labels, the accuracy goes to standard output, else to standard error.

    Examples:

      slackwater predict a9a.t a9a.model labels.txt

      slackwater predict new.csv iris.model | sort | uniq -c

      slackwater predict --json test.svm.xz model.npz labels.txt
    """
    if json and output == STDIN:
        raise RefusedError("--json needs a file for the labels: OUTPUT is standard output, where the JSON goes.")
    reading = options.Reading(data, format, label, header, ignore, indices)
    with terminable() as interruption:
        try:
            loaded, found = load_with_data(model, reading, needs_labels=False, quiet=quiet)
            labels = in_parts(loaded.predict, found.X, "Predicting", quiet)
        except KeyboardInterrupt:
            note(f"{interruption.word}; nothing is written.")
            raise typer.Exit(interruption.exit_code) from None
    _write(labels, output)
    _account(labels, known_labels(loaded, found.y), output, quiet, json)


def _write(labels: NDArray[Any], output: str) -> None:
    lines = [f"{label}\n" for label in labels.tolist()]
    if output == STDIN:
        write("".join(lines))
        return
    try:
        replace_file(Path(output), "".join(lines).encode())
    except OSError as error:
        raise RefusedError(f"{output}: cannot be written ({error.strerror or error}).") from error


def _account(labels: NDArray[Any], truth: NDArray[Any] | None, output: str, quiet: bool, as_json: bool) -> None:
    n = len(labels)
    correct = None if truth is None else int(np.sum(labels == truth))
    if as_json:
        accuracy = None if correct is None else correct / n
        say_json({"n": n, "output": output, "correct": correct, "accuracy": accuracy})
    elif correct is not None and not quiet:
        line = f"Accuracy = {100 * correct / n:.6g}% ({correct}/{n}) (classification)"
        write(f"{line}\n", err=output == STDIN)
