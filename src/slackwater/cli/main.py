"""The command's entry point; one file a subcommand."""

from __future__ import annotations

import os
import sys
from typing import Annotated, Any

import typer

import slackwater
from slackwater.cli.compile import compile_loops
from slackwater.cli.console import USERS_MISTAKE, ReaderGoneError, RefusedError, note, one_line
from slackwater.cli.demo import demo
from slackwater.cli.evaluate import evaluate
from slackwater.cli.export import export
from slackwater.cli.info import info
from slackwater.cli.libsvm_options import LibsvmCommand
from slackwater.cli.path import path
from slackwater.cli.predict import predict
from slackwater.cli.report import report
from slackwater.cli.train import train

_EXIT_CODES = (
    "Exit codes: 0 done, 1 an error of the program, 2 a mistake in what was asked for (one line says which), "
    "130 interrupted and 143 terminated (slackwater train writes the model reached)."
)

app = typer.Typer(
    help="Kernel support vector machines by the Stochastic Batch Perceptron.",
    epilog=_EXIT_CODES,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"slackwater {slackwater.__version__}")
        raise typer.Exit


@app.callback()
def common(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Kernel support vector machines by the Stochastic Batch Perceptron."""


app.command(cls=LibsvmCommand)(train)
app.command(cls=LibsvmCommand)(predict)
app.command()(evaluate)
app.command()(path)
app.command()(export)
app.command()(report)
app.command("compile")(compile_loops)
app.command()(info)
app.command()(demo)


def run(arguments: list[str]) -> int:
    """Run the command; the exit code. A user's mistake is one line on standard error."""
    try:
        outcome: Any = app(args=arguments, standalone_mode=False, prog_name="slackwater")
        sys.stdout.flush()
    except RefusedError as error:
        note(f"error: {one_line(error)}")
        return USERS_MISTAKE
    except (ReaderGoneError, BrokenPipeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (KeyboardInterrupt, typer.Abort):
        return 130
    except MemoryError:
        note("error: not enough memory.")
        return 1
    except Exception as error:
        if not hasattr(error, "format_message"):
            raise
        words = " ".join(error.format_message().split())  # of the parser of arguments; none where it shows the help
        if words:
            note(f"error: {words}")
        return int(getattr(error, "exit_code", USERS_MISTAKE))
    return outcome if isinstance(outcome, int) else 0
