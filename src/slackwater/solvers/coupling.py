"""What a free bias changes in the dual: which coefficients may move, and how they are moved together.

Without a bias each coefficient is free in [0, cap]. With one, Σ α_i y_i = 0 couples them: one moves up as another
moves down. ``shortfall`` is 1 - y_i <w, Φ(x_i)>; a coefficient that may grow wants to while its shortfall, less what
the bias makes up for, is positive.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class Violations(NamedTuple):
    """How much each example wants to move: up where ``rising`` is positive, down where ``falling`` is."""

    rising: Floats
    falling: Floats
    largest: float  # by how much the optimality conditions are violated


class Coupling(Protocol):
    least_rows: ClassVar[int]

    def violations(self, labels: NDArray[np.int8], caps: Floats, alpha: Floats, shortfall: Floats) -> Violations: ...

    def solver(self) -> Callable[..., int]: ...

    def best_bias(self, labels: NDArray[np.int8], shortfall: Floats, caps: Floats) -> float: ...


@dataclass(frozen=True)
class Free:
    """No bias."""

    least_rows: ClassVar[int] = 1

    def violations(self, labels: NDArray[np.int8], caps: Floats, alpha: Floats, shortfall: Floats) -> Violations:
        rising = np.where(alpha < caps, shortfall, -np.inf)
        falling = np.where(alpha > 0.0, -shortfall, -np.inf)
        return Violations(rising, falling, float(max(rising.max(), falling.max(), 0.0)))

    def solver(self) -> Callable[..., int]:
        from slackwater.solvers import _dual_loops

        return _dual_loops.solve_singles

    def best_bias(self, labels: NDArray[np.int8], shortfall: Floats, caps: Floats) -> float:
        return 0.0


@dataclass(frozen=True)
class Balanced:
    """A free, unregularised bias."""

    least_rows: ClassVar[int] = 2

    def violations(self, labels: NDArray[np.int8], caps: Floats, alpha: Floats, shortfall: Floats) -> Violations:
        signed = labels * shortfall  # the bias that would bring the example exactly on its margin
        positive = labels > 0
        can_rise = np.where(positive, alpha < caps, alpha > 0.0)
        can_fall = np.where(positive, alpha > 0.0, alpha < caps)
        top = float(np.max(signed, where=can_rise, initial=-np.inf))
        bottom = float(np.min(signed, where=can_fall, initial=np.inf))
        middle = 0.5 * (top + bottom)
        rising = np.where(can_rise, signed - middle, -np.inf)
        falling = np.where(can_fall, middle - signed, -np.inf)
        return Violations(rising, falling, max(top - bottom, 0.0))

    def solver(self) -> Callable[..., int]:
        from slackwater.solvers import _dual_loops

        return _dual_loops.solve_pairs

    def best_bias(self, labels: NDArray[np.int8], shortfall: Floats, caps: Floats) -> float:
        """The bias that minimises Σ cap_i max(0, shortfall_i - y_i b): where the violators balance.

        Passing the bias y_i shortfall_i adds cap_i to the slope, whichever class i is of; far to the left the slope
        is minus the caps of the positives. The midpoint of the best interval is taken.
        """
        used = np.flatnonzero(caps > 0.0)
        turning = labels[used] * shortfall[used]
        order = np.argsort(turning, kind="stable")
        slopes = np.cumsum(caps[used][order]) - caps[used][labels[used] > 0].sum()
        scale = 1e-12 * float(caps[used].sum())
        first = min(int(np.searchsorted(slopes, -scale)), len(order) - 1)
        last = min(int(np.searchsorted(slopes, scale, side="right")), len(order) - 1)
        return 0.5 * float(turning[order[first]] + turning[order[last]])


def merge_blocks(rising: Floats, falling: Floats, kept: NDArray[np.intp], size: int) -> NDArray[np.intp]:
    """The worst violators beside those kept, to fill a block: half rising and half falling. Overwrites its input."""
    wanted = max(size - len(kept), 0)
    rising[kept] = falling[kept] = -np.inf
    up = _worst(rising, (wanted + 1) // 2)
    falling[up] = -np.inf
    down = _worst(falling, wanted - len(up))
    rising[up] = -np.inf
    rising[down] = -np.inf
    more = _worst(rising, wanted - len(up) - len(down))
    return np.concatenate([up, down, more])


def _worst(values: Floats, count: int) -> NDArray[np.intp]:
    """Positions of the largest positive values, at most ``count``."""
    count = min(count, len(values))
    if count <= 0:
        return np.empty(0, dtype=np.intp)
    chosen = np.argpartition(values, len(values) - count)[len(values) - count :]
    return np.sort(chosen[values[chosen] > 0.0])
