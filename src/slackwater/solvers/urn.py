"""Drawing examples from p*: with probability proportional to their weight, among those not above a level.

Candidates are drawn from all members of a basin, with probability proportional to weight, and the first one that
is under water is taken: rejection sampling, exact for any level. Drawing the candidates ahead of time buys two
things. A kernel row can be computed before it is needed, in a block with others, because the candidates that will
be accepted next are nearly known. And a draw depends on the data through the cumulative weights only, so that a
repeated example and a weighted one receive the same draws.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from slackwater.problem import Basin

_SCANNED = 4096  # candidates a draw looks at before it searches the examples themselves
_MAX_SORTED = 4096  # examples under water, that are found in a pass over responses in order and then sorted by rank
_SEARCHES = 32  # draws that then search at once: where one in thousands is under water, candidates are a waste


@dataclass
class Urn:
    """Candidates drawn but not yet used, and the generators of further ones. Mutated by ``draw``.

    What is drawn does not depend on when the queue is refilled, hence not on whether anybody foresaw anything.
    """

    candidates: np.random.Generator
    searches: np.random.Generator
    queue: NDArray[np.intp]
    position: int = 0
    searches_left: int = 0

    @staticmethod
    def filled_by(rng: np.random.Generator) -> Urn:
        candidates, searches = rng.spawn(2)
        return Urn(candidates, searches, queue=np.empty(0, dtype=np.intp))

    def draw(self, basin: Basin, responses: NDArray[np.float64], level: float) -> int:
        """One example from p*: P(i) proportional to the weight of i among those with response <= level."""
        from slackwater.solvers import _loops

        if self.searches_left > 0:
            self.searches_left -= 1
            return self.search(basin, responses, level)
        self._provide(basin)
        stop = self.position + _SCANNED
        found = _loops.first_at_or_below(self.queue, self.position, stop, responses, level)
        self.position = min(found + 1, stop)
        if found < stop:
            return int(self.queue[found])
        self.searches_left = _SEARCHES
        return self.search(basin, responses, level)

    def search(self, basin: Basin, responses: NDArray[np.float64], level: float) -> int:
        """The same distribution in one pass over all members: for when few are under water."""
        from slackwater.solvers import _loops

        uniform = self.searches.random()
        if basin.rank is not None:
            wet = _loops.ranks_at_or_below(basin.rank, responses, level, _MAX_SORTED)
            if 0 < len(wet) < _MAX_SORTED:
                return int(basin.members[_loops.pick_rank(np.sort(wet), basin.cumulative, uniform)])
        return int(_loops.pick_at_or_below(basin.members, basin.cumulative, responses, level, uniform))

    def foresee(self, basin: Basin, responses: NDArray[np.float64], level: float, most: int) -> NDArray[np.intp]:
        """Up to ``most`` different examples that the coming draws would take if nothing changed. Draws nothing."""
        from slackwater.solvers import _loops

        self._provide(basin)
        found: NDArray[np.intp] = _loops.all_at_or_below(self.queue, self.position, responses, level, most)
        return found

    def _provide(self, basin: Basin) -> None:
        """Have at least as many candidates in the queue as a draw may look at."""
        if len(self.queue) - self.position >= _SCANNED:
            return
        uniform = self.candidates.random(_SCANNED) * basin.cumulative[-1]
        places = np.searchsorted(basin.cumulative, uniform, side="right")
        fresh = basin.members[np.minimum(places, len(basin.members) - 1)]
        self.queue = np.concatenate([self.queue[self.position :], fresh])
        self.position = 0
