"""Ill-conditioned linear and polynomial data: slackwater.SVC beside scikit-learn's SVC, time and objective.

    python bench/conditioning.py [--cases NAME ...] [--limit 60] [--repeats 1] [--out results/conditioning.csv]

Features far from the origin, of very different scales, or fewer than it takes to tell examples apart; kernel values of
up to 1e14 beside differences of one. Each fit runs in a process of its own, after one of few examples that loads its
libraries, and is ended after ``--limit`` seconds. Times are of the processor, all threads together, so that other work
on the machine does not count. Objectives are sums over the binary problems of a fit, computed here
in double precision from the model's coefficients, for both sides alike. "worse" is by how much slackwater's primal
objective is above scikit-learn's, relative to it; a line is marked SLOW where slackwater takes twice as long and 50 ms
more, WORSE where its primal objective is above by 1 % and by 1e-3 C, what the tolerance of both allows an example.
``--folder`` has the data sets of the cases called raw as .npz files (train_x, train_y, test_x, test_y).
"""

from __future__ import annotations

import argparse
import csv
import json
import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Data = tuple[Any, Any, Any, Any]
SETS = ("htru2", "kin8nm", "ailerons", "calhousing", "creditdefault", "drybean", "pol", "waveform")
SET_ROWS = 2000


def halves(X: Any, y: Any, seed: int = 0) -> Data:
    """Two thirds to train on, the rest to test with."""
    order = np.random.default_rng(seed).permutation(len(y))
    cut = 2 * len(y) // 3
    return X[order[:cut]], y[order[:cut]], X[order[cut:]], y[order[cut:]]


def far(labels: str) -> Callable[[], Data]:
    """A hundred points a hundred deviations from the origin, with labels at random or by a line through their mean."""

    def make() -> Data:
        rng = np.random.default_rng(0)
        X, X_test = rng.normal(100, 1, (100, 2)), rng.normal(100, 1, (100, 2))
        if labels == "separable":
            y, y_test = ((part[:, 0] + 0.5 * part[:, 1] > 150.0).astype(int) for part in (X, X_test))
            return X, y, X_test, y_test
        return X, rng.integers(2, size=100), X_test, rng.integers(2, size=100)

    return make


def bundled(name: str) -> Callable[[], Data]:
    def make() -> Data:
        import sklearn.datasets

        return halves(*getattr(sklearn.datasets, f"load_{name}")(return_X_y=True))

    return make


def ten_blobs() -> Data:
    from sklearn.datasets import make_blobs

    return halves(*make_blobs(1500, centers=10, random_state=0))


def many_scales() -> Data:
    """Eight features with deviations from 1e-3 to 1e4, each as telling as the others."""
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((900, 8))
    y = (Z.sum(axis=1) + rng.standard_normal(900) > 0.0).astype(int)
    return halves(Z * np.logspace(-3, 4, 8), y)


