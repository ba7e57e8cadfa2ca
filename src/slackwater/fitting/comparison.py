r"""Whether a cheaper model will do: a test of non-inferiority on examples to which neither model was fitted.

The candidate is compared with what more work gives, on the same examples. With :math:`e_i = 1` where only the candidate
is wrong, -1 where only the other one is, else 0, and weights :math:`\omega_i`, its deficit is

.. math:: \delta = \frac{\sum_i \omega_i e_i}{\sum_i \omega_i}, \qquad
    \mathrm{se}(\delta) = \frac{\sqrt{\sum_i \omega_i^2 e_i^2 + \max_i \omega_i^2}}{\sum_i \omega_i}

(McNemar's statistic, with one discordant example added, so that none seen is not taken for none at all). The candidate
is accepted if :math:`\delta + z \cdot \mathrm{se}` is at most a margin: one that is worse by the margin or more is
accepted in at most 5 of 100 cases. So it is not where the standard error exceeds the margin: models that differ on many
examples would pass by luck alone.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

CONFIDENCE = 1.645  # standard errors: 95 %, one-sided


class Comparison(NamedTuple):
    """By how much the error of a candidate exceeds that of the model it is to stand for."""

    deficit: float
    standard_error: float

    @property
    def upper(self) -> float:
        """The deficit is below this with a confidence of 95 %."""
        return self.deficit + CONFIDENCE * self.standard_error

    @property
    def required_margin(self) -> float:
        """The least margin at which the candidate is accepted."""
        return max(self.upper, self.standard_error)


def compare(
    candidate_wrong: NDArray[np.bool_], other_wrong: NDArray[np.bool_], weights: NDArray[np.float64]
) -> Comparison:
    """Compare two classifiers by the examples that each of them gets wrong."""
    difference = candidate_wrong.astype(np.float64) - other_wrong
    total = float(weights.sum())
    discordant = float((weights**2) @ (difference**2)) + float(weights.max()) ** 2
    return Comparison(float(weights @ difference) / total, float(np.sqrt(discordant)) / total)
