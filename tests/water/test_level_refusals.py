"""Bad input is refused by name, before any search."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from slackwater.water import c_level, c_level_and_bias, level, level_and_bias, volume_below

GOOD = [0.0, 1.0]


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("size", "position"), [(1000, 0), (1000, 500), (1000, 999), (1, 0), (3, 1), (9, 8)])
def test_responses_that_are_not_finite_are_refused_with_their_index(bad, dtype, size, position):
    responses = np.zeros(size, dtype=dtype)
    responses[position] = bad
    with pytest.raises(ValueError, match=rf"responses must be finite, got {bad} at index {position}\."):
        level(responses, 1.0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: level([], 1.0), "responses must not be empty"),
        (lambda: level([[1.0]], 1.0), r"responses must be one-dimensional, got shape \(1, 1\)"),
        (lambda: level(["a"], 1.0), "responses must be real numbers"),
        (lambda: level([1j], 1.0), "responses must be real numbers"),
        (lambda: level([1.7e308, 1.7e308], 1e300), "responses must have sums that float64 can hold"),
        (lambda: level(GOOD, -1.0), r"volume must be finite and >= 0, got -1\.0"),
        (lambda: level(GOOD, np.nan), "volume must be finite"),
        (lambda: level(GOOD, np.inf), "volume must be finite"),
        (lambda: level(GOOD, 1.0, [1.0]), r"weights must have shape \(2,\) as responses do, got \(1,\)"),
        (lambda: level(GOOD, 1.0, [1.0, -0.5]), r"weights must be >= 0, got -0\.5"),
        (lambda: level(GOOD, 1.0, [1.0, np.nan]), "weights must be finite"),
        (lambda: level(GOOD, 1.0, [0.0, 0.0]), "weights must hold a positive value"),
        (lambda: level_and_bias(GOOD, [1, -1, 1], 1.0), r"labels must have shape \(2,\)"),
        (lambda: level_and_bias(GOOD, [1, 0], 1.0), r"labels must be \+1 or -1, got .*0"),
        (lambda: level_and_bias(GOOD, [1.0, -1.5], 1.0), r"labels must be \+1 or -1, got .*-1\.5"),
        (lambda: level_and_bias(GOOD, [1, 1], 1.0), r"both classes with positive weight, got none of -1"),
        (lambda: level_and_bias(GOOD, [1, -1], 1.0, [0.0, 1.0]), r"got none of \+1"),
        (lambda: c_level(GOOD, 0.0), r"C must be finite and > 0, got 0\.0"),
        (lambda: c_level(GOOD, -1.0), "C must be finite and > 0"),
        (lambda: c_level(GOOD, np.inf), "C must be finite and > 0"),
        (lambda: c_level_and_bias(GOOD, [-1, -1], 1.0), r"got none of \+1"),
        (lambda: c_level_and_bias(GOOD, [1, -1], np.nan), "C must be finite"),
        (lambda: volume_below(GOOD, np.nan), "trial must be a number"),
    ],
)
def test_bad_input_is_refused_by_name(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_lists_integers_and_strided_views_are_welcome():
    assert level([0, 1, 5], 3) == 2.0
    assert level(np.array([0, 9, 1, 9, 5], dtype=np.float32)[::2], 3.0) == 2.0
    assert level_and_bias([0, 2], [1.0, -1.0], 0, np.array([1, 2], dtype=np.int32)) == (1.0, 1.0)


def test_importing_the_levels_does_not_import_the_compiler():
    script = (
        "import sys, types, pathlib\n"
        "package = types.ModuleType('slackwater')\n"  # the door itself may import more: it is not asked here
        f"package.__path__ = [{str(_package_folder())!r}]\n"
        "sys.modules['slackwater'] = package\n"
        "import slackwater.water\n"
        "assert 'numba' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def _package_folder():
    import pathlib

    import slackwater.water

    return pathlib.Path(slackwater.water.__file__).parent.parent
