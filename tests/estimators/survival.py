"""Fits with a checkpoint, killed at random moments and resumed: python survival.py CASE KILLS SEED FOLDER."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.datasets import make_classification, make_moons

sys.path.insert(0, str(Path(__file__).parent.parent))

from fitting_problems import DATA, svc
from slackwater import SBPClassifier
from slackwater.baselines import SDCAClassifier, SMOClassifier
from slackwater.fitting import journal

# So small a fit is over in seconds: states are kept after little work, and written whenever they are kept.
journal.SECONDS_BETWEEN_CHECKPOINTS = journal.SECONDS_BETWEEN_STAGES = 0.0
journal.WORK_BETWEEN_STATES = 2**24


def _strategy(name: str):
    make, strategy = DATA[name]
    X, y, parameters = make()
    return svc(strategy=strategy, n_jobs=2, **parameters), X, y


def _pairs():
    X, y = make_classification(9000, 20, n_informative=10, n_classes=3, flip_y=0.05, random_state=0)
    return svc(n_jobs=2, C=10.0), X, y


def _stated(name: str):
    """Double precision, whose products depend on the block they are computed in."""
    X, y, parameters = DATA[name][0](4000)
    return svc(strategy="exact", tol=1e-6, n_jobs=2, **parameters), X.astype(np.float64), y


def _single(estimator):
    return estimator, *make_moons(2000, noise=0.2, random_state=0)


CASES = {
    **{name: lambda name=name: _strategy(name) for name in DATA},
    "pairs": _pairs,
    "stated": lambda: _stated("detailed"),
    "sbp": lambda: _single(SBPClassifier(0.01, tol=0.0, max_iter=6000, random_state=0)),
    "smo": lambda: _single(SMOClassifier(C=100.0, tol=1e-5, random_state=0)),
    "sdca": lambda: _single(SDCAClassifier(tol=0.0, max_iter=20000, random_state=0)),
}


def fit(case: str, path: Path, out: Path) -> None:
    estimator, X, y = CASES[case]()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = estimator.set_params(checkpoint=path).fit(X, y)
    np.savez(out, dual_coef=model.dual_coef_, intercept=model.intercept_, support=model.support_)


def child(case: str, path: Path, out: Path) -> int:
    """A process that fits; forked, so that kills hit the fit and not the imports."""
    process = os.fork()
    if process == 0:
        fit(case, path, out)
        os._exit(0)
    return process


def waited(process: int, seconds: float) -> int | None:
    """How a process ended; None if it has not within that time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found, status = os.waitpid(process, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.002)
    return None


def same(first: Path, second: Path) -> bool:
    with np.load(first) as a, np.load(second) as b:
        return all(np.array_equal(a[name], b[name]) for name in a)


def survive(case: str, kills: int, seed: int, folder: Path) -> dict[str, int]:
    """Kill a fit so many times at random moments, letting it resume; compare whatever it comes to."""
    rng, killed, compared, start = np.random.default_rng(seed), 0, 0, time.monotonic()
    for name in ("warm", "undisturbed"):  # the first loads compiled loops from disk
        start = time.monotonic()
        assert waited(child(case, folder / name, folder / f"{name}.npz"), 300) == 0
    whole, trial = time.monotonic() - start, 0
    while killed < kills or compared == 0:
        path, out = folder / f"trial{trial}", folder / f"trial{trial}.npz"
        process = child(case, path, out)
        ended = waited(process, rng.uniform(0, whole) if killed < kills else 300)
        if ended is None:
            os.kill(process, signal.SIGKILL)
            ended = waited(process, 60)  # it may have come to its end the moment before
        if ended == -signal.SIGKILL:
            killed += 1
            continue
        assert ended == 0, ended
        assert same(out, folder / "undisturbed.npz"), f"another model after {killed} kills"
        compared, trial = compared + 1, trial + 1
    return {"killed": killed, "compared": compared}


if __name__ == "__main__":
    print(json.dumps(survive(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4]))))
