"""What a fit measured to choose its strategy, and what it decided: the table that users see as ``decisions_``."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, overload

_RELATIONS = {"<=": operator.le, "<": operator.lt, ">=": operator.ge, ">": operator.gt}


class Decision(NamedTuple):
    """One measurement and its consequence."""

    strategy: str
    measured: str  # what
    value: float
    limit: str  # a relation and a number, "<= 0.002"; empty where there is none
    outcome: str  # "taken", "declined", or "forced": declined by the measurement, taken because the user says so
    seconds: float  # since training began
    problem: int = 0  # the number of the pair of classes, where there are several

    @property
    def positive(self) -> bool:
        """Whether the strategy is still possible."""
        return self.outcome != "declined"

    def cells(self) -> tuple[str, ...]:
        """The fields as text."""
        value = f"{self.value:.4g}" if abs(self.value) < 1e4 else f"{self.value:.0f}"
        return self.strategy, self.measured, value, self.limit, self.outcome, f"{self.seconds:.2f}", str(self.problem)

    def sentence(self) -> str:
        """For a line of progress."""
        strategy, measured, value, limit, outcome = self.cells()[:5]
        return f"{strategy}: {measured} {value} (limit {limit}): {outcome}"


def decide(
    strategy: str, measured: str, value: float, relation: str, limit: float, forced: bool, seconds: float
) -> Decision:
    """Compare a value with its limit."""
    met = bool(_RELATIONS[relation](value, limit))
    outcome = "taken" if met else "forced" if forced else "declined"
    return Decision(strategy, measured, float(value), f"{relation} {limit:g}", outcome, seconds)


class Decisions(Sequence[Decision]):
    """The decisions of a fit, in order: a sequence that prints as a table."""

    def __init__(self, decisions: Sequence[Decision] = ()) -> None:
        self._decisions = list(decisions)

    @overload
    def __getitem__(self, index: int) -> Decision: ...

    @overload
    def __getitem__(self, index: slice) -> list[Decision]: ...

    def __getitem__(self, index: Any) -> Any:
        return self._decisions[index]

    def __len__(self) -> int:
        return len(self._decisions)

    def __iter__(self) -> Iterator[Decision]:
        return iter(self._decisions)

    def append(self, decision: Decision) -> None:
        self._decisions.append(decision)

    def of(self, strategy: str) -> Decisions:
        """Those about one strategy."""
        return Decisions([each for each in self._decisions if each.strategy == strategy])

    def to_pandas(self) -> Any:
        """As a pandas DataFrame, one row a decision."""
        import pandas

        return pandas.DataFrame(self._decisions, columns=Decision._fields)

    def __str__(self) -> str:
        shown = len(Decision._fields) if any(each.problem for each in self._decisions) else len(Decision._fields) - 1
        table = [row[:shown] for row in (Decision._fields, *(each.cells() for each in self._decisions))]
        widths = [max(len(row[column]) for row in table) for column in range(shown)]
        return "\n".join(
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in table
        )

    def __repr__(self) -> str:
        return f"Decisions of a fit\n{self}"
