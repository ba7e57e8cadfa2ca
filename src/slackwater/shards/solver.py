"""The dual by blocks over shards (``solvers/dual_blocks.py``), as the training loop drives any solver.

A round: each shard has offered examples that violate optimality, with their points and responses; the dual over a block
of them, and of examples that are free to move, is solved here; what moves is sent to all shards, which bring their
responses up to date and answer with the next offers, a few sums, and the responses about the C-level.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from slackwater.expansion import Expansion
from slackwater.gram.ledger import EvaluationLedger
from slackwater.gram.source import IndexArray
from slackwater.shards.levels import LevelWindows, settle
from slackwater.shards.messages import Doubles, Ids, Report
from slackwater.shards.session import Members, Pending, Session, Wishes, ids_of, responses_of
from slackwater.solvers.base import Assessment, Outlook
from slackwater.solvers.coupling import Coupling, merge_blocks
from slackwater.solvers.dual_blocks import (
    BLOCK,
    EVERY,
    EVERY_STEP,
    MOST_FREE,
    RARER,
    block_size,
    solve_block,
)
from slackwater.solvers.incumbent import MIN_COMPARISON_EXAMPLES, TRUSTED_GAP

_OFFERED = 1.5  # times its share of a block, that a shard offers: some have more of the next in turn than others,
_LEAST_OFFERED = 32  # and some, in the end, of the worst


@dataclass(frozen=True)
class ShardedProblem:
    """One binary problem, whose examples are with the shards."""

    number: int
    n: int
    total_weight: float
    held_out: float  # weight of the examples that judge the model

    @property
    def id_bound(self) -> int:
        """Above the largest id of an example, which has its shard's number, too."""
        return 2**62


@dataclass
class Best:
    """The best model so far: its dual point and its assessment, whose last fields are its scale and bias."""

    point: Members
    assessment: list[Any]
    error: float  # on the examples unseen when it was judged; NaN if they were too few

    @staticmethod
    def none() -> Best:
        return Best(Members.none(), [math.inf] * len(Assessment._fields), math.nan)

    def exists(self) -> bool:
        return math.isfinite(self.assessment[0])


@dataclass
class ShardedState:
    """What the driver knows of a problem; plain data, to be stored. The points are with the shards."""

    step: int
    C: float
    blocks: int
    violation: float
    turn: float
    centre: float
    support: Members
    recent: Members  # those that were new in the last block
    best: Best


@dataclass(frozen=True)
class ShardedRows:
    """Stands where the training loop fetches kernel rows: shards compute them, in one round for all problems."""

    session: Session
    n: int

    @property
    def ledger(self) -> EvaluationLedger:
        return self.session.ledger

    def fetch(self, indices: Any, ahead: Any = None, transient: Any = None) -> ShardedRows:
        """Have all problems make the moves that they intend."""
        self.session.round()
        return self

    def part(self, positions: IndexArray) -> ShardedRows:
        return self

    def __len__(self) -> int:
        return 0


