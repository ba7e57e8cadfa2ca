"""The driver's side of a fit over shards: rounds of messages, and the points of those that matter.

The driver owns the truth: which examples are support vectors, their coefficients, their points. Shards keep responses
that follow from it, and one that is lost is made again from the data and brought up to date.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from slackwater.gram.ledger import EvaluationLedger
from slackwater.gram.source import IndexArray
from slackwater.kernels.blocks import block
from slackwater.points import Floats
from slackwater.shards.messages import Doubles, Ids, Move, Query, Report, Request, Windows
from slackwater.shards.points import PointTable
from slackwater.shards.shard import Plan, Restored
from slackwater.workers import Workers, available_memory

LOCAL_BITS = 40  # of an id: the example's number in its shard; above them, the shard's number
_LOCAL = (1 << LOCAL_BITS) - 1
_SPARE_POINTS = 8192  # offered and not moved, that the driver keeps before it lets them go


@dataclass
class Members:
    """Some examples of a problem, as the driver knows them; plain data, to be stored."""

    ids: Ids
    labels: NDArray[np.int8]
    upper: Doubles
    alpha: Doubles
    lots: Doubles

    def __len__(self) -> int:
        return len(self.ids)

    def part(self, chosen: Any) -> Members:
        return Members(*(each[chosen] for each in self.columns()))

    def columns(self) -> tuple[NDArray[Any], ...]:
        return self.ids, self.labels, self.upper, self.alpha, self.lots

    @staticmethod
    def none() -> Members:
        return Members(np.empty(0, np.int64), np.empty(0, np.int8), np.empty(0), np.empty(0), np.empty(0))

    def updated(self, moved: Members) -> Members:
        """With new coefficients of some of them, or of others; without those whose coefficients are zero."""
        staying = self.part(~np.isin(self.ids, moved.ids))
        return staying.joined(moved.part(moved.alpha > 0.0))

    def joined(self, *others: Members) -> Members:
        return Members(*(np.concatenate(each) for each in zip(*(m.columns() for m in (self, *others)), strict=True)))


class Wishes(NamedTuple):
    """What a problem wants to know after a round."""

    wanted: Members  # whose responses it needs for the next block
    offers: int  # examples that each shard offers
    turn: float
    centre: float
    windows: Windows | None
    size: int = 0  # of the next block, without those that are free to move
    kept: int = 0  # the first so many wanted are of the last block


class Pending(NamedTuple):
    """What a problem is about to do: its move, and what it wants to know then."""

    moved: Members  # with their new coefficients
    change: Doubles  # of the signed coefficients
    wishes: Wishes


class Call(NamedTuple):
    """A method of a shard and its arguments."""

    method: str
    arguments: tuple[Any, ...]


class Transport(Protocol):
    """How shards are reached. Whoever implements it sees to it that every call is answered, or raises."""

    @property
    def count(self) -> int:
        """Shards there are."""

    @property
    def shard_memory(self) -> int:
        """Bytes that each shard may take for coordinates in a subspace."""

    def call(self, calls: Sequence[Call], catch_up: Callable[[int], Call]) -> list[Any]:
        """One call to each shard; a shard that is lost meanwhile is made again and told to ``catch_up`` first."""


@dataclass
class LocalTransport:
    """Shards in this process, one after the other."""

    shards: Sequence[Any]

    @property
    def count(self) -> int:
        return len(self.shards)

    @property
    def shard_memory(self) -> int:
        return available_memory() // 3

    def call(self, calls: Sequence[Call], catch_up: Callable[[int], Call]) -> list[Any]:
        return [getattr(shard, c.method)(*c.arguments) for shard, c in zip(self.shards, calls, strict=True)]


@dataclass
class Session:
    """Rounds with all shards."""

    transport: Transport
    plan: Plan
    ledger: EvaluationLedger
    workers: Workers
    step: int = 0
    points: PointTable = field(default_factory=PointTable)

    def __post_init__(self) -> None:
        self.reports: dict[int, list[Report]] = {}  # of each problem, from every shard
        self.asked: dict[int, Wishes] = {}  # to which these are the answers
        self._pending: dict[int, Pending] = {}
        self._made: dict[int, Pending] = {}  # in the last round
        self._truth: dict[int, Members] = {}  # each problem's support vectors
        self._numbers: dict[int, int] = {}  # of rows that have moved

    # ---- rounds

    def begin(self, support: dict[int, Members], wishes: dict[int, Wishes]) -> None:
        """Bring all shards to problems' support vectors, and ask about them without a move."""
        self._truth.update(support)
        restored = [problem for problem, members in support.items() if len(members)]
        if restored:
            named = [ids for each in restored for ids in (support[each].ids, wishes[each].wanted.ids)]
            self._fetch_points(np.unique(np.concatenate(named)))
            calls = [self._restoring(shard, restored) for shard in range(self.transport.count)]
            self.ledger.charge(self.ledger.account, sum(self.transport.call(calls, self._catch_up)))
        self.ask(wishes)

    def intend(self, problem: int, pending: Pending) -> None:
        """Move in the next round."""
        self._pending[problem] = pending

    def round(self) -> None:
        """All problems move as they intend, and learn what they want to know."""
        self._made, self._pending = self._pending, {}
        self._exchange(self.step + 1, self._made)
        self.step += 1
        for problem, made in self._made.items():
            self._truth[problem] = self._truth[problem].updated(made.moved)

    def support(self, problem: int) -> Members:
        """A problem's support vectors, as the shards have them."""
        return self._truth[problem]

    def ask(self, wishes: dict[int, Wishes]) -> None:
        """Learn about problems without a move."""
        self._exchange(self.step, {each: Pending(Members.none(), np.empty(0), wishes[each]) for each in wishes})

    def look(self, problem: int, windows: Windows) -> list[Report]:
        """Basins of a problem through other windows; what else is known of it stays."""
        nothing = Pending(Members.none(), np.empty(0), Wishes(Members.none(), 0, np.inf, 0.0, windows))
        return [reply.reports[0] for reply in self._send(self.step, {problem: nothing})]

    def call_all(self, method: str, *arguments: Any) -> list[Any]:
        """The same call to each shard."""
        return self.transport.call([Call(method, arguments)] * self.transport.count, self._catch_up)

    def _exchange(self, step: int, pending: dict[int, Pending]) -> None:
        replies = self._send(step, pending)
        for place, (problem, each) in enumerate(pending.items()):
            self.reports[problem] = [reply.reports[place] for reply in replies]
            self.asked[problem] = each.wishes
            for shard, report in enumerate(self.reports[problem]):
                if report.offers is not None and len(report.offers.numbers):
                    self.points.put(ids_of(shard, report.offers.numbers), report.offers.rows)
        self.ledger.charge(self.ledger.account, sum(reply.evaluations for reply in replies))
        self._tidy()

    def _send(self, step: int, pending: dict[int, Pending]) -> list[Any]:
        moved = np.unique(np.concatenate([np.empty(0, np.int64), *(each.moved.ids for each in pending.values())]))
        rows = self.points.take(moved) if len(moved) else None
        numbers = np.array([self._numbers.setdefault(each, len(self._numbers)) for each in moved.tolist()], np.intp)
        order = np.argsort(numbers)  # as shards find them
        moved, numbers = moved[order], numbers[order]
        rows = None if rows is None else tuple(each[order] for each in rows)
        transient = np.ones(len(moved), dtype=bool)
        places = {problem: _places(moved, each.moved.ids) for problem, each in pending.items()}
        for problem, each in pending.items():
            free = (each.moved.alpha > 0.0) & (each.moved.alpha < each.moved.upper)
            transient[places[problem][free]] = False
        calls = []
        for shard in range(self.transport.count):
            moves = [_move(p, each, places[p], shard) for p, each in pending.items() if len(each.moved)]
            queries = [_query(p, each.wishes, shard) for p, each in pending.items()]
            calls.append(Call("exchange", (Request(step, numbers, transient, rows, moves, queries),)))
        return self.transport.call(calls, self._catch_up)

    # ---- what a lost shard is told

    def _catch_up(self, shard: int) -> Call:
        return self._restoring(shard, list(self._truth))

    def _restoring(self, shard: int, problems: Sequence[int]) -> Call:
        support = np.unique(np.concatenate([np.empty(0, np.int64), *(self._truth[each].ids for each in problems)]))
        rows = self.points.take(support) if len(support) else None
        restored = []
        for problem in problems:
            members = self._truth[problem]
            own = (members.ids >> LOCAL_BITS) == shard
            places, signed = np.searchsorted(support, members.ids), members.alpha * members.labels
            restored.append(Restored(problem, places, signed, members.ids[own] & _LOCAL, members.alpha[own]))
        return Call("restore", (self.step, rows, restored))

    # ---- points

    def gram(self, ids: Ids) -> Floats:
        """Kernel values of some examples with one another."""
        points = self.plan.form.unpacked(self.points.take(ids))
        values = block(self.plan.kernel, points, points, workers=self.workers)
        self.ledger.charge(self.ledger.account, values.size)
        if self.plan.kernel.unit_diagonal:
            np.fill_diagonal(values, 1.0)
        return values

    def _fetch_points(self, ids: Ids) -> None:
        """Have the points of some examples, which a stored state names without them."""
        missing = self.points.missing(ids)
        if len(missing):
            for own, rows in zip(*self._of_owners("points", missing), strict=True):
                if len(own):
                    self.points.put(missing[own], rows)

    def describe(self, ids: Ids) -> tuple[IndexArray, NDArray[np.intp], Doubles]:
        """Row numbers in the user's data, classes and weights of some examples."""
        numbers, codes, weights = np.empty(len(ids), np.intp), np.empty(len(ids), np.intp), np.empty(len(ids))
        for own, found in zip(*self._of_owners("describe", ids), strict=True):
            numbers[own], codes[own], weights[own] = found
        return numbers, codes, weights

    def _of_owners(self, method: str, ids: Ids) -> tuple[list[IndexArray], list[Any]]:
        """What each shard answers about its own of some examples, and which of them these are."""
        own = [np.flatnonzero((ids >> LOCAL_BITS) == shard) for shard in range(self.transport.count)]
        calls = [Call(method, ((ids[each] & _LOCAL).astype(np.intp),)) for each in own]
        return own, self.transport.call(calls, self._catch_up)

    def _tidy(self) -> None:
        """Let go of points that were offered and are neither support vectors nor about to be looked at."""
        needed = [each.ids for each in self._truth.values()]
        needed += [each.wanted.ids for each in self.asked.values()]
        needed += [each.moved.ids for each in self._made.values()]
        for reports in self.reports.values():
            needed += [ids_of(k, r.offers.numbers) for k, r in enumerate(reports) if r.offers is not None]
        if len(self.points) > 2 * sum(map(len, needed)) + _SPARE_POINTS:
            ids = np.unique(np.concatenate(needed))
            self.points.keep_only(ids[~np.isin(ids, self.points.missing(ids))])


