"""The Pareto front of norm against hinge loss: SVMs for many values of C at little more than the price of one."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slackwater.deadline import Clock, Deadline
from slackwater.estimators.parameters import is_real, is_whole
from slackwater.estimators.svc import SVC
from slackwater.path.by_nu import cs_of_nus
from slackwater.path.grid import range_of_c
from slackwater.path.points import FrontPoint
from slackwater.path.preparation import Preparation, prepared, rising
from slackwater.path.solving import solved

_C_MEANING = "C is what a unit of hinge loss costs."
_NU_MEANING = "nu is the average hinge loss divided by the norm of w."
_CLOSE = 1e-9  # relative: a C that is meant to be one of the path's


class FittedModels:
    """Estimators, made when they are asked for: each holds a copy of its support vectors."""

    def __init__(self, make: Sequence[Callable[[], SVC]]) -> None:
        self._make: Sequence[Callable[[], SVC]] = make
        self._made: dict[int, SVC] = {}

    def __getitem__(self, number: int) -> SVC:
        if number not in self._made:
            self._made[number] = self._make[number]()
        return self._made[number]

    def __getstate__(self) -> dict[str, Any]:
        made = {number: self[number] for number in range(len(self._make))} if self._make else self._made
        return {"_make": (), "_made": made}


@dataclass(frozen=True)
class SVMPath:
    """The optima of ½ ‖w‖² + C Σ hinge for rising C: no norm on the front is smaller without more loss.

    Attributes
    ----------
    C, nu : ndarray of shape (n_points,)
        The parameter of the C-form, and that of the paper's slack-constrained form with the same solution:
        ``nu`` = ``loss`` / ``norm``; inf where the function is flat, nan where it is flat and has no loss.
    norm, loss : ndarray of shape (n_points,)
        The two criteria: ‖w‖, and the average hinge loss.
    objective, bound, gap : ndarray of shape (n_points,)
        Primal and dual objective, and (primal - dual) / primal.
    certified : ndarray of bool
        Whether ``gap`` is a proof; in a subspace it is extrapolated from two parts of the data, as in ``SVC``.
    n_support : ndarray of int
    train_accuracy : ndarray of shape (n_points,)
        Weighted share of the training examples on their side.
    strategy : list of str
        What made each point: "exact" for the dual, "subspace" for the best function in the span of some landmarks;
        that of the separate fit (``strategy_``) where there was one.
    stop_reason : list of str
        "tol", "converged" (a subspace), "stalled" or "max_time".
    seconds : float
        Of the whole path.
    n_kernel_evals : int
        Kernel values computed for the whole path.
    """

    C: NDArray[np.float64]
    nu: NDArray[np.float64]
    norm: NDArray[np.float64]
    loss: NDArray[np.float64]
    objective: NDArray[np.float64]
    bound: NDArray[np.float64]
    gap: NDArray[np.float64]
    certified: NDArray[np.bool_]
    n_support: NDArray[np.int_]
    train_accuracy: NDArray[np.float64]
    strategy: list[str]
    stop_reason: list[str]
    seconds: float
    n_kernel_evals: int
    models: FittedModels = field(repr=False)

    def __len__(self) -> int:
        return len(self.C)

    def at(self, C: float) -> SVC:
        """The fitted estimator for one of the path's values of C."""
        nearest = int(np.argmin(np.abs(np.log(self.C) - np.log(C)))) if C > 0 else 0
        if not np.isclose(self.C[nearest], C, rtol=_CLOSE, atol=0.0):
            raise ValueError(
                f"C must be one of the path's values, {self.C[0]:.6g} to {self.C[-1]:.6g}, got {C!r}; the nearest is "
                f"{float(self.C[nearest])!r}. Pass Cs=[...] to svm_path for others."
            )
        return self.models[nearest]

    def to_pandas(self) -> Any:
        """A data frame, a row for each point."""
        import pandas

        return pandas.DataFrame({name: getattr(self, name) for name in COLUMNS})

    def plot(self, ax: Any = None) -> Any:
        """Draw the front, loss over norm; returns a ``PathDisplay``."""
        from slackwater.path.display import PathDisplay

        return PathDisplay.from_path(self, ax=ax)


COLUMNS = ("C", "nu", "norm", "loss", "objective", "bound", "gap", "certified", "n_support", "train_accuracy",
           "strategy", "stop_reason")  # fmt: skip


