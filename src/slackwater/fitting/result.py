"""What a fit leaves behind: a model for each binary problem, why it ended, how good it is known to be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slackwater.expansion import Expansion
from slackwater.fitting.decisions import Decisions
from slackwater.fitting.estimate import Estimate
from slackwater.fitting.warm_start import Choice
from slackwater.solvers.base import Assessment, Prudent, Solver, model_of
from slackwater.solvers.drive import Task
from slackwater.stopping import StopReason
from slackwater.tracing import Recorder
from slackwater.votes import pair_number


class BinaryResult(NamedTuple):
    """What one binary problem ended with."""

    expansion: Expansion
    assessment: Assessment
    reason: StopReason
    steps: int
    certified: bool = True  # whether the assessment's gap is a proof
    lower: NDArray[np.float64] | None = None  # what responses are at least; None: not known


class PairResult(NamedTuple):
    """What the problem of one pair of classes ended with; its model is among the ``PairModels``."""

    assessment: Assessment
    reason: StopReason
    steps: int
    certified: bool = True


@dataclass(frozen=True)
class PairModels:
    """The models of all pairs of classes, as LIBSVM keeps them.

    An example of class a has k - 1 coefficients, one for each of the other classes: in row b - 1 that of the pair with
    b, if b > a, else in row b. They are signed: positive in pairs of which a is the first.
    """

    coefficients: NDArray[np.float64]  # (k - 1, examples)
    biases: NDArray[np.float64]  # one for each pair

    @classmethod
    def none(cls, n_classes: int, n: int) -> PairModels:
        return cls(np.zeros((n_classes - 1, n)), np.zeros(n_classes * (n_classes - 1) // 2))

    def copy(self) -> PairModels:
        return PairModels(self.coefficients.copy(), self.biases.copy())

    def of(self, first: int, second: int, codes: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """The support of a pair's model, and its coefficients."""
        own = np.where(codes == first, self.coefficients[second - 1], self.coefficients[first])
        support = np.flatnonzero(((codes == first) | (codes == second)) & (own != 0.0))
        return support, own[support]

    def put(
        self,
        first: int,
        second: int,
        codes: NDArray[np.intp],
        support: NDArray[np.intp],
        coefficients: NDArray[np.float64],
        bias: float,
    ) -> None:
        """Keep the model of a pair."""
        self.coefficients[second - 1, codes == first] = self.coefficients[first, codes == second] = 0.0
        rows = np.where(codes[support] == first, second - 1, first)
        self.coefficients[rows, support] = coefficients
        self.biases[pair_number(first, second, len(self.coefficients) + 1)] = bias


class Previous(NamedTuple):
    """Where an earlier fit left off, for warm_start."""

    data: str  # digest of the training set, and the kind of solver
    solver: str
    seed: int
    states: list[Any]


class FitResult(NamedTuple):
    """What a fit leaves behind."""

    binary_results: list[BinaryResult]
    recorder: Recorder
    previous: Previous | None = None
    strategy: str = ""
    decisions: Decisions | None = None
    choice: Choice | None = None

    @property
    def models(self) -> Models:
        return [each.expansion for each in self.binary_results]


class PairsResult(NamedTuple):
    """What the fits of all pairs of classes leave behind."""

    binary_results: list[PairResult]
    models: PairModels
    recorder: Recorder
    previous: Previous | None
    strategy: str
    decisions: Decisions
    choices: dict[int, Choice]
    lower: NDArray[np.float64] | None = None  # what responses are at least, in the layout of the coefficients


Models = list[Expansion] | PairModels  # of all problems of a fit
AnyBinaryResult = BinaryResult | PairResult
AnyResult = FitResult | PairsResult


def result_of(solver: Solver, task: Task) -> BinaryResult:
    """What a task that has ended leaves: the model it was to reach, or else the best one on the way."""
    if task.assessment is None or task.reason is None:
        raise RuntimeError("the training loop ended without assessing a model")
    expansion, assessment = _final_model(solver, task, task.assessment)
    return BinaryResult(expansion, assessment, task.reason, int(task.state.step))


def _final_model(solver: Solver, task: Task, assessment: Assessment) -> tuple[Expansion, Assessment]:
    """The current model, or an earlier one that is better, with the bound known by now."""
    if task.reason is not StopReason.TOLERANCE and task.holdout_best.exists():
        expansion, found = task.holdout_best.model()
    elif task.reason is not StopReason.TOLERANCE and isinstance(solver, Prudent):
        point = solver.best(task.problem, task.state, assessment)
        found = assessment if point is task.state else solver.assess(task.problem, point).with_bound(assessment.bound)
        expansion = model_of(solver, task.problem, point, found)
    else:
        expansion, found = model_of(solver, task.problem, task.state, assessment), assessment
    return expansion, found


def with_losses(assessment: Assessment, hidden: Estimate, cost: float) -> Assessment:
    """The same, with losses that the problem did not show; ``cost`` is C times the weight of all examples.

    The gap is one that the true one exceeds in at most 5 of 100 cases; it is a proof where nothing was estimated.
    """
    objective = assessment.objective + hidden.total
    most = assessment.objective + max(hidden.upper, 0.0)
    gap = max(0.0, (most - assessment.bound) / most) if most > 0.0 else 0.0
    slack_nu = assessment.slack_nu + hidden.total * assessment.margin / cost
    return assessment._replace(objective=objective, gap=gap, slack_nu=slack_nu)
