"""Exact: the dual over all examples, by blocks of rows, until the relative gap is proven."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from slackwater.expansion import MOST_OFF, SINGLE
from slackwater.fitting.audit import audited
from slackwater.fitting.context import FitContext
from slackwater.fitting.outcome import Ending, Outcome
from slackwater.fitting.run import train
from slackwater.fitting.sample import Sample
from slackwater.fitting.training_set import TrainingSet
from slackwater.gram.features import Features
from slackwater.gram.selected import RowMemory, SelectedRows
from slackwater.kernels.points import DensePoints, in_double
from slackwater.kernels.radial import SINGLE_PRECISION_ERROR, Gaussian
from slackwater.solvers.dual_blocks import DualBlocks

NAME = "exact"


def from_scratch(context: FitContext) -> Outcome:
    """Solve for all examples to the tolerance stated, or to the default one."""
    stated = context.stopping.tol
    tol = context.settings.tolerance.exact_gap if stated is None else stated
    any_tolerance = stated is not None or context.persistence.used  # a state may be continued to any tolerance
    features = as_given(context) if any_tolerance else precise_enough(context)
    return on_rows_of(features, context, tol)


def on_rows_of(features: Features | None, context: FitContext, tol: float) -> Outcome:
    """Solve with kernel values of these points; without points, with the rows that were given."""
    training_set = context.training_set
    if features is None:
        return train(context, tol, training_set)
    rows = SelectedRows(features, RowMemory(features), coarse=False)
    workers = features.workers if features.n >= context.settings.min_examples_threaded else None
    return train(context, tol, replace(training_set, rows=rows), workers)


def from_sample(context: FitContext, sample: Sample) -> list[Ending]:
    """Admit all examples to the sample's solution, or to what screening has made of it."""
    sample.compress()
    sample.active.admit_all()
    reached = sample.active.solve(sample.tol)
    found = audited(sample.active, sample.tol, reached)
    context.decide(NAME, "relative gap", found.gap, "<=", np.inf)
    return found.endings


def single_precision_error(solver: DualBlocks, training_set: TrainingSet) -> float:
    """What responses may be off by, in margins, if values are rounded to single precision and errors add up at random.

    Each error counts with the example's coefficient, at most C times its weight.
    """
    return SINGLE * solver.C * float(np.linalg.norm(training_set.weights))


def as_given(context: FitContext) -> Features | None:
    """Points with kernel values as precise as the data are, or in double precision where single would show."""
    features = context.training_set.features
    if features is None or single_precision_error(context.solver, context.training_set) <= MOST_OFF:
        return features
    return replace(features, points=in_double(features.points))


def precise_enough(context: FitContext) -> Features | None:
    """Points with kernel values as precise as the default tolerance calls for: single precision, as a rule.

    Errors of single values add up at random to those of responses; where these would exceed what the optimality
    conditions may be violated by (a large C), the values are as precise as the points, or more so.
    """
    features, settings = as_given(context), context.settings
    if features is None or features.n < settings.precision.min_examples_single:
        return features
    if not isinstance(features.kernel, Gaussian):
        return features
    lean, gamma = features.lean(), features.kernel.gamma
    if not isinstance(lean.points, DensePoints):
        return features
    placed = lean.on_grid()  # where distances have no error of their own
    error = SINGLE
    if placed is lean:
        # Of gamma |x - z|²; of points beyond the limit distances are more precise.
        errors = np.minimum(error * gamma * lean.points.squared_norms, SINGLE_PRECISION_ERROR)
        error = max(error, float(np.sqrt(np.mean(errors**2))))
    most = context.solver.C * float(np.linalg.norm(context.training_set.weights))
    return placed if error * most <= settings.tolerance.exact_violation else features
