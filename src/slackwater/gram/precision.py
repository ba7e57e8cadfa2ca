"""When single precision is enough: one rule for all methods and for predictions.

A response is a sum of kernel values times coefficients. If values are off by :math:`\\varepsilon`, independently of one
another, responses are off by about :math:`\\varepsilon \\|a\\|_2`, in margins if the coefficients ``a`` are those of a
function with margin one. That is compared with what a method is to be right to.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from slackwater.gram.cache import TWO_BYTE_ROUNDING
from slackwater.gram.features import Features
from slackwater.points import in_double

SINGLE = float(np.finfo(np.float32).eps)  # what single precision may be off by in a kernel value of about one
MAX_ERROR = 0.3  # margins that responses may be off by at the very most, whatever precision the data have
MIN_EXAMPLES = 512  # with fewer, faster rows save nothing worth their rounding
_STORAGE_SHARE = 0.1  # of the tolerance, for the rounding of rows kept in two bytes


def calls_for_double(norm: float) -> bool:
    """Whether values in single precision would show in responses, even if that is the precision of the data."""
    return SINGLE * norm > MAX_ERROR


def fastest(features: Features) -> Features:
    """Values as precise as the data are, computed the fastest way."""
    if features.n < MIN_EXAMPLES or features.points.dtype != np.float32:
        return features
    return features.to_single_precision().on_grid()


def as_given(features: Features, norm: float) -> Features:
    """The same, but in double precision where single would show, whatever the data are."""
    if calls_for_double(norm):
        return replace(features, points=in_double(features.points))
    return fastest(features)


def precise_enough(features: Features, norm: float | None, tol: float) -> Features:
    """Values as precise as the tolerance ``tol``, in margins, calls for: in single precision, as a rule.

    ``norm`` is that of the coefficients, in margins; None if it is not known.
    """
    if norm is None or features.n < MIN_EXAMPLES or features.points.dtype == np.float32:
        return fastest(features)
    placed = features.to_single_precision().on_grid()
    error = features.kernel.single_precision_error(placed.points)
    return placed if error is not None and error * norm <= tol else features


def may_keep_two_bytes(features: Features, norm: float | None, tol: float) -> bool:
    """Whether rows may be kept in two bytes: their rounding is a small part of the tolerance."""
    if norm is None or not features.kernel.bounded_by_one or features.n < MIN_EXAMPLES:
        return False
    error = features.kernel.single_precision_error(features.points) or 0.0
    return math.hypot(TWO_BYTE_ROUNDING, error) * norm <= _STORAGE_SHARE * tol