def plane(n: int) -> Callable[[], Data]:
    """Two features, many examples: a kernel matrix of rank two."""

    def make() -> Data:
        rng = np.random.default_rng(0)
        X = rng.standard_normal((3 * n // 2, 2))
        return halves(X, (X[:, 0] + rng.standard_normal(len(X)) > 0.0).astype(int))

    return make


def near_copies() -> Data:
    """Thirty places with thirty points each, 1e-7 apart; one label in ten wrong."""
    rng = np.random.default_rng(0)
    places = rng.standard_normal((30, 4))
    which = rng.integers(30, size=900)
    y = (places[which, 0] > 0.0) ^ (rng.random(900) < 0.1)
    return halves(places[which] + 1e-7 * rng.standard_normal((900, 4)), y.astype(int))


def from_file(path: Path) -> Data:
    """Some rows as they are, not standardised."""
    data = np.load(path)
    order = np.random.default_rng(0).permutation(len(data["train_y"]))[:SET_ROWS]
    X, X_test = data["train_x"][order].astype(np.float64), data["test_x"][:SET_ROWS].astype(np.float64)
    return X, data["train_y"][order], X_test, data["test_y"][:SET_ROWS]


def cases(folder: Path) -> dict[str, tuple[Callable[[], Data], dict[str, Any]]]:
    """What makes the data of each case, and the parameters of both estimators."""
    linear, poly = {"kernel": "linear"}, {"kernel": "poly"}
    found: dict[str, tuple[Callable[[], Data], dict[str, Any]]] = {}
    for labels in ("random", "separable"):
        found[f"far {labels} linear"] = far(labels), linear
        for degree in (2, 3, 5):
            for coef0 in (0.0, 1.0):
                for gamma in ("scale", "auto", 1.0):
                    name = f"far {labels} poly {degree} {coef0:g} {gamma}"
                    found[name] = far(labels), poly | {"degree": degree, "coef0": coef0, "gamma": gamma}
    for C in (1.0, 100.0, 1e4):
        found[f"digits linear C={C:g}"] = bundled("digits"), linear | {"C": C}
        found[f"digits linear ovr C={C:g}"] = bundled("digits"), linear | {"C": C, "multi_class": "ovr"}
    for name in ("breast_cancer", "wine", "iris"):
        found[f"{name} linear"] = bundled(name), linear
        found[f"{name} linear C=100"] = bundled(name), linear | {"C": 100.0}
        found[f"{name} poly 3"] = bundled(name), poly
        found[f"{name} poly 5 auto"] = bundled(name), poly | {"degree": 5, "gamma": "auto"}
    found["blobs linear"] = ten_blobs, linear
    found["blobs linear ovr"] = ten_blobs, linear | {"multi_class": "ovr"}
    found["blobs poly 3 ovr"] = ten_blobs, poly | {"multi_class": "ovr"}
    found["scales linear"], found["scales poly 3"] = (many_scales, linear), (many_scales, poly)
    found["scales poly 2 auto"] = many_scales, poly | {"degree": 2, "gamma": "auto"}
    found["plane linear"], found["plane linear C=1000"] = (plane(2000), linear), (plane(2000), linear | {"C": 1e3})
    found["plane poly 3"] = plane(2000), poly
    found["copies linear"], found["copies linear C=1000"] = (near_copies, linear), (near_copies, linear | {"C": 1e3})
    found["copies poly 3"] = near_copies, poly
    for name in SETS:
        if (path := folder / f"{name}.npz").exists():
            found[f"{name} raw linear"] = lambda path=path: from_file(path), linear
            found[f"{name} raw poly 3"] = lambda path=path: from_file(path), poly
    return found


def estimator(by: str, parameters: dict[str, Any]) -> Any:
    if by == "slackwater":
        from slackwater import SVC

        return SVC(**parameters)
    import sklearn.svm
    from sklearn.multiclass import OneVsRestClassifier

    against_rest = parameters.get("multi_class") == "ovr"
    model = sklearn.svm.SVC(**{name: value for name, value in parameters.items() if name != "multi_class"})
    return OneVsRestClassifier(model) if against_rest else model


def kernel_values(X: Any, parameters: dict[str, Any]) -> NDArray[np.float64]:
    from sklearn.metrics.pairwise import linear_kernel, polynomial_kernel

    if parameters["kernel"] == "linear":
        return np.asarray(linear_kernel(X))
    gamma = parameters.get("gamma", "scale")
    if isinstance(gamma, str):
        gamma = 1.0 / (X.shape[1] * (X.var() if gamma == "scale" else 1.0))
    return np.asarray(
        polynomial_kernel(X, degree=parameters.get("degree", 3), gamma=gamma, coef0=parameters.get("coef0", 0.0))
    )


def binary_problems(model: Any, y: Any) -> Any:
    """Of each binary problem its examples, labels ±1, signed coefficients and bias."""
    n, classes = len(y), np.unique(y)
    if hasattr(model, "estimators_"):
        for c, each in zip(classes, model.estimators_, strict=True):
            beta = np.zeros(n)
            beta[each.support_] = each.dual_coef_[0]
            yield np.arange(n), np.where(y == c, 1.0, -1.0), beta, each.intercept_[0]
        return
    dense = np.zeros((len(model.dual_coef_), n))
    dense[:, model.support_] = model.dual_coef_
    if len(classes) == 2:
        yield np.arange(n), np.where(y == classes[1], 1.0, -1.0), dense[0], model.intercept_[0]
    elif len(model.dual_coef_) == len(classes):
        for k, c in enumerate(classes):
            yield np.arange(n), np.where(y == c, 1.0, -1.0), dense[k], model.intercept_[k]
    else:
        for number, (a, b) in enumerate(combinations(range(len(classes)), 2)):
            rows = np.flatnonzero((y == classes[a]) | (y == classes[b]))
            first = y[rows] == classes[a]
            beta = np.where(first, dense[b - 1, rows], dense[a, rows])
            yield rows, np.where(first, 1.0, -1.0), beta, model.intercept_[number]


def objectives(model: Any, X: Any, y: Any, parameters: dict[str, Any]) -> tuple[float, float]:
    """Primal and dual objective, summed over the binary problems."""
    K, C = kernel_values(X, parameters), parameters.get("C", 1.0)
    primal = dual = 0.0
    for rows, labels, beta, bias in binary_problems(model, y):
        support = np.flatnonzero(beta)
        responses = K[np.ix_(rows, rows[support])] @ beta[support]
        squared = float(beta[support] @ responses[support])
        primal += 0.5 * squared + C * float(np.maximum(0.0, 1.0 - labels * (responses + bias)).sum())
        dual += float(np.abs(beta).sum()) - 0.5 * squared
    return primal, dual


def run_one(name: str, by: str, folder: Path, repeats: int) -> dict[str, Any]:
    """One contestant on one case."""
    make, parameters = cases(folder)[name]
    X, y, X_test, y_test = make()
    rng = np.random.default_rng(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        several = {"multi_class": "ovr"} if "multi_class" in parameters else {}
        few = rng.standard_normal((60, 3))
        for classes in (2, 3):
            estimator(by, {"kernel": parameters["kernel"], **several}).fit(few, np.arange(60) % classes).predict(few)
    seconds = []
    for _ in range(repeats):
        model = estimator(by, parameters)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            start = time.process_time()
            model.fit(X, y)
            seconds.append(time.process_time() - start)
    primal, dual = objectives(model, X, y, parameters)
    return {
        "seconds": statistics.median(seconds),
        "train": model.score(X, y),
        "test": model.score(X_test, y_test),
        "primal": primal,
        "dual": dual,
        "stop": str(getattr(model, "stop_reason_", "")),
        "strategy": str(getattr(model, "strategy_", "")),
        "warnings": " | ".join(str(each.message) for each in caught),
    }


def in_process(name: str, by: str, options: argparse.Namespace) -> dict[str, Any]:
    """The same in a process of its own; no entries but the time where it does not end."""
    command = [sys.executable, __file__, "--one", name, by, "--folder", str(options.folder)]
    command += ["--repeats", str(options.repeats)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=options.limit + 20.0, check=True)
    except subprocess.TimeoutExpired:
        return {"seconds": float(options.limit), "stop": "ended"}
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def line(name: str, cost: float, ours: dict[str, Any], theirs: dict[str, Any]) -> dict[str, Any]:
    """Both sides; ``cost`` is C, and a loss of 1e-3 what the tolerance of both allows an example."""
    row: dict[str, Any] = {"case": name}
    for by, found in (("slackwater", ours), ("sklearn", theirs)):
        row |= {f"{by}_{key}": value for key, value in found.items()}
    marks = []
    if ours["seconds"] > 2.0 * theirs["seconds"] + 0.05:
        marks.append("SLOW")
    if "primal" in ours and "primal" in theirs:
        row["worse"] = (ours["primal"] - theirs["primal"]) / max(theirs["primal"], 1e-300)
        if ours["primal"] > 1.01 * theirs["primal"] + 1e-3 * cost:
            marks.append("WORSE")
    row["mark"] = " ".join(marks)
    return row


def show(row: dict[str, Any]) -> None:
    def value(by: str, key: str, form: str) -> str:
        found = row.get(f"{by}_{key}")
        return format(found, form) if found is not None else "-"

    both = [
        f"{value('slackwater', key, form):>9s} {value('sklearn', key, form):>9s}"
        for key, form in (("seconds", ".3f"), ("train", ".3f"), ("test", ".3f"), ("primal", ".5g"), ("dual", ".5g"))
    ]
    print(
        f"{row['case']:32s} {' |'.join(both)} | {row.get('worse', np.nan):8.1e} {row['slackwater_stop']:8s}"
        f" {row['mark']:10s} {row.get('slackwater_warnings', '')[:90]}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", nargs="+", help="those whose names begin with one of these")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds of a process")
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--folder", type=Path, default=Path("../shared/data/sets"))
    parser.add_argument("--out", type=Path, default=Path("results/conditioning.csv"))
    parser.add_argument("--one", nargs=2, metavar=("CASE", "BY"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(run_one(*options.one, options.folder, options.repeats)))
        return
    every = cases(options.folder)
    chosen = [name for name in every if not options.cases or name.startswith(tuple(options.cases))]
    rows = []
    for name in chosen:
        cost = every[name][1].get("C", 1.0)
        rows.append(line(name, cost, *(in_process(name, by, options) for by in ("slackwater", "sklearn"))))
        show(rows[-1])
    options.out.parent.mkdir(parents=True, exist_ok=True)
    with options.out.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(dict.fromkeys(key for row in rows for key in row)))
        writer.writeheader()
        writer.writerows(rows)
    slow, worse = (sum(mark in row["mark"] for row in rows) for mark in ("SLOW", "WORSE"))
    print(f"{len(rows)} cases: {slow} SLOW, {worse} WORSE")


if __name__ == "__main__":
    main()
