"""The parameters that all methods of comparison share.

They are dataclasses: the fields are the constructor, inherited ones included, which is all that scikit-learn asks of an
estimator's ``__init__``. Fields of the classes here are keywords; a method's own parameters come before them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from slackwater.callbacks import Moment
from slackwater.estimators.base import KernelClassifier
from slackwater.estimators.parameters import CALLBACK, COMMON, Rule

_OF_TRAINING = (
    "class_weight",
    "max_iter",
    "max_time",
    "max_kernel_evals",
    "early_stopping",
    "validation_fraction",
    "n_iter_no_change",
    "warm_start",
    "checkpoint",
    "n_jobs",
    "verbose",
)
_OF_KERNELS = ("kernel", "gamma", "degree", "coef0")

TRAINING_RULES: dict[str, Rule] = {name: COMMON[name] for name in _OF_TRAINING} | CALLBACK
KERNEL_RULES: dict[str, Rule] = {name: COMMON[name] for name in _OF_KERNELS} | TRAINING_RULES
ROW_RULES: dict[str, Rule] = {"cache_size": COMMON["cache_size"]} | KERNEL_RULES
TOL = {"tol": COMMON["tol"]}


@dataclass(eq=False, repr=False, kw_only=True)
class Baseline(KernelClassifier):
    """Budgets, early stopping, warm start, checkpoints, seed (None means 0) and callback, as in ``SBPClassifier``."""

    class_weight: Any = None
    max_time: float | None = None
    max_kernel_evals: int | None = None
    early_stopping: bool = False
    validation_fraction: float = 0.1
    n_iter_no_change: int = 10
    warm_start: bool = False
    checkpoint: Any = None
    n_jobs: int | None = None
    verbose: int = 0
    random_state: Any = None
    callback: Callable[[Moment], Any] | None = None

    _rules: ClassVar[Mapping[str, Rule]] = TRAINING_RULES


@dataclass(eq=False, repr=False, kw_only=True)
class KernelBaseline(Baseline):
    """The same, with a kernel."""

    kernel: Any = "rbf"
    gamma: Any = "scale"
    degree: int = 3
    coef0: float = 0.0

    _rules: ClassVar[Mapping[str, Rule]] = KERNEL_RULES


@dataclass(eq=False, repr=False, kw_only=True)
class RowBaseline(KernelBaseline):
    """The same, for a method that uses whole kernel rows, which are worth keeping."""

    cache_size: float = 200

    _rules: ClassVar[Mapping[str, Rule]] = ROW_RULES
