"""All examples at once, by blocks of rows, until the gap is certified."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from slackwater.expansion import MOST_OFF, SINGLE
from slackwater.gram.features import Features
from slackwater.gram.selected import RowMemory, SelectedRows
from slackwater.kernels.points import DensePoints, in_double
from slackwater.kernels.radial import SINGLE_PRECISION_ERROR, Gaussian
from slackwater.solvers.dual_blocks import DualBlocks
from slackwater.training.run import Outcome, Plan, train
from slackwater.training.training_set import TrainingSet

# LIBSVM's default: no example violates the optimality conditions by more than 1e-3 (ten times the relative gap,
# see stopping.GapBelow). With 1e-3 for the gap, classes that compete closely were told apart by the solver's error.
DEFAULT_TOL = 1e-4
DEFAULT_VIOLATION = 10.0 * DEFAULT_TOL
_FEWEST_IN_SINGLE = 2048  # with fewer examples single precision saves nothing worth its rounding
_MOST_IN_DOUBLE = 2**16  # examples, for the exact solution in double precision to be an alternative to a quick one
_FEWEST_SHARED = 4096  # examples, for a step of a problem to take longer than it takes to wake a thread


def train_exactly(
    solver: DualBlocks, training_set: TrainingSet, n_classes: int, seed: int, plan: Plan, features: Features | None
) -> Outcome:
    """Train one model for each binary problem of a set, on the rows of ``features``; without, on those it has."""
    if features is None:
        return train(solver, training_set, n_classes, seed, plan)
    rows = SelectedRows(features, RowMemory(features), coarse=False)
    workers = features.workers if features.n >= _FEWEST_SHARED else None
    return train(solver, replace(training_set, rows=rows), n_classes, seed, plan, workers)


def single_precision_error(solver: DualBlocks, training_set: TrainingSet) -> float:
    """What responses may be off by, in margins, if values are rounded to single precision and errors add up at random.

    Each error counts with the example's coefficient, at most C times its weight.
    """
    return SINGLE * solver.C * float(np.linalg.norm(training_set.weights))


def calls_for_double(solver: DualBlocks, training_set: TrainingSet) -> bool:
    """Whether a quick solution, which has values in single precision, could be off by a margin (a large C)."""
    return training_set.n <= _MOST_IN_DOUBLE and single_precision_error(solver, training_set) > 1.0


def as_given(solver: DualBlocks, training_set: TrainingSet) -> Features | None:
    """Points with kernel values as precise as the data are, or in double precision where single would show."""
    features = training_set.features
    if features is None or single_precision_error(solver, training_set) <= MOST_OFF:
        return features
    return replace(features, points=in_double(features.points))


def precise_enough(solver: DualBlocks, training_set: TrainingSet) -> Features | None:
    """Points with kernel values as precise as ``DEFAULT_VIOLATION`` calls for: single precision, as a rule.

    Errors of single values add up at random to those of responses; where these would exceed what the optimality
    conditions may be violated by (a large C), the values are as precise as the points, or more so.
    """
    features = as_given(solver, training_set)
    if features is None or features.n < _FEWEST_IN_SINGLE or not isinstance(features.kernel, Gaussian):
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
    most = solver.C * float(np.linalg.norm(training_set.weights))
    return placed if error * most <= DEFAULT_VIOLATION else features
