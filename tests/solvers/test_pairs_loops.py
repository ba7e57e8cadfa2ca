"""The compiled solution of all pairs of small classes, against LIBSVM on each pair."""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np
import pytest
from sklearn import svm
from sklearn.metrics.pairwise import rbf_kernel

from slackwater.solvers import _pairs_loops as loops
from slackwater.solvers._pairs_loops import solve_class_pairs

SIZES = (13, 1, 30, 71)  # 71: more than a tile of the mirror
PAIRS = list(combinations(range(len(SIZES)), 2))
FINE = 1e-5  # a violation
C = 2.0


class Data(NamedTuple):
    """Examples sorted by class, and what the kernel says of them."""

    kernel: np.ndarray
    starts: np.ndarray
    upper: np.ndarray

    def members(self, k):
        return np.arange(self.starts[k], self.starts[k + 1])

    def both(self, a, b):
        return np.concatenate([self.members(a), self.members(b)])


class Solution(NamedTuple):
    signed: np.ndarray
    found: np.ndarray


def data(dtype=np.float64, weighted=False, seed=0, sizes=SIZES, c=C):
    rng = np.random.default_rng(seed)
    n = sum(sizes)
    centres = np.repeat(rng.normal(size=(len(sizes), 3)), sizes, axis=0)
    kernel = rbf_kernel(centres + rng.normal(size=(n, 3)), gamma=0.7).astype(dtype)
    upper = c * (rng.uniform(0.2, 2.0, n) if weighted else np.ones(n))
    return Data(kernel, np.concatenate([[0], np.cumsum(sizes)]).astype(np.intp), upper)


def solve(given, pairs=PAIRS, first=0, violation=FINE, gap=np.inf, finest=0.0, most_steps=10**6):
    """Solve pairs with a strip that begins at class ``first``."""
    sizes = np.diff(given.starts)
    squares = [given.kernel[np.ix_(given.members(k), given.members(k))].ravel() for k in range(len(sizes))]
    square_starts = np.concatenate([[0], np.cumsum(sizes**2)])[:-1].astype(np.intp)
    start = given.starts[first]
    largest = max(sizes[a] + sizes[b] for a, b in pairs)
    signed = np.zeros((len(sizes) - 1, len(given.kernel)))
    found = np.full((len(pairs), loops.FOUND), np.nan)
    solve_class_pairs(
        np.ascontiguousarray(given.kernel[start:, start:]), int(start), np.concatenate(squares), square_starts,
        given.starts, np.array(pairs, dtype=np.intp), given.upper, violation, gap, finest, most_steps, signed, found,
        np.full((largest, largest), np.nan, given.kernel.dtype),
    )  # fmt: skip
    return Solution(signed, found)


def of_pair(given, solution, a, b):
    """Dual variables of a pair, times labels, first those of the examples of a."""
    return np.concatenate([solution.signed[b - 1, given.members(a)], solution.signed[a, given.members(b)]])


def kernel_of(given, a, b):
    both = given.both(a, b)
    return given.kernel[np.ix_(both, both)].astype(np.float64)


def labels_of(given, a, b):
    return np.where(given.both(a, b) < given.starts[a + 1], 1.0, -1.0)


def libsvm(given, a, b):
    """Signed dual variables and bias of scikit-learn's model of a pair; its positive class is the larger label, 1."""
    labels, upper = labels_of(given, a, b), given.upper[given.both(a, b)]
    model = svm.SVC(C=1.0, kernel="precomputed", tol=1e-5)
    model.fit(kernel_of(given, a, b), labels, sample_weight=upper)
    signed = np.zeros(len(labels))
    signed[model.support_] = model.dual_coef_[0]
    return signed, model.intercept_[0]


def accounted(given, solution, number, a, b):
    """Squared norm, loss, dual sum and violation of a pair, by NumPy."""
    signed, labels, upper = of_pair(given, solution, a, b), labels_of(given, a, b), given.upper[given.both(a, b)]
    responses = kernel_of(given, a, b) @ signed
    shortfall = 1.0 - labels * (responses + solution.found[number, loops.BIAS])
    alpha, biases = labels * signed, labels - responses
    may_rise = np.where(labels > 0, alpha < upper, alpha > 0)
    may_fall = np.where(labels > 0, alpha > 0, alpha < upper)
    violation = max(biases[may_rise].max() - biases[may_fall].min(), 0.0)
    return signed @ responses, upper @ np.maximum(shortfall, 0.0), np.abs(signed).sum(), violation


