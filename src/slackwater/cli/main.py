"""The command's entry point; one file a subcommand."""

from __future__ import annotations

from typing import Annotated

import typer

import slackwater
from slackwater.cli.compile import compile_loops
from slackwater.cli.demo import demo
from slackwater.cli.info import info

app = typer.Typer(help="Kernel support vector machines by the Stochastic Batch Perceptron.", no_args_is_help=True)


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


app.command("compile")(compile_loops)
app.command()(demo)
app.command()(info)
