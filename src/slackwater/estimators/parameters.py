"""What each constructor parameter may be, checked in ``fit`` before anything else happens."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from numbers import Integral, Real
from typing import Any, NamedTuple

from slackwater.kernels.base import Kernel


class Rule(NamedTuple):
    """A condition on a parameter, in code and in words, and what the parameter is for."""

    holds: Callable[[Any], bool]
    must_be: str
    remedy: str


def is_real(value: Any) -> bool:
    if not isinstance(value, Real) or is_flag(value):
        return False
    try:
        return math.isfinite(float(value))
    except OverflowError:  # a whole number beyond what a double holds
        return False


def is_infinite(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, Integral) and float(value) == math.inf


def is_whole(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def is_flag(value: Any) -> bool:
    return isinstance(value, bool) or type(value).__name__ == "bool"  # numpy's bool, whatever its version


def positive(remedy: str) -> Rule:
    return Rule(lambda v: is_real(v) and v > 0, "a number > 0", remedy)


def hard_margin_or_positive(remedy: str) -> Rule:
    """A number > 0, or infinity."""
    return Rule(lambda v: is_infinite(v) or (is_real(v) and v > 0), "a number > 0, or inf", remedy)


def optional_positive(remedy: str) -> Rule:
    return Rule(lambda v: v is None or (is_real(v) and v > 0), "a number > 0 or None", remedy)


def optional(rule: Rule) -> Rule:
    return Rule(lambda v: v is None or rule.holds(v), f"{rule.must_be} or None", rule.remedy)


def whole_from(least: int, remedy: str) -> Rule:
    return Rule(lambda v: is_whole(v) and v >= least, f"a whole number >= {least}", remedy)


def one_of(values: tuple[str, ...], remedy: str) -> Rule:
    return Rule(lambda v: isinstance(v, str) and v in values, "one of " + ", ".join(values), remedy)


def flag(remedy: str) -> Rule:
    return Rule(is_flag, "True or False", remedy)


COMMON: dict[str, Rule] = {
    "kernel": Rule(
        lambda v: isinstance(v, str | Kernel) or callable(v), "a name or a callable", "Such as 'rbf', or k(A, B)."
    ),
    "gamma": Rule(
        lambda v: isinstance(v, str) or (is_real(v) and v >= 0),
        "'scale', 'auto' or a number >= 0",
        "It is the inverse squared width of the kernel; 0 makes the kernel constant.",
    ),
    "degree": whole_from(0, "It is the degree of the polynomial kernel."),
    "coef0": Rule(is_real, "a number", "It is the constant of the polynomial and the sigmoid kernel."),
    "n_jobs": Rule(lambda v: v is None or is_whole(v), "a whole number or None", "It is the number of threads."),
    "fit_intercept": flag("True adds an unregularised bias."),
    "class_weight": Rule(
        lambda v: v is None or (isinstance(v, str) and v == "balanced") or isinstance(v, Mapping),
        "None, 'balanced' or a dict of class: weight",
        "It multiplies the sample weights of each class.",
    ),
    "tol": Rule(lambda v: is_real(v) and v >= 0, "a number >= 0", "It is the relative duality gap to stop at."),
    "max_iter": Rule(
        lambda v: is_whole(v) and (v >= 1 or v == -1),
        "a whole number >= 1, or -1",
        "It limits the number of steps; -1 sets no limit.",
    ),
    "max_time": optional_positive("It limits the seconds of training; None sets no limit."),
    "max_kernel_evals": Rule(
        lambda v: v is None or (is_whole(v) and v > 0),
        "a whole number > 0 or None",
        "It limits the kernel values computed; None sets no limit.",
    ),
    "early_stopping": flag("True stops when the error on a hold-out part no longer improves."),
    "validation_fraction": Rule(
        lambda v: is_real(v) and 0 < v < 1,
        "a number between 0 and 1",
        "It is the share of the rows held out with early_stopping=True.",
    ),
    "n_iter_no_change": whole_from(1, "It is the number of assessments without improvement to wait for."),
    "cache_size": Rule(lambda v: is_real(v) and v >= 0, "a number >= 0", "It is the memory for kernel rows, in MB."),
    "warm_start": flag("True continues from the previous fit."),
    "checkpoint": Rule(
        lambda v: v is None or isinstance(v, str | os.PathLike),
        "a path or None",
        "Training state is kept in that file and resumed from it.",
    ),
    "decision_function_shape": one_of(("ovr",), "Several classes are trained one against the rest."),
    "verbose": Rule(lambda v: is_flag(v) or (is_whole(v) and v >= 0), "a whole number >= 0", "1 shows progress."),
}


CALLBACK = {
    "callback": Rule(
        lambda v: v is None or callable(v),
        "a function of one argument or None",
        "It is shown every step; if it returns True, training ends.",
    )
}


def check_parameters(estimator: Any, rules: Mapping[str, Rule]) -> None:
    """Raise ValueError for the first parameter that breaks its rule: name, rule, value, remedy."""
    for name, rule in rules.items():
        value = getattr(estimator, name)
        if not rule.holds(value):
            raise ValueError(f"{name} must be {rule.must_be}, got {value!r}. {rule.remedy}")
