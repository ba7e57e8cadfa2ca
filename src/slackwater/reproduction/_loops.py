"""The online Perceptron over a kernel matrix in memory."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from slackwater._jit import compiled
from slackwater.gram._loops import add_row


@compiled
def pass_on(
    matrix: NDArray[np.floating],
    labels: NDArray[np.int8],
    examples: NDArray[np.intp],
    steps_before: int,
    responses: NDArray[np.float64],
    values: NDArray[np.float64],
    offset: NDArray[np.float64],
) -> tuple[int, int]:
    """Show the examples to w one after the other; how many new support vectors there are, and the evaluations charged.

    w = Σ values_i Φ(x_i); the sum of the iterates after steps 1 to t is t·values - offset. Responses of all examples
    are kept up to date, so that a step on which w does not err takes no time; what is charged is one evaluation for
    each support vector and step, as if they were not.
    """
    support = 0
    for i in range(values.size):
        support += values[i] != 0.0
    known = support
    charged = 0
    for k in range(examples.size):
        i = examples[k]
        charged += support
        if responses[i] <= 0.0:
            support += values[i] == 0.0
            values[i] += labels[i]
            offset[i] += labels[i] * (steps_before + k)
            add_row(responses, labels, matrix[i], float(labels[i]))
    return support - known, charged
