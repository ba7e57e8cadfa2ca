"""slackwater evaluate: how good a model is on data with labels, and how sure that is."""

from __future__ import annotations

import typer
from rich.console import Console
from rich.table import Table

from slackwater.cli import options
from slackwater.cli.console import note, say, say_json
from slackwater.cli.interruption import terminable
from slackwater.cli.models import in_parts, labels_of, load_with_data
from slackwater.evaluation import Evaluation, Measure, evaluate_predictions


def evaluate(
    data: options.Data,
    model: options.ModelFile,
    confidence: options.Confidence = 0.95,
    format: options.Format = None,
    label: options.Label = None,
    header: options.Header = "auto",
    ignore: options.Ignore = None,
    indices: options.Indices = "auto",
    quiet: options.Quiet = False,
    json: options.Json = False,
) -> None:
    """Measure MODEL on DATA, with confidence intervals.

    Accuracy, precision and recall have Wilson's intervals; balanced accuracy and macro F1 those of a parametric
    bootstrap of the confusion matrix; the area under the ROC curve (two classes) DeLong's.

    Examples:

      slackwater evaluate a9a.t a9a.model

      slackwater evaluate --json --label species test.csv iris.model
    """
    options.check_confidence(confidence)
    reading = options.Reading(data, format, label, header, ignore, indices)
    with terminable() as interruption:
        try:
            loaded, found = load_with_data(model, reading, needs_labels=True, quiet=quiet)
            truth = labels_of(loaded, found.y, data)
            labels = in_parts(loaded.predict, found.X, "Predicting", quiet)
            scores = None
            if len(loaded.classes_) == 2:
                scores = in_parts(loaded.decision_function, found.X, "Computing decision values", quiet)
        except KeyboardInterrupt:
            note(f"{interruption.word}.")
            raise typer.Exit(interruption.exit_code) from None
    result = evaluate_predictions(truth, labels, loaded.classes_, scores, confidence)
    if json:
        say_json(result.as_dict())
    else:
        _show(result)


def _show(result: Evaluation) -> None:
    console = Console(width=100, highlight=False)
    say(f"{result.n} examples, {len(result.classes)} classes, {result.confidence:.0%} intervals")
    table = Table(box=None, pad_edge=False)
    for column in ("measure", "value", "from", "to"):
        table.add_column(column, justify="left" if column == "measure" else "right")
    for name, measure in result.overall.items():
        table.add_row(name, *_cells(measure))
    for name, per_class in (("precision", result.precision), ("recall", result.recall)):
        for label, measure in zip(result.classes, per_class, strict=True):
            table.add_row(f"{name} of {label}", *_cells(measure))
    console.print(table)
    counts = Table(box=None, pad_edge=False)
    counts.add_column("true \\ predicted")
    for label in result.classes:
        counts.add_column(str(label), justify="right")
    for label, row in zip(result.classes, result.confusion.tolist(), strict=True):
        counts.add_row(str(label), *map(str, row))
    console.print(counts)


def _cells(measure: Measure) -> list[str]:
    return ["–" if value != value else f"{value:.4f}" for value in measure]
