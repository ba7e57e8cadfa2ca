"""Charts as pure functions: axes, ticks, lines with few points."""

from __future__ import annotations

import numpy as np
import pytest

from slackwater.report.charts import Axis, Level, Series, basin, covering, line_chart, round_numbers, thinned
from slackwater.report.markup import number, percent, text


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [(0.0, 1.0, [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]), (-1.2, 2.1, [-1.0, 0.0, 1.0, 2.0]), (0.0, 23.0, [0.0, 5, 10, 15, 20])],
)
def test_ticks_are_round_numbers_within_the_range(low, high, expected):
    assert round_numbers(low, high) == pytest.approx(expected)


@pytest.mark.parametrize(("low", "high"), [(1e-9, 3.0), (0.07, 1.2), (3.1, 3.2), (1e300, 1e301)])
def test_every_axis_has_ticks_that_lie_on_it(low, high):
    for axis in (Axis("", low, high), covering("", np.array([low, high]), log=True)):
        places = [value for value, _ in axis.ticks()]
        near = 1e-6 * (axis.high - axis.low)
        assert all(axis.low - near <= value <= axis.high + near for value in places)
        assert places or axis.log  # a short piece of a logarithmic axis may have none


def test_an_axis_covers_what_is_finite():
    axis = covering("", np.array([np.nan, 2.0, np.inf, -1.0]))
    assert axis.low < -1.0 < 2.0 < axis.high
    assert covering("", np.array([0.0, -3.0]), log=True).low > 0.0
    assert covering("", np.full(3, 7.0)).low < 7.0


def test_a_thinned_line_stays_near_the_line_and_keeps_its_ends():
    x = np.linspace(0.0, 1.0, 20_001)
    y = np.where(x < 0.01, 100 * x, 1.0)  # nearly all of the way up within a hundredth of the width
    few = thinned(x, y, 100)
    assert len(few[0]) <= 100
    assert (few[0][0], few[0][-1], few[1][0], few[1][-1]) == (0.0, 1.0, 0.0, 1.0)
    assert np.abs(np.interp(x, *few) - y).max() < 0.05


def test_a_chart_stays_within_its_frame_whatever_the_values():
    wild = Series("wild", np.array([-5.0, 0.5, 7.0]), np.array([1e9, 0.5, -1e9]))
    drawn = line_chart("t", Axis("x", 0, 1), Axis("y", 0, 1), [wild])
    assert 'points="52.0,14.0 220.0,130.0 388.0,246.0"' in drawn


def test_water_is_drawn_where_the_ground_is_below_the_level_only():
    x, y = Axis("x", 0.0, 4.0), Axis("y", 0.0, 2.0)
    ground = np.arange(5.0)
    assert 'class="water"' in basin("t", x, y, (ground, ground / 2), Level(1.0), [])
    assert 'class="water"' not in basin("t", x, y, (ground, 1.0 + ground / 4), Level(1.0), [])


@pytest.mark.parametrize(
    ("value", "expected"),
    [(1234567, "1,234,567"), (-0.5, "−0.5"), (9.3e-5, "9.3 × 10⁻⁵"), (float("nan"), "–"), (np.inf, "∞"), (2.0, "2")],
)
def test_numbers_are_written_for_readers(value, expected):
    assert number(value) == expected


def test_text_cannot_be_markup():
    assert text('<a href="x">&') == "&lt;a href=&quot;x&quot;&gt;&amp;"
    assert len(text("x" * 1000)) == 201
    assert percent(0.125) == "12.5\u00a0%"
