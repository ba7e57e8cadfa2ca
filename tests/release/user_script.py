"""A user's script for ``mypy --strict``: the types of the public API as they are seen from outside."""

from __future__ import annotations

from pathlib import Path
from typing import assert_type

import numpy as np
from numpy.typing import NDArray

import slackwater
from slackwater import SVC, SBPClassifier, load
from slackwater.baselines import PegasosClassifier
from slackwater.callbacks import Moment
from slackwater.data_io import LabelledData, read_data
from slackwater.path import SVCCV, SVMPath, svm_path
from slackwater.water import level, level_and_bias

X: NDArray[np.float64] = np.array([[0.0], [1.0], [2.0], [3.0]])
y = ["low", "low", "high", "high"]


def stop_early(moment: Moment) -> bool:
    return moment.step >= 10 and moment.seconds > 1.0


model = assert_type(SVC(C=10.0, gamma="auto").fit(X, y), SVC)
paper = assert_type(SBPClassifier(nu=0.01, callback=stop_early).fit(X, y), SBPClassifier)
assert_type(PegasosClassifier(alpha=0.1).fit(X, y), PegasosClassifier)
assert_type(model.decision_function(X), NDArray[np.float64])
assert_type(model.save("model.npz"), None)
assert_type(level(np.array([0.0, 1.0]), 1.0), float)
assert_type(level_and_bias(np.array([0.0, 1.0]), np.array([1, -1]), 1.0), tuple[float, float])
assert_type(slackwater.__version__, str)
front = assert_type(svm_path(X, y, Cs=[0.1, 1.0]), SVMPath)
assert_type(front.at(1.0), SVC)
assert_type(SVCCV(Cs=[1.0], gammas=[0.5], cv=2).fit(X, y), SVCCV)
Path("rows.svm").write_text("1 1:0.5\n2 1:1.5\n")
assert_type(read_data("rows.svm"), LabelledData)
again = load("model.npz")
print(model.stop_reason_, paper.history_["gap"][-1], again.predict(X))
