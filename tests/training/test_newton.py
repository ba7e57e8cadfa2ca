"""Second derivatives of the rounded hinge, kept from step to step, and choices that Newton's method makes."""

from __future__ import annotations

import numpy as np
import pytest

from slackwater.training.newton import _Corner, _newton_direction
from slackwater.training.span import SpanModel, SpanProblem
from slackwater.workers import Workers


def any_problem(n=400, m=12, seed=0, dtype=np.float64):
    rng = np.random.default_rng(seed)
    labels = np.where(rng.random(n) < 0.5, 1, -1).astype(np.int8)
    return SpanProblem(rng.standard_normal((n, m)).astype(dtype), labels, rng.uniform(0.5, 2.0, n), True, Workers())


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-9), (np.float32, 1e-2)])
@pytest.mark.parametrize("seed", range(3))
def test_the_corner_moves_with_the_examples_in_it(seed, dtype, tolerance):
    problem, rng = any_problem(seed=seed, dtype=dtype), np.random.default_rng(seed)
    corner, width = _Corner(problem), 0.3
    slopes = rng.uniform(-0.5, 1.5, 400).clip(0.0, 1.0)
    for share in (0.0, 0.02, 0.3, 1.0, 0.1, 0.02):  # of the examples, that come and go
        moved = rng.random(400) < share
        slopes[moved] = rng.uniform(-0.5, 1.5, moved.sum()).clip(0.0, 1.0)
        corner.move_to(slopes)
        curvature = np.where((slopes > 0.0) & (slopes < 1.0), problem.caps / width, 0.0)
        Z = problem.features.astype(np.float64)
        np.testing.assert_allclose(corner.hessian(width), np.eye(12) + (Z.T * curvature) @ Z, atol=tolerance)
        np.testing.assert_allclose(corner.cross(width), curvature @ Z, atol=tolerance)
        assert corner.stiffness(width) == pytest.approx(curvature.sum())


def test_only_examples_that_come_or_go_are_worked_on(monkeypatch):
    worked_on = []
    original = _Corner._add

    def watched(self, examples, times):
        worked_on.append(len(examples))
        original(self, examples, times)

    monkeypatch.setattr(_Corner, "_add", watched)
    problem = any_problem()
    corner, slopes = _Corner(problem), np.zeros(400)
    slopes[:100] = 0.5
    corner.move_to(slopes)
    slopes[5], slopes[200:203] = 1.0, 0.5
    corner.move_to(slopes)
    assert worked_on == [100, 0, 3, 1]
    slopes[:] = 0.0
    slopes[300:310] = 0.5  # ten anew are quicker than ten more and the others less
    corner.move_to(slopes)
    assert worked_on[4:] == [10, 0]


def test_nobody_at_the_corner_leaves_the_norm():
    corner = _Corner(any_problem())
    corner.move_to(np.ones(400))
    np.testing.assert_array_equal(corner.hessian(0.5), np.eye(12))
    assert corner.stiffness(0.5) == 0.0


def test_derivatives_that_rounding_has_spoilt_are_summed_anew():
    problem = any_problem()
    start, width = SpanModel(np.zeros(12), 0.0), 3.0
    corner = _Corner(problem)
    expected = _newton_direction(problem, start, np.zeros(400), corner, width)
    corner._squares -= 1e4 * np.eye(12)
    found = _newton_direction(problem, start, np.zeros(400), corner, width)
    np.testing.assert_allclose(found.weights, expected.weights, rtol=1e-9)
    assert found.bias == pytest.approx(expected.bias)
