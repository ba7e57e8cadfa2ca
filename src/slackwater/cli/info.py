"""slackwater info: what this installation is and has, or what a model is."""

from __future__ import annotations

import json as json_text
import platform
import zipfile
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import rich
import typer
from rich.table import Table

import slackwater
from slackwater.cli import options
from slackwater.cli.console import say_json
from slackwater.cli.models import load_model
from slackwater.datasets import available
from slackwater.versions import installed_version
from slackwater.workers import thread_count

_LIBRARIES = ("numpy", "scipy", "scikit-learn", "numba", "threadpoolctl", "matplotlib", "pyarrow", "onnx")
_DATASETS = ("adult", "reuters", "mnist", "forest")
_SHOWN = 8


def info(
    model: Annotated[
        Path | None, typer.Argument(help="A model file; without it, the installation.", show_default=False)
    ] = None,
    json: options.Json = False,
) -> None:
    """Show versions, threads and which of the paper's data sets are present; or what MODEL is.

    Examples:

      slackwater info

      slackwater info a9a.model
    """
    title = f"slackwater {slackwater.__version__}" if model is None else str(model)
    rows = _installation() if model is None else _model_rows(model)
    if json:
        say_json({"slackwater": slackwater.__version__, **rows} if model is None else {"model": title, **rows})
        return
    table = Table(show_header=False, title=title)
    for name, value in rows.items():
        table.add_row(name, spelled(value))
    rich.print(table)


def _installation() -> dict[str, Any]:
    present = [name for name in _DATASETS if available(name)]
    return {
        "Python": f"{platform.python_version()} on {platform.machine()}",
        **{library: installed_version(library) for library in _LIBRARIES},
        "threads": thread_count(None),
        "data sets found": present or "none (set SLACKWATER_DATA)",
    }


def _model_rows(path: Path) -> dict[str, Any]:
    model = load_model(path)
    parameters = model.get_params(deep=False)
    rows = {
        "estimator": type(model).__name__,
        "kernel": parameters.get("kernel"),
        **{name: parameters[name] for name in ("C", "nu", "gamma", "degree", "coef0", "tol") if name in parameters},
        "classes": model.classes_.tolist(),
        "features": int(model.n_features_in_),
        "feature names": [str(name) for name in getattr(model, "feature_names_in_", [])] or None,
        "support vectors": len(model.support_) if hasattr(model, "support_") else None,
        "several classes": parameters.get("multi_class") if len(model.classes_) > 2 else None,
        "strategy": getattr(model, "strategy_", None),
        "gap": float(np.max(model.gap_)) if hasattr(model, "gap_") else None,
        "certified": getattr(model, "certified_", None),
        "stopped by": getattr(model, "stop_reason_", None),
        **written_by(path),
    }
    return {name: value for name, value in rows.items() if value is not None}


def written_by(path: Path) -> dict[str, Any]:
    """Format and versions as the header of a file of ours says them; the file was loaded, so it is one or the other."""
    if not zipfile.is_zipfile(path):
        return {"format": "LIBSVM text"}
    with np.load(path, allow_pickle=False) as archive:
        header = json_text.loads(archive["header"].tobytes().partition(b"\n")[2])
    return {"format": f"{header['format']}, version {header['version']}", "written by": header["written_by"]}


def spelled(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {each}" for name, each in value.items())
    if isinstance(value, list):
        more = f", … ({len(value)} in all)" if len(value) > _SHOWN else ""
        return ", ".join(map(str, value[:_SHOWN])) + more
    return str(value)
