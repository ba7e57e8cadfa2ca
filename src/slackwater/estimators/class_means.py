"""The classes' means in feature space: a model that needs a few kernel values, no training and no compiled loop.

An example belongs to the class whose mean is nearest (Schölkopf and Smola 2002, Section 1.2). It is what a fit leaves
that has to end before it could solve anything, as while loops are compiled for the first time.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics.pairwise import pairwise_kernels

from slackwater.estimators.validation import Targets, take
from slackwater.expansion import Expansion
from slackwater.fitting.decisions import Decisions
from slackwater.fitting.result import AnyBinaryResult, BinaryResult, FitResult, PairModels, PairResult, PairsResult
from slackwater.fitting.training_set import TrainingSet
from slackwater.gram.ledger import EvaluationLedger
from slackwater.gram.precomputed import PrecomputedRows
from slackwater.kernels.base import Kernel
from slackwater.kernels.registry import is_built_in
from slackwater.points import as_points
from slackwater.solvers.base import Assessment
from slackwater.stopping import StopReason
from slackwater.tracing import Recorder

Floats = NDArray[np.float64]


def keep_class_means(
    estimator: Any, X: Any, targets: Targets, kernel: Kernel | None, rows: NDArray[np.intp], reason: StopReason
) -> list[AnyBinaryResult]:
    """Let the estimator have the model of some rows' class means."""
    codes, weights = targets.codes[rows], targets.weights[rows]
    matrix = _values(X, kernel, rows)
    shares = np.where(codes[:, None] == np.arange(len(targets.classes)), weights[:, None], 0.0)
    shares /= shares.sum(axis=0)
    halves = 0.5 * np.einsum("ik,ik->k", shares, matrix @ shares)  # ½ ‖mean‖²
    result = _result(estimator, codes, shares, halves, reason)
    training_set = _training_set(matrix, rows, codes, weights)
    estimator._keep_fitted(X, kernel, targets, training_set, result.models)
    estimator._keep_account(training_set, result)
    return list(result.binary_results)


def _values(X: Any, kernel: Kernel | None, rows: NDArray[np.intp]) -> Floats:
    """Kernel values by scikit-learn, which has them without compiling anything."""
    if kernel is None:
        return np.asarray(X[np.ix_(rows, rows)], dtype=np.float64)
    chosen = take(X, rows)
    if is_built_in(kernel):
        return np.asarray(pairwise_kernels(chosen, metric=kernel.name, filter_params=True, **kernel.parameters()))
    values, points = np.empty((len(rows), len(rows))), as_points(chosen)
    kernel.fill(points, points, values)
    return values


def _result(
    estimator: Any, codes: NDArray[np.intp], shares: Floats, halves: Floats, reason: StopReason
) -> FitResult | PairsResult:
    k = shares.shape[1]
    gap = 1.0 if hasattr(estimator, "C") else math.nan  # of the C-form, none is larger
    unknown = Assessment(math.nan, math.nan, gap, math.nan, math.nan, len(codes), None)
    if getattr(estimator, "_trains_pairs", lambda _: False)(k):
        models = PairModels.none(k, len(codes))
        own, others = shares[np.arange(len(codes)), codes], np.arange(k - 1)[:, None]
        models.coefficients[:] = np.where(others >= codes, own, -own)  # positive in pairs of which it is the first
        first, second = np.triu_indices(k, 1)
        models.biases[:] = halves[second] - halves[first]
        pair = PairResult(unknown, reason, 0, certified=False)
        return PairsResult([pair] * len(first), models, Recorder(), None, "sample", Decisions(), {})
    if k == 2:
        expansions = [Expansion.from_dense(shares[:, 1] - shares[:, 0], float(halves[0] - halves[1]))]
    else:
        expansions = [Expansion.from_dense(shares[:, c], -float(halves[c])) for c in range(k)]
    results = [BinaryResult(each, unknown, reason, 0, certified=False) for each in expansions]
    return FitResult(results, Recorder(), strategy="sample")


def _training_set(matrix: Floats, rows: NDArray[np.intp], codes: NDArray[np.intp], weights: Floats) -> TrainingSet:
    ledger = EvaluationLedger()
    ledger.charge("train", matrix.size)
    return TrainingSet(
        kept=rows,
        codes=codes,
        weights=weights,
        held_out=np.zeros(len(rows), dtype=bool),
        order=np.arange(len(rows)),
        rows=PrecomputedRows(matrix, ledger),
        ledger=ledger,
        certified=True,
        identify=lambda: "",
        keys=rows.astype(np.float64),
    )
