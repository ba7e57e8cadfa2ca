"""Subspace: the best function in the span of some landmarks, for the losses of all examples (Nyström).

Where labels are noisy, or where the kernel is so smooth that some hundred landmarks span nearly everything, the optimum
is close to such a subspace though it has very many support vectors. Whether it is close enough is tested: trained on a
part of the data, the subspace must not have a larger error than the exact solution of that part on other examples.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from slackwater.fitting.decisions import Decision
from slackwater.fitting.result import BinaryResult, result_of
from slackwater.fitting.sample import Sample, Start
from slackwater.fitting.subspace.fit import projected
from slackwater.fitting.subspace.landmarks import FAMILIES, Landmarks, SampleDual
from slackwater.fitting.subspace.landmarks import NAME as NAME
from slackwater.fitting.subspace.problem import Doubles, SubspaceModel, SubspaceProblem
from slackwater.fitting.subspace.trial import Trial
from slackwater.fitting.training_set import TrainingSet
from slackwater.gram.features import Features
from slackwater.gram.source import IndexArray
from slackwater.problem import Problem


def attempt(start: Start) -> list[BinaryResult] | None:
    """Models in the subspace of some landmarks for all examples; None where the optimum is not near enough to one."""
    found = accepted(start)
    return None if found is None else found[1]


def accepted(start: Start) -> tuple[Landmarks, list[BinaryResult]] | None:
    """The landmarks, and the models in their subspace; None where the optimum is not near enough to one."""
    context, sample = start.context, start.sample
    if not sample.reached:
        return None
    settings, solution = context.settings.subspace, sample.solution
    n = solution.whole.n
    if not context.decide(NAME, "examples", n, ">=", settings.min_examples):
        return None
    expected = sample.active.support_fraction() * n / len(solution.problems)
    if not context.decide(NAME, "support vectors expected, a problem", expected, ">=", settings.min_support_vectors):
        return None
    optima = [result_of(context.solver, task).assessment.bound for task in sample.active.tasks]
    for family in FAMILIES:
        dual = _dual_of(sample)
        landmarks = family.choose(context, dual) if family.suits(context, dual) else None
        if landmarks is None:
            continue
        try:
            results = Trial(context, SolvedSample(sample), landmarks).run(optima)
        except np.linalg.LinAlgError:  # single precision cannot tell the landmarks apart where C is that large
            context.note(Decision(NAME, "Cholesky decomposition", math.nan, "", "declined", context.clock.seconds()))
            continue
        if results is not None:
            return landmarks, results
        if sample.seen > sample.size:  # the sample has grown: its landmarks are gone
            return None
    return None


def _dual_of(sample: Sample) -> SampleDual:
    solution, active = sample.solution, sample.active
    alpha, bounded = solution.alpha[:, active.examples], solution.bounded(active.examples)
    return SampleDual(solution.features, active.examples, active.part.order, alpha, bounded)


@dataclass
class SolvedSample:
    """What a subspace is measured against in a single fit: the solution of its sample, which grows to that of a part.

    Landmarks are places in the sample as it was.
    """

    sample: Sample

    def __post_init__(self) -> None:
        self.examples: IndexArray = self.sample.active.examples

    @property
    def whole(self) -> TrainingSet:
        return self.sample.solution.whole

    @property
    def features(self) -> Features:
        return self.sample.solution.features

    @property
    def problems(self) -> Sequence[Problem]:
        return self.sample.solution.problems

    @property
    def shuffled(self) -> IndexArray:
        return self.sample.shuffled

    @property
    def steps(self) -> Sequence[int]:
        return self.sample.solution.steps

    def projected(self, number: int, problem: SubspaceProblem) -> SubspaceModel:
        return projected(self.sample.solution, self.examples, number, problem)

    def solve_first(self, count: int) -> bool:
        return self.sample.solve_first(count)

    def bounds(self) -> list[float]:
        found = [task.assessment for task in self.sample.active.tasks]
        return [each.bound for each in found if each is not None]

    def wrong(self, tested: IndexArray, values: Doubles) -> NDArray[np.bool_]:
        return self.sample.solution.wrong(tested, values)

    def wrong_if_exact(self, tested: IndexArray) -> NDArray[np.bool_]:
        return self.sample.solution.wrong(tested, self.sample.solution.values(tested))