def svm_path(
    X: Any,
    y: Any,
    *,
    Cs: Sequence[float] | None = None,
    nus: Sequence[float] | None = None,
    n_points: int = 20,
    sample_weight: Any = None,
    kernel: Any = "rbf",
    gamma: Any = "scale",
    degree: int = 3,
    coef0: float = 0.0,
    fit_intercept: bool = True,
    class_weight: Any = None,
    tol: float | None = None,
    max_time: float | None = None,
    cache_size: float | None = None,
    n_jobs: int | None = None,
    random_state: Any = None,
) -> SVMPath:
    r"""Compute the Pareto front of norm and hinge loss for two classes.

    .. math::
        \min_{w, b}\ \tfrac12 \|w\|^2 + C \sum_i \omega_i \max(0,\ 1 - y_i (\langle w, \Phi(x_i) \rangle + b))

    for several C. Each point starts from the one before it, and all share one set of kernel values: up to 12,288
    distinct examples their whole matrix, beyond that the matrix of all that are support vectors for any C, and one pass
    over the others that tests them for all C together. Where that matrix does not fit into ``cache_size``, each point
    is a fit of its own. Without ``tol``, from 16,384 distinct examples on, a point may be the best function in the span
    of some landmarks (``strategy`` "subspace"), where it passes the tests by which ``SVC`` accepts one; landmarks,
    coordinates and the exact solution that it is compared with are shared by all C.

    Parameters
    ----------
    X : array-like or CSR matrix of shape (n, d)
        (n, n) kernel values for kernel="precomputed".
    y : array-like of shape (n,)
        Labels of two classes.
    Cs : sequence of float, optional
        The values of C, each once. By default ``n_points`` of them, evenly spaced in log C, from where all examples of
        a class are within their margins to where hardly any are, as a sample has it.
    nus : sequence of float, optional
        Points of the front by ν = loss / ‖w‖ instead, each found to within 1 %. A ν is refused that no C
        has from 1e-4 to 1e10 times the least C of the default grid.
    n_points : int, default=20
        How many values of C, if none are given.
    sample_weight : array-like of shape (n,), optional
        What each row's slack costs; 0 leaves a row out.
    kernel, gamma, degree, coef0, fit_intercept, class_weight, cache_size, n_jobs, random_state
        As in ``SVC``.
    tol : float, optional
        The relative gap to prove at each point. By default that is chosen once for all points, as ``SVC`` chooses its
        own: the coarsest of 0.03, 0.01 and 0.003 with which the path of a sample is no worse for any C, on unseen
        examples, than with the finest. Up to 8191 distinct examples, and for ``nus``, points are solved as ``SVC``
        solves them with the kernel matrix in memory: optimality conditions violated by at most 1e-3, and as a rule a
        gap of 1e-3. With ``tol``, ``gap`` is a proof at every point.
    max_time : float, optional
        Seconds. The path ends at the C where they are over, with a point of a larger gap (``stop_reason`` "max_time");
        the first point is always there. A pass over all examples, which proves the gaps, comes on top.

    Returns
    -------
    SVMPath

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from slackwater.path import svm_path
    >>> X, y = make_moons(300, noise=0.2, random_state=0)
    >>> path = svm_path(X, y, Cs=[0.1, 1.0, 10.0], gamma=2.0)
    >>> bool((path.norm[1:] > path.norm[:-1]).all()), bool((path.loss[1:] < path.loss[:-1]).all())
    (True, True)
    >>> path.at(1.0).C
    1.0
    """
    begun = time.perf_counter()
    _check_arguments(Cs, nus, n_points, max_time)
    wanted = None if Cs is None else rising("Cs", Cs, _C_MEANING)
    wanted_nus = None if nus is None else rising("nus", nus, _NU_MEANING)
    estimator = SVC(
        kernel=kernel,
        gamma=gamma,
        degree=degree,
        coef0=coef0,
        fit_intercept=fit_intercept,
        class_weight=class_weight,
        tol=tol,
        cache_size=cache_size,
        n_jobs=n_jobs,
        random_state=random_state,
    )

    deadline = Deadline(Clock(), math.inf if max_time is None else float(max_time))

    with prepared(estimator, X, y, sample_weight) as data:
        _require_two_classes(data)
        if wanted_nus is not None:
            wanted = cs_of_nus(data, wanted_nus, deadline)
        elif wanted is None:
            wanted = np.geomspace(*range_of_c(data, deadline), n_points).tolist()
        return _path_of(data, solved(data, wanted, deadline), begun)


def _check_arguments(Cs: Any, nus: Any, n_points: int, max_time: float | None) -> None:
    if Cs is not None and nus is not None:
        raise ValueError("Cs and nus must not both be given: each is a way to choose the same points. Leave one out.")
    if not is_whole(n_points) or n_points < 2:
        raise ValueError(f"n_points must be a whole number >= 2, got {n_points!r}. So many C are tried.")
    if max_time is not None and not (is_real(max_time) and max_time > 0):
        raise ValueError(f"max_time must be a number of seconds > 0, got {max_time!r}. None sets no limit.")


def _require_two_classes(data: Preparation) -> None:
    classes = data.targets.classes
    if len(classes) != 2:
        raise ValueError(
            f"y must have two classes, got {len(classes)}: norm and loss are those of one function. Pass y == label "
            "for a class against the rest, or choose C for all classes together by SVCCV."
        )


def _path_of(data: Preparation, points: Sequence[FrontPoint], begun: float) -> SVMPath:
    def column(name: str) -> NDArray[Any]:
        return np.array([getattr(point, name) for point in points])

    total = float(data.targets.weights.sum())
    objective = np.array([point.criteria.objective(point.C * total) for point in points])
    return SVMPath(
        C=column("C"),
        nu=np.array([point.criteria.nu for point in points]),
        norm=np.array([point.criteria.norm for point in points]),
        loss=np.array([point.criteria.loss for point in points]),
        objective=objective,
        bound=objective * (1.0 - column("gap")),
        gap=column("gap"),
        certified=column("certified"),
        n_support=column("n_support"),
        train_accuracy=column("train_accuracy"),
        strategy=[point.strategy for point in points],
        stop_reason=[point.stop_reason for point in points],
        seconds=time.perf_counter() - begun,
        n_kernel_evals=data.training_set.ledger.train,
        models=FittedModels([point.make for point in points]),
    )
