"""The last look at models that were found on some of the examples, by the kernel itself.

Examples that were set aside may have losses, and rows that were rounded may hide some. Both are estimated from a random
part of them: as large a part as a share of the kernel values of the fit pays for, often all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slackwater.expansion import Expansion
from slackwater.gram.source import IndexArray
from slackwater.training.estimate import Estimate, estimated_sum
from slackwater.training.growth import Growth
from slackwater.training.run import Ending, with_losses

# Kernel values that a look may cost: a share of those computed so far, or as many as take some hundredths of a second.
_SHARE_OF_VALUES, _FEW_VALUES = 0.12, 2**24
_NEAREST, _OTHERS = 1024, 512  # examples that are looked at in any case
_FEWEST_WRONG = 3  # of a sample, to say how many are


class Stratum(NamedTuple):
    """Examples drawn at random from a group of them; all of them, if there are as many."""

    examples: IndexArray
    responses: NDArray[np.float64]  # (problems, examples), by the kernel itself
    size: int  # of the group


@dataclass(frozen=True)
class Audit:
    """Models of a growth, and the examples that they are judged by."""

    growth: Growth
    aside: tuple[Stratum, ...]  # set aside: those nearest to the margin, as far as was known, and others
    active: Stratum  # known from rounded values only

    @classmethod
    def of(cls, growth: Growth, rng: np.random.Generator) -> Audit:
        values = max(int(_SHARE_OF_VALUES * growth.features.ledger.train), _FEW_VALUES)
        room = values // max(len(growth.support()), 1)
        aside = growth.aside
        aside = aside[np.argsort(growth.judged[aside], kind="stable")]
        nearest = max(_NEAREST, room // 2)

        def stratum(group: IndexArray, most: int) -> Stratum:
            drawn = rng.permutation(group)[:most]
            return Stratum(drawn, growth.responses_at(drawn, growth.features), len(group))

        rounded = growth.active if growth.rows.two_bytes else growth.active[:0]
        return cls(
            growth,
            (stratum(aside[:nearest], nearest), stratum(aside[nearest:], max(_OTHERS, room // 2))),
            stratum(rounded, max(_OTHERS, room // 4)),
        )

    def lost_by_rounding(self) -> float:
        """What rounding costs, compared with the objective: the mean of all problems."""
        costs = [
            self._hidden_by_rounding(number).total / max(task.assessment.objective, 1e-300)
            for number, task in enumerate(self.growth.tasks)
            if task.assessment is not None
        ]
        return float(np.mean(costs))

    def misjudged(self) -> float:
        """The share of all examples that were set aside and are on the wrong side: the largest of all problems.

        Of those that stand for others, one or two tell nothing.
        """
        counts = np.zeros(len(self.growth.problems))
        for stratum in self.aside:
            wrong = np.count_nonzero(self.growth.margins(stratum.examples, stratum.responses) < 0.0, axis=1)
            drawn = len(stratum.examples)
            told = wrong if drawn == stratum.size else np.where(wrong >= _FEWEST_WRONG, wrong, 0)
            counts += told * (stratum.size / max(drawn, 1))
        return float(counts.max() / self.growth.whole.n)

    def endings(self) -> list[Ending]:
        """The models, with what they cost on all examples, also on those that were set aside."""
        growth, endings = self.growth, []
        for number, task in enumerate(growth.tasks):
            if task.assessment is None or task.reason is None:
                raise RuntimeError("the training loop ended without assessing a model")
            problem, scaling = growth.problems[number], growth.scalings[number]
            share = task.problem.total_weight / problem.total_weight
            known = task.assessment._replace(slack_nu=share * task.assessment.slack_nu)
            cost = growth.course.solver.C * problem.total_weight
            assessment = with_losses(known, self._hidden_losses(number), cost)
            coefficients = scaling.scale * growth.alpha[number] * growth.labels[number]
            expansion = Expansion.from_dense(coefficients, scaling.bias)
            endings.append(Ending(expansion, assessment, task.reason, task.state.step))
        return endings

    def _hidden_losses(self, number: int) -> Estimate:
        """Losses that a problem did not show: of examples set aside, and by rounding."""
        hidden = self._hidden_by_rounding(number)
        losses = [self._losses(number, stratum.examples, stratum.responses[number]) for stratum in self.aside]
        largest = max((float(each.max(initial=0.0)) for each in losses), default=0.0)
        for stratum, each in zip(self.aside, losses, strict=True):
            hidden += estimated_sum(each, stratum.size, largest)
        return hidden

    def _hidden_by_rounding(self, number: int) -> Estimate:
        examples = self.active.examples
        rounded = self._losses(number, examples, self.growth.responses[number, examples])
        difference = self._losses(number, examples, self.active.responses[number]) - rounded
        return estimated_sum(difference, self.active.size, 0.0)

    def _losses(self, number: int, examples: IndexArray, responses: NDArray[np.float64]) -> NDArray[np.float64]:
        """The cost of each example's slack, by its response."""
        scaling, problem = self.growth.scalings[number], self.growth.problems[number]
        margins = scaling.scale * responses + problem.labels[examples] * scaling.bias
        caps = self.growth.course.solver.caps(problem)[examples]
        losses: NDArray[np.float64] = caps * np.maximum(0.0, 1.0 - margins)
        return losses
