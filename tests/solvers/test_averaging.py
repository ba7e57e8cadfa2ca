"""Lazily scaled coefficients and their sum against the eager computation."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from slackwater.solvers.averaging import LazyCoefficients


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 4), st.floats(0.01, 10.0), st.floats(0.2, 1.0)), min_size=1, max_size=200))
def test_lazy_coefficients_equal_eager_ones(steps):
    lazy = LazyCoefficients.zeros(5)
    eager, total = np.zeros(5), np.zeros(5)
    for index, amount, shrink in steps:
        lazy.add(index, amount)
        lazy.end_step(shrink)
        eager[index] += amount
        eager *= shrink
        total += eager
    np.testing.assert_allclose(lazy.current(), eager, rtol=1e-11, atol=1e-14)
    np.testing.assert_allclose(lazy.total(), total, rtol=1e-10, atol=1e-12)


def test_a_coefficient_never_touched_is_exactly_zero():
    lazy = LazyCoefficients.zeros(3)
    for _ in range(5000):
        lazy.add(0, 0.3)
        lazy.end_step(0.7)
    assert lazy.current()[1:].tolist() == [0.0, 0.0]
    assert lazy.total()[1:].tolist() == [0.0, 0.0]
