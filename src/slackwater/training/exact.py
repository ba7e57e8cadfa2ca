"""All examples at once, by blocks of rows, until the gap is certified."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from slackwater.gram import precision
from slackwater.gram.features import Features
from slackwater.solvers.dual_blocks import DualBlocks
from slackwater.training.run import Outcome, Plan, train
from slackwater.training.training_set import TrainingSet

DEFAULT_TOL = 1e-3
_MOST_IN_DOUBLE = 2**16  # examples, for the exact solution in double precision to be an alternative to a quick one
_FEWEST_SHARED = 4096  # examples, for a step of a problem to take longer than it takes to wake a thread


def train_exactly(
    solver: DualBlocks, training_set: TrainingSet, n_classes: int, seed: int, plan: Plan, features: Features | None
) -> Outcome:
    """Train one model for each binary problem of a set, on the rows of ``features``; without, on those it has."""
    if features is None:
        return train(solver, training_set, n_classes, seed, plan)
    rows = features.rows()
    workers = features.workers if features.n >= _FEWEST_SHARED else None
    return train(solver, replace(training_set, rows=rows), n_classes, seed, plan, workers)


def single_precision_error(solver: DualBlocks, training_set: TrainingSet) -> float:
    """What responses may be off by, in margins, if values are rounded to single precision and errors add up at random.

    Each error counts with the example's coefficient, at most C times its weight.
    """
    return precision.SINGLE * _norm(solver, training_set)


def calls_for_double(solver: DualBlocks, training_set: TrainingSet) -> bool:
    """Whether a quick solution, which has values in single precision, could be off by a margin (a large C)."""
    return training_set.n <= _MOST_IN_DOUBLE and single_precision_error(solver, training_set) > 1.0


def as_given(solver: DualBlocks, training_set: TrainingSet) -> Features | None:
    """Points with kernel values as precise as the data are, or in double precision where single would show."""
    features = training_set.features
    return None if features is None else precision.as_given(features, _norm(solver, training_set))


def precise_enough(solver: DualBlocks, training_set: TrainingSet) -> Features | None:
    """Points with kernel values as precise as a gap of ``DEFAULT_TOL`` calls for: single precision, as a rule."""
    features, norm = training_set.features, _norm(solver, training_set)
    if features is None or precision.calls_for_double(norm):
        return as_given(solver, training_set)
    return precision.precise_enough(features, norm, DEFAULT_TOL)


def _norm(solver: DualBlocks, training_set: TrainingSet) -> float:
    """The most that the norm of the coefficients can be."""
    return solver.C * float(np.linalg.norm(training_set.weights))
