"""How exact the compiled exponentials are, and the Gaussian kernel on raw features."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from reference import kernels as naive
from slackwater import SVC
from slackwater.kernels import Gaussian, _loops, _tile_loops, as_points, block
from slackwater.kernels._register_tiles import WIDTH
from slackwater.kernels.destinations import Destinations
from slackwater.points import DensePoints
from slackwater.prediction import decision_values
from slackwater.workers import Workers


def exponentials(values: np.ndarray) -> np.ndarray:
    out = values.copy()
    finish = _loops.exponential_finish32 if values.dtype == np.float32 else _loops.exponential_finish64
    finish(out, out.size, 1, out.size, values.dtype.type(1))
    return out


@pytest.mark.parametrize(("dtype", "lowest", "tolerance"), [(np.float32, -87, 1e-6), (np.float64, -708, 1e-14)])
def test_exponential_is_exact_over_its_whole_range(dtype: Any, lowest: float, tolerance: float) -> None:
    values = np.linspace(lowest, 0, 400_001).astype(dtype)
    exact = naive.clipped_exponential(values)
    assert np.max(np.abs(exponentials(values) - exact) / exact) <= tolerance


@pytest.mark.parametrize(("dtype", "tiny"), [(np.float32, 1.2e-38), (np.float64, 2.3e-308)])
def test_exponential_below_its_range_is_zero_or_tiny(dtype: Any, tiny: float) -> None:
    far = np.array([-87.4, -87.7, -88, -89, -700, -1e4, -1e30, -np.inf], dtype=dtype)
    far = far * dtype(1 if dtype is np.float32 else 8.2)
    values = exponentials(far)
    assert np.all((values >= 0) & (values <= tiny))
    assert np.all(values[3:] == 0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_exponential_clips_above_zero_and_lets_nan_through(dtype: Any) -> None:
    values = exponentials(np.array([0, 1e-3, 5, np.inf, np.nan], dtype=dtype))
    assert np.all(values[:4] == 1)
    assert np.isnan(values[4])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_gaussian_finish_equals_its_numpy_twin(dtype: Any) -> None:
    rng = np.random.default_rng(0)
    block_, left, right = (rng.uniform(0, 5, shape).astype(dtype) for shape in ((7, 37), 7, 37))
    expected = naive.gaussian_finish(block_, left, right, 0.5)
    finish = _loops.gaussian_finish32 if dtype is np.float32 else _loops.gaussian_finish64
    finish(block_.reshape(-1), 37, left, right, dtype(0.5))
    np.testing.assert_allclose(block_, expected, rtol=3e-6 if dtype is np.float32 else 1e-14)


def test_gaussian_finish_from_double_to_single_equals_its_numpy_twin() -> None:
    rng = np.random.default_rng(0)
    products, left, right = (1e6 + rng.uniform(0, 5, shape) for shape in ((7, 37), 7, 37))
    expected = naive.gaussian_finish(products, left, right, 2.0)
    out = np.zeros((7, 50), np.float32)
    _loops.gaussian_finish_into32(products, left, right, 2.0, out.reshape(-1), 50)
    np.testing.assert_allclose(out[:, :37], expected, rtol=3e-6)
    assert not out[:, 37:].any()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_l1_distances_equal_their_numpy_twin(dtype: Any) -> None:
    rng = np.random.default_rng(0)
    left, right = rng.normal(size=(5, 19)).astype(dtype), rng.normal(size=(23, 19)).astype(dtype)
    out = np.empty((5, 23), dtype)
    _loops.dense_l1_distances(left, right, out.reshape(-1), 23)
    np.testing.assert_allclose(out, naive.l1_distances(left, right), rtol=1e-6)


def forest_like(rows: int) -> np.ndarray:
    """54 raw features: ten quantities up to 7000, 44 indicators; neighbours among them."""
    rng = np.random.default_rng(0)
    quantities = rng.integers(0, 7000, (rows, 10)).astype(np.float64)
    quantities[rows // 2 :] = quantities[: rows - rows // 2] + rng.integers(-40, 40, (rows - rows // 2, 10))
    return np.hstack([quantities, rng.random((rows, 44)) < 0.05]).astype(np.float64)


def test_raw_features_in_the_thousands_keep_four_digits_in_single_precision() -> None:
    X = forest_like(1500)
    double = block(Gaussian(1e-4), as_points(X), as_points(X))
    single = block(Gaussian(1e-4), as_points(X.astype(np.float32)), as_points(X.astype(np.float32)))
    near = double[(double > 0.01) & (double < 0.99)]
    assert near.size > 100  # the comparison means something
    assert single.dtype == np.float32
    assert np.abs(single - double).max() <= 1e-4


def test_scaled_features_keep_six_digits_in_single_precision() -> None:
    X = np.random.default_rng(1).random((1200, 54)).astype(np.float32)
    single = block(Gaussian(1 / 54), as_points(X), as_points(X))
    double = block(Gaussian(1 / 54), as_points(X.astype(np.float64)), as_points(X.astype(np.float64)))
    assert np.abs(single - double).max() <= 1e-6


def test_all_tiles_of_a_data_set_are_computed_in_the_same_precision() -> None:
    X = np.random.default_rng(2).random((3000, 5)).astype(np.float32)
    X[2999] = 3e4  # one outlier at the end calls for double precision everywhere
    points = as_points(X)
    whole = block(Gaussian(0.1), points.take(np.arange(4)), points)
    double = block(Gaussian(0.1), as_points(X[:4].astype(np.float64)), as_points(X.astype(np.float64)))
    np.testing.assert_allclose(whole, double, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize(
    "coordinates", [20, pytest.param(1100, marks=pytest.mark.slow)]
)  # by differences, and by norms
def test_a_few_points_far_from_the_origin_are_as_exact_as_the_others(coordinates: int) -> None:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(300, coordinates)) * math.sqrt((20 if coordinates == 20 else 8) / coordinates)
    X[::15, 0] += 300.0  # far, and near to one another
    X[7::15] *= 5.0  # about the limit
    X = X.astype(np.float32)
    points = as_points(X)
    exact = naive.pairwise(naive.gaussian(0.5), X.astype(np.float64), X.astype(np.float64))
    values = block(Gaussian(0.5), points, points)
    assert np.max(np.abs(values - exact)) <= 2e-5
    assert np.count_nonzero(exact[::15, ::15] > 1e-6) > 20  # it is not zeros that agree


@pytest.mark.parametrize(("rows", "columns", "coordinates"), [(1, 1, 1), (5, 273, 3), (12, 32, 54), (25, 33, 784)])
@pytest.mark.parametrize("apart", [False, True])
def test_a_gaussian_in_one_pass_equals_its_numpy_twin(rows: int, columns: int, coordinates: int, apart: bool) -> None:
    rng = np.random.default_rng(0)
    left, right = (rng.normal(size=(n, coordinates)).astype(np.float32) for n in (rows, columns))
    left, right = (x / np.float32(math.sqrt(coordinates)) for x in (left, right))
    own, others = (0.0 * (x**2).sum(axis=1) if apart else 0.1 * (x**2).sum(axis=1) for x in (left, right))
    slots = rng.permutation(2 * rows)[:rows]
    for kept_in, one, tolerance in ((np.float32, 1.0, 2e-6), (np.uint16, 65535.0, 1.0 / 65535)):
        out = np.full((2 * rows, columns + 7), 7, kept_in)
        lines = Destinations.of_slots(out, slots)
        packed = as_points(right).packed(WIDTH, few=False).view(np.float32)
        scale = np.float32(-0.1 if apart else 0.2)
        _tile_loops.gaussian32(left, packed, scale, own, others, apart, *lines)
        exact = naive.pairwise(naive.gaussian(0.1), left.astype(np.float64), right.astype(np.float64))
        np.testing.assert_allclose(out[slots, :columns] / one, exact, atol=tolerance)
        assert (out[:, columns:] == 7).all()
        assert (np.delete(out, slots, axis=0) == 7).all()


@pytest.mark.parametrize("size", [1e-30, 1e-20, 1.0, 1e15, 1e30])
@pytest.mark.parametrize("coordinates", [3, 80, 1100])
def test_widths_beyond_single_precision_change_nothing(size: float, coordinates: int) -> None:
    """Units are the user's: with gamma="scale" a Gaussian is the same in all of them."""
    X = np.random.default_rng(0).normal(size=(60, coordinates))
    exact = naive.pairwise(naive.gaussian(0.3), X, X)
    points = as_points((size * X).astype(np.float32))
    values = block(Gaussian(0.3 / size**2), points, points)
    assert values.dtype == np.float32
    np.testing.assert_allclose(values, exact, atol=3e-5)


