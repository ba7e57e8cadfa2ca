"""Exact: the dual over all examples, from scratch to a proven gap, or from a sample to the tolerance that it chose."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from slackwater.fitting.audit import audited
from slackwater.fitting.context import FitContext
from slackwater.fitting.decisions import Decision
from slackwater.fitting.result import BinaryResult, FitResult
from slackwater.fitting.sample import Start
from slackwater.fitting.train import train
from slackwater.gram import precision
from slackwater.gram.features import Features

NAME = "exact"


def from_scratch(context: FitContext) -> FitResult:
    """Solve for all examples to the tolerance stated, or to the default one."""
    stated, features = context.stopping.tol, features_for(context)
    tol = context.settings.tolerance.exact_gap if stated is None else stated
    return on_rows_of(features, context, tol)


def on_rows_of(features: Features | None, context: FitContext, tol: float) -> FitResult:
    """Solve with kernel values of these points; without points, with the rows that were given."""
    training_set = context.training_set
    context.stage(f"exact, {training_set.n:,} examples")
    if features is None:
        return train(context, tol, training_set)
    rows = features.rows()
    workers = features.workers if features.n >= context.settings.min_examples_threaded else None
    return train(context, tol, replace(training_set, rows=rows, features=features), workers)


def attempt(start: Start) -> list[BinaryResult] | None:
    """Admit all examples to the sample's solution, or to what screening has made of it, and solve to its tolerance.

    None only if a limit ended the sample's solution.
    """
    context, sample = start.context, start.sample
    if not sample.reached:
        return None
    context.stage(f"exact, {context.training_set.n:,} examples")
    sample.compress()
    sample.active.use_all_memory()
    sample.active.admit_all()
    reached = sample.active.solve(sample.tol)
    found = audited(sample.active, sample.tol, reached)
    context.note(Decision(NAME, "relative gap", found.gap, "", "taken", context.clock.seconds()))
    return found.results


def single_precision_error(context: FitContext) -> float:
    """What responses may be off by, in margins, if values are rounded to single precision and errors add up at random.

    Each error counts with the example's coefficient, at most C times its weight.
    """
    return precision.SINGLE * _max_norm(context)


def features_for(context: FitContext) -> Features | None:
    """Points with kernel values as precise as a stated tolerance may call for, or as the default one does."""
    any_tolerance = context.stopping.tol is not None or context.persistence.used  # a state may be continued to any
    return as_given(context) if any_tolerance else precise_enough(context)


def as_given(context: FitContext) -> Features | None:
    """Points with kernel values as precise as the data are, or in double precision where single would show."""
    features = context.training_set.features
    return None if features is None else precision.as_given(features, _max_share(context, features))


def precise_enough(context: FitContext) -> Features | None:
    """Points with kernel values as precise as the default tolerance calls for: single precision, as a rule."""
    features = context.training_set.features
    if features is None or precision.calls_for_double(_max_share(context, features)):
        return as_given(context)
    return precision.precise_enough(features, _max_norm(context), context.settings.tolerance.exact_violation)


def _max_norm(context: FitContext) -> float:
    """The most that the norm of the coefficients can be."""
    return float(context.solver.C * np.linalg.norm(context.training_set.weights))


def _max_share(context: FitContext, features: Features) -> float:
    """The same, times the largest value of the kernel: with relative errors of values, what responses are off by."""
    scale = 1.0 if features.points.dtype != np.float32 else features.kernel.largest_value(features.points)
    return scale * _max_norm(context)
