"""Rules that end a run, on scripted progress."""

from __future__ import annotations

import pytest

from slackwater.stopping import (
    BoundStalled,
    GapBelow,
    HoldoutStalled,
    MaxEpochs,
    MaxEvaluations,
    MaxSteps,
    NearOptimal,
    Progress,
    StopReason,
    ViolationBelow,
    first_reason,
)


def progress(steps=5, evaluations=100, seconds=1.0, **more):
    return Progress(steps, evaluations, seconds, **more)


@pytest.mark.parametrize(
    ("rule", "goes_on", "ends", "reason"),
    [
        (MaxSteps(10), progress(steps=9), progress(steps=10), StopReason.STEPS),
        (
            MaxEvaluations(200),
            progress(evaluations=100, next_cost=100),
            progress(evaluations=101, next_cost=100),
            StopReason.EVALUATIONS,
        ),
        (GapBelow(0.1), progress(gap=0.11), progress(gap=0.1), StopReason.TOLERANCE),
        (ViolationBelow(0.1), progress(violation=0.11), progress(violation=0.1), StopReason.TOLERANCE),
        (MaxEpochs(3), progress(passes=2), progress(passes=3), StopReason.EPOCHS),
        (GapBelow(0.1), progress(gap=0.1, violation=1.1), progress(gap=0.1, violation=0.9), StopReason.TOLERANCE),
    ],
)
def test_a_rule_speaks_exactly_at_its_limit(rule, goes_on, ends, reason):
    assert rule(goes_on) is None
    assert rule(ends) is reason


def test_a_gap_not_yet_known_ends_nothing():
    assert GapBelow(0.5)(progress()) is None


@pytest.mark.parametrize(
    ("violation", "gap", "ends"),
    [
        (0.01, 1e-3, True),  # both at their limits
        (0.011, 1e-3, False),
        (0.011, 1e-9, False),  # the best gap is no substitute for the conditions
        (0.01, 1.1e-3, False),
        (0.00051, 0.5, False),  # one still waits for the gap
        (0.0005, 0.5, True),  # one does no longer
        (0.01, None, False),
        (0.0005, None, True),
        (0.01, float("nan"), False),
    ],
)
def test_near_an_optimum_both_criteria_are_met_or_the_violation_is_the_least_one_waited_for(violation, gap, ends):
    rule = NearOptimal(0.01, 1e-3, 0.0005)
    assert (rule(progress(violation=violation, gap=gap)) is StopReason.TOLERANCE) == ends


def test_a_run_towards_an_optimum_ends_at_the_first_step_that_is_near_enough():
    rule = NearOptimal(0.01, 1e-3, 0.0005)
    closing = [(0.5, 0.9), (0.02, 5e-4), (0.009, 2e-3), (0.012, 1e-3), (0.008, 9e-4), (0.001, 1e-5)]
    answers = [rule(progress(violation=violation, gap=gap)) for violation, gap in closing]
    assert answers == [None] * 4 + [StopReason.TOLERANCE] * 2
    stuck = [(0.5, 0.9), (0.008, 2e-3), (0.001, 2e-3), (0.0004, 2e-3)]  # by rounding, the gap stays where it is
    answers = [rule(progress(violation=violation, gap=gap)) for violation, gap in stuck]
    assert answers == [None] * 3 + [StopReason.TOLERANCE]


def test_a_holdout_error_that_has_stalled_ends_the_run():
    rule = HoldoutStalled(patience=2)
    errors = [0.5, 0.4, 0.4, None, 0.3, 0.3, 0.31]
    answers = [rule(progress(holdout_error=error)) for error in errors]
    assert answers == [None] * 6 + [StopReason.HOLDOUT]


def test_every_rule_sees_the_progress_and_the_first_reason_counts():
    stalled = HoldoutStalled(patience=1)
    rules = [MaxSteps(5), stalled]
    assert first_reason(rules, progress(holdout_error=0.2)) is StopReason.STEPS
    assert stalled.best == 0.2


def test_of_steps_that_are_small_parts_of_an_epoch_one_in_a_tenth_of_it_counts():
    rule = HoldoutStalled(patience=2)
    epochs = [0.04, 0.08, 0.12, 0.15, 0.19, 0.25]
    answers = [rule(progress(holdout_error=0.3, epochs=each)) for each in epochs]
    assert answers == [None] * 5 + [StopReason.HOLDOUT]


def test_a_bound_that_does_not_rise_ends_the_run():
    rule = BoundStalled(patience=3)
    bounds = [1.0, 2.0, 2.0, 2.0005, 2.1, 2.1, 2.1, 2.1]
    answers = [rule(progress(objective=3.0, bound=each)) for each in bounds]
    assert answers == [None] * 7 + [StopReason.STALLED]
    assert rule(progress()) is None
