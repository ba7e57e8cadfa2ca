"""The command's entry point; one file a subcommand."""

from __future__ import annotations

import typer

from slackwater.cli.demo import demo
from slackwater.cli.info import info

app = typer.Typer(help="Kernel support vector machines by the Stochastic Batch Perceptron.", no_args_is_help=True)
app.command()(demo)
app.command()(info)
