"""Numbers derived from stored results: means, bands, costs of reaching an error, slopes. Pure functions of records.

A *curve* is a cost that grows (kernel evaluations, seconds) and the test error of the model held at that cost. Between
two points the model is the earlier one, so that a curve is a staircase; after its last point the model stays as it is.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sbp_paper.experiments.job import Record

Floats = NDArray[np.float64]

NEAR = {"adult": 0.005}  # how close to the final error is near, as a fraction: 0.5 points on Adult,
NEAR_ELSEWHERE = 0.001  # 0.1 points on the others, whose errors are smaller


class Curve(NamedTuple):
    """Test error (a fraction) against cost, in order of cost."""

    cost: Floats
    error: Floats


class Band(NamedTuple):
    """Mean of several runs, and the least and greatest value among them, at common costs."""

    cost: Floats
    mean: Floats
    low: Floats
    high: Floats

    @property
    def curve(self) -> Curve:
        return Curve(self.cost, self.mean)


class FinalError(NamedTuple):
    """The test error of the regularised optimum, and where it was taken from."""

    error: float
    source: str


class Slope(NamedTuple):
    """p of cost ∝ ε^-p, its standard error (None where it cannot be told) and the number of points."""

    exponent: float
    standard_error: float | None
    points: int


def near(data: str) -> float:
    return NEAR.get(data, NEAR_ELSEWHERE)


def as_curve(cost: Sequence[float | None], error: Sequence[float | None]) -> Curve:
    """Points that have both numbers, ordered by cost; of several at one cost the last."""
    latest = {float(c): float(e) for c, e in zip(cost, error, strict=True) if c is not None and e is not None}
    costs = sorted(latest)
    return Curve(np.array(costs), np.array([latest[c] for c in costs]))


def evaluation_curve(record: Record) -> Curve:
    """A run of Fig. 2; points before the first evaluation have no place on a logarithmic axis."""
    curve = as_curve(record["evaluations"], record["test_error"])
    shown = curve.cost > 0
    return Curve(curve.cost[shown], curve.error[shown])


def iteration_curve(record: Record) -> Curve:
    """A run of Fig. 2 with n evaluations for every iteration, as the analyses of Table 1 count them.

    Also for those in which Pegasos or SDCA find nothing to do, and which the meter does not charge.
    """
    return as_curve([record["n"] * step for step in record["steps"]], record["test_error"])


def value_at(curve: Curve, cost: float) -> float | None:
    """The error of the model held at this cost; None before the first."""
    k = int(np.searchsorted(curve.cost, cost, side="right"))
    return float(curve.error[k - 1]) if k else None


def mean_band(curves: Sequence[Curve], points: int | None = None) -> Band | None:
    """Mean and range over runs, from the cost at which all have a value to the greatest cost of any.

    Parameters
    ----------
    points : int, optional
        So many costs, evenly spaced on a logarithmic axis; by default every cost at which some run changes.
    """
    curves = [c for c in curves if len(c.cost)]
    if not curves:
        return None
    first, last = max(c.cost[0] for c in curves), max(c.cost[-1] for c in curves)
    if points is None or first >= last:
        every = np.unique(np.concatenate([c.cost for c in curves]))
        grid = every[every >= first]
    else:
        grid = np.geomspace(first, last, points)
        grid[[0, -1]] = first, last  # rounding must not place the first before a run's first value
    values = np.array([c.error[np.searchsorted(c.cost, grid, side="right") - 1] for c in curves])
    return Band(grid, values.mean(axis=0), values.min(axis=0), values.max(axis=0))


def cost_within(curve: Curve, error: float, tolerance: float = 0.0) -> float | None:
    """The cost from which on the error stays at most ``error + tolerance``; None if the end is above it."""
    above = np.flatnonzero(curve.error > error + tolerance + 1e-12)
    first = int(above[-1]) + 1 if len(above) else 0
    return float(curve.cost[first]) if first < len(curve.cost) else None


def cost_settled(curve: Curve, tolerance: float) -> float:
    """The cost from which on the error stays within ``tolerance`` of its last value, to either side."""
    away = np.flatnonzero(np.abs(curve.error - curve.error[-1]) > tolerance + 1e-12)
    return float(curve.cost[int(away[-1]) + 1 if len(away) else 0])


def cost_of_first(curve: Curve, error: float, tolerance: float = 0.0) -> float | None:
    """The first cost with an error of at most ``error + tolerance``, whatever comes later."""
    there = np.flatnonzero(curve.error <= error + tolerance + 1e-12)
    return float(curve.cost[there[0]]) if len(there) else None


def final_error(data: str, fig2: Iterable[Record], table2: Iterable[Record]) -> FinalError | None:
    """The error that the methods of Fig. 2 are on their way to: that of the optimum without bias.

    Of Table 2's certified optimum, if it is of the same training set; else where SMO, else SDCA, ended.
    """
    runs = [r for r in fig2 if r["data"] == data]
    sizes = {r["n"] for r in runs}
    for record in table2:
        if record["data"] == data and not record["bias"] and record["n"] in sizes and record["test_error"] is not None:
            return FinalError(float(record["test_error"]), "the certified optimum of Table 2")
    for method, name in (("smo", "SMO"), ("sdca", "SDCA")):
        ends = [c.error[-1] for r in runs if r["method"] == method and len((c := evaluation_curve(r)).cost)]
        if ends:
            return FinalError(float(np.mean(ends)), f"the end of {name}'s runs")
    return None


def fitted_slope(epsilon: Sequence[float], cost: Sequence[float | None]) -> Slope | None:
    """Least squares of log cost on log 1/ε, over the points that were reached."""
    reached = [(math.log(1 / e), math.log(c)) for e, c in zip(epsilon, cost, strict=True) if c is not None and c > 0]
    x, y = np.array(reached).reshape(-1, 2).T
    if len(np.unique(x)) < 2:
        return None
    spread = float(np.sum((x - x.mean()) ** 2))
    exponent = float(np.sum((x - x.mean()) * (y - y.mean()))) / spread
    if len(x) < 3:
        return Slope(exponent, None, len(x))
    residuals = y - y.mean() - exponent * (x - x.mean())
    error = math.sqrt(float(np.sum(residuals**2)) / (len(x) - 2) / spread)
    return Slope(exponent, error, len(x))


def mean_slope(slopes: Sequence[Slope]) -> Slope | None:
    """One slope of several runs: points of one run hang together, so the error is that of the mean over runs."""
    if not slopes:
        return None
    points = sum(s.points for s in slopes)
    if len(slopes) == 1:
        return slopes[0]
    exponents = np.array([s.exponent for s in slopes])
    return Slope(float(exponents.mean()), float(exponents.std(ddof=1) / math.sqrt(len(slopes))), points)
