"""The subspace strategy over shards: landmarks are sent once; a Newton step takes m × m sums of each shard.

Whether the optimum is near a subspace is decided by the strategy of a single machine, on a sample of the examples.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from slackwater.expansion import Expansion
from slackwater.fitting.context import FitContext
from slackwater.fitting.result import BinaryResult
from slackwater.fitting.subspace.newton import Derivatives, minimise_losses
from slackwater.fitting.subspace.problem import SubspaceModel
from slackwater.shards.choice import Accepted
from slackwater.shards.session import Call, Session
from slackwater.shards.solver import ShardedProblem
from slackwater.shards.span import Position, Question
from slackwater.solvers.base import Assessment
from slackwater.stopping import Progress, StopReason
from slackwater.tracing import snapshot


@dataclass
class ShardedLosses:
    """The losses of all shards' examples of a problem, as Newton's method asks for them."""

    session: Session
    free_bias: bool
    make_span: Call
    width: float
    steps: int = 0
    model: SubspaceModel | None = None
    direction: SubspaceModel | None = None

    def begin(self, model: SubspaceModel) -> None:
        self.model, self.direction = model, None
        self.steps += 1

    def total(self) -> float:
        return float(sum(self._ask(Question("total"))))

    def hinge(self) -> float:
        """What the losses come to with the hinge as it is."""
        return float(sum(self._ask(Question("hinge"))))

    def derivatives(self, anew: bool) -> Derivatives:
        return Derivatives.total(self._ask(Question("derivatives", float(anew))))

    def look_along(self, direction: SubspaceModel) -> None:
        self.direction = direction

    def slope(self, length: float) -> float:
        return float(sum(self._ask(Question("slope", length))))

    def advance(self, length: float) -> None:
        here, way = self.model, self.direction
        if here is None or way is None:
            raise RuntimeError("there is no direction to advance along")
        self.begin(SubspaceModel(here.weights + length * way.weights, here.bias + length * way.bias))

    def _ask(self, question: Question) -> list[Any]:
        if self.model is None:
            raise RuntimeError("there is no model yet")
        position = Position(self.steps, self.width, self.model, self.direction)
        call = Call("newton", (position, question))
        return self.session.transport.call([call] * self.session.transport.count, lambda _: self.make_span)


def fit_subspace(context: FitContext, session: Session, problem: ShardedProblem, found: Accepted) -> BinaryResult:
    """The best function in the span of the landmarks, for the losses of all examples."""
    basis, widths = found.basis, found.widths
    context.stage(f"a subspace of {len(found.ids):,} landmarks, {problem.n:,} examples")
    make_span = Call("span", (problem.number, found.points, basis))
    session.transport.call([make_span] * session.transport.count, lambda _: make_span)
    session.ledger.charge("train", problem.n * len(found.ids))
    settings = context.settings.subspace
    model = SubspaceModel(basis.factor.T @ found.coefficients, found.bias)
    losses = ShardedLosses(session, session.plan.coupling.free_bias, make_span, widths[0])
    for width in widths:
        losses.width = width
        accuracy = settings.newton_accuracy if width == widths[-1] else settings.coarse_newton_accuracy
        model = minimise_losses(losses, model, accuracy, lambda: context.cut_short() is not None)
    losses.begin(model)
    loss = losses.hinge()
    session.call_all("forget_span")
    cut_short = context.cut_short()
    assessment = _assessment(session.plan.C, problem, model, loss, 1.0 if cut_short else found.gap)
    expansion = Expansion(found.ids.astype(np.intp), basis.coefficients(model.weights), model.bias)
    steps = found.steps + 1  # Newton's method is one, as on one machine
    progress = Progress(steps, session.ledger.train, context.clock.seconds())
    row = snapshot(problem.number, steps, progress, assessment)
    context.recorder.assessed(row)
    context.show(row, progress)
    context.show_models(steps, lambda: [expansion])
    return BinaryResult(expansion, assessment, cut_short or StopReason.CONVERGED, steps, certified=False)


def _assessment(C: float, problem: ShardedProblem, model: SubspaceModel, loss: float, gap: float) -> Assessment:
    norm = float(np.linalg.norm(model.weights))
    cost = 0.5 * norm**2 + loss
    return Assessment(
        objective=cost,
        bound=(1.0 - gap) * cost,
        gap=gap,
        margin=1.0 / norm if norm > 0.0 else math.inf,
        slack_nu=loss / (C * problem.total_weight * norm) if norm > 0.0 else math.nan,
        n_support=len(model.weights),
        holdout_error=None,
    )
