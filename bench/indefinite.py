"""Indefinite kernels, trained as LIBSVM trains them: accuracy and seconds beside scikit-learn's SVC.

Run as ``python bench/indefinite.py [--quick]``. Half of the rows are for training. Several classes are trained one
against the rest on both sides. Times do not contain compilation.

Which stationary point is reached depends on the order of steps; LIBSVM's depends on the order of the rows. "permuted"
is the range of scikit-learn's accuracies over five other orders: where it is wide, no single number is LIBSVM's.
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any, NamedTuple

import numpy as np
import sklearn.svm
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine, make_classification, make_moons
from sklearn.model_selection import train_test_split
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import StandardScaler

import slackwater
from slackwater.errors import IndefiniteKernelWarning

PERMUTATIONS = 5


class Task(NamedTuple):
    data: str
    kernel: Any
    C: float
    gamma: Any = "scale"
    coef0: float = 0.0


def distance(A: Any, B: Any) -> Any:
    """-‖x - z‖: conditionally positive definite, and so without negative curvature where Σ α_i y_i = 0."""
    return -np.sqrt(((A[:, None, :] - B[None, :, :]) ** 2).sum(axis=2))


def truncated(A: Any, B: Any) -> Any:
    """max(0, 1 - ‖x - z‖²/d): indefinite in more than one dimension."""
    return np.maximum(0.0, 1.0 - ((A[:, None, :] - B[None, :, :]) ** 2).sum(axis=2) / A.shape[1])


TASKS = [
    *(Task("breast cancer", "sigmoid", C) for C in (0.1, 1.0, 10.0)),
    *(Task("breast cancer", "sigmoid", 1.0, coef0=coef0) for coef0 in (1.0, -1.0)),
    Task("breast cancer", "sigmoid", 1.0, gamma=0.2),
    *(Task("breast cancer, unscaled", "sigmoid", C) for C in (0.1, 1.0, 10.0)),
    *(Task("digits", "sigmoid", C) for C in (1.0, 10.0)),
    Task("digits", "sigmoid", 10.0, gamma=0.01),
    Task("digits", "sigmoid", 1.0, coef0=-1.0),
    *(Task("wine", "sigmoid", C) for C in (1.0, 10.0)),
    Task("wine", "sigmoid", 1.0, coef0=1.0),
    *(Task("iris", "sigmoid", C) for C in (1.0, 10.0)),
    Task("iris", "sigmoid", 1.0, coef0=-1.0),
    *(Task("moons", "sigmoid", C) for C in (0.1, 1.0, 10.0)),
    Task("moons", "sigmoid", 1.0, coef0=1.0),
    *(Task("classification", "sigmoid", C) for C in (0.1, 1.0, 10.0)),
    *(Task("classification", "sigmoid", 1.0, coef0=coef0) for coef0 in (1.0, -1.0)),
    Task("classification, 5,000", "sigmoid", 1.0),
    Task("breast cancer", "poly", 1.0, coef0=-0.5),
    Task("breast cancer", distance, 1.0),
    Task("breast cancer", truncated, 1.0),
    Task("moons", distance, 1.0),
]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="data of at most 600 rows only")
    options = parser.parse_args()
    warnings.simplefilter("ignore", IndefiniteKernelWarning)
    print(f"{'data':<24}{'kernel':<11}{'C':>5}{'gamma':>7}{'coef0':>7}", end="")
    print(
        f"{'accuracy':>10}{'sklearn':>9}{'permuted':>15}{'agree':>8}{'seconds':>9}{'sklearn':>9}{'SVs':>7}{'sklearn':>9}"
    )
    worst, outside = 0.0, 0.0
    for task in TASKS:
        X, X_test, y, y_test = data(task.data)
        if options.quick and len(X) > 300:
            continue
        difference, beyond = show(task, X, X_test, y, y_test)
        worst, outside = max(worst, difference), max(outside, beyond)
    print(f"largest difference: {worst:.2f} points; outside of scikit-learn's range: {outside:.2f} points")


def show(task: Task, X: Any, X_test: Any, y: Any, y_test: Any) -> tuple[float, float]:
    """One line; by how many points accuracies differ, and by how many ours is outside of scikit-learn's range."""
    settings = {"kernel": task.kernel, "C": task.C, "gamma": task.gamma, "coef0": task.coef0}
    ours = slackwater.SVC(**settings)
    theirs: Any = sklearn.svm.SVC(**settings)
    if len(np.unique(y)) > 2:
        theirs = OneVsRestClassifier(theirs)
    ours.fit(X, y)  # compiles
    seconds = [fit_seconds(model, X, y) for model in (ours, theirs)]
    predicted = [model.predict(X_test) for model in (ours, theirs)]
    accuracy = [100 * float(np.mean(each == y_test)) for each in predicted]
    agree = 100 * float(np.mean(predicted[0] == predicted[1]))
    others = [accuracy[1], *(permuted_accuracy(theirs, X, X_test, y, y_test, seed) for seed in range(PERMUTATIONS))]
    support = [len(ours.support_), support_size(theirs)]
    name = task.kernel if isinstance(task.kernel, str) else task.kernel.__name__
    print(f"{task.data:<24}{name:<11}{task.C:>5g}{task.gamma:>7}{task.coef0:>7g}", end="")
    print(f"{accuracy[0]:>10.2f}{accuracy[1]:>9.2f}{min(others):>8.2f}-{max(others):<6.2f}{agree:>8.1f}", end="")
    print(f"{seconds[0]:>9.3f}{seconds[1]:>9.3f}{support[0]:>7}{support[1]:>9}  {ours.stop_reason_}")
    beyond = max(accuracy[0] - max(others), min(others) - accuracy[0], 0.0)
    return abs(accuracy[0] - accuracy[1]), beyond


def permuted_accuracy(model: Any, X: Any, X_test: Any, y: Any, y_test: Any, seed: int) -> float:
    """In percent, trained on the same rows in another order."""
    order = np.random.default_rng(seed).permutation(len(X))
    return 100 * float(clone(model).fit(X[order], y[order]).score(X_test, y_test))


def fit_seconds(model: Any, X: Any, y: Any) -> float:
    start = time.perf_counter()
    model.fit(X, y)
    return time.perf_counter() - start


def support_size(model: Any) -> int:
    models = getattr(model, "estimators_", [model])
    return len(np.unique(np.concatenate([each.support_ for each in models])))


def data(name: str) -> Any:
    """Training and test part; standardised unless the name says otherwise."""
    loaders = {
        "breast cancer": lambda: load_breast_cancer(return_X_y=True),
        "digits": lambda: load_digits(return_X_y=True),
        "wine": lambda: load_wine(return_X_y=True),
        "iris": lambda: load_iris(return_X_y=True),
        "moons": lambda: make_moons(1000, noise=0.2, random_state=0),
        "classification": lambda: make_classification(2000, random_state=0),
        "classification, 5,000": lambda: make_classification(10_000, random_state=0),
    }
    plain = name.removesuffix(", unscaled")
    X, y = loaders[plain]()
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.5, random_state=0, stratify=y)
    if plain == name:
        scaler = StandardScaler().fit(X)
        X, X_test = scaler.transform(X), scaler.transform(X_test)
    return X, X_test, y, y_test


if __name__ == "__main__":
    main()
