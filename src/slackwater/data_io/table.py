"""What every reader returns."""

from __future__ import annotations

from typing import Any, NamedTuple

from numpy.typing import NDArray


class LabelledData(NamedTuple):
    """Examples as a classifier takes them.

    ``X`` is a CSR matrix (svmlight, sparse arrays) or a dense array of shape (n, d), ``y`` has n labels or is None
    where the file has none, ``feature_names`` are d names or None where the format has none.
    """

    X: Any
    y: NDArray[Any] | None
    feature_names: list[str] | None
