"""-v of slackwater train: accuracy of k folds."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold

from slackwater import SVC
from slackwater.cli.console import RefusedError, note, one_line, say, say_json
from slackwater.cli.progress import shown
from slackwater.data_io import LabelledData
from slackwater.evaluation import wilson_interval


def cross_validate(estimator: SVC, data: LabelledData, folds: int, quiet: bool, as_json: bool) -> None:
    """Print the share of examples that are classified correctly by a model that was not trained on them."""
    assert data.y is not None
    if estimator.checkpoint is not None:
        raise RefusedError("--checkpoint keeps one fit, and -v makes several: leave one of them out.")
    _require_enough(data, folds)
    seed = 0 if estimator.random_state is None else estimator.random_state
    correct = 0
    with (
        shown(f"Cross-validation, {folds} folds", quiet=quiet) as update,
        warnings.catch_warnings(record=True) as caught,
    ):
        warnings.simplefilter("always")
        parts = StratifiedKFold(folds, shuffle=True, random_state=seed).split(np.zeros(len(data.y)), data.y)
        for done, (train, test) in enumerate(parts, 1):
            try:
                model = clone(estimator).fit(data.X[train], data.y[train])
            except ValueError as error:
                raise RefusedError(one_line(error)) from error
            correct += int(np.sum(model.predict(data.X[test]) == data.y[test]))
            update(done, folds)
    for text in dict.fromkeys(" ".join(str(warning.message).split()) for warning in caught):
        note(text)
    n = len(data.y)
    low, high = wilson_interval(correct, n)
    if as_json:
        say_json({"folds": folds, "accuracy": correct / n, "interval": [low, high], "correct": correct, "n": n})
    else:
        say(f"Cross Validation Accuracy = {100 * correct / n:.6g}% (95 % interval {low:.2%} to {high:.2%})")


def _require_enough(data: LabelledData, folds: int) -> None:
    assert data.y is not None
    _, counts = np.unique(data.y, return_counts=True)
    if counts.min() < folds:
        raise RefusedError(
            f"-v must be at most {counts.min()}, the number of examples of the rarest class, got {folds}."
        )