def test_differences_of_few_coordinates_lose_nothing_however_far_from_the_origin() -> None:
    X = (1e5 + np.random.default_rng(0).random((200, 6))).astype(np.float32)
    exact = naive.pairwise(naive.gaussian(2.0), X.astype(np.float64), X.astype(np.float64))
    np.testing.assert_allclose(block(Gaussian(2.0), as_points(X), as_points(X)), exact, atol=5e-7)


@pytest.mark.parametrize(("far", "stays"), [(30.0, False), (1e4, True)])
def test_coordinates_in_double_are_rounded_where_that_does_not_show(far: float, stays: bool) -> None:
    X = far + np.random.default_rng(0).normal(size=(200, 4)) * [[1.0, 0.1, 1.0, 1.0]]
    points = DensePoints(X)
    assert (Gaussian(1.0)._rounding_shows(points)) is stays
    assert Gaussian(1.0).needs_double(points, points)  # by norms
    exact = naive.pairwise(naive.gaussian(1.0), X, X)
    rounded = as_points(X.astype(np.float32))
    assert bool(np.abs(block(Gaussian(1.0), rounded, rounded) - exact).max() > 1e-5) is stays


def far_from_the_origin() -> np.ndarray:
    """Whole numbers about 3000, and indicators."""
    rng = np.random.default_rng(4)
    return np.hstack([3000.0 + rng.integers(0, 60, (400, 6)), rng.random((400, 20)) < 0.1])


