"""Which columns of a table are features, and which one is the label."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from slackwater.errors import DataError

LABEL_NAMES = ("label", "target", "class", "y")
_MISSING = {"", "?", "na", "n/a", "nan", "null", "none", "-"}
_SHOWN = 12


class Wanted(NamedTuple):
    """What a caller says of the columns.

    ``label`` is a name or a number (1 is the first column, -1 the last); None looks for a column that is called label,
    target, class or y. ``features`` are the only columns to use, in this order. ``ignore`` are columns to leave out.
    """

    label: str | None = None
    features: Sequence[str] | None = None
    n_features: int | None = None
    ignore: Sequence[str] = ()
    needs_labels: bool = True


class Columns(NamedTuple):
    """Positions of what is used."""

    label: int | None
    features: list[int]


def choose_columns(file: str, n_columns: int, names: Sequence[str] | None, wanted: Wanted) -> Columns:
    """Find the columns that are wanted.

    Parameters
    ----------
    file : str
        For errors.
    names : sequence of str, optional
        None where the file has none: columns are then known by their numbers.
    """
    if names is not None:
        _refuse_repeated(file, names)
    ignored = {_position(file, n_columns, names, column, "--ignore") for column in wanted.ignore}
    label = _label_position(file, n_columns, names, wanted, ignored)
    if wanted.features is not None and names is not None:
        absent = [name for name in wanted.features if name not in names]
        if absent:
            raise DataError(
                f"{file}: no column {absent[0]!r}, which the model was trained on. The columns are {_listed(names)}."
            )
        return Columns(label, [list(names).index(name) for name in wanted.features])
    features = [position for position in range(n_columns) if position != label and position not in ignored]
    if not features:
        raise DataError(f"{file}: no column is left for the features, of {n_columns} in all.")
    return Columns(label, features)


def _label_position(
    file: str, n_columns: int, names: Sequence[str] | None, wanted: Wanted, ignored: set[int]
) -> int | None:
    if wanted.label is not None:
        return _position(file, n_columns, names, wanted.label, "--label")
    free = [(k, name) for k, name in enumerate(names or ()) if k not in ignored and name not in (wanted.features or ())]
    named = [k for k, name in free if name.strip().lower() in LABEL_NAMES]
    if len(named) == 1:
        return named[0]
    if wanted.needs_labels:
        known = f"The columns are {_listed(names)}." if names is not None else f"There are {n_columns} columns."
        raise DataError(
            f"{file}: which column holds the labels? Name it, or give its number (--label 1 is the first, --label -1 "
            f"the last). {known}"
        )
    left = n_columns - len(ignored)
    if names is None and wanted.n_features is not None and left == wanted.n_features + 1:
        raise DataError(
            f"{file}: {left} columns, one more than the model has features. Say which one holds the labels (--label 1 "
            "is the first, --label -1 the last) or is to be left out (--ignore)."
        )
    return None


def _position(file: str, n_columns: int, names: Sequence[str] | None, column: str, option: str) -> int:
    """By name, where there is such a name; else by number, from 1 or from the end."""
    if names is not None and column in names:
        return list(names).index(column)
    try:
        number = int(column)
    except ValueError:
        number = 0
    if not 1 <= abs(number) <= n_columns:
        known = f"the columns are {_listed(names)}" if names is not None else "the file has no row of names"
        raise DataError(
            f"{file}: {option} must be a name or a number from 1 to {n_columns} (or -1, the last, to -{n_columns}), "
            f"got {column!r}; {known}."
        )
    return number - 1 if number > 0 else n_columns + number


def _refuse_repeated(file: str, names: Sequence[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise DataError(f"{file}: two columns are called {name!r}. Rename one of them.")
        seen.add(name)


def _listed(names: Sequence[str] | None) -> str:
    names = list(names or ())
    more = f", … ({len(names)} in all)" if len(names) > _SHOWN else ""
    return ", ".join(repr(name) for name in names[:_SHOWN]) + more


def column_name(names: Sequence[str] | None, position: int) -> str:
    """How a column is called in an error."""
    return f"column {position + 1}" if names is None else f"column {names[position]!r}"


def not_a_number(place: str, column: str, found: str) -> DataError:
    """What to do about a cell that is no finite number: missing values and categories need different things."""
    if found.strip().lower() in _MISSING:
        return DataError(
            f"{place}, {column}: a missing value ({found!r}). Fill it in (sklearn.impute.SimpleImputer), or leave the "
            "row or the column (--ignore) out."
        )
    return DataError(
        f"{place}, {column}: expected a finite number, found {found[:40]!r}. A column of categories has to be encoded "
        "(pandas.get_dummies, sklearn.preprocessing.OneHotEncoder) or left out (--ignore); if it holds the labels, say "
        "so (--label)."
    )
