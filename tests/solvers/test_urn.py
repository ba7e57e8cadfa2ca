"""Draws from p*."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chisquare

from slackwater.problem import Basin, Problem
from slackwater.solvers.urn import Urn


def basin_of(weights):
    return Basin(np.arange(len(weights)), np.cumsum(weights))


@pytest.mark.parametrize("method", ["draw", "search"])
@pytest.mark.parametrize("weights", [np.ones(12), np.array([5.0, 1, 2, 0.5, 1, 1, 3, 1, 1, 2, 1, 4])])
def test_draws_follow_the_weights_among_those_not_above_the_level(method, weights):
    responses = np.linspace(0.0, 1.0, 12)
    urn = Urn.filled_by(np.random.default_rng(1))
    basin = basin_of(weights)
    drawn = [getattr(urn, method)(basin, responses, responses[6]) for _ in range(20_000)]
    counts = np.bincount(drawn, minlength=12)
    assert counts[7:].sum() == 0
    expected = weights[:7] / weights[:7].sum() * 20_000
    assert chisquare(counts[:7], expected).pvalue > 1e-3


def test_a_rare_wet_example_is_found_directly_and_still_uniformly():
    responses = np.ones(100_000)
    responses[[7, 70_000]] = 0.0
    urn = Urn.filled_by(np.random.default_rng(2))
    basin = basin_of(np.ones(100_000))
    counts = np.bincount([urn.draw(basin, responses, 0.5) for _ in range(400)], minlength=100_000)
    assert counts.sum() == counts[7] + counts[70_000]
    assert chisquare(counts[[7, 70_000]]).pvalue > 1e-3


def test_a_level_a_rounding_error_too_low_still_draws_the_lowest_example():
    responses = np.array([3.0, 1.0, 2.0])
    urn = Urn.filled_by(np.random.default_rng(0))
    assert urn.draw(basin_of(np.ones(3)), responses, np.nextafter(1.0, 0.0)) == 1


def test_repetition_and_weight_receive_the_same_draws():
    responses = np.array([0.0, 1.0, 0.2, 0.4])
    weights = np.array([2.0, 1.0, 3.0, 1.0])
    copies = np.repeat(np.arange(4), weights.astype(int))
    weighted, repeated = Urn.filled_by(np.random.default_rng(5)), Urn.filled_by(np.random.default_rng(5))
    for _ in range(300):
        one = weighted.draw(basin_of(weights), responses, 0.5)
        other = repeated.draw(basin_of(np.ones(7)), responses[copies], 0.5)
        assert one == copies[other]


def test_foreseeing_draws_nothing():
    responses = np.linspace(0.0, 1.0, 50)
    basin = basin_of(np.ones(50))
    watched, plain = Urn.filled_by(np.random.default_rng(3)), Urn.filled_by(np.random.default_rng(3))
    for _ in range(50):
        watched.foresee(basin, responses, 0.3, 8)
        assert watched.draw(basin, responses, 0.3) == plain.draw(basin, responses, 0.3)


@pytest.mark.parametrize("level", [-2.0, 0.02, 0.5, 2.0])
def test_a_search_by_rank_takes_the_example_of_a_search_in_drawing_order(level):
    """Also where none is under water by rounding, and where more are than are worth sorting."""
    rng = np.random.default_rng(0)
    responses = rng.random(6000)
    members = rng.permutation(6000)[:5500]
    cumulative = np.cumsum(rng.integers(1, 5, 5500)).astype(float)
    rank = np.full(6000, -1, np.int32)
    rank[members] = np.arange(5500)
    plain, ranked = (Urn.filled_by(np.random.default_rng(1)) for _ in range(2))
    for _ in range(50):
        expected = plain.search(Basin(members, cumulative), responses, level)
        assert ranked.search(Basin(members, cumulative, rank), responses, level) == expected


def test_problems_rank_the_examples_of_a_basin():
    labels = np.array([1, -1, 1, 1, -1], dtype=np.int8)
    problem = Problem(None, labels, np.array([1.0, 1.0, 0.0, 2.0, 1.0]), np.array([3, 1, 0, 2, 4]))
    assert problem.positives.rank.tolist() == [1, -1, -1, 0, -1]
    assert problem.negatives.rank.tolist() == [-1, 0, -1, -1, 1]
