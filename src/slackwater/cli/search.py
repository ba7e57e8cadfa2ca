"""--search of slackwater train: C and gamma by cross-validation."""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
import typer

from slackwater import SVC
from slackwater.cli.console import RefusedError, note, one_line, say
from slackwater.cli.progress import shown
from slackwater.data_io import LabelledData
from slackwater.path import SVCCV

_CHOSEN = ("C", "gamma")
_OF_A_SINGLE_FIT = ("strategy", "max_iter", "max_kernel_evals", "early_stopping", "checkpoint")


class SearchOptions(NamedTuple):
    """What is searched, and how the choice is made."""

    Cs: list[float] | None
    gammas: list[float | str] | None
    folds: int
    selection: str


def values_of(option: str, text: str | None, names: tuple[str, ...] = ()) -> list[float | str] | None:
    """Numbers (or names) with commas between them."""
    if text is None:
        return None
    words = [word.strip() for word in text.split(",")]
    try:
        return [word if word in names else float(word) for word in words]
    except ValueError:
        allowed = ", ".join(("numbers", *names[:-1])) + (f" or {names[-1]}" if names else "")
        raise RefusedError(f"{option} must be {allowed} with commas between them, got {text!r}.") from None


def given_options(context: typer.Context) -> set[str]:
    """Names of the parameters that are in the command line, be it with the value that they have without."""
    # By name: which library's enumeration this is depends on the version of typer.
    sources = {name: context.get_parameter_source(name) for name in context.params}
    return {name for name, source in sources.items() if source is not None and source.name == "COMMANDLINE"}


def check_early(given: set[str], options: SearchOptions, cross_validation: int | None) -> None:
    """Refuse what a search cannot honour, before anything is read."""
    if cross_validation is not None:
        raise RefusedError("-v shows the accuracy of one setting, and --search compares many: leave one of them out.")
    for name in (*_CHOSEN, *_OF_A_SINGLE_FIT):
        if name in given:
            what = "is chosen by --search" if name in _CHOSEN else "is of a single fit, and --search makes many"
            raise RefusedError(f"--{name.replace('_', '-')} {what}: leave one of them out.")
    if options.folds < 2:
        raise RefusedError(f"--folds must be 2 or more, got {options.folds}.")


def search(estimator: SVC, options: SearchOptions, data: LabelledData, quiet: bool, as_json: bool) -> SVCCV:
    """A fitted search; its best model takes the place of the estimator."""
    shared = SVCCV().get_params().keys() & estimator.get_params().keys()
    found = SVCCV(
        options.Cs,
        options.gammas,
        cv=options.folds,
        selection=options.selection,
        **{name: getattr(estimator, name) for name in shared},
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            with shown("Searching", quiet=quiet or bool(estimator.verbose)) as update:
                found._progress = update
                found.fit(data.X, data.y)
        except ValueError as error:
            raise RefusedError(one_line(error)) from error
        except KeyboardInterrupt:
            if not hasattr(found, "best_estimator_"):  # else it is that of a final fit that has ended early
                if hasattr(found, "best_params_"):
                    n_scored = int(np.isfinite(found.cv_results_["mean_test_score"]).sum())
                    note(f"{n_scored} settings were scored until then: {_spelled(found)}.")
                raise
        finally:
            found._progress = None
    for text in dict.fromkeys(" ".join(str(warning.message).split()) for warning in caught):
        note(text)
    if not quiet and not as_json:
        say(_spelled(found))
    return found


def _spelled(found: SVCCV) -> str:
    chosen = ", ".join(f"{name} {value:.4g}" for name, value in (("C", found.C_), ("gamma", found.gamma_)) if value)
    return (
        f"{chosen} chosen of {len(found.cv_results_['params'])} settings by {found.n_splits_} folds: "
        f"accuracy {found.best_score_:.4f}, standard error {found.best_score_error_:.4f}"
    )


def as_dict(found: SVCCV) -> dict[str, object]:
    """The search for machines."""
    return {
        "C": found.C_,
        "gamma": found.gamma_,
        "accuracy": found.best_score_,
        "standard_error": found.best_score_error_,
        "settings": len(found.cv_results_["params"]),
        "folds": found.n_splits_,
        "seconds": found.search_time_,
    }