def ids_of(shard: int, numbers: IndexArray) -> Ids:
    return (shard << LOCAL_BITS) + numbers.astype(np.int64)


def _places(moved: Ids, ids: Ids) -> IndexArray:
    """Where some ids are among those that move, which are in no order."""
    order = np.argsort(moved)
    return order[np.searchsorted(moved, ids, sorter=order)]


def _move(problem: int, pending: Pending, places: IndexArray, shard: int) -> Move:
    members, own = pending.moved, (pending.moved.ids >> LOCAL_BITS) == shard
    return Move(problem, places, pending.change, members.ids[own] & _LOCAL, members.alpha[own])


def _query(problem: int, wishes: Wishes, shard: int) -> Query:
    own = (wishes.wanted.ids >> LOCAL_BITS) == shard
    wanted = (wishes.wanted.ids[own] & _LOCAL).astype(np.intp)
    return Query(problem, wishes.offers, wishes.turn, wishes.centre, wishes.windows, wanted)


def responses_of(wanted: Members, reports: Sequence[Report]) -> Doubles:
    """What the shards answered, in the order in which it was asked for."""
    found, shards = np.empty(len(wanted)), wanted.ids >> LOCAL_BITS
    for shard, report in enumerate(reports):
        found[shards == shard] = report.wanted
    return found
