"""slackwater train: from a data file to a model file, as svm-train does it."""

from __future__ import annotations

import time
import warnings
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer
from numpy.typing import NDArray

from slackwater import SVC
from slackwater.cli import options
from slackwater.cli.console import RefusedError, note, one_line, say, say_json
from slackwater.cli.cross_validation import cross_validate
from slackwater.cli.interruption import Interruption, terminable
from slackwater.cli.libsvm_options import KERNELS
from slackwater.cli.progress import shown
from slackwater.cli.search import SearchOptions, as_dict, given_options, values_of
from slackwater.cli.search import check_early as check_search
from slackwater.cli.search import search as run_search
from slackwater.data_io import LabelledData
from slackwater.data_io.streams import STDIN
from slackwater.estimators.parameters import check_parameters
from slackwater.kernels.registry import KERNELS as KNOWN_KERNELS
from slackwater.path import SVCCV
from slackwater.progress import Forecast
from slackwater.tracing import watched_by

_BUDGETS = "Budgets"
_KERNEL = "Kernel"
_SEARCH = "Search"


class Summary(NamedTuple):
    """What came out of a fit."""

    model: str
    n_examples: int
    n_features: int
    classes: list[Any]
    n_support: int
    strategy: str
    gap: Any
    certified: bool
    stop_reason: str
    seconds: float


