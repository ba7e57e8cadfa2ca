"""The way to a model as a table: what users see as ``history_``."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

_SHOWN = 5  # first and last rows of a printed table


class History(dict[str, NDArray[Any]]):
    """One row for each assessment of a binary problem, one column for each quantity: a dict of equally long arrays.

    ``history["gap"]`` is a column, ``history.to_pandas()`` the table. It prints as a table.
    """

    @property
    def n_rows(self) -> int:
        return len(next(iter(self.values()), ()))

    def of(self, problem: int) -> History:
        """The rows about one binary problem."""
        mine = self["problem"] == problem
        return History({name: column[mine] for name, column in self.items()})

    def to_pandas(self) -> Any:
        """As a pandas DataFrame: one row an assessment, one column a quantity."""
        import pandas

        return pandas.DataFrame(dict(self))

    def __str__(self) -> str:
        rows = [[_cell(column[k]) for column in self.values()] for k in range(self.n_rows)]
        if len(rows) > 2 * _SHOWN:
            rows[_SHOWN:-_SHOWN] = [["…"] * len(self)]
        table = [list(self), *rows]
        widths = [max(len(row[k]) for row in table) for k in range(len(self))]
        return "\n".join("  ".join(cell.rjust(w) for cell, w in zip(row, widths, strict=True)) for row in table)

    def __repr__(self) -> str:
        return f"History of a fit, {self.n_rows} assessments\n{self}"

    def __reduce__(self) -> tuple[Any, ...]:
        return History, (dict(self),)


def _cell(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int | np.integer) else f"{value:.4g}"
