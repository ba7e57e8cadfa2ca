"""slackwater path: the front of norm and hinge loss along C."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Annotated

import typer

from slackwater.cli import options
from slackwater.cli.console import RefusedError, note, one_line, say, say_json
from slackwater.cli.interruption import terminable
from slackwater.cli.libsvm_options import KERNELS
from slackwater.cli.search import values_of
from slackwater.path import SVMPath, svm_path
from slackwater.path.front import COLUMNS

_SHOWN = {"C": "{:.4g}", "nu": "{:.4g}", "norm": "{:.4g}", "loss": "{:.4g}", "gap": "{:.1e}", "certified": "{}",
          "n_support": "{}", "train_accuracy": "{:.4f}", "strategy": "{}"}  # fmt: skip


def path(
    data: options.Data,
    picture: Annotated[
        Path | None, typer.Argument(help="Picture to draw (.png, .svg, .pdf), if any.", show_default=False)
    ] = None,
    Cs: Annotated[
        str | None, typer.Option("--Cs", help="Values of C, with commas between; by default a range found by itself.")
    ] = None,
    nus: Annotated[str | None, typer.Option("--nus", help="Points by nu = loss / norm instead.")] = None,
    n_points: Annotated[int, typer.Option("--n-points", help="How many C, if none are given.")] = 20,
    kernel: Annotated[str, typer.Option("--kernel", "-t", help="linear, poly, rbf, sigmoid or laplacian.")] = "rbf",
    gamma: Annotated[str, typer.Option("--gamma", "-g", help="A number, scale or auto.")] = "scale",
    degree: Annotated[int, typer.Option("--degree", "-d", help="Of poly.")] = 3,
    coef0: Annotated[float, typer.Option("--coef0", "-r", help="Of poly and sigmoid.")] = 0.0,
    tol: Annotated[float | None, typer.Option("--tol", "-e", help="Relative duality gap to prove at each C.")] = None,
    max_time: Annotated[float | None, typer.Option("--max-time", help="Seconds.")] = None,
    cache_size: Annotated[float | None, typer.Option("--cache-size", "-m", help="MB for kernel values.")] = None,
    n_jobs: options.Jobs = None,
    format: options.Format = None,
    label: options.Label = None,
    header: options.Header = "auto",
    ignore: options.Ignore = None,
    indices: options.Indices = "auto",
    quiet: options.Quiet = False,
    json: options.Json = False,
) -> None:
    """Show the front of norm and hinge loss of DATA, two classes, for many C.

    Examples:

      slackwater path -g 0.05 a9a

      slackwater path --Cs 0.1,1,10 --tol 1e-3 a9a front.png
    """
    values, wanted = values_of("--Cs", Cs), values_of("--nus", nus)
    if picture is not None:
        _check_drawable(picture)
    reading = options.Reading(data, format, label, header, ignore, indices)
    with terminable() as interruption, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = reading.read(quiet, n_jobs=n_jobs)
            front = svm_path(
                found.X,
                found.y,
                Cs=values,  # type: ignore[arg-type]
                nus=wanted,  # type: ignore[arg-type]
                n_points=n_points,
                kernel=KERNELS.get(kernel, kernel),
                gamma=gamma if gamma in ("scale", "auto") else _number("--gamma", gamma),
                degree=degree,
                coef0=coef0,
                tol=tol,
                max_time=max_time,
                cache_size=cache_size,
                n_jobs=n_jobs,
            )
        except KeyboardInterrupt:
            note(f"{interruption.word}.")
            raise typer.Exit(interruption.exit_code) from None
        except ValueError as error:
            raise RefusedError(one_line(error)) from error
    for text in dict.fromkeys(" ".join(str(warning.message).split()) for warning in caught):
        note(text)
    if picture is not None:
        _draw(front, picture)
    if json:
        columns = {name: list(getattr(front, name)) for name in COLUMNS}
        say_json({**columns, "seconds": front.seconds, "n_kernel_evals": front.n_kernel_evals})
    elif not quiet:
        _show(front)


def _number(option: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise RefusedError(f"{option} must be a number > 0, scale or auto, got {text!r}.") from None


def _show(front: SVMPath) -> None:
    say(" ".join(f"{name:>14}" for name in _SHOWN))
    for row in range(len(front)):
        say(" ".join(f"{shape.format(getattr(front, name)[row]):>14}" for name, shape in _SHOWN.items()))


def _check_drawable(picture: Path) -> None:
    """Refuse a picture that could not be drawn, before there is any work to be lost."""
    if not picture.absolute().parent.is_dir():
        raise RefusedError(f"{picture}: cannot be written (no such folder).")
    try:
        from matplotlib.backend_bases import FigureCanvasBase
    except ImportError as error:
        raise RefusedError("drawing needs matplotlib: pip install 'slackwater[plot]'.") from error
    known = FigureCanvasBase.get_supported_filetypes()
    if picture.suffix[1:].lower() not in known:
        raise RefusedError(f"{picture}: cannot be written (its ending must be one of {', '.join(sorted(known))}).")


def _draw(front: SVMPath, picture: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    try:
        front.plot().figure_.savefig(picture, dpi=150)
    except (OSError, ValueError) as error:
        raise RefusedError(f"{picture}: cannot be written ({one_line(error)}).") from error
