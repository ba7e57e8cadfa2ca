"""The paper's data sets: what training on them must reach, and at what cost in memory."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from slackwater.datasets import available, load_dataset

COUNTS = {  # rows, positives: training part, test part; features
    "adult": (32561, 7841, 16281, 3846, 123),
    "reuters": (7770, 538, 3299, 179, 8315),
    "mnist": (60000, 5851, 10000, 974, 784),
    "forest": (522910, 254922, 58102, 28379, 54),
}

TRAIN = """
import resource, sys, warnings
import numpy as np
from slackwater import SBPClassifier
from slackwater.datasets import load_dataset
warnings.simplefilter("ignore")
name, nu, gamma, steps = sys.argv[1], float(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4])
data = load_dataset(name)
model = SBPClassifier(nu, gamma=gamma, max_iter=steps, tol=0.0, random_state=0).fit(data.X_train, data.y_train)
error = np.mean(model.predict(data.X_test) != data.y_test)
print(error, model.n_iter_, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
"""


def needs(name):
    return pytest.mark.skipif(not available(name), reason=f"no copy of {name} on this machine")


@pytest.mark.data
@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[needs(n)] + [pytest.mark.slow] * (n == "forest")) for n in COUNTS]
)
def test_the_data_are_those_of_the_paper(name):
    data = load_dataset(name)
    found = (
        len(data.y_train),
        int((data.y_train > 0).sum()),
        len(data.y_test),
        int((data.y_test > 0).sum()),
        data.X_train.shape[1],
    )
    assert found == COUNTS[name]
    assert data.X_train.dtype == np.float32


@pytest.mark.data
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "nu", "gamma", "steps", "most_error"),
    [
        pytest.param("mnist", 2.21e-4, 0.02, 20_000, 0.0065, marks=needs("mnist")),
        pytest.param("adult", 1.10e-2, 0.05, 20_000, 0.153, marks=needs("adult")),
    ],
)
def test_exact_single_steps_reach_the_error_of_the_optimum(name, nu, gamma, steps, most_error):
    arguments = [sys.executable, "-c", TRAIN, name, str(nu), str(gamma), str(steps)]
    printed = subprocess.run(arguments, capture_output=True, text=True, check=True).stdout
    error, made, peak_bytes = map(float, printed.split())
    assert error <= most_error
    assert made <= steps
    assert peak_bytes < 3e9
