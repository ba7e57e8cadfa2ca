"""The last look at models by the kernel itself, shared by the strategies that solve the dual for some of the examples.

Screened examples may have losses, and rows that were rounded may hide some. Both are estimated from a random part of
them: as large a part as a share of the kernel values of the fit pays for, often all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slackwater.expansion import Expansion
from slackwater.fitting.active_set import ActiveSet
from slackwater.fitting.estimate import Estimate, estimated_sum
from slackwater.fitting.result import BinaryResult, with_losses
from slackwater.fitting.settings import AuditSettings
from slackwater.gram.source import IndexArray


class Stratum(NamedTuple):
    """Examples drawn at random from a group of them; all of them, if there are as many."""

    examples: IndexArray
    responses: NDArray[np.float64]  # (problems, examples), by the kernel itself
    size: int  # of the group


@dataclass(frozen=True)
class Audit:
    """Models of an active set, and the examples that they are judged by."""

    active: ActiveSet
    settings: AuditSettings
    screened: tuple[Stratum, ...]  # those nearest to the margin, as far as was known, and others
    rounded: Stratum  # active examples, known from rounded values only

    @classmethod
    def of(cls, active: ActiveSet, brief: bool = False) -> Audit:
        """Draw the examples and compute their responses; of few of them, where time is up."""
        solution, settings, rng = active.solution, active.context.settings.audit, active.context.rng
        evaluations = int(settings.share_of_evaluations * solution.features.ledger.train)
        room = max(evaluations, settings.min_evaluations) // max(len(solution.support()), 1)
        least_nearest, least_others = settings.min_nearest, settings.min_others
        if brief:
            room = settings.brief_evaluations // max(len(solution.support()), 1)
            least_nearest = least_others = settings.min_brief
        screened = active.screened
        screened = screened[np.argsort(solution.last_margins[screened], kind="stable")]
        nearest = max(least_nearest, room // 2)

        def stratum(group: IndexArray, most: int) -> Stratum:
            drawn = rng.permutation(group)[:most]
            return Stratum(drawn, solution.responses_at(drawn, solution.features), len(group))

        rounded = active.examples if active.rows.two_bytes else active.examples[:0]
        return cls(
            active,
            settings,
            (
                stratum(screened[:nearest], nearest),
                stratum(screened[nearest:], max(least_others, room // 2)),
            ),
            stratum(rounded, max(least_others, room // 4)),
        )

    @property
    def complete(self) -> bool:
        """Whether nothing had to be estimated."""
        return all(len(each.examples) == each.size for each in (*self.screened, self.rounded))

    def lost_by_rounding(self) -> float:
        """What rounding costs, relative to the objective: the mean of all problems."""
        costs = [
            self._hidden_by_rounding(number).total / max(task.assessment.objective, 1e-300)
            for number, task in enumerate(self.active.tasks)
            if task.assessment is not None
        ]
        return float(np.mean(costs))

    def misjudged(self) -> float:
        """The share of all examples that are screened and on the wrong side: the largest of all problems.

        Of those drawn to represent others, one or two tell nothing.
        """
        solution = self.active.solution
        counts = np.zeros(len(solution.problems))
        for stratum in self.screened:
            wrong = np.count_nonzero(solution.margins(stratum.examples, stratum.responses) < 0.0, axis=1)
            drawn = len(stratum.examples)
            told = wrong if drawn == stratum.size else np.where(wrong >= self.settings.min_wrong, wrong, 0)
            counts += told * (stratum.size / max(drawn, 1))
        return float(counts.max() / solution.whole.n)

    def results(self) -> list[BinaryResult]:
        """The models, with what they cost on all examples, also on those that are screened."""
        solution, results = self.active.solution, []
        for number, task in enumerate(self.active.tasks):
            if task.assessment is None or task.reason is None:
                raise RuntimeError("the training loop ended without assessing a model")
            problem, scaling = solution.problems[number], solution.scalings[number]
            share = task.problem.total_weight / problem.total_weight
            known = task.assessment._replace(slack_nu=share * task.assessment.slack_nu)
            cost = solution.solver.C * problem.total_weight
            assessment = with_losses(known, self._hidden_losses(number), cost)
            coefficients = scaling.scale * solution.alpha[number] * solution.labels[number]
            expansion = Expansion.from_dense(coefficients, scaling.bias)
            results.append(BinaryResult(expansion, assessment, task.reason, task.state.step, self.complete))
        return results

    def _hidden_losses(self, number: int) -> Estimate:
        """Losses that a problem did not show: of screened examples, and by rounding."""
        hidden = self._hidden_by_rounding(number)
        losses = [self._losses(number, stratum.examples, stratum.responses[number]) for stratum in self.screened]
        largest = max((float(each.max(initial=0.0)) for each in losses), default=0.0)
        for stratum, each in zip(self.screened, losses, strict=True):
            hidden += estimated_sum(each, stratum.size, largest)
        return hidden

    def _hidden_by_rounding(self, number: int) -> Estimate:
        examples = self.rounded.examples
        shown = self._losses(number, examples, self.active.solution.responses[number, examples])
        difference = self._losses(number, examples, self.rounded.responses[number]) - shown
        return estimated_sum(difference, self.rounded.size, 0.0)

    def _losses(self, number: int, examples: IndexArray, responses: NDArray[np.float64]) -> NDArray[np.float64]:
        """The cost of each example's slack, by its response."""
        solution = self.active.solution
        scaling, problem = solution.scalings[number], solution.problems[number]
        margins = scaling.scale * responses + problem.labels[examples] * scaling.bias
        upper = solution.solver.upper_bounds(problem)[examples]
        losses: NDArray[np.float64] = upper * np.maximum(0.0, 1.0 - margins)
        return losses


class Audited(NamedTuple):
    """Models, and what the last look at them found."""

    results: list[BinaryResult]
    gap: float  # the mean of all problems
    misjudged: float  # share of the examples that are screened and on the wrong side


def audited(active: ActiveSet, tol: float, reached: bool) -> Audited:
    """The models as the kernel itself has them; solved again without rounding, if that is what they suffer from."""
    audit = Audit.of(active)
    if reached and audit.lost_by_rounding() > audit.settings.max_lost_by_rounding * tol:
        active.decompress()
        active.solve(tol)
        audit = Audit.of(active)
    results = audit.results()
    gap = np.mean([1.0 - each.assessment.bound / max(each.assessment.objective, 1e-300) for each in results])
    return Audited(results, float(gap), audit.misjudged())
