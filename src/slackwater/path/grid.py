"""Which values of C and gamma to try, if none are given."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from slackwater.deadline import Deadline
from slackwater.estimators.svc import SVC
from slackwater.fitting.shared_path import Goal, SharedPath, random_sample
from slackwater.kernels.base import as_vectors
from slackwater.path.preparation import Preparation, prepared
from slackwater.points import Points

_SAMPLE = 1000  # examples by which the range of C is found
_STEP = 4.0  # factor from one C to the next on the way
_MAX_STEPS = 15
_HARDLY_ANY = 1e-3  # average hinge loss at the end of the range
_SHARE_OF_TIME = 0.25  # of what is left, to find the range in
_PAIRS = 2000  # of rows, whose squared distances the default gammas are derived from
_ROUNDING = 1e-6  # relative, of a sum of kernel values in single precision
_DOUBLE = np.dtype(np.float64)
_GAMMA_FACTORS = (1 / 16, 1 / 4, 1.0, 4.0, 16.0)


def range_of_c(data: Preparation, deadline: Deadline) -> tuple[float, float]:
    """From where the function is flat, C Σ y_i K(x_i, ·) spanning one margin, to where a sample has hardly any loss."""
    training_set, context = data.training_set, data.context
    every = training_set.problems(2)[0].labels
    sample = np.sort(random_sample(training_set.order, every, min(_SAMPLE, data.n), context.seed))
    labels, weights = every[sample], training_set.weights[sample]
    share = weights.sum() / training_set.weights.sum()
    if data.kernel is None:
        with _in_coordinates(data, sample, labels, weights) as in_coordinates:
            low, high = range_of_c(in_coordinates, deadline)
        return float(low * share), high
    features = data.features(1.0).part(sample)
    low = _flat(labels, weights, features.columns(np.arange(len(sample))))
    Cs = low * _STEP ** np.arange(_MAX_STEPS)
    path = SharedPath(
        features,
        labels,
        [weights],
        Cs.tolist(),
        training_set.ranked(sample),
        context.solver.coupling,
        Goal.of(context),
        context.settings.path,
        context.seed,
        deadline=deadline.within(deadline.clock.seconds() + _SHARE_OF_TIME * deadline.left),
    )
    (points,) = path.solve()
    costs = Cs[: len(points)] * float(weights.sum())
    losses = np.array([max(point.assessment.objective - 0.5 / point.assessment.margin**2, 0.0) for point in points])
    losses /= costs
    done = np.flatnonzero(losses <= _HARDLY_ANY)
    high = points[done[0]].C if len(done) else float(Cs[-1])  # also where there was no time to find out
    return float(low * share), float(max(high, low * _STEP))


@contextmanager
def _in_coordinates(
    data: Preparation, sample: NDArray[np.intp], labels: NDArray[np.int8], weights: NDArray[np.float64]
) -> Iterator[Preparation]:
    """Given kernel values as those of points, which have them for inner products; nearly so, if they are indefinite."""
    gram = np.asarray(data.training_set.rows.square(sample), dtype=np.float64)
    values, vectors = np.linalg.eigh(0.5 * (gram + gram.T))
    points = vectors * np.sqrt(np.maximum(values, 0.0))
    given = data.estimator
    linear = SVC(kernel="linear", fit_intercept=given.fit_intercept, tol=given.tol, n_jobs=given.n_jobs, random_state=0)
    with prepared(linear, points, labels, weights) as found:
        yield found


def _flat(labels: NDArray[np.int8], weights: NDArray[np.float64], gram: NDArray[np.floating]) -> float:
    """The C with which Σ y_i α_i K(x_i, ·), all dual variables of the rarer class at their bound, spans one margin."""
    totals = {label: float(weights[labels == label].sum()) for label in (-1, 1)}
    least = min(totals.values())
    alpha = weights * np.where(labels > 0, least / totals[1], least / totals[-1])
    values = gram @ (alpha * labels)
    span, largest = float(values.max() - values.min()), float(alpha.sum()) * float(np.abs(gram).max())
    # Where the sum cancels but for rounding, as with equal rows, no C is large enough: any range will do.
    return 1.0 / (span if span > _ROUNDING * largest else largest or 1.0)


def default_gammas(points: Points, seed: int) -> list[float]:
    """Five widths around the median distance of two rows: 1/16 to 16 times its inverse square.

    The median follows the scale of the data, whether they are standardised or raw. "scale", by the variance of all
    entries, is half of that factor where features are standardised.
    """
    chance = np.random.default_rng(seed)
    left, right = chance.integers(len(points), size=(2, _PAIRS))
    distinct = left != right
    first, second = (as_vectors(points.take(side[distinct]), "default").dense(_DOUBLE) for side in (left, right))
    squared = np.einsum("ij,ij->i", first - second, first - second)
    positive = squared[squared > 0.0]
    centre = 1.0 / float(np.median(positive)) if len(positive) else 1.0
    return [float(f"{factor * centre:.3g}") for factor in _GAMMA_FACTORS]


DEFAULT_CS = (0.1, 1.0, 10.0, 100.0, 1000.0)
