"""LIBSVM, twice: Debian's ``svm-train`` and the copy inside scikit-learn. Both are ended when their time is up."""

from __future__ import annotations

import multiprocessing
import shutil
import subprocess
import tempfile
import time
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from slackwater.datasets import Dataset

from sbp_paper.experiments.data import Selection
from sbp_paper.experiments.training import error_of

NOT_INSTALLED = "svm-train is not installed here (apt-get install libsvm-tools)."
_TIME_UP = "It was ended when its time was up."


class Measured(NamedTuple):
    """What became of a run; None where there is nothing to tell."""

    seconds: float | None
    test_error: float | None
    support: int | None
    remark: str


def svm_train(data: Dataset, C: float, gamma: float, cache_mb: int, budget: float) -> Measured:
    """The program, with all options but kernel, C and cache as they come. Reading the file is part of its time."""
    trainer, predictor = shutil.which("svm-train"), shutil.which("svm-predict")
    if trainer is None or predictor is None:
        return Measured(None, None, None, NOT_INSTALLED)
    with tempfile.TemporaryDirectory() as folder:
        train, test, model, labels = (Path(folder) / name for name in ("train", "test", "model", "labels"))
        _write(data.X_train, data.y_train, train)
        _write(data.X_test, data.y_test, test)
        options = ["-s", "0", "-t", "2", "-g", repr(gamma), "-c", repr(C), "-m", str(cache_mb), "-q"]
        began = time.perf_counter()
        try:
            _call([trainer, *options, str(train), str(model)], budget)
        except subprocess.TimeoutExpired:
            return Measured(None, None, None, _TIME_UP)
        seconds = time.perf_counter() - began
        _call([predictor, "-q", str(test), str(model), str(labels)], None)
        error = float(np.mean(np.loadtxt(labels, dtype=np.int64) != data.y_test))
        return Measured(seconds, error, _support_in(model), "Its time includes reading the training file.")


def sklearn_svc(rows: Selection, C: float, gamma: float, cache_mb: int, budget: float) -> Measured:
    """``sklearn.svm.SVC`` in a process of its own, which reads the data before the clock starts."""
    context = multiprocessing.get_context("spawn")  # nothing of this process' threads and compiled code
    mine, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_fit_sklearn, args=(rows, C, gamma, cache_mb, theirs))
    process.start()
    theirs.close()
    try:
        mine.recv()  # it begins to train
        if not mine.poll(budget):
            return Measured(None, None, None, _TIME_UP)
        seconds = mine.recv()
        error, support = mine.recv()
        return Measured(seconds, error, support, "")
    except EOFError as error:
        process.join()
        raise RuntimeError(f"scikit-learn's SVC ended with code {process.exitcode} before it was done") from error
    finally:
        process.kill()
        process.join()
        mine.close()


def _fit_sklearn(rows: Selection, C: float, gamma: float, cache_mb: int, connection: Connection) -> None:
    """In the other process: say when training begins, how long it took, what came of it."""
    from sklearn.svm import SVC

    data = rows.load()
    model = SVC(C=C, gamma=gamma, cache_size=cache_mb)
    connection.send("training")
    began = time.perf_counter()
    model.fit(data.X_train, data.y_train)
    connection.send(time.perf_counter() - began)
    connection.send((error_of(model, data), len(model.support_)))


def _write(X: Any, y: Any, path: Path) -> None:
    from sklearn.datasets import dump_svmlight_file

    dump_svmlight_file(X, y, str(path), zero_based=False)


def _call(command: list[str], budget: float | None) -> None:
    """Run a program, which is killed when the budget is over; what it complains of becomes the error."""
    try:
        subprocess.run(command, check=True, timeout=budget, capture_output=True, text=True)
    except subprocess.CalledProcessError as error:
        raise RuntimeError(f"{Path(command[0]).name} failed: {error.stderr.strip() or error.stdout.strip()}") from error


def _support_in(model: Path) -> int:
    with model.open() as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith("total_sv"))