PROBLEMS = pytest.mark.parametrize("weighted", [False, True], ids=["equal", "weighted"])
PRECISIONS = pytest.mark.parametrize("dtype", [np.float32, np.float64])


@PRECISIONS
@PROBLEMS
def test_every_pair_has_the_dual_variables_and_the_bias_of_libsvm(dtype, weighted):
    given = data(dtype, weighted)
    solution = solve(given)
    for number, (a, b) in enumerate(PAIRS):
        signed, bias = libsvm(given, a, b)
        np.testing.assert_allclose(of_pair(given, solution, a, b), signed, atol=2e-3 * C)
        free = (signed != 0.0) & (np.abs(signed) < given.upper[given.both(a, b)])
        assert free.any()  # or the bias need not be unique
        assert solution.found[number, loops.BIAS] == pytest.approx(bias, abs=2e-3)


@PRECISIONS
@PROBLEMS
def test_the_account_of_a_pair_is_what_its_dual_variables_say(dtype, weighted):
    given = data(dtype, weighted)
    solution = solve(given)
    for number, (a, b) in enumerate(PAIRS):
        squared_norm, loss, dual_sum, _ = accounted(given, solution, number, a, b)
        found = solution.found[number]
        assert found[loops.SQUARED_NORM] == pytest.approx(squared_norm, rel=1e-5)
        assert found[loops.LOSS] == pytest.approx(loss, rel=1e-5, abs=1e-9)
        assert found[loops.DUAL_SUM] == pytest.approx(dual_sum, rel=1e-5)
        assert found[loops.SUPPORT] == np.count_nonzero(of_pair(given, solution, a, b))


@PROBLEMS
@pytest.mark.parametrize(
    ("dtype", "violation"),
    [(np.float32, 0.1), (np.float32, 1e-3), (np.float64, 0.1), (np.float64, 1e-3), (np.float64, FINE)],
)
def test_no_pair_violates_its_conditions_by_more_than_is_asked_for(dtype, weighted, violation):
    given = data(dtype, weighted)
    solution = solve(given, violation=violation)
    for number, (a, b) in enumerate(PAIRS):
        found = solution.found[number, loops.VIOLATION]
        assert 0.0 <= found <= violation
        assert found == pytest.approx(accounted(given, solution, number, a, b)[3], abs=1e-9)


@PRECISIONS
@PROBLEMS
def test_dual_variables_are_within_their_bounds_and_in_balance(dtype, weighted):
    given = data(dtype, weighted)
    solution = solve(given)
    for a, b in PAIRS:
        signed = of_pair(given, solution, a, b)
        alpha = signed * labels_of(given, a, b)
        assert (alpha >= 0.0).all()
        assert (alpha <= given.upper[given.both(a, b)]).all()
        assert abs(signed.sum()) <= 1e-12 * np.abs(signed).sum()


@pytest.mark.parametrize("gap", [1e-2, 1e-3, 1e-5])
def test_a_gap_that_is_asked_for_is_reached_beyond_the_violation(gap):
    given = data(c=100.0)
    coarse, fine = (solve(given, violation=0.5, gap=asked) for asked in (np.inf, gap))
    gaps = []
    for solution in (coarse, fine):
        squared_norm, loss, dual_sum = (solution.found[:, k] for k in (loops.SQUARED_NORM, loops.LOSS, loops.DUAL_SUM))
        primal = 0.5 * squared_norm + loss
        gaps.append((primal - (dual_sum - 0.5 * squared_norm)) / primal)
    assert gaps[0].max() > gap  # the violation alone does not do it
    assert gaps[1].max() <= gap
    assert (fine.found[:, loops.STEPS] >= coarse.found[:, loops.STEPS]).all()


def test_a_gap_is_not_waited_for_beyond_the_finest_violation():
    given = data(c=100.0)
    solution = solve(given, violation=0.5, gap=0.0, finest=1e-2)
    assert (solution.found[:, loops.VIOLATION] <= 1e-2).all()
    finer = solve(given, violation=0.5, gap=0.0, finest=1e-6)
    assert (finer.found[:, loops.STEPS] >= solution.found[:, loops.STEPS]).all()
    assert finer.found[:, loops.STEPS].sum() > solution.found[:, loops.STEPS].sum()


