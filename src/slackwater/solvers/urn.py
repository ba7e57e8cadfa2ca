"""Drawing examples from p*: with probability proportional to their weight, among those not above a level.

Candidates are drawn from all members of a basin, with probability proportional to weight, and the first one that
is under water is taken: rejection sampling, exact for any level. Drawing the candidates ahead of time buys two
things. A kernel row can be computed before it is needed, in a block with others, because the candidates that will
be accepted next are nearly known. And a draw depends on the data through the cumulative weights only, so that a
repeated example and a weighted one receive the same draws.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from slackwater.problem import Basin

_QUEUE_LENGTH = 1024  # candidates; below one wet example in a thousand it is cheaper to look for them directly


@dataclass
class Urn:
    """Candidates drawn but not yet used, and the generator of further ones. Mutated by ``draw``."""

    rng: np.random.Generator
    queue: NDArray[np.intp] = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    position: int = 0

    def draw(self, basin: Basin, responses: NDArray[np.float64], level: float) -> int:
        """One example from p*: P(i) proportional to the weight of i among those with response <= level."""
        from slackwater.solvers import _loops

        for _ in range(2):  # what is left of the queue, then a whole fresh one
            found = _loops.first_at_or_below(self.queue, self.position, responses, level)
            if found < len(self.queue):
                self.position = found + 1
                return int(self.queue[found])
            self._refill(basin)
        return self.draw_directly(basin, responses, level)

    def draw_directly(self, basin: Basin, responses: NDArray[np.float64], level: float) -> int:
        """The same distribution in one pass over all members: for when few are under water."""
        from slackwater.solvers import _loops

        uniform = self.rng.random()
        return int(_loops.pick_at_or_below(basin.members, basin.cumulative, responses, level, uniform))

    def foresee(self, responses: NDArray[np.float64], level: float, most: int) -> NDArray[np.intp]:
        """Up to ``most`` examples that the coming draws would take if nothing changed. Draws nothing."""
        from slackwater.solvers import _loops

        found: NDArray[np.intp] = _loops.all_at_or_below(self.queue, self.position, responses, level, most)
        return found

    def _refill(self, basin: Basin) -> None:
        uniform = self.rng.random(_QUEUE_LENGTH) * basin.cumulative[-1]
        places = np.searchsorted(basin.cumulative, uniform, side="right")
        self.queue = basin.members[np.minimum(places, len(basin.members) - 1)]
        self.position = 0
