"""--search of slackwater train: C and gamma by cross-validation."""

from __future__ import annotations

import warnings
from typing import NamedTuple

from slackwater import SVC
from slackwater.cli.console import RefusedError, note, one_line, say
from slackwater.cli.progress import shown
from slackwater.data_io import LabelledData
from slackwater.path import SVCCV

# What a search leaves no room for, and the value that means "not given".
_CHOSEN_OR_SINGLE = {
    "C": 1.0,
    "gamma": "scale",
    "strategy": "auto",
    "max_iter": 10_000,
    "max_kernel_evals": None,
    "early_stopping": False,
    "checkpoint": None,
}


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
        raise RefusedError(f"{option} must be numbers with commas between them, got {text!r}.") from None


def check_early(estimator: SVC, options: SearchOptions, cross_validation: int | None) -> None:
    """Refuse what a search cannot honour, before anything is read."""
    if cross_validation is not None:
        raise RefusedError("-v shows the accuracy of one setting, and --search compares many: leave one of them out.")
    for name, absent in _CHOSEN_OR_SINGLE.items():
        if getattr(estimator, name) != absent:
            what = "is chosen by --search" if name in ("C", "gamma") else "is of a single fit, and --search makes many"
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
