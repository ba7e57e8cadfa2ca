"""What a user does first, by the installed package alone: train, look, save, load. Printed last: ``ok``."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import slackwater
from slackwater import SVC, SBPClassifier
from slackwater.water import level

assert "site-packages" in slackwater.__file__, slackwater.__file__
X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X / 16, y, random_state=0)
model = SVC(C=10).fit(X_train, y_train)
assert model.score(X_test, y_test) > 0.98
assert model.certified_
assert SBPClassifier(nu=0.01, tol=0.3).fit(X_train, y_train == 8).score(X_test, y_test == 8) > 0.95
assert level(np.array([0.0, 1.0, 5.0]), 3.0) == 2.0
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "digits.npz"
    model.save(path)
    assert (slackwater.load(path).predict(X_test) == model.predict(X_test)).all()
    if "--command" in sys.argv:
        model.to_libsvm(Path(folder) / "digits.model")
        told = subprocess.run(
            [Path(sys.executable).parent / "slackwater", "info", path], check=True, capture_output=True, text=True
        )
        assert "SVC" in told.stdout, told.stdout
print("ok", slackwater.__version__)
