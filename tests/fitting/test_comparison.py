"""The test of non-inferiority: what it accepts, and how often it errs."""

from __future__ import annotations

import numpy as np
import pytest

from slackwater.fitting.comparison import compare

MARGIN = 0.002


def test_the_deficit_is_the_difference_of_the_errors():
    candidate = np.array([True, True, False, False])
    other = np.array([True, False, False, True])
    weights = np.array([1.0, 2.0, 3.0, 4.0])
    found = compare(candidate, other, weights)
    assert found.deficit == pytest.approx((2.0 - 4.0) / 10.0)
    assert found.standard_error == pytest.approx(np.sqrt(2.0**2 + 4.0**2 + 4.0**2) / 10.0)


def test_examples_on_which_both_agree_tell_nothing_but_their_number():
    wrong = np.array([True, False] * 50)
    assert compare(wrong, wrong, np.ones(100)).standard_error == pytest.approx(1.0 / 100)


@pytest.mark.parametrize("n", [2000, 8000])
@pytest.mark.parametrize("disagreement", [0.005, 0.02, 0.1])
def test_a_model_that_is_worse_by_the_margin_is_accepted_in_at_most_five_of_a_hundred_cases(n, disagreement):
    rng, cases = np.random.default_rng(0), 2000
    worse = 0.5 * (disagreement + MARGIN)
    outcomes = rng.random((cases, n))
    accepted = [
        compare(row < worse, (row >= worse) & (row < disagreement), np.ones(n)).required_margin <= MARGIN
        for row in outcomes
    ]
    assert np.mean(accepted) <= 0.05 + 3.0 * np.sqrt(0.05 * 0.95 / cases)


def test_a_model_that_is_as_good_is_accepted_where_the_two_hardly_differ():
    rng, n = np.random.default_rng(1), 16_384
    outcomes = rng.random((500, n))
    accepted = [
        compare(row < 0.002, (row >= 0.002) & (row < 0.004), np.ones(n)).required_margin <= MARGIN for row in outcomes
    ]
    assert np.mean(accepted) > 0.95


def test_what_few_examples_cannot_tell_is_not_accepted_by_luck():
    n, margin = 1000, MARGIN
    candidate, other = np.zeros(n, dtype=bool), np.zeros(n, dtype=bool)
    candidate[:40], other[40:100] = True, True  # better by two points, by chance
    found = compare(candidate, other, np.ones(n))
    assert found.upper <= margin < found.standard_error
    assert found.required_margin > margin
