"""Which strategy serves a problem over shards: decided on a sample of its examples, by the single machine's strategies.

The sample is solved here, on the driver. Where a subspace serves, its landmarks are those of the sample; else the exact
strategy goes on from the sample's solution, to the tolerance that the sample chose.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from slackwater.deadline import CutShort
from slackwater.examples import row_keys
from slackwater.fitting.context import FitContext, ModelWatch
from slackwater.fitting.decisions import Decision, Decisions
from slackwater.fitting.sample import Start
from slackwater.fitting.strategies import subspace
from slackwater.fitting.subspace.basis import Basis, independent_basis
from slackwater.fitting.training_set import feature_training_set
from slackwater.gram.source import IndexArray
from slackwater.kernels.blocks import block
from slackwater.points import Points, Vectors
from slackwater.shards.form import Packed, joined, packed
from slackwater.shards.messages import Doubles, Ids
from slackwater.shards.session import Members, Session, ids_of
from slackwater.shards.solver import ShardedProblem
from slackwater.solvers.dual_blocks import DualBlocks
from slackwater.stopping import Progress
from slackwater.tracing import Callback, DecisionWatcher, Recorder, Snapshot, StageWatcher

_ROWS_BYTES, _MATRIX_BYTES = 2**30, 2**31  # on the driver: for kernel rows of the sample, and for its coordinates
_SHARE, _LEAST, _MOST = 2, 24576, 65536  # a sample is half of the examples, within these limits


class Accepted(NamedTuple):
    """A subspace that serves a problem, as far as the sample tells."""

    ids: Ids  # of the landmarks, in the order of the basis
    points: Packed
    basis: Basis
    widths: tuple[float, ...]  # over which the hinge is smoothed, one after the other
    coefficients: Doubles  # of the sample's model
    bias: float
    gap: float  # estimated
    steps: int  # of the sample's solution


class Solved(NamedTuple):
    """The sample's dual solution, from which the exact strategy goes on."""

    support: Members
    tol: float
    steps: int


@dataclass(frozen=True)
class DrawnSample:
    """Some examples of a problem, here."""

    ids: Ids
    points: Points
    positive: NDArray[np.bool_]
    weights: Doubles
    lots: Doubles


