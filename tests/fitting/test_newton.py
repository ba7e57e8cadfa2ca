"""Second derivatives of the smoothed hinge, kept from step to step, and choices that Newton's method makes."""

from __future__ import annotations

import numpy as np
import pytest

from slackwater.fitting.subspace.newton import LocalLosses, SmoothedHingeHessian, newton_direction
from slackwater.fitting.subspace.problem import SubspaceModel, SubspaceProblem
from slackwater.workers import Workers


def any_problem(n=400, m=12, seed=0, dtype=np.float64):
    rng = np.random.default_rng(seed)
    labels = np.where(rng.random(n) < 0.5, 1, -1).astype(np.int8)
    return SubspaceProblem(rng.standard_normal((n, m)).astype(dtype), labels, rng.uniform(0.5, 2.0, n), True, Workers())


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-9), (np.float32, 1e-2)])
@pytest.mark.parametrize("seed", range(3))
def test_the_hessian_moves_with_the_examples_in_it(seed, dtype, tolerance):
    problem, rng = any_problem(seed=seed, dtype=dtype), np.random.default_rng(seed)
    hessian, width = SmoothedHingeHessian(problem), 0.3
    slopes = rng.uniform(-0.5, 1.5, 400).clip(0.0, 1.0)
    for share in (0.0, 0.02, 0.3, 1.0, 0.1, 0.02):  # of the examples, that come and go
        moved = rng.random(400) < share
        slopes[moved] = rng.uniform(-0.5, 1.5, moved.sum()).clip(0.0, 1.0)
        hessian.move_to(slopes)
        curvature = np.where((slopes > 0.0) & (slopes < 1.0), problem.upper / width, 0.0)
        Z = problem.coordinates.astype(np.float64)
        np.testing.assert_allclose(hessian.by_weights(width), (Z.T * curvature) @ Z, atol=tolerance)
        np.testing.assert_allclose(hessian.by_weights_and_bias(width), curvature @ Z, atol=tolerance)
        assert hessian.by_bias(width) == pytest.approx(curvature.sum())


def test_only_examples_that_come_or_go_are_worked_on(monkeypatch):
    worked_on = []
    original = SmoothedHingeHessian._add

    def watched(self, examples, times):
        worked_on.append(len(examples))
        original(self, examples, times)

    monkeypatch.setattr(SmoothedHingeHessian, "_add", watched)
    problem = any_problem()
    hessian, slopes = SmoothedHingeHessian(problem), np.zeros(400)
    slopes[:100] = 0.5
    hessian.move_to(slopes)
    slopes[5], slopes[200:203] = 1.0, 0.5
    hessian.move_to(slopes)
    assert worked_on == [100, 0, 3, 1]
    slopes[:] = 0.0
    slopes[300:310] = 0.5  # ten anew are quicker than ten more and the others less
    hessian.move_to(slopes)
    assert worked_on[4:] == [10, 0]


def test_nobody_at_the_corner_leaves_no_curvature():
    hessian = SmoothedHingeHessian(any_problem())
    hessian.move_to(np.ones(400))
    np.testing.assert_array_equal(hessian.by_weights(0.5), np.zeros((12, 12)))
    assert hessian.by_bias(0.5) == 0.0


def test_derivatives_that_rounding_has_spoilt_are_summed_anew():
    problem = any_problem()
    start, width = SubspaceModel(np.zeros(12), 0.0), 3.0
    losses = LocalLosses(problem, width)
    losses.begin(start)
    expected = newton_direction(losses, start)
    losses._hessian._squares -= 1e4 * np.eye(12)
    found = newton_direction(losses, start)
    np.testing.assert_allclose(found.weights, expected.weights, rtol=1e-9)
    assert found.bias == pytest.approx(expected.bias)
