"""What must hold of every level, whatever the responses."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slackwater.water import c_level, c_level_and_bias, level, level_and_bias, volume_below

TIGHT = 1e-12  # of the scale of the problem
SETTINGS = settings(max_examples=60, deadline=None, derandomize=True)
heights = st.floats(-1e3, 1e3).map(lambda x: x if abs(x) > 1e-6 else 0.0)
volumes = st.one_of(st.just(0.0), st.floats(1e-6, 1e4))


@st.composite
def problems(draw):
    responses = np.array(draw(st.lists(heights, min_size=2, max_size=40)))
    labels = np.array(draw(st.lists(st.sampled_from([-1, 1]), min_size=responses.size, max_size=responses.size)))
    labels[0], labels[-1] = 1, -1
    weights = draw(st.lists(st.integers(0, 3), min_size=responses.size, max_size=responses.size))
    weights = np.array(weights, dtype=float)
    weights[[0, -1]] += 1.0
    return responses, labels, weights, draw(volumes)


def near(value, responses, volume):
    return pytest.approx(value, abs=TIGHT * (np.abs(responses).max() + volume + 1e-6))


def water(heights, gamma, weights):
    return float(np.sum(weights * np.maximum(0.0, gamma - heights)))


@SETTINGS
@given(problems())
def test_water_below_the_level_equals_the_volume(problem):
    responses, labels, weights, volume = problem
    tolerance = TIGHT * weights.sum() * (np.abs(responses).max() + volume)
    assert water(responses, level(responses, volume, weights), weights) == pytest.approx(volume, abs=tolerance)
    gamma, bias = level_and_bias(responses, labels, volume, weights)
    assert water(responses + labels * bias, gamma, weights) == pytest.approx(volume, abs=tolerance)


@SETTINGS
@given(problems(), st.floats(-100, 100))
def test_shifting_the_responses_shifts_the_level(problem, shift):
    responses, labels, weights, volume = problem
    moved = responses + shift
    assert level(moved, volume, weights) == near(level(responses, volume, weights) + shift, moved, volume + 100)
    gamma, _ = level_and_bias(responses, labels, volume)
    assert level_and_bias(moved, labels, volume)[0] == near(gamma + shift, moved, volume + 100)
    tilted = responses + labels * shift  # only the bias moves
    assert level_and_bias(tilted, labels, volume)[0] == near(gamma, tilted, volume + 100)


@SETTINGS
@given(problems(), st.integers(-60, 60))
def test_scaling_by_a_power_of_two_scales_the_level_exactly(problem, exponent):
    responses, labels, weights, volume = problem
    scale = 2.0**exponent
    assert level(responses * scale, volume * scale, weights) == level(responses, volume, weights) * scale
    gamma, bias = level_and_bias(responses, labels, volume, weights)
    scaled = level_and_bias(responses * scale, labels, volume * scale, weights)
    assert scaled == (gamma * scale, bias * scale)
    assert c_level(responses * scale, 1 / scale**2, weights) == c_level(responses, 1.0, weights) * scale


@SETTINGS
@given(problems(), st.randoms(use_true_random=False))
def test_the_order_of_the_responses_does_not_matter(problem, random):
    responses, labels, weights, volume = problem
    order = random.sample(range(responses.size), responses.size)
    assert level(responses[order], volume, weights[order]) == near(level(responses, volume, weights), responses, volume)
    shuffled = level_and_bias(responses[order], labels[order], volume, weights[order])
    assert shuffled == near(level_and_bias(responses, labels, volume, weights), responses, volume)


@SETTINGS
@given(problems())
def test_swapping_the_classes_negates_the_bias(problem):
    responses, labels, weights, volume = problem
    for function, amount in ((level_and_bias, volume), (c_level_and_bias, 0.3)):
        gamma, bias = function(responses, labels, amount, weights)
        assert function(responses, -labels, amount, weights) == (gamma, -bias)


@SETTINGS
@given(problems(), volumes)
def test_more_water_never_lowers_the_level(problem, more):
    responses, labels, weights, volume = problem
    slack = TIGHT * (np.abs(responses).max() + volume + more)
    assert level(responses, volume + more, weights) >= level(responses, volume, weights) - slack
    higher, _ = level_and_bias(responses, labels, volume + more, weights)
    assert higher >= level_and_bias(responses, labels, volume, weights)[0] - slack


@SETTINGS
@given(problems())
def test_an_integer_weight_is_a_repetition(problem):
    responses, labels, weights, volume = problem
    times = weights.astype(int)
    repeated, their_labels = np.repeat(responses, times), np.repeat(labels, times)
    assert level(responses, volume, weights) == near(level(repeated, volume), responses, volume)
    ours = level_and_bias(responses, labels, volume, weights)
    assert ours == near(level_and_bias(repeated, their_labels, volume), responses, volume)
    assert 1 / c_level(responses, 0.7, weights) == pytest.approx(1 / c_level(repeated, 0.7), rel=1e-9)


@SETTINGS
@given(problems(), st.integers(1, 5))
def test_sums_reported_by_shards_lead_to_the_level(problem, shards):
    responses, _, weights, volume = problem
    parts = [(responses[k::shards], weights[k::shards]) for k in range(shards)]
    parts = [part for part in parts if part[1].any()]
    trial = float(responses.max()) + volume + 1.0
    for _ in range(responses.size + 1):  # Newton's method comes down in finitely many rounds
        weight, total = np.sum([volume_below(part, trial, share) for part, share in parts], axis=0)
        if weight == 0:
            break
        trial = (volume + total) / weight
    assert trial == near(level(responses, volume, weights), responses, volume)


def test_zero_volume_gives_the_lowest_response_exactly():
    responses = np.array([0.3, 0.1, 0.7, -5.0])
    assert level(responses, 0.0) == -5.0
    assert level(responses, 0.0, [1.0, 0.7, 1.0, 0.0]) == 0.1
    assert level_and_bias(responses, [1, -1, 1, -1], 0.0) == (0.5 * (0.3 - 5.0), 0.5 * (-5.0 - 0.3))


def test_a_single_response_floats_the_whole_volume():
    assert level([2.0], 3.0) == 5.0
    assert level([2.0], 3.0, [0.5]) == 8.0


def test_a_level_may_rest_exactly_on_a_response():
    assert level([0.0, 1.0, 1.0, 4.0], 1.0) == 1.0
    assert c_level([0.5, 2.0, 2.0], 1.0) == 2.0  # on the boundary of the kink
    assert c_level([0.1, 2.0, 2.0], 1.0) == 2.0  # inside it: 0.1 gives too little, 0.1 + 2 + 2 too much


def test_a_wholly_covered_class_leaves_the_rest_to_the_other():
    # One positive under deep water: x+ + x- = 10 + 0 + 0; x- may rise only up to its second point, at 1.
    assert level_and_bias([0.0, 0.0, 1.0, 1.0], [1, -1, -1, -1], 10.0) == (5.0, -4.5)


def test_large_dry_values_do_not_touch_a_tiny_level():
    responses = np.r_[np.full(5, 1e-30), np.full(1000, 1e30)]
    assert level(responses, 5e-30) == pytest.approx(2e-30, rel=1e-15)
    assert level(responses.astype(np.float32), 5e-30, guess=1e-30) == pytest.approx(2e-30, rel=1e-6)


@pytest.mark.parametrize("heights", [(-1.0, -2.0, 1.0), (0.0, 0.0, 0.0)])
def test_without_a_positive_sum_the_best_scale_is_zero(heights):
    assert c_level(heights, 1.0) == np.inf
    assert c_level_and_bias(heights, [1, 1, -1], 1.0) == (np.inf, np.inf)
    assert c_level_and_bias(heights, [-1, -1, 1], 1.0) == (np.inf, -np.inf)
    assert c_level_and_bias(heights[:2], [1, -1], 1.0) == (np.inf, 0.0)


def test_float32_responses_are_summed_in_float64():
    responses = np.full(100_001, 0.1, dtype=np.float32)
    assert level(responses, 1.0) == pytest.approx(float(np.float32(0.1)) + 1.0 / 100_001, rel=1e-14)


def test_the_points_on_the_trial_itself_are_not_below_it():
    assert volume_below([1.0, 2.0, 2.0, 3.0], 2.0) == (1.0, 1.0)
    assert volume_below([1.0, 2.0, 2.0, 3.0], 2.5, [2.0, 1.0, 0.0, 9.0]) == (3.0, 4.0)