def train(
    context: typer.Context,
    data: options.Data,
    model: Annotated[
        Path | None,
        typer.Argument(help="File to write; by default DATA's name with .model added, here.", show_default=False),
    ] = None,
    C: Annotated[float, typer.Option("--C", "-c", help="What a unit of hinge loss costs.")] = 1.0,
    kernel: Annotated[
        str,
        typer.Option(
            "--kernel",
            "-t",
            help="linear, poly, rbf, sigmoid (or LIBSVM's 0 to 3), laplacian.",
            rich_help_panel=_KERNEL,
        ),
    ] = "rbf",
    gamma: Annotated[
        str,
        typer.Option(
            "--gamma",
            "-g",
            help="A number, scale: 1 / (features · variance), or auto: 1 / features, LIBSVM's default.",
            rich_help_panel=_KERNEL,
        ),
    ] = "scale",
    degree: Annotated[int, typer.Option("--degree", "-d", help="Of poly.", rich_help_panel=_KERNEL)] = 3,
    coef0: Annotated[float, typer.Option("--coef0", "-r", help="Of poly and sigmoid.", rich_help_panel=_KERNEL)] = 0.0,
    class_weight: Annotated[
        list[str] | None,
        typer.Option("--class-weight", "-w", help="balanced, or LABEL=WEIGHT, repeated; also -w1 2.5 as in LIBSVM."),
    ] = None,
    tol: Annotated[
        float | None, typer.Option("--tol", "-e", help="Relative duality gap to stop at; by default the data decide.")
    ] = None,
    fit_intercept: Annotated[bool, typer.Option("--fit-intercept/--no-fit-intercept", help="Learn a bias.")] = True,
    multi_class: Annotated[
        str, typer.Option("--multi-class", help="ovo: one against one, or ovr: against the rest.")
    ] = "ovo",
    strategy: Annotated[
        str, typer.Option("--strategy", help="auto, exact, low_rank, sparse_kernel, subspace or screening.")
    ] = "auto",
    break_ties: Annotated[bool, typer.Option("--break-ties", help="Let decision values decide equal votes.")] = False,
    cross_validation: Annotated[
        int | None, typer.Option("--cross-validation", "-v", help="Show the accuracy of so many folds; no model.")
    ] = None,
    search: Annotated[
        bool, typer.Option("--search", help="Choose C and gamma by cross-validation.", rich_help_panel=_SEARCH)
    ] = False,
    Cs: Annotated[
        str | None,
        typer.Option("--Cs", help="C to try, with commas between; 0.1 to 1000 by default.", rich_help_panel=_SEARCH),
    ] = None,
    gammas: Annotated[
        str | None,
        typer.Option("--gammas", help="Gammas to try; by default around the data's scale.", rich_help_panel=_SEARCH),
    ] = None,
    folds: Annotated[int | None, typer.Option("--folds", help="5 by default.", rich_help_panel=_SEARCH)] = None,
    selection: Annotated[
        str | None,
        typer.Option("--selection", help="best, the default, or one_standard_error.", rich_help_panel=_SEARCH),
    ] = None,
    max_time: Annotated[float | None, typer.Option("--max-time", help="Seconds.", rich_help_panel=_BUDGETS)] = None,
    max_iter: Annotated[
        int, typer.Option("--max-iter", help="Steps; -1 is no limit.", rich_help_panel=_BUDGETS)
    ] = 10_000,
    max_kernel_evals: Annotated[
        int | None, typer.Option("--max-kernel-evals", help="Kernel values.", rich_help_panel=_BUDGETS)
    ] = None,
    early_stopping: Annotated[
        bool, typer.Option("--early-stopping", help="Stop by the error on a hold-out part.", rich_help_panel=_BUDGETS)
    ] = False,
    validation_fraction: Annotated[
        float, typer.Option("--validation-fraction", help="Of early stopping.", rich_help_panel=_BUDGETS)
    ] = 0.1,
    n_iter_no_change: Annotated[
        int, typer.Option("--n-iter-no-change", help="Of early stopping.", rich_help_panel=_BUDGETS)
    ] = 10,
    cache_size: Annotated[
        float | None, typer.Option("--cache-size", "-m", help="MB for kernel rows.", rich_help_panel=_BUDGETS)
    ] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option("--checkpoint", help="File to keep the state in and to resume from.", rich_help_panel=_BUDGETS),
    ] = None,
    n_jobs: options.Jobs = None,
    random_state: Annotated[int | None, typer.Option("--random-state", help="Seed; the same by default.")] = None,
    n_features: Annotated[
        int | None, typer.Option("--n-features", help="Of svmlight text, if later data have more than these.")
    ] = None,
    format: options.Format = None,
    label: options.Label = None,
    header: options.Header = "auto",
    ignore: options.Ignore = None,
    indices: options.Indices = "auto",
    string_labels: options.StringLabels = False,
    quiet: options.Quiet = False,
    verbose: Annotated[bool, typer.Option("--verbose", help="Each decision as it is made.")] = False,
    json: options.Json = False,
) -> None:
    """Train a classifier on DATA and write it to MODEL.

    Ctrl-C and SIGTERM end training with the model reached, which is written; the exit code is then 130 or 143.

    Examples:

      slackwater train -c 10 -g 0.05 a9a

      slackwater train --C 10 --label species iris.csv iris.model

      slackwater train -t 0 -w1 5 -v 5 --json data.svm.gz

      slackwater train --search --max-time 60 a9a

      zcat huge.gz | slackwater train --max-time 600 - huge.model
    """
    estimator = SVC(
        C=C,
        kernel=KERNELS.get(kernel, kernel),
        gamma=_number_or_name(gamma),
        degree=degree,
        coef0=coef0,
        fit_intercept=fit_intercept,
        tol=tol,
        max_iter=max_iter,
        max_time=max_time,
        max_kernel_evals=max_kernel_evals,
        early_stopping=early_stopping,
        validation_fraction=validation_fraction,
        n_iter_no_change=n_iter_no_change,
        cache_size=cache_size,
        checkpoint=None if checkpoint is None else str(checkpoint),
        strategy=strategy,
        multi_class=multi_class,
        break_ties=break_ties,
        n_jobs=n_jobs,
        random_state=random_state,
        verbose=2 * int(verbose),
    )
    target = _target(data, model, cross_validation)
    _check_early(estimator, cross_validation)
    searched = None
    if search:
        searched = SearchOptions(
            values_of("--Cs", Cs),  # type: ignore[arg-type]
            values_of("--gammas", gammas, ("scale", "auto")),
            5 if folds is None else folds,
            selection or "best",
        )
        check_search(given_options(context), searched, cross_validation)
    elif Cs is not None or gammas is not None:
        raise RefusedError("--Cs and --gammas are of a search: add --search, or use --C and --gamma.")
    elif folds is not None or selection is not None:
        raise RefusedError("--folds and --selection are of a search: add --search, or show a score of folds by -v.")
    reading = options.Reading(data, format, label, header, ignore, indices, string_labels)
    with terminable() as interruption:
        weights = class_weight or []
        _run(estimator, weights, reading, n_features, target, cross_validation, searched, interruption, quiet, json)


def _run(
    estimator: SVC,
    weights: list[str],
    reading: options.Reading,
    n_features: int | None,
    target: Path | None,
    folds: int | None,
    searched: SearchOptions | None,
    interruption: Interruption,
    quiet: bool,
    as_json: bool,
) -> None:
    chosen: SVCCV | None = None
    try:
        found = reading.read(quiet, n_features=n_features, n_jobs=estimator.n_jobs)
        assert found.y is not None
        estimator.class_weight = _class_weight(weights, found.y)
        if target is None:
            cross_validate(estimator, found, int(folds or 0), quiet, as_json)
            return
        if searched is not None:
            chosen = run_search(estimator, searched, found, quiet, as_json)
            estimator, seconds = chosen.best_estimator_, chosen.search_time_ + chosen.refit_time_
        else:
            seconds = _fit(estimator, found, quiet)
    except KeyboardInterrupt:
        if target is None or not hasattr(estimator, "support_"):
            note(f"{interruption.word} before there was a model; nothing is written.")
            raise typer.Exit(interruption.exit_code) from None
        seconds = float("nan")
    _keep(estimator, found, target, seconds, quiet, as_json, None if chosen is None else as_dict(chosen))
    if estimator.stop_reason_ == "interrupted":
        note(f"{interruption.word}: the model reached is in {target}.")
        raise typer.Exit(interruption.exit_code)


