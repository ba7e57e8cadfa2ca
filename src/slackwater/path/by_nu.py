"""The values of C whose solutions have given ν = loss / ‖w‖."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from slackwater.deadline import Deadline
from slackwater.path.grid import range_of_c
from slackwater.path.preparation import Preparation
from slackwater.path.solving import finest_aim, solved

_NU_TOLERANCE = 0.01  # relative, that a nu of the path may be off by
_NU_GRID = 10  # values of C between which those of nus are looked for
_MAX_SEARCHES = 12  # rounds of it
_LEAST, _LARGEST = 1e-4, 1e10  # C, in units of the least C of the default grid, which knows the kernel's scale


def cs_of_nus(data: Preparation, nus: Sequence[float], deadline: Deadline) -> list[float]:
    """By interpolation between solutions, which ever more are made of."""
    low, high = range_of_c(data, deadline)
    known = _nus_of(data, np.geomspace(low, high, _NU_GRID).tolist(), deadline)
    for _ in range(_MAX_SEARCHES):
        wrong = [nu for nu in nus if min(abs(found / nu - 1.0) for found in known.values()) > _NU_TOLERANCE]
        if not wrong or deadline.passed():
            break
        guesses = sorted({_interpolated(known, nu, (_LEAST * low, _LARGEST * low)) for nu in wrong} - known.keys())
        known.update(_nus_of(data, guesses, deadline))
    return sorted({min(known, key=lambda C: abs(known[C] / nu - 1.0)) for nu in nus})


def _nus_of(data: Preparation, Cs: Sequence[float], deadline: Deadline) -> dict[float, float]:
    return {point.C: point.criteria.nu for point in solved(data, Cs, deadline, finest_aim)}


def _interpolated(known: dict[float, float], nu: float, limits: tuple[float, float]) -> float:
    """A C whose ν is about this: between two that are known, in logarithms; a hundred times beyond the last one."""
    Cs = np.array(sorted(known))
    found = np.array([known[C] for C in Cs])
    if np.isnan(found).any():
        raise ValueError(
            f"nus must be on the front, got {nu!r}: there is no norm to divide the loss by, since the kernel is "
            "indefinite, or the function flat. Pass Cs."
        )
    above, below = np.flatnonzero(found > nu), np.flatnonzero(found <= nu)
    if len(above) == 0 or len(below) == 0:
        beyond = float(Cs[0] / 100.0 if len(above) == 0 else Cs[-1] * 100.0)
        if not limits[0] <= beyond <= limits[1]:
            raise ValueError(
                f"nus must be on the front, got {nu!r}: from C = {Cs[0]:.3g} to {Cs[-1]:.3g} nu is "
                f"{found[-1]:.3g} to {found[0]:.3g}. Choose values within, or pass Cs."
            )
        return beyond
    left, right = int(above[-1]), int(below[below > above[-1]][0])
    if found[right] <= 0.0 or np.isinf(found[left]):
        return float(np.sqrt(Cs[left] * Cs[right]))
    share = np.log(found[left] / nu) / np.log(found[left] / found[right])
    # Not at the ends: ν is no straight line there, and the same point again would tell nothing.
    return float(Cs[left] * (Cs[right] / Cs[left]) ** float(np.clip(share, 0.02, 0.98)))