def sample_size(n: int) -> int:
    return min(n, max(_LEAST, min(n // _SHARE, _MOST)))


def draw_sample(session: Session, problem: ShardedProblem, seed: int) -> DrawnSample:
    """A random sample: from each shard its share."""
    share = sample_size(problem.n) / problem.n
    found = session.call_all("drawn", problem.number, share, seed)
    ids = np.concatenate([ids_of(shard, each.numbers) for shard, each in enumerate(found)])
    points = session.plan.form.unpacked(joined([each.points for each in found]))
    columns = (np.concatenate([getattr(each, name) for each in found]) for name in ("positive", "weights", "lots"))
    return DrawnSample(ids, points, *columns)


def choose(context: FitContext, session: Session, problem: ShardedProblem, seed: int) -> Accepted | Solved:
    """The subspace, if the sample's is as good as its exact solution, or what the exact strategy goes on from."""
    sample = draw_sample(session, problem, seed)
    own = _context_of(context, session, problem, sample, seed)
    start, found = Start(own), None
    try:
        found = subspace.accepted(start) if context.strategy in ("auto", subspace.NAME) else None
        start.sample  # noqa: B018  # is solved now, if it was not
    except CutShort:  # what there is of its solution is the model
        if "sample" not in vars(start):
            return Solved(Members.none(), context.settings.tolerance.exact_gap, 0)
    if found is not None and not _has_room(own, session, problem, len(found[1][0].expansion.support)):
        found = None
    for decision in own.decisions:
        context.decisions.append(decision._replace(problem=problem.number))
    session.ledger.charge("train", own.training_set.ledger.train)
    if found is None:
        return _solved(start, sample)
    landmarks, (result,) = found
    kept = own.training_set.kept[result.expansion.support]
    points = sample.points.take(kept)
    gram = block(session.plan.kernel, points, points, workers=session.workers).astype(np.float64)
    basis = independent_basis(gram)
    order = basis.members
    allowance = 1.0 + own.settings.subspace.gap_allowance
    return Accepted(
        sample.ids[kept[order]],
        packed(points.take(order)),
        Basis(np.arange(len(order)), basis.factor),
        landmarks.widths,
        result.expansion.coefficients[order],
        result.expansion.bias,
        min(1.0, allowance * result.assessment.gap),
        start.sample.solution.steps[0],
    )


def _has_room(context: FitContext, session: Session, problem: ShardedProblem, landmarks: int) -> bool:
    """Whether a worker has memory for the coordinates of its share of the examples."""
    values = problem.n / session.transport.count * landmarks
    megabytes = values * np.dtype(session.plan.form.values).itemsize / 2**20
    limit = session.transport.shard_memory / 2**20
    return context.decide(subspace.NAME, "memory for coordinates on a worker, MB", megabytes, "<=", limit)


def _context_of(
    context: FitContext, session: Session, problem: ShardedProblem, sample: DrawnSample, seed: int
) -> FitContext:
    """A fit of the sample alone, with the budgets, the clock and the onlookers of the whole."""
    plan, number = session.plan, problem.number
    training_set = feature_training_set(
        sample.points,
        plan.kernel,
        sample.positive.astype(np.intp),
        sample.weights,
        0.0,
        _ROWS_BYTES,
        _MATRIX_BYTES,
        session.workers,
        np.random.default_rng(seed),
        lambda *_: True,
    )
    ids = sample.ids[training_set.kept]
    watch = None if context.watch is None else partial(_named, context.watch, ids)
    return replace(
        context,
        solver=DualBlocks(plan.C, plan.coupling),
        training_set=training_set,
        n_classes=2,
        recorder=cast("Recorder", OfProblem(context.recorder, number)),
        watchers=[OfProblem(each, number) for each in context.watchers],
        watch=watch,
        decisions=Decisions(),
        fallbacks={},
        stages=0,
    )


def _named(watch: ModelWatch, ids: Ids, step: int, evaluations: int, seconds: float, models: Any) -> bool:
    """Show the models of a sample with the ids of its examples instead of their numbers."""
    return watch(step, evaluations, seconds, lambda: [replace(each, support=ids[each.support]) for each in models()])


@dataclass(frozen=True)
class OfProblem:
    """A callback that is shown a fit of one problem, as that of a fit of several."""

    callback: Callback
    number: int

    def assessed(self, row: Snapshot) -> None:
        self.callback.assessed(row._replace(problem=self.number))

    def tick(self, progress: Progress) -> None:
        self.callback.tick(progress)

    def ended(self) -> None:
        self.callback.ended()

    def decided(self, decision: Decision) -> None:
        if isinstance(self.callback, DecisionWatcher):
            self.callback.decided(decision._replace(problem=self.number))

    def staged(self, name: str) -> None:
        if isinstance(self.callback, StageWatcher):
            self.callback.staged(name)

    def done(self) -> None:
        """Nothing: the fit of several goes on."""


def _solved(start: Start, sample: DrawnSample) -> Solved:
    """Its coefficients; copies that were merged in the sample share theirs by their weights."""
    found, training_set = start.sample, start.context.training_set
    groups = _copies(sample)
    weight = np.bincount(groups, sample.weights)
    of_group = np.zeros(len(weight))
    of_group[groups[training_set.kept]] = found.solution.alpha[0]
    alpha = of_group[groups] * sample.weights / weight[groups]
    support = np.flatnonzero(alpha > 0.0)
    labels = np.where(sample.positive[support], 1, -1).astype(np.int8)
    upper = start.context.solver.C * sample.weights[support]
    members = Members(sample.ids[support], labels, upper, np.minimum(alpha[support], upper), sample.lots[support])
    return Solved(members, found.tol, found.solution.steps[0])


def _copies(sample: DrawnSample) -> IndexArray:
    """The number of a group for each example: equal rows of one class are one."""
    if not isinstance(sample.points, Vectors):
        return np.arange(len(sample.ids))
    keys = np.stack([row_keys(sample.points), sample.positive])
    return np.unique(keys, axis=1, return_inverse=True)[1].ravel()