@pytest.mark.parametrize("sparse", [(False, False), (False, True), (True, False), (True, True)])
@pytest.mark.parametrize("types", [(np.float32, np.float32), (np.float64, np.float32), (np.float32, np.float64)])
def test_decision_values_are_exact_far_from_the_origin(sparse: tuple[bool, bool], types: tuple[Any, Any]) -> None:
    X = far_from_the_origin()
    coefficients = np.random.default_rng(0).standard_normal((2, 250))
    exact = naive.pairwise(naive.gaussian(1e-3), X[:150], X[150:])
    points, support = (
        as_points(csr_array(part.astype(dtype)) if is_sparse else part.astype(dtype))
        for part, is_sparse, dtype in zip((X[:150], X[150:]), sparse, types, strict=True)
    )
    values = decision_values(Gaussian(1e-3), points, support, coefficients, np.zeros(2), Workers())
    np.testing.assert_allclose(values, exact @ coefficients.T, atol=2e-5 * np.abs(coefficients).sum())
    assert exact.max() > 0.1 > exact.min()


def test_points_far_from_the_origin_are_centred() -> None:
    points = DensePoints(far_from_the_origin().astype(np.float32))
    origin = Gaussian(1e-3).better_origin(points)
    assert origin is not None
    assert points.shifted(origin).largest_squared_norm < 6 * 40**2 + 26


@pytest.mark.parametrize("code", [-9999.0, 1e9])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_points_are_not_shifted_for_the_sake_of_a_few(code: float, dtype: Any) -> None:
    """A code for a missing value in a few rows: the others are near to the origin as they are."""
    X = np.random.default_rng(0).random((500, 3)).astype(dtype)
    X[::30, 1] = code
    points = DensePoints(X)
    origin = Gaussian(1.0).better_origin(points)
    seen = points if origin is None else points.shifted(origin)
    near = np.setdiff1d(np.arange(500), np.arange(0, 500, 30))
    np.testing.assert_allclose(seen.values[near], X[near], atol=1.0)
    exact = naive.pairwise(naive.gaussian(1.0), X[near[:40]].astype(np.float64), X[near[:40]].astype(np.float64))
    some = seen.take(near[:40])
    np.testing.assert_allclose(block(Gaussian(1.0), some, some), exact, atol=2e-6)


def test_coordinates_that_single_precision_would_not_have_are_not_shifted() -> None:
    X = np.random.default_rng(0).random((400, 2))
    X[::2] += 5000.0
    points = DensePoints(X.astype(np.float32))
    assert Gaussian(1.0).better_origin(points) is None


def test_whole_numbers_are_shifted_to_their_centre_without_error() -> None:
    X = forest_like(200)
    X[:, 3] = 7.25  # the same for all
    points = DensePoints(X.astype(np.float32))
    moved = points.shifted(points.centre())
    assert moved is not None
    np.testing.assert_array_equal(moved.values.astype(np.float64), X - points.centre())
    assert np.all(np.abs(np.median(moved.values, axis=0)) <= np.maximum(0.3 * X.std(axis=0), 1.0))


@pytest.mark.parametrize("offset", [1e6, 1e8])
@pytest.mark.parametrize("n", [300, 9000])
def test_data_in_double_precision_are_classified_alike_however_far_from_the_origin(offset: float, n: int) -> None:
    rng = np.random.default_rng(1)
    X = np.round(rng.normal(size=(n, 3)), 6)
    y = X[:, 0] + X[:, 1] ** 2 > 1.0
    here, there = SVC(gamma=0.5).fit(X, y), SVC(gamma=0.5).fit(X + offset, y)
    np.testing.assert_allclose(there.decision_function(X + offset), here.decision_function(X), atol=2e-3)


def test_a_point_has_the_value_one_with_itself_however_narrow_the_kernel() -> None:
    points = as_points(np.random.default_rng(0).normal(size=(40, 3)))
    np.testing.assert_array_equal(block(Gaussian(1e20), points, points), np.eye(40))
