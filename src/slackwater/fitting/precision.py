"""A training set on the fastest rows that are precise enough for its method."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from slackwater.fitting.settings import NearRowsSettings
from slackwater.fitting.training_set import TrainingSet
from slackwater.gram.features import Features
from slackwater.gram.near_rows import CUTOFF, NearRows, can_be_near, share_above_cutoff
from slackwater.gram.precision import fastest, may_keep_two_bytes, precise_enough
from slackwater.points import DensePoints
from slackwater.points.leaves import Leaves
from slackwater.solvers.base import BoundedCoefficients, Solver


def coefficient_norm(solver: Solver, training_set: TrainingSet, steps: int | None) -> float | None:
    """Of the coefficients of a function with margin one, at most or on average; None where nothing is known of it."""
    if not isinstance(solver, BoundedCoefficients):
        return None
    norm = solver.coefficient_norm(training_set.weights, steps)
    return norm if np.isfinite(norm) else None


def with_fast_rows(
    solver: Solver,
    training_set: TrainingSet,
    tol: float | None,
    steps: int | None,
    settings: NearRowsSettings,
) -> TrainingSet:
    """The same examples on faster rows: sparse ones of a narrow kernel, on a grid, of few coordinates.

    In single precision where that is enough.

    Without ``tol``, because a state may be continued to any, rows are as precise as the data.
    """
    features = training_set.features
    if features is None:
        return training_set
    norm = coefficient_norm(solver, training_set, steps)
    faster = fastest(features) if tol is None else precise_enough(features, norm, tol)
    if faster.points.dtype == np.float32:
        near = near_rows(features.to_single_precision(), settings, np.random.default_rng(0))
        if near is not None:
            return replace(training_set, rows=near)
    two_bytes = tol is not None and may_keep_two_bytes(faster, norm, tol)
    if faster is features and not two_bytes:
        return training_set
    return replace(training_set, rows=faster.rows(two_bytes=two_bytes), features=faster)


def near_rows(features: Features, settings: NearRowsSettings, rng: np.random.Generator) -> NearRows | None:
    """Sparse rows, computed on demand, where nearly all values of the kernel are below the cut-off; else None."""
    points = features.points
    if features.n < settings.min_examples or not can_be_near(features) or not isinstance(points, DensePoints):
        return None
    if share_above_cutoff(features, rng) > settings.max_share:
        return None
    leaves = Leaves(points, features.workers.deadline)
    near = leaves.share_near(features.kernel.squared_cutoff(CUTOFF))
    return None if near > settings.max_near else NearRows(features, leaves)
