"""How far beyond the margin examples are to be before they are set aside."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from slackwater.gram.source import IndexArray

FEWEST_KNOWN = 64  # examples to estimate something from


@dataclass
class Caution:
    """The margin from which on examples are set aside: the least one, or more where margins are seen to change."""

    least: float
    beyond: float = field(init=False)
    watched: IndexArray = field(init=False)  # some of those set aside last

    DEVIATIONS: ClassVar[float] = 1.5
    MOST_WATCHED: ClassVar[int] = 512

    def __post_init__(self) -> None:
        self.beyond = self.least
        self.watch(np.empty(0, dtype=np.intp))

    def watch(self, aside: IndexArray) -> None:
        """Remember some of the examples set aside."""
        self.watched = aside[:: math.ceil(max(len(aside), 1) / self.MOST_WATCHED)]

    def learn(self, change: NDArray[np.float64]) -> None:
        """How the margins of the examples watched have changed is what the next ones' are to expect."""
        if len(change) >= FEWEST_KNOWN:
            self.beyond = max(self.least, 1.0 + self.DEVIATIONS * float(np.std(change)) - float(np.mean(change)))