def _fit(estimator: SVC, data: LabelledData, quiet: bool) -> float:
    """Seconds of the fit. Warnings are shown as notes, when it is over."""
    forecast = Forecast(estimator.max_time, estimator.tol)
    start = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            with shown("Training", forecast.left, quiet or bool(estimator.verbose)), watched_by(forecast):
                estimator.fit(data.X, data.y)
        except ValueError as error:
            raise RefusedError(one_line(error)) from error
    for text in dict.fromkeys(" ".join(str(warning.message).split()) for warning in caught):
        if estimator.stop_reason_ != "interrupted":
            note(text)
    return time.perf_counter() - start


def _keep(
    estimator: SVC,
    data: LabelledData,
    target: Path,
    seconds: float,
    quiet: bool,
    as_json: bool,
    searched: dict[str, object] | None = None,
) -> None:
    if data.feature_names is not None:
        estimator.feature_names_in_ = np.array(data.feature_names, dtype=object)
    try:
        estimator.save(target)
    except OSError as error:
        raise RefusedError(f"{target}: cannot be written ({error.strerror or error}).") from error
    summary = Summary(
        str(target),
        int(data.X.shape[0]),
        int(data.X.shape[1]),
        estimator.classes_.tolist(),
        len(estimator.support_),
        estimator.strategy_,
        float(np.max(estimator.gap_)),
        bool(estimator.certified_),
        estimator.stop_reason_,
        seconds,
    )
    if as_json:
        say_json(summary._asdict() | ({} if searched is None else {"search": searched}))
    elif not quiet:
        say(_spelled(summary))


def _spelled(summary: Summary) -> str:
    kind = "proven" if summary.certified else "estimated"
    return (
        f"{summary.n_examples} examples, {summary.n_features} features, {len(summary.classes)} classes\n"
        f"strategy {summary.strategy}, stopped by {summary.stop_reason}, relative gap {summary.gap:.2g} ({kind})\n"
        f"{summary.n_support} support vectors written to {summary.model}"
    )


def _target(data: str, model: Path | None, folds: int | None) -> Path | None:
    """Where the model goes; None for cross-validation. Refused before any work if it cannot be written there."""
    if folds is not None:
        if model is not None:
            raise RefusedError("-v, cross-validation, writes no model: leave MODEL out.")
        return None
    if model is None:
        if data == STDIN:
            raise RefusedError("MODEL must be given where DATA is standard input.")
        model = Path(f"{Path(data).name}.model")
    if model.is_dir() or not model.absolute().parent.is_dir():
        raise RefusedError(f"{model}: cannot be written (no such folder, or it is one).")
    return model


def _check_early(estimator: SVC, folds: int | None) -> None:
    if estimator.kernel not in KNOWN_KERNELS:
        names = ", ".join(name for name in KNOWN_KERNELS)
        raise RefusedError(f"--kernel must be one of {names} (or LIBSVM's 0 to 3), got {estimator.kernel!r}.")
    if isinstance(estimator.gamma, str) and estimator.gamma not in ("scale", "auto"):
        raise RefusedError(f"--gamma must be a number > 0, scale or auto, got {estimator.gamma!r}.")
    if folds is not None and folds < 2:
        raise RefusedError(f"-v must be 2 or more folds, got {folds}.")
    try:
        check_parameters(estimator, estimator._rules)
    except ValueError as error:
        raise RefusedError(str(error)) from error


def _number_or_name(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def _class_weight(weights: list[str], y: NDArray[Any]) -> str | dict[Any, float] | None:
    if not weights:
        return None
    if weights == ["balanced"]:
        return "balanced"
    found: dict[Any, float] = {}
    for weight in weights:
        label, equals, number = weight.rpartition("=")
        try:
            found[label if y.dtype.kind == "U" else float(label)] = float(number)
        except ValueError:
            equals = ""
        if not equals:
            raise RefusedError(f"--class-weight must be balanced or LABEL=WEIGHT, got {weight!r}.")
    return found
