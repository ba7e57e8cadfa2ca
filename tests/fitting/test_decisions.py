"""The table of decisions: what it says, and how it is shown."""

from __future__ import annotations

import io

import pytest

from slackwater.fitting.decisions import Decision, Decisions, decide
from slackwater.progress import ProgressLine


@pytest.mark.parametrize(
    ("value", "relation", "limit", "met"),
    [(1.0, "<=", 1.0, True), (1.0, "<", 1.0, False), (2.0, ">=", 1.0, True), (1.0, ">", 1.0, False)],
)
def test_a_value_is_compared_with_its_limit(value, relation, limit, met):
    by_itself = decide("subspace", "examples", value, relation, limit, False, 0.5)
    assert by_itself.outcome == ("taken" if met else "declined")
    assert by_itself.positive == met
    forced = decide("subspace", "examples", value, relation, limit, True, 0.5)
    assert forced.outcome == ("taken" if met else "forced")
    assert forced.positive


TABLE = Decisions(
    [
        Decision("exact", "examples", 26008.0, "< 8192", "declined", 0.0),
        Decision("subspace", "loss of half of the landmarks", 0.0058041, "<= 0.025", "taken", 0.301),
    ]
)


def test_it_prints_as_a_table():
    lines = str(TABLE).splitlines()
    assert lines[0].split() == ["strategy", "measured", "value", "limit", "outcome", "seconds"]
    assert lines[1].split() == ["exact", "examples", "26008", "<", "8192", "declined", "0.00"]
    assert "0.005804" in lines[2]
    assert {line.index(word) for line, word in zip(lines, ("outcome", "declined", "taken"), strict=True)} == {
        lines[0].index("outcome")
    }
    assert str(TABLE) in repr(TABLE)


def test_it_is_a_sequence():
    assert len(TABLE) == 2
    assert TABLE[0].strategy == "exact"
    assert list(TABLE.of("subspace")) == [TABLE[1]]
    assert TABLE[:1] == [TABLE[0]]


def test_it_is_a_data_frame_where_pandas_is_there():
    pytest.importorskip("pandas")
    frame = TABLE.to_pandas()
    assert list(frame.columns) == list(Decision._fields)
    assert frame["value"].tolist() == [26008.0, 0.0058041]


@pytest.mark.parametrize("live", [False, True])
def test_a_detailed_line_shows_each_decision_as_it_is_made(live):
    stream = io.StringIO()
    stream.isatty = lambda: live
    ProgressLine(stream, detailed=True).decided(TABLE[0])
    assert "slackwater: exact: examples 26008 (limit < 8192): declined" in stream.getvalue()
    assert stream.getvalue().endswith("\n")
