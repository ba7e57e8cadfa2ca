"""How far beyond the margin examples have to be to be screened."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from slackwater.fitting.settings import ScreeningSettings
from slackwater.gram.source import IndexArray


@dataclass
class ScreeningMargin:
    """The margin beyond which examples are screened: a least one, or more where margins are seen to change."""

    least: float
    settings: ScreeningSettings
    value: float = field(init=False)
    watched: IndexArray = field(init=False)  # some of those screened last

    def __post_init__(self) -> None:
        self.value = self.least
        self.watch(np.empty(0, dtype=np.intp))

    def watch(self, screened: IndexArray) -> None:
        """Remember some of the screened examples."""
        self.watched = screened[:: math.ceil(max(len(screened), 1) / self.settings.watched_examples)]

    def learn(self, change: NDArray[np.float64]) -> None:
        """Allow for such a change of margins as the examples watched have seen."""
        if len(change) >= self.settings.min_observed:
            allowance = self.settings.margin_deviations * float(np.std(change)) - float(np.mean(change))
            self.value = max(self.least, 1.0 + allowance)
