"""The rounds of chunking: solve the working set, test the others, admit violators, until a rule ends it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from slackwater.deadline import CutShort
from slackwater.expansion import Expansion
from slackwater.fitting.context import FitContext
from slackwater.fitting.decisions import Decision
from slackwater.solvers.base import Assessment
from slackwater.stopping import Progress, StoppingRule, StopReason, first_reason, reason_of
from slackwater.tracing import Snapshot, snapshot

if TYPE_CHECKING:
    from slackwater.fitting.chunking import Chunking

NAME = "exact"
_REFINEMENT = 0.25  # the next violation to reach, where one does not lead to the gap that is asked for


@dataclass
class Rounds:
    """Solve the working set, test the others, admit violators, until a rule ends it."""

    context: FitContext
    chunking: Chunking
    rules: list[StoppingRule]
    number: int  # of the problem
    done: list[Expansion]  # models of the problems before it
    to_come: int  # problems after it
    made: int = 0
    made_before: int = 0  # by the fits that this one goes on from: no budget counts them
    rows: list[Snapshot] = field(default_factory=list)
    certified: bool = True

    def left_at(self, cut: CutShort) -> tuple[Assessment, StopReason]:
        """What is known of the working set's solution where examples outside of it could not be tested any more."""
        self.certified = False
        assessment = self.chunking.assess_working_set()
        return assessment, StopReason.INTERRUPT if cut.interrupted else StopReason.SECONDS

    def run(self, allowed: float) -> tuple[Assessment, StopReason] | None:
        chunking, whole = self.chunking, self.chunking.n <= self.chunking.settings.max_at_once
        newcomers = chunking.first_members()
        newcomers = newcomers[chunking.outside[newcomers]]
        tolerance = allowed if whole else max(allowed, chunking.settings.coarse_tolerance)
        while True:
            if len(newcomers):
                chunking.admit(newcomers)
            settled = chunking.solve(tolerance)
            chunking.test_others(tolerance)
            self.made += 1
            assessment = chunking.assess()
            reason = self._reason(assessment)
            if reason is not None:
                return assessment, reason
            violators = chunking.violators(tolerance)
            if not settled and len(violators) == 0:
                return assessment, self._stalled(assessment)
            joined = chunking.newcomers(violators)
            if joined is None:
                expected = chunking.expected_working_set(violators)
                limit, seconds = f"<= {chunking.working.capacity}", self.context.clock.seconds()
                measured = "examples in the working set"
                self.context.note(Decision(NAME, measured, float(expected), limit, "declined", seconds))
                return None
            newcomers = joined
            if len(violators) < chunking.settings.few_violators * len(chunking.working):
                finer = tolerance <= allowed and len(violators) == 0  # and yet the gap is not reached
                tolerance = allowed = _REFINEMENT * allowed if finer else allowed

    def _stalled(self, assessment: Assessment) -> StopReason:
        """Rounding lets nothing move any more; what is allowed may be reached, if not the gap beyond it."""
        context = self.context
        reached = context.stopping.tol is None and assessment.violation <= context.settings.tolerance.exact_violation
        return StopReason.TOLERANCE if reached else StopReason.STALLED

    def _reason(self, assessment: Assessment) -> StopReason | None:
        context = self.context
        progress = Progress(
            self.made - self.made_before,
            context.training_set.ledger.train,
            context.clock.seconds(),
            gap=assessment.gap,
            objective=assessment.objective,
            bound=assessment.bound,
            violation=assessment.violation,
        )
        self.rows.append(snapshot(self.number, self.made, progress, assessment))
        context.show(self.rows[-1], progress)
        if context.show_models(self.made, lambda: self._models(assessment)):
            return first_reason(self.rules, progress) or StopReason.CALLBACK
        return first_reason(self.rules, progress) or reason_of(self.chunking.deadline)

    def _models(self, assessment: Assessment) -> list[Expansion]:
        """Those of all problems; of the problems to come, a function that claims no example."""
        own = Expansion.from_dense(self.chunking.alpha * self.chunking.labels, assessment.bias)
        return [*self.done, own, *[Expansion.from_dense(np.zeros(0), -1.0)] * self.to_come]
