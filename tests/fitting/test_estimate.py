"""Sums estimated from a sample, and the limit that they stay below."""

from __future__ import annotations

import numpy as np
import pytest

from slackwater.fitting.estimate import Estimate, estimated_sum


def test_a_whole_population_leaves_no_doubt():
    values = np.array([0.0, 3.0, 1.0])
    found = estimated_sum(values, 3, 10.0)
    assert (found.total, found.upper) == (4.0, 4.0)


def test_nothing_drawn_is_nothing_known():
    assert estimated_sum(np.empty(0), 0, 1.0) == Estimate(0.0, 0.0)


def test_estimates_of_different_groups_add_up():
    assert Estimate(1.0, 4.0) + Estimate(2.0, 5.0) == Estimate(3.0, 9.0)


@pytest.mark.parametrize("share", [0.3, 0.03, 0.003])
def test_the_limit_holds_in_95_of_100_cases_however_few_values_are_not_zero(share):
    rng, size, drawn, cases = np.random.default_rng(2), 20_000, 2000, 1000
    sums, estimates = [], []
    for _ in range(cases):
        population = np.where(rng.random(size) < share, rng.random(size), 0.0)
        sums.append(population.sum())
        found = estimated_sum(rng.permutation(population)[:drawn], size, 1.0)
        estimates.append((found.total, found.upper))
    total, upper = np.transpose(estimates)
    assert np.mean(upper >= sums) >= 0.95 - 3.0 * np.sqrt(0.05 * 0.95 / cases)
    errors = total - sums
    assert abs(errors.mean()) <= 4.0 * errors.std() / np.sqrt(cases)  # without bias
    assert np.mean(upper - total) <= 3.0 * errors.std()  # and not so high that it would always hold
