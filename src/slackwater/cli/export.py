"""slackwater export: a model in another format."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from slackwater.cli import options
from slackwater.cli.console import RefusedError, one_line, say, say_json
from slackwater.cli.models import load_model

_FORMATS = ("libsvm", "onnx", "npz")
_BY_ENDING = {".onnx": "onnx", ".npz": "npz", ".libsvm": "libsvm"}


def export(
    model: options.ModelFile,
    output: Annotated[Path, typer.Argument(help="File to write.", show_default=False)],
    format: Annotated[
        str | None, typer.Option("--format", help="libsvm, onnx or npz; by default what OUTPUT's name says.")
    ] = None,
    quiet: options.Quiet = False,
    json: options.Json = False,
) -> None:
    """Write MODEL in another format: LIBSVM's text for svm-predict, ONNX, or slackwater's own (npz).

    Examples:

      slackwater export a9a.model --format libsvm a9a.libsvm

      slackwater export a9a.model a9a.onnx
    """
    kind = _BY_ENDING.get(output.suffix.lower()) if format is None else format
    if kind not in _FORMATS:
        raise RefusedError(f"--format must be one of {', '.join(_FORMATS)}, got {format or output.name!r}.")
    loaded = load_model(model)
    try:
        if kind == "libsvm":
            loaded.to_libsvm(output)
        elif kind == "onnx":
            loaded.to_onnx(output)
        else:
            loaded.save(output)
    except OSError as error:
        raise RefusedError(f"{output}: cannot be written ({error.strerror or error}).") from error
    except ModuleNotFoundError as error:
        raise RefusedError(f"{kind} needs {error.name}: pip install 'slackwater[onnx]'.") from error
    except (ValueError, TypeError, AttributeError) as error:  # AttributeError: an estimator without this format
        raise RefusedError(one_line(error)) from error
    if json:
        say_json({"model": str(model), "output": str(output), "format": kind, "bytes": output.stat().st_size})
    elif not quiet:
        say(f"{output}: {kind}, {output.stat().st_size} bytes")
