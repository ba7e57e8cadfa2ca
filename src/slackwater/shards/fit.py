"""How a model is trained over shards: the exact strategy, from scratch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from slackwater.callbacks import Model, joined
from slackwater.fitting.context import FitContext
from slackwater.fitting.result import AnyBinaryResult, FitResult, PairModels, PairResult
from slackwater.fitting.train import train
from slackwater.gram.ledger import EvaluationLedger
from slackwater.shards.messages import Doubles
from slackwater.shards.session import Session
from slackwater.shards.solver import ShardedProblem, ShardedRows


@dataclass(frozen=True)
class ShardedSet:
    """What a fit over shards trains on: the part of a ``TrainingSet`` that the training loop asks for."""

    session: Session
    all_problems: list[ShardedProblem]
    n: int
    certified: bool = True
    features: None = None

    @property
    def rows(self) -> ShardedRows:
        return ShardedRows(self.session, self.n)

    @property
    def ledger(self) -> EvaluationLedger:
        return self.session.ledger

    def problems(self, n_classes: int) -> list[ShardedProblem]:
        """All of them, whatever they are about."""
        return self.all_problems

    def identify(self) -> str:
        """A digest of everything that a training state belongs to, how the data are cut into shards included."""
        kernel = self.session.plan.kernel
        return f"{kernel.name} {sorted(kernel.parameters().items())} {' '.join(self.session.call_all('digest'))}"


def problems_of(n_classes: int, in_pairs: bool) -> tuple[tuple[tuple[int, int], ...], ...]:
    """The classes of each binary problem, with their labels; of two classes the second is positive, of pairs the first."""
    if n_classes == 2:
        return (((0, -1), (1, 1)),)
    if in_pairs:
        return tuple(((a, 1), (b, -1)) for a in range(n_classes) for b in range(a + 1, n_classes))
    return tuple(tuple((code, 1 if code == each else -1) for code in range(n_classes)) for each in range(n_classes))


class Support(NamedTuple):
    """The support vectors of a model, in the order of their row numbers within each class."""

    row_numbers: NDArray[np.intp]
    codes: NDArray[np.intp]
    weights: Doubles


def exact(context: FitContext, tol: float) -> FitResult:
    """Solve for all examples to a proven gap."""
    return train(context, tol, cast("Any", context.training_set))


def support_of(result: FitResult, session: Session) -> tuple[Support, list[AnyBinaryResult], Model]:
    """The support vectors, and the models over them by their places: those of pairs as LIBSVM keeps them."""
    joint = joined([each.expansion for each in result.binary_results])
    row_numbers, codes, weights = session.describe(joint.support.astype(np.int64))
    order = np.lexsort((row_numbers, codes))
    support = Support(row_numbers[order], codes[order], weights[order])
    plan = session.plan
    if plan.n_classes == 2 or len(plan.problems[0]) > 2:
        places = np.arange(len(order))
        return support, list(result.binary_results), Model(places, joint.dual_coef[:, order], joint.intercept)
    models = PairModels.none(plan.n_classes, len(order))
    for number, ((first, _), (second, _)) in enumerate(plan.problems):
        coefficients = joint.dual_coef[number, order]
        used = np.flatnonzero(coefficients)
        models.put(first, second, support.codes, used, coefficients[used], float(joint.intercept[number]))
    results: list[AnyBinaryResult] = [
        PairResult(each.assessment, each.reason, each.steps, each.certified) for each in result.binary_results
    ]
    return support, results, Model(np.arange(len(order)), models.coefficients, models.biases)
