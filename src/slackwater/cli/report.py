"""slackwater report: a page about a model and how it does on data with labels."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Annotated

import typer

from slackwater.cli import options
from slackwater.cli.console import RefusedError, note, one_line, say, say_json
from slackwater.cli.info import spelled, written_by
from slackwater.cli.interruption import terminable
from slackwater.cli.models import labels_of, load_with_data
from slackwater.cli.progress import shown
from slackwater.report import write_report


def report(
    model: options.ModelFile,
    output: Annotated[
        Path | None,
        typer.Argument(help="File to write; by default MODEL's name with .html added, in this folder."),
    ] = None,
    data: Annotated[str, typer.Option("--data", help="Data with labels, as for evaluate.", show_default=False)] = "",
    title: Annotated[str | None, typer.Option("--title", help="Of the page.")] = None,
    confidence: options.Confidence = 0.95,
    format: options.Format = None,
    label: options.Label = None,
    header: options.Header = "auto",
    ignore: options.Ignore = None,
    indices: options.Indices = "auto",
    quiet: options.Quiet = False,
    json: options.Json = False,
) -> None:
    """Write a page about MODEL and how it does on DATA: one HTML file that opens without a network.

    Examples:

      slackwater report a9a.model --data a9a.t

      slackwater report iris.model iris.html --data test.csv --label species --title "Irises"
    """
    options.check_confidence(confidence)
    if not data:
        raise RefusedError("--data must name a file with labels: slackwater report MODEL --data FILE.")
    target = Path(f"{model.name}.html") if output is None else output
    if not target.resolve().parent.is_dir():
        raise RefusedError(f"{target}: cannot be written (no such folder).")
    reading = options.Reading(data, format, label, header, ignore, indices)
    with terminable() as interruption:
        try:
            _write(model, reading, target, title, confidence, quiet)
        except KeyboardInterrupt:
            note(f"{interruption.word}.")
            raise typer.Exit(interruption.exit_code) from None
    if json:
        say_json({"model": str(model), "data": data, "output": str(target), "bytes": target.stat().st_size})
    elif not quiet:
        say(f"{target}: {target.stat().st_size} bytes")


def _write(
    path: Path, reading: options.Reading, target: Path, title: str | None, confidence: float, quiet: bool
) -> None:
    model, found = load_with_data(path, reading, needs_labels=True, quiet=quiet)
    truth = labels_of(model, found.y, reading.path)
    about = {"model file": path.name, "data file": Path(reading.path).name}
    about |= {name: spelled(value) for name, value in written_by(path).items()}
    with shown("Looking at the data", quiet=quiet) as update, warnings.catch_warnings():
        # Columns were put in the model's order when they were read.
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        try:
            write_report(
                model, found.X, truth, target, title=title, confidence=confidence, about=about, progress=update
            )
        except OSError as error:
            raise RefusedError(f"{target}: cannot be written ({error.strerror or error}).") from error
        except ValueError as error:
            raise RefusedError(one_line(error)) from error
