"""A process that is killed loses nothing but the time since its last checkpoint."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from sklearn.datasets import make_moons
from sklearn.metrics.pairwise import rbf_kernel

from slackwater import SBPClassifier

SCRIPT = """
import sys, warnings
from sklearn.datasets import make_moons
from sklearn.metrics.pairwise import rbf_kernel
from slackwater import SBPClassifier
from slackwater.fitting import train
train.SECONDS_BETWEEN_CHECKPOINTS = 0.2
X, y = make_moons(200, noise=0.2, random_state=0)
K = rbf_kernel(X, gamma=1.0)
SBPClassifier(0.01, kernel="precomputed", tol=0.0, max_iter=10**9, checkpoint=sys.argv[1], random_state=0).fit(K, y)
"""


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_killed_run_resumes_to_the_model_of_an_undisturbed_one(tmp_path):
    path = tmp_path / "run.ckpt"
    process = subprocess.Popen([sys.executable, "-c", SCRIPT, str(path)])
    deadline = time.monotonic() + 60
    while not path.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(0.3)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    X, y = make_moons(200, noise=0.2, random_state=0)
    K = rbf_kernel(X, gamma=1.0)
    settings = {"kernel": "precomputed", "tol": 0.0, "random_state": 0}
    reached = SBPClassifier(0.01, max_iter=1, checkpoint=path, **settings).fit(K, y).n_iter_
    assert reached > 1
    resumed = SBPClassifier(0.01, max_iter=reached + 500, checkpoint=path, **settings).fit(K, y)
    whole = SBPClassifier(0.01, max_iter=reached + 500, **settings).fit(K, y)
    np.testing.assert_array_equal(resumed.dual_coef_, whole.dual_coef_)