@dataclass(frozen=True)
class ShardedBlocks:
    """Dual decomposition by blocks, over shards."""

    C: float
    coupling: Coupling
    session: Session = field(repr=False, compare=False)
    windows: dict[int, LevelWindows] = field(default_factory=dict, repr=False, compare=False)

    @property
    def rows_a_step(self) -> int:
        return self.coupling.least_rows

    def due(self, step: int) -> bool:
        return 0 < step <= EVERY_STEP or (step > 0 and step % EVERY == 0)

    def start(self, problem: ShardedProblem, rng: np.random.Generator) -> ShardedState:
        self.windows[problem.number] = LevelWindows()
        nothing = Members.none()
        return ShardedState(0, self.C, 0, math.inf, -1.0, 0.0, nothing, nothing, Best.none())

    # ---- a step

    def draw(self, problem: ShardedProblem, state: ShardedState) -> Ids:
        """Solve the dual over a block; what it moves is what the next round is about."""
        self._ensure_known(problem, state)
        block, responses, new = self._block(problem, state)
        alpha, shortfall, gram = block.alpha.copy(), 1.0 - responses, self.session.gram(block.ids)
        solve = block.labels, block.upper, alpha
        solve_block(self.coupling, gram, *solve, shortfall, state.violation)
        if gram.dtype != np.float64 and np.array_equal(alpha, block.alpha):  # what is left is below its rounding
            shortfall = 1.0 - responses
            solve_block(self.coupling, gram.astype(np.float64), *solve, shortfall, state.violation)
        change, solved = (alpha - block.alpha) * block.labels, replace(block, alpha=alpha)
        state.recent = solved.part(new) if new.any() else solved
        state.centre = self.coupling.centre(block.labels, block.upper, alpha, shortfall)
        moved = np.flatnonzero(change)
        after = state.support.updated(solved.part(moved))
        wishes = self._wishes(problem, state, after, state.step + 1, len(moved) * problem.n)
        self.session.intend(problem.number, Pending(solved.part(moved), change[moved], wishes))
        return solved.ids[moved]

    def apply(self, problem: ShardedProblem, state: ShardedState, indices: Ids, rows: Any) -> None:
        """The shards have moved; so does the driver."""
        state.support = self.session.support(problem.number)
        state.step += 1
        state.blocks += 1

    def outlook(self, problem: ShardedProblem, state: ShardedState) -> Outlook:
        return Outlook(self.least_evaluations(problem.n))

    def least_evaluations(self, n: int) -> int:
        """What the smallest block of n examples costs."""
        return self.rows_a_step * (n + self.rows_a_step)

    def foresee(self, problem: ShardedProblem, state: ShardedState, most: int) -> IndexArray:
        return np.empty(0, dtype=np.intp)

    def epochs(self, n: int, step: int) -> float:
        """Each block has at least so many examples."""
        return step * BLOCK / n

    def _ensure_known(self, problem: ShardedProblem, state: ShardedState) -> None:
        """Have the shards at the state's support vectors, with offers; all problems that begin do so in one round."""
        session, number = self.session, problem.number
        if number in session.reports and (session.support(number) is state.support or not len(state.support)):
            return
        beginning = [each for each in self.windows if each not in session.reports] if not len(state.support) else []
        support = {each: Members.none() for each in beginning}
        wishes = {each: self._wishes(problem, state, support[each], state.step) for each in beginning}
        support[number], wishes[number] = state.support, self._wishes(problem, state, state.support, state.step)
        session.begin(support, wishes)

    # ---- the block

    def _wishes(
        self, problem: ShardedProblem, state: ShardedState, support: Members, step: int, committed: int = 0
    ) -> Wishes:
        """What the block after this step needs to know; the step itself costs so many kernel values."""
        size = self._block_size(problem, state.blocks + (step > state.step), committed)
        worst_first = not math.isfinite(state.turn)
        kept = state.recent.part(slice(0, size // 2 if worst_first and size >= 2 * self.rows_a_step else 0))
        wanted = kept.joined(self._free(support, kept, size // 2, step))
        shards = self.session.transport.count
        fresh = size - len(kept)  # of which one shard has all that come next in turn
        share = size if shards == 1 and not worst_first else math.ceil(_OFFERED * fresh / shards) + _LEAST_OFFERED
        offers = min(size, share)
        windows = self.windows[problem.number].now() if self.due(step) else None
        return Wishes(wanted, offers, state.turn, state.centre, windows, size, len(kept))

    def _free(self, support: Members, kept: Members, most: int, step: int) -> Members:
        """Others between the bounds, drawn at random: they make up for what violators change everywhere."""
        if self.session.ledger.limit is not None:  # which counts every row
            return Members.none()
        between = (support.alpha < support.upper) & ~np.isin(support.ids, kept.ids)
        free = support.part(between)
        if len(free) > MOST_FREE:
            return Members.none()
        return free.part(np.argsort((free.lots * 1e9 + step * 0.618) % 1.0)[:most])

    def _block(self, problem: ShardedProblem, state: ShardedState) -> tuple[Members, Doubles, Any]:
        """Examples whose responses were asked for, and new ones of those that shards offer; which ones are new."""
        number, session = problem.number, self.session
        reports, asked = session.reports[number], session.asked[number]
        state.violation, middle = self._violation(reports)
        offered, responses = _offered(reports)
        if math.isfinite(asked.turn):
            new = self._in_turn(state, asked.size, offered, reports)
            if len(new) == 0 and len(asked.wanted) == 0:
                session.ask({number: asked._replace(turn=math.inf)})
                return self._block(problem, state)
        else:
            rising, falling = self.coupling.pulls(offered.labels, offered.upper, offered.alpha, 1.0 - responses)
            rising += offered.lots - middle
            falling += offered.lots + middle
            new = merge_blocks(rising, falling, np.empty(0, np.intp), asked.size - asked.kept)
        block = asked.wanted.joined(offered.part(new))
        values = np.concatenate([responses_of(asked.wanted, reports), responses[new]])
        order = np.argsort(block.lots)  # so that nothing hangs on the order of the rows
        return block.part(order), values[order], order >= len(asked.wanted)

    def _in_turn(self, state: ShardedState, size: int, offered: Members, reports: list[Report]) -> IndexArray:
        """The next violators in random order, of both classes; the state's turn moves on."""
        offers = [report.offers for report in reports if report.offers is not None]
        flags = np.concatenate([np.arange(len(each.numbers)) < each.in_turn for each in offers])
        by_lot: IndexArray = np.argsort(offered.lots)
        waiting = by_lot[flags[by_lot]]
        new: IndexArray = waiting[:size]
        exhausted = len(waiting) < size and not any(each.more for each in offers)
        state.turn = math.inf if exhausted else float(offered.lots[new].max(initial=state.turn))
        labels = offered.labels[new]
        rarer = 1 if 2 * np.count_nonzero(labels > 0) < len(new) else -1
        missing = len(new) // RARER - np.count_nonzero(labels == rarer)
        if missing <= 0:
            return new
        others = by_lot[~np.isin(by_lot, new)]
        more = others[offered.labels[others] == rarer][:missing]
        out = np.flatnonzero(labels != rarer)[len(new) - np.count_nonzero(labels == rarer) - len(more) :]
        return np.asarray(np.concatenate([np.delete(new, out), more]), dtype=np.intp)

    def _violation(self, reports: list[Report]) -> tuple[float, float]:
        top, bottom = max(report.top for report in reports), max(report.bottom for report in reports)
        return self.coupling.violation_of(top, bottom)

    def _block_size(self, problem: ShardedProblem, blocks: int, committed: int) -> int:
        """A block never costs more than a problem's share of what the budget of evaluations has left."""
        size, remaining = block_size(blocks), self.session.ledger.remaining
        if remaining is not None:  # for the values of the block with itself, then for its rows
            left = max(remaining // len(self.windows) - committed, 0)
            size = min(size, (math.isqrt(problem.n**2 + 4 * left) - problem.n) // 2)
        return max(size, self.rows_a_step)

    # ---- the model

    def assess(self, problem: ShardedProblem, state: ShardedState | Best) -> Assessment:
        """Of the best multiple of the dual point's w, from sums of the shards."""
        if isinstance(state, Best):
            return Assessment(*state.assessment)
        self._ensure_known(problem, state)
        number, session = problem.number, self.session
        reports, windows = session.reports[number], self.windows[number]
        squared_norm = max(sum(report.squared_norm for report in reports), 0.0)
        dual = sum(report.coefficient_sum for report in reports) - 0.5 * squared_norm
        ask = partial(session.look, number)
        seen = reports if reports[0].basins is not None else ask(windows.now())
        losses = partial(self._losses, number)
        level = settle(seen, windows, squared_norm, self.C, self.coupling.free_bias, ask, losses)
        norm = level.scale * math.sqrt(squared_norm)
        primal = 0.5 * norm**2 + level.loss
        return Assessment(
            objective=primal,
            bound=dual,
            gap=max(0.0, (primal - dual) / primal) if primal > 0.0 else 0.0,
            margin=1.0 / norm if norm > 0.0 else math.inf,
            slack_nu=level.loss / (self.C * problem.total_weight * norm) if norm > 0.0 else math.nan,
            n_support=len(state.support),
            holdout_error=self._holdout_error(problem, level.scale, level.bias),
            violation=self._violation(reports)[0],
            scale=level.scale,
            bias=level.bias,
        )

    def _losses(self, number: int, scale: float, bias: float) -> float:
        """What the losses of a model come to, in one more round."""
        return float(sum(self.session.call_all("losses", number, scale, bias)))

    def _holdout_error(self, problem: ShardedProblem, scale: float, bias: float) -> float | None:
        if problem.held_out == 0.0:
            return None
        wrong = self.session.call_all("holdout_losses", [(problem.number, scale, bias)])
        return float(sum(each[0] for each in wrong)) / problem.held_out

    def remember(self, state: ShardedState, assessment: Assessment) -> None:
        """Nothing: the dual value grows with every step, but for rounding."""

    def expansion(self, problem: ShardedProblem, state: ShardedState | Best) -> Expansion:
        """Examples are named by their ids."""
        found = self.assess(problem, state)
        support = state.point if isinstance(state, Best) else state.support
        return Expansion(support.ids.astype(np.intp), found.scale * support.alpha * support.labels, found.bias)

    def keep_best(self, problem: ShardedProblem, state: ShardedState, assessment: Assessment) -> None:
        """The dual objective rises with every block; the error of the model does not fall with every block."""
        error = self._unseen_error(problem, state, assessment)
        if _yields(state.best, assessment, error):
            state.best = Best(state.support, list(assessment), error)

    def best(self, problem: ShardedProblem, state: ShardedState, assessment: Assessment) -> ShardedState | Best:
        """The current model, or an earlier one."""
        error = self._unseen_error(problem, state, assessment)
        return state if _yields(state.best, assessment, error) else state.best

    def _unseen_error(self, problem: ShardedProblem, state: ShardedState, assessment: Assessment) -> float:
        """On the examples that have not had their turn; NaN where too few are left to tell."""
        if not math.isfinite(state.turn):
            return math.nan
        model = problem.number, state.turn, assessment.scale, assessment.bias
        verdicts = self.session.call_all("unseen_error", *model)
        weight = sum(each.weight for each in verdicts)
        enough = sum(each.examples for each in verdicts) >= MIN_COMPARISON_EXAMPLES and weight > 0.0
        return sum(each.wrong for each in verdicts) / weight if enough else math.nan

    def continued(self, state: ShardedState) -> ShardedState:
        """Scaled to this C the point is feasible, balanced, and near the new optimum."""
        factor = self.C / state.C
        for each in (state.support, state.recent):
            each.alpha *= factor
            each.upper *= factor
        state.C, state.best, state.blocks = self.C, Best.none(), 0
        return state


def _yields(best: Best, assessment: Assessment, error: float) -> bool:
    """Whether the current model is to be preferred (``solvers/incumbent.py``).

    Each model was judged by the examples unseen at its time, which are a random part of all: neither is compared on the
    other's, whose responses shards would have to keep.
    """
    if not best.exists() or Assessment(*best.assessment).scale == 0.0 < assessment.scale:
        return True
    if not (math.isnan(error) or math.isnan(best.error)):
        return error <= best.error
    trusted = math.isnan(best.error) or assessment.gap <= TRUSTED_GAP
    return trusted and assessment.objective <= Assessment(*best.assessment).objective


def _offered(reports: list[Report]) -> tuple[Members, Doubles]:
    """What all shards offer, and the responses."""
    found, responses = [Members.none()], [np.empty(0)]
    for shard, report in enumerate(reports):
        offers = report.offers
        if offers is not None:
            ids = ids_of(shard, offers.numbers)
            found.append(Members(ids, offers.labels, offers.upper, offers.alpha, offers.lots))
            responses.append(offers.responses)
    return found[0].joined(*found[1:]), np.concatenate(responses)
