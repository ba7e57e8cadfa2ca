"""The driver's points: those of the support vectors, and of the examples that shards have offered lately."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from slackwater.shards.form import Packed, joined
from slackwater.shards.messages import Ids


class PointTable:
    """Packed points by the ids of their examples."""

    def __init__(self) -> None:
        self._places: dict[int, int] = {}
        self._parts: list[Packed] = []
        self._whole: Packed | None = None

    def __len__(self) -> int:
        return len(self._places)

    def put(self, ids: Ids, rows: Packed) -> None:
        """Keep the points of those that are not here yet."""
        fresh = [k for k, each in enumerate(ids.tolist()) if each not in self._places]
        if not fresh:
            return
        for k in fresh:
            self._places[int(ids[k])] = len(self._places)
        self._parts.append(tuple(column[fresh] for column in rows))
        self._whole = None

    def take(self, ids: Ids) -> Packed:
        """Points in this order."""
        places = [self._places[each] for each in ids.tolist()]
        return tuple(column[places] for column in self._joined())

    def keep_only(self, ids: Ids) -> None:
        """Let go of the others."""
        rows = self.take(ids) if len(ids) else None
        self._places, self._parts, self._whole = {}, [], None
        if rows is not None:
            self.put(ids, rows)

    def missing(self, ids: Ids) -> Ids:
        return np.array([each for each in ids.tolist() if each not in self._places], dtype=np.int64)

    def _joined(self) -> Packed:
        if self._whole is None:
            self._whole = joined(self._parts)
            if sparse.issparse(self._whole[0]):
                self._whole = (self._whole[0].tocsr(),)
            self._parts = [self._whole]
        return self._whole
