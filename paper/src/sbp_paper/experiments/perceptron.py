"""The online Perceptron over a kernel matrix in memory: a hundred passes over Adult in a minute.

``slackwater.baselines.KernelPerceptron`` computes a response from the support when an example comes up. Here those of
all examples are kept, which differs by rounding alone; charged is what the former pays: one evaluation for each support
vector so far and step.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_LOOK = 64  # examples looked through at once for the next mistake


class Perceptron:
    """Passes over the examples in random order, each in an order of its own; w = Σ values_i Φ(x_i)."""

    def __init__(self, matrix: NDArray[np.floating[Any]], labels: NDArray[np.int8], rng: np.random.Generator) -> None:
        self.steps = self.charged = 0
        self.values = np.zeros(len(labels))
        self._matrix, self._labels = matrix, labels.astype(np.float64)
        self._offset = np.zeros(len(labels))  # the sum of the iterates after steps 1 to t is t·values - offset
        self._responses = np.zeros(len(labels))
        self._support = 0
        self._rng = rng

    def mean(self) -> Floats:
        """Of the iterates so far."""
        return self.values - self._offset / max(self.steps, 1)

    def go_on(self, steps: int) -> None:
        """Until so many steps were made in all."""
        n = len(self.values)
        while self.steps < steps:
            if self.steps % n == 0:
                self._order = self._rng.permutation(n)
            begin = self.steps % n
            self._show(self._order[begin : begin + min(_LOOK, steps - self.steps)])

    def _show(self, examples: NDArray[np.intp]) -> None:
        """Go through the examples up to the first on which w errs, and add that one."""
        wrong = np.flatnonzero(self._responses[examples] <= 0.0)
        count = int(wrong[0]) + 1 if len(wrong) else len(examples)
        self.charged += count * self._support
        if len(wrong):
            self._add(examples[count - 1], self.steps + count - 1)
        self.steps += count

    def _add(self, index: np.intp, steps_before: int) -> None:
        label = self._labels[index]
        self._support += int(self.values[index] == 0.0)
        self.values[index] += label
        self._offset[index] += label * steps_before
        self._responses += (label * self._labels) * self._matrix[index]