def test_no_pair_makes_more_steps_than_it_may():
    given = data()
    solution = solve(given, most_steps=5)
    assert (solution.found[:, loops.STEPS] <= 5).all()
    assert solution.found[:, loops.STEPS].max() == 5
    for number, (a, b) in enumerate(PAIRS):  # and what it says is still true
        squared_norm, loss, dual_sum, violation = accounted(given, solution, number, a, b)
        expected = [squared_norm, loss, dual_sum, violation]
        columns = [loops.SQUARED_NORM, loops.LOSS, loops.DUAL_SUM, loops.VIOLATION]
        np.testing.assert_allclose(solution.found[number, columns], expected, rtol=1e-9, atol=1e-12)


@PRECISIONS
@pytest.mark.parametrize("first", [1, 2])
def test_a_strip_that_begins_at_a_later_class_says_the_same(dtype, first):
    given = data(dtype, weighted=True)
    whole = solve(given)
    later = [pair for pair in PAIRS if pair[0] >= first]
    part = solve(given, later, first)
    for number, (a, b) in enumerate(later):
        np.testing.assert_array_equal(of_pair(given, part, a, b), of_pair(given, whole, a, b))
        np.testing.assert_array_equal(part.found[number], whole.found[PAIRS.index((a, b))])


def test_only_the_rows_of_the_first_classes_are_read_from_the_strip():
    """Values of the second class with itself come from the squares."""
    given = data(weighted=True)
    pairs = [(0, 2), (0, 3)]
    expected = solve(given, pairs)
    sizes = np.diff(given.starts)
    signed, found = np.zeros_like(expected.signed), np.zeros_like(expected.found)
    values = [given.kernel[np.ix_(given.members(k), given.members(k))].ravel() for k in range(len(sizes))]
    square_starts = np.concatenate([[0], np.cumsum(sizes**2)])[:-1].astype(np.intp)
    solve_class_pairs(
        given.kernel[: given.starts[1]].copy(), 0, np.concatenate(values), square_starts, given.starts,
        np.array(pairs, dtype=np.intp), given.upper, FINE, np.inf, 0.0, 10**6, signed, found,
        np.full((84, 84), np.nan),
    )  # fmt: skip
    np.testing.assert_array_equal(signed, expected.signed)
    np.testing.assert_array_equal(found, expected.found)


def test_pairs_leave_the_places_of_others_alone():
    given = data()
    whole, part = solve(given), solve(given, [(1, 3)])
    written = np.zeros_like(part.signed, dtype=bool)
    written[2, given.members(1)] = written[1, given.members(3)] = True
    np.testing.assert_array_equal(part.signed[written], whole.signed[written])
    assert not part.signed[~written].any()


def test_the_order_of_pairs_does_not_matter():
    given = data(weighted=True)
    there, back = solve(given), solve(given, PAIRS[::-1])
    np.testing.assert_array_equal(there.signed, back.signed)
    np.testing.assert_array_equal(there.found, back.found[::-1])


@PRECISIONS
def test_two_classes_of_one_example_each_have_the_solution_by_hand(dtype):
    """α = 2 / ‖Φ(x) - Φ(x')‖², or C."""
    for c, alpha in [(100.0, 1.0 / (1.0 - 0.25)), (0.5, 0.5)]:
        kernel = np.array([[1.0, 0.25], [0.25, 1.0]], dtype)
        given = Data(kernel, np.array([0, 1, 2], dtype=np.intp), np.full(2, c))
        solution = solve(given, [(0, 1)])
        np.testing.assert_allclose(solution.signed, [[alpha, -alpha]], rtol=1e-6)
        assert solution.found[0, loops.BIAS] == pytest.approx(0.0, abs=1e-6)


def test_points_that_cannot_be_told_apart_are_at_their_bounds():
    given = Data(np.ones((3, 3)), np.array([0, 1, 3], dtype=np.intp), np.array([1.0, 2.0, 3.0]))
    solution = solve(given, [(0, 1)])
    assert solution.signed[0, 0] == 1.0
    assert solution.signed[0, 1:].sum() == pytest.approx(-1.0)
    assert solution.found[0, loops.SQUARED_NORM] == pytest.approx(0.0, abs=1e-12)
    assert solution.found[0, loops.BIAS] == pytest.approx(-1.0)
    assert solution.found[0, loops.LOSS] == pytest.approx(2.0)
