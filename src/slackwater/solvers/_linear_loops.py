"""Compiled steps of the linear dual; the twin in plain NumPy is in ``tests/solvers/test_linear_dual.py``."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from slackwater._jit import compiled_summing

Floats = NDArray[np.float64]


@compiled_summing
def visit(
    rows: NDArray[np.floating],
    labels: NDArray[np.int8],
    upper: Floats,
    squared: Floats,
    waiting: NDArray[np.intp],
    start: int,
    stop: int,
    kept: int,
    alpha: Floats,
    w: Floats,
    before: Floats,
    found: Floats,
) -> int:
    """Steps on the examples ``waiting[start:stop]``; those that go on are moved to ``waiting[kept:]``.

    ``before`` has the largest and the smallest projected gradient of the last pass, beyond which examples at a bound
    are set aside; ``found`` those of this pass. Returns how many go on, ``kept`` included.
    """
    for position in range(start, stop):
        i = waiting[position]
        label = float(labels[i])
        product = 0.0
        for j in range(rows.shape[1]):
            product += rows[i, j] * w[j]
        gradient = label * product - 1.0
        if alpha[i] <= 0.0:
            if gradient > before[0]:
                continue
            projected = min(gradient, 0.0)
        elif alpha[i] >= upper[i]:
            if gradient < before[1]:
                continue
            projected = max(gradient, 0.0)
        else:
            projected = gradient
        waiting[kept] = i
        kept += 1
        found[0] = max(found[0], projected)
        found[1] = min(found[1], projected)
        if projected != 0.0:
            # Of an example that is all zero the dual is linear in α_i: it grows up to the bound.
            value = min(max(alpha[i] - gradient / squared[i], 0.0), upper[i]) if squared[i] > 0.0 else upper[i]
            change = (value - alpha[i]) * label
            alpha[i] = value
            for j in range(rows.shape[1]):
                w[j] += change * rows[i, j]
    return kept
