"""LIBSVM's own options: those that mean the same are taken, the others refused with what to do instead."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import typer
from typer.core import TyperCommand

KERNELS = {"0": "linear", "1": "poly", "2": "rbf", "3": "sigmoid"}  # by LIBSVM's numbers
_WEIGHT = re.compile(r"-w([+-]?\d+(?:\.\d+)?)")
_FORMULATIONS = {
    "1": "nu-SVC: use sklearn.svm.NuSVC, or SBPClassifier(nu=…) in Python for the paper's nu",
    "2": "one-class SVM: use sklearn.svm.OneClassSVM",
    "3": "regression: use sklearn.svm.SVR",
    "4": "regression: use sklearn.svm.NuSVR",
}


def _formulation(value: str) -> list[str]:
    if value == "0":
        return []
    remedy = _FORMULATIONS.get(value, "only 0, C-SVC, is known")
    raise typer.BadParameter(f"-s {value} cannot be trained here ({remedy}). Leave -s out, or give -s 0.")


def _probabilities(value: str) -> list[str]:
    if value == "0":
        return []
    raise typer.BadParameter(
        "-b 1, probability estimates, is not offered. In Python: "
        "sklearn.calibration.CalibratedClassifierCV(slackwater.SVC(), ensemble=False)."
    )


def _shrinking(value: str) -> list[str]:
    raise typer.BadParameter(
        "-h, shrinking, has no counterpart: what can be set aside is decided by the data. Leave it out; --help is help."
    )


def _of_others(value: str) -> list[str]:
    raise typer.BadParameter("-n and -p belong to nu-SVC and regression, which are not trained here. Leave them out.")


def _kernel(value: str) -> list[str]:
    if value == "4":
        raise typer.BadParameter(
            "-t 4, a precomputed kernel, is not read from files. In Python: SVC(kernel='precomputed')."
        )
    return ["--kernel", KERNELS.get(value, value)]


_TAKEN: dict[str, Callable[[str], list[str]]] = {
    "-s": _formulation,
    "-b": _probabilities,
    "-h": _shrinking,
    "-n": _of_others,
    "-p": _of_others,
    "-t": _kernel,
}


def translated(arguments: list[str]) -> list[str]:
    """Arguments as this command has them, from those of ``svm-train`` and ``svm-predict``.

    ``-w1 2.5`` becomes ``--class-weight 1=2.5``, ``-t 0`` becomes ``--kernel linear``, ``-s 0`` and ``-b 0`` disappear.
    """
    return [each for part in _parts(iter(arguments)) for each in part]


def _parts(arguments: Iterator[str]) -> Iterator[list[str]]:
    for argument in arguments:
        weight = _WEIGHT.fullmatch(argument)
        if argument == "--":
            yield [argument, *arguments]
        elif weight is not None:
            yield ["--class-weight", f"{weight[1]}={_value(argument, arguments)}"]
        elif argument in _TAKEN:
            yield _TAKEN[argument](_value(argument, arguments))
        else:
            yield [argument]


def _value(option: str, arguments: Iterator[str]) -> str:
    value = next(arguments, None)
    if value is None:
        raise typer.BadParameter(f"{option} needs a value.")
    return value


class LibsvmCommand(TyperCommand):
    """A subcommand that understands LIBSVM's options as well."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return list(super().parse_args(ctx, translated(args)))
