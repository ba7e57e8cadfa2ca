"""The Pareto front of norm against hinge loss: SVMs for many values of C at little more than the price of one."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from slackwater.deadline import Clock, Deadline
from slackwater.estimators.parameters import is_real, is_whole
from slackwater.estimators.svc import SVC
from slackwater.expansion import Expansion
from slackwater.fitting.context import FitContext
from slackwater.fitting.path_tolerance import ChoiceOfGoal, goal_of_path
from slackwater.fitting.result import BinaryResult
from slackwater.fitting.shared_path import Goal, PathPoint, SharedPath, WorkingSetFullError
from slackwater.gram.features import Features
from slackwater.objectives import weighted_error
from slackwater.path.grid import range_of_c
from slackwater.path.preparation import Preparation, prepared, rising

_C_MEANING = "C is what a unit of hinge loss costs."
_NU_MEANING = "nu is the average hinge loss divided by the norm of w."
_CLOSE = 1e-9  # relative: a C that is meant to be one of the path's
_NU_TOLERANCE = 0.01  # relative, that a nu of the path may be off by
_NU_GRID = 10  # values of C between which those of nus are looked for
_MAX_SEARCHES = 12  # rounds of it
_LEAST_C, _LARGEST_C = 1e-6, 1e8


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
        ``nu`` = ``loss`` / ``norm``.
    norm, loss : ndarray of shape (n_points,)
        The two criteria: ‖w‖, and the average hinge loss.
    objective, bound, gap : ndarray of shape (n_points,)
        Primal and dual objective, and (primal - dual) / primal.
    certified : ndarray of bool
        Whether ``gap`` is a proof.
    n_support : ndarray of int
    train_accuracy : ndarray of shape (n_points,)
        Weighted share of the training examples on their side.
    stop_reason : list of str
        "tol", "stalled" or "max_time".
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
           "stop_reason")  # fmt: skip


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
    is a fit of its own.

    Parameters
    ----------
    X : array-like or CSR matrix of shape (n, d)
        (n, n) kernel values for kernel="precomputed".
    y : array-like of shape (n,)
        Labels of two classes.
    Cs : sequence of float, optional
        The values of C. By default ``n_points`` of them, evenly spaced in log C, from where all examples of a class
        are within their margins to where hardly any are, as a sample has it.
    nus : sequence of float, optional
        Points of the front by ν = loss / ‖w‖ instead, each found to within 1 %. A ν that no C from 1e-6 to 1e6 has is
        refused.
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
        gap of 1e-3. ``gap`` is a proof in any case.
    max_time : float, optional
        Seconds. The path ends at the C where they are over; the first point is always there.

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
        if nus is not None:
            wanted = _cs_of_nus(data, rising("nus", nus, _NU_MEANING), deadline)
        elif Cs is not None:
            wanted = rising("Cs", Cs, _C_MEANING)
        else:
            wanted = np.geomspace(*range_of_c(data), n_points).tolist()
        return _path_of(data, _solved(data, wanted, deadline), begun)


class _Entry(NamedTuple):
    """One point of the front, and how to make its estimator."""

    C: float
    norm: float
    nu: float
    gap: float
    certified: bool
    n_support: int
    train_accuracy: float
    stop_reason: str
    make: Callable[[], SVC]


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


def _solved(
    data: Preparation, Cs: Sequence[float], deadline: Deadline, choose: ChoiceOfGoal = goal_of_path
) -> list[_Entry]:
    """On shared kernel values, or else each C by a fit of its own."""
    if data.is_shareable:
        try:
            return _shared(data, Cs, deadline, choose)
        except WorkingSetFullError:
            pass
    entries: list[_Entry] = []
    for C in Cs:
        if entries and deadline.passed():
            break
        entries.append(_entry_of_fit(data, C))
    return entries


def _shared(data: Preparation, Cs: Sequence[float], deadline: Deadline, choose: ChoiceOfGoal) -> list[_Entry]:
    training_set, context = data.training_set, data.context
    problem, features = training_set.problems(2)[0], data.features(max(Cs))
    path = SharedPath(
        features,
        problem.labels,
        [training_set.weights],
        Cs,
        training_set.order,
        context.solver.coupling,
        choose(context, features, Cs, deadline),
        context.settings.path,
        context.seed,
        deadline=deadline,
    )
    (points,) = path.solve()
    path.release()
    return [_entry_of_point(data, problem.labels, point) for point in points]


def _finest(context: FitContext, features: Features, Cs: Sequence[float], deadline: Deadline) -> Goal:
    """Of points whose ν is asked for to within a per cent."""
    return Goal.of(context)


def _entry_of_point(data: Preparation, labels: NDArray[np.int8], point: PathPoint) -> _Entry:
    found, weights = point.assessment, data.training_set.weights
    expansion = Expansion.from_dense(point.alpha * labels, found.bias)
    result = BinaryResult(expansion, found, point.reason, 1)
    return _Entry(
        point.C,
        1.0 / found.margin,
        found.slack_nu,
        found.gap,
        True,
        found.n_support,
        1.0 - weighted_error(point.responses, labels, found.bias, weights),
        str(point.reason),
        partial(data.fitted, point.C, result),
    )


def _entry_of_fit(data: Preparation, C: float) -> _Entry:
    model = clone(data.estimator).set_params(C=C)
    y, weights = data.targets.classes[data.targets.codes], data.targets.weights
    model.set_params(class_weight=None).fit(data.X, y, sample_weight=weights)
    return _Entry(
        C,
        1.0 / float(model.margin_),
        float(model.slack_nu_),
        float(model.gap_),
        bool(model.certified_),
        len(model.support_),
        float(model.score(data.X, y, sample_weight=weights)),
        model.stop_reason_,
        lambda: model,
    )


def _path_of(data: Preparation, entries: Sequence[_Entry], begun: float) -> SVMPath:
    def column(name: str) -> NDArray[Any]:
        return np.array([getattr(entry, name) for entry in entries])

    C, norm, nu, gap = (column(name) for name in ("C", "norm", "nu", "gap"))
    loss = np.where(norm > 0.0, nu * norm, 0.0)
    objective = 0.5 * norm**2 + C * data.targets.weights.sum() * loss
    return SVMPath(
        C=C,
        nu=nu,
        norm=norm,
        loss=loss,
        objective=objective,
        bound=objective * (1.0 - gap),
        gap=gap,
        certified=column("certified"),
        n_support=column("n_support"),
        train_accuracy=column("train_accuracy"),
        stop_reason=[entry.stop_reason for entry in entries],
        seconds=time.perf_counter() - begun,
        n_kernel_evals=data.training_set.ledger.train,
        models=FittedModels([entry.make for entry in entries]),
    )


def _cs_of_nus(data: Preparation, nus: Sequence[float], deadline: Deadline) -> list[float]:
    """The values of C whose solutions have these ν: by interpolation between solutions, which ever more are made of."""
    low, high = range_of_c(data)
    known = {
        entry.C: entry.nu for entry in _solved(data, np.geomspace(low, high, _NU_GRID).tolist(), deadline, _finest)
    }
    for _ in range(_MAX_SEARCHES):
        wrong = [nu for nu in nus if min(abs(found / nu - 1.0) for found in known.values()) > _NU_TOLERANCE]
        if not wrong or deadline.passed():
            break
        guesses = sorted({_interpolated(known, nu) for nu in wrong} - known.keys())
        known.update((entry.C, entry.nu) for entry in _solved(data, guesses, deadline, _finest))
    return sorted({min(known, key=lambda C: abs(known[C] / nu - 1.0)) for nu in nus})


def _interpolated(known: dict[float, float], nu: float) -> float:
    """A C whose ν is about this: between two that are known, in logarithms; a hundred times beyond the last one."""
    Cs = np.array(sorted(known))
    found = np.array([known[C] for C in Cs])
    above, below = np.flatnonzero(found > nu), np.flatnonzero(found <= nu)
    if len(above) == 0 or len(below) == 0:
        beyond = float(Cs[0] / 100.0 if len(above) == 0 else Cs[-1] * 100.0)
        if not _LEAST_C <= beyond <= _LARGEST_C:
            raise ValueError(
                f"nus must be on the front, got {nu!r}: from C = {Cs[0]:.3g} to {Cs[-1]:.3g} nu is "
                f"{found[-1]:.3g} to {found[0]:.3g}. Choose values within, or pass Cs."
            )
        return beyond
    left, right = int(above[-1]), int(below[below > above[-1]][0])
    if found[right] <= 0.0:
        return float(np.sqrt(Cs[left] * Cs[right]))
    share = np.log(found[left] / nu) / np.log(found[left] / found[right])
    # Not at the ends: ν is no straight line there, and the same point again would tell nothing.
    return float(Cs[left] * (Cs[right] / Cs[left]) ** float(np.clip(share, 0.02, 0.98)))
