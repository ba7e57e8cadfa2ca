"""Our SVC in scikit-learn's meta-estimators: whatever theirs can do, ours does, with about the same result."""

from __future__ import annotations

import warnings

import matplotlib
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn import svm
from sklearn.datasets import make_classification

from peers.uses import DENSE, EVERYWHERE, FRAMES, TWO_CLASSES, Share
from slackwater import SVC

matplotlib.use("Agg")


def some(n_classes):
    return make_classification(
        120, 6, n_informative=4, n_redundant=0, n_classes=n_classes, class_sep=1.2, random_state=3
    )


def strings():
    X, y = some(3)
    return X, np.array(["low", "mid", "top"])[y]


def sparse_rows():
    X, y = some(3)
    return sparse.csr_matrix(np.where(np.abs(X) < 0.3, 0.0, X)), y


def frame():
    X, y = some(2)
    return pd.DataFrame(X, columns=[f"x{i}" for i in range(6)]), pd.Series(np.array(["no", "yes"])[y])


DATA = {
    "two classes": (lambda: some(2), EVERYWHERE | DENSE | TWO_CLASSES),
    "three classes": (lambda: some(3), EVERYWHERE | DENSE),
    "strings": (strings, EVERYWHERE),
    "sparse": (sparse_rows, EVERYWHERE),
    "frame": (frame, EVERYWHERE | DENSE | TWO_CLASSES | FRAMES),
}
COMBINATIONS = [pytest.param(kind, use, id=f"{kind}, {use}") for kind, (_, uses) in DATA.items() for use in uses]


def agree(ours, theirs):
    """As many labels right, nearly all of them the same, or numbers within what two solvers may differ by."""
    if isinstance(theirs, Share):
        return ours >= theirs - 0.03
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    assert ours.shape == theirs.shape
    if ours.dtype.kind in "OUSib":
        return np.mean(ours == theirs) >= 0.95
    return np.mean(np.abs(ours - theirs)) <= 0.05


def outcome(use, SVC, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # of theirs: probability is deprecated there
        try:
            return use(SVC, X, y)
        except Exception as error:
            return error


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "use"), COMBINATIONS)
def test_what_theirs_can_do_ours_does(kind, use):
    make, uses = DATA[kind]
    theirs = outcome(uses[use], svm.SVC, *make())
    ours = outcome(uses[use], SVC, *make())
    if isinstance(theirs, Exception):
        pytest.skip(f"theirs cannot: {theirs!r}")
    if isinstance(ours, Exception):
        raise ours
    assert agree(ours, theirs)
