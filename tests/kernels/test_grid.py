"""Points on a grid: where they are recognised, and that their Gaussian is that of the points."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from reference import kernels as naive
from slackwater import SVC
from slackwater.gram.compressed import CompressedFeatures, axes_of
from slackwater.gram.features import Features
from slackwater.gram.ledger import EvaluationLedger
from slackwater.kernels import Gaussian, _grid_loops, as_points, block
from slackwater.points.grid import Grid, GridPoints, on_grid
from slackwater.points.projected import Axes, QuantisedPoints
from slackwater.prediction import decision_values
from slackwater.workers import Workers

pytestmark = pytest.mark.skipif(
    not _grid_loops.available(), reason="this processor multiplies whole numbers no quicker"
)


def encoded(*sets: np.ndarray) -> list[GridPoints] | None:
    return on_grid(Workers(), 2.4e-7, *(as_points(np.asarray(each, dtype=np.float32)) for each in sets))


def times_used(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Grows with each block of values that is computed on a grid."""
    used: list[int] = []
    original = Gaussian._write_on_grid

    def watched(kernel: Gaussian, points: GridPoints, *arguments: object) -> None:
        used.append(len(points))
        original(kernel, points, *arguments)

    monkeypatch.setattr(Gaussian, "_write_on_grid", watched)
    return used


def quantised(features: Features, axes: Axes) -> CompressedFeatures:
    return CompressedFeatures.of(features, QuantisedPoints, axes)


def shorts(codes: np.ndarray, step: float) -> GridPoints:
    """Points of two bytes a coordinate; an odd number of them is made even, as ``QuantisedPoints`` does."""
    d = codes.shape[1]
    squares = np.sum(codes.astype(np.int64) ** 2, axis=1).astype(np.int32)
    padded = np.ascontiguousarray(np.pad(codes, ((0, 0), (0, d % 2))))
    return GridPoints(padded, Grid(np.zeros(d), step), squares, squares)


@pytest.mark.parametrize(
    "make",
    [
        lambda codes: codes / np.float32(255),
        lambda codes: codes.astype(np.float64),
        lambda codes: 3.0 - 0.25 * codes + np.arange(codes.shape[1]),  # each coordinate begins elsewhere
        lambda codes: 2.0 * (codes % 2) - 1.0,
        lambda codes: np.where(codes == 0, 7.0, 7.0 + 3.0 * (codes % 80)),
    ],
    ids=["pixels", "counts", "with origins", "signs", "steps that do not begin at one"],
)
def test_a_grid_is_found_where_there_is_one(make) -> None:
    X = make(np.random.default_rng(0).integers(0, 256, (300, 21)))
    (points,) = encoded(X) or pytest.fail("no grid found")
    np.testing.assert_allclose(points.dense(np.dtype(np.float64)), X, atol=2e-6 * np.ptp(X))
    assert points.codes.dtype == np.uint8


def _one_off(X: np.ndarray) -> np.ndarray:
    X[2345, 3] += 0.004
    return X


def _all_nearly(X: np.ndarray) -> np.ndarray:
    """Next to a grid, by more than rounding: the lowest of each coordinate are on it."""
    return np.where(X > 0, X + 5e-4 * np.random.default_rng(1).standard_normal(X.shape), X)


def _one_beyond(X: np.ndarray) -> np.ndarray:
    X[2345, 3] += 200.0
    return X


@pytest.mark.parametrize(
    "X",
    [
        np.random.default_rng(0).standard_normal((3000, 5)),
        np.random.default_rng(0).integers(0, 400, (3000, 5)),
        _one_off(np.random.default_rng(0).integers(0, 200, (3000, 5)).astype(float)),
        _one_beyond(np.random.default_rng(0).integers(0, 200, (3000, 5)).astype(float)),
        _all_nearly(np.random.default_rng(0).integers(0, 2, (3000, 5)).astype(float)),
        np.ones((3000, 5)),
        np.eye(3, 2**15 + 1),
        np.zeros((0, 5)),
    ],
    ids=["any", "too many steps", "one between places", "one beyond", "nearly", "all the same", "too long", "none"],
)
def test_no_grid_is_found_where_there_is_none(X: np.ndarray) -> None:
    assert encoded(X) is None


def test_sets_on_different_grids_have_none_in_common() -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (600, 8)) / 255
    assert encoded(pixels, pixels[:300]) is not None
    assert encoded(pixels, pixels[:300] + 0.001) is None
    assert encoded(pixels, pixels[:300] + 1.0) is None


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 40), st.integers(1, 70), st.integers(1, 70), st.booleans(), st.integers(0, 2**32 - 1))
def test_gaussian_on_a_grid_is_that_of_the_points(m: int, n: int, d: int, in_bytes: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    if in_bytes:
        codes = np.concatenate([[np.zeros(d), np.ones(d)], rng.integers(0, 256, (m + n - 2, d))])  # they tell the step
        (points,) = encoded(codes / np.float32(255)) or pytest.fail("no grid found")
    else:
        largest = 46000 / np.sqrt(d) / 2  # the farthest that points may be apart
        points = shorts(rng.integers(-int(largest), int(largest) + 1, (m + n, d)).astype(np.int16), 1e-3)
    coordinates = points.dense(np.dtype(np.float64))
    gamma = 1.0 / max(1e-12, float(np.var(coordinates)) * d)
    values = block(Gaussian(gamma), points.slice(0, m), points.slice(m, m + n))
    expected = naive.pairwise(naive.gaussian(gamma), coordinates[:m], coordinates[m:])
    np.testing.assert_allclose(values, expected, rtol=3e-6, atol=1e-7)


def test_points_as_far_apart_as_a_grid_allows_do_not_wrap_around() -> None:
    ends = np.zeros((2, 2), dtype=np.int16)
    ends[:, 0] = (-23000, 23000)
    points = shorts(ends, 1.0)
    assert block(Gaussian(1e-9), points, points)[0, 1] == pytest.approx(np.exp(-1e-9 * 46000.0**2), rel=1e-5)
    black_and_white = np.repeat([[0.0], [1.0]], 2**15, axis=1)
    found = encoded(np.vstack([black_and_white, black_and_white * 128 / 255, black_and_white / 255]))
    assert found is not None
    assert block(Gaussian(1e-5), found[0], found[0])[0, 1] == pytest.approx(np.exp(-1e-5 * 2**15), rel=1e-5)


def test_a_point_has_distance_nought_to_its_copy() -> None:
    (points,) = encoded(np.random.default_rng(0).integers(0, 256, (50, 33)) / 255) or pytest.fail("no grid found")
    np.testing.assert_array_equal(block(Gaussian(50.0), points, points).diagonal(), 1.0)


def test_points_on_a_grid_and_others_make_values_too() -> None:
    pixels = (np.random.default_rng(0).integers(0, 256, (50, 9)) / 255).astype(np.float32)
    (points,) = encoded(pixels) or pytest.fail("no grid found")
    mixed = block(Gaussian(0.3), points, as_points(pixels))
    np.testing.assert_allclose(mixed, naive.pairwise(naive.gaussian(0.3), pixels, pixels), rtol=1e-5)


def test_parts_of_points_go_with_what_belongs_to_them() -> None:
    pixels = (np.random.default_rng(0).integers(0, 256, (90, 9)) / 255).astype(np.float32)
    (points,) = encoded(pixels) or pytest.fail("no grid found")
    some = np.array([80, 3, 3, 41])
    np.testing.assert_array_equal(
        block(Gaussian(0.3), points.take(some), points.slice(20, 60)),
        block(Gaussian(0.3), points, points)[some, 20:60],
    )
    np.testing.assert_allclose(points.raw[some], pixels[some], atol=1e-6)


def test_quantised_points_have_nearly_the_kernel_values_of_the_originals() -> None:
    X = np.random.default_rng(0).standard_normal((700, 101)).astype(np.float32) + 5.0
    features = Features(Gaussian(0.01), as_points(X), EvaluationLedger(), Workers(), 2**26, 2**26, np.arange(len(X)))
    axes = axes_of(features, np.arange(400), np.arange(400, 500))
    assert axes is not None
    coded = quantised(features, axes)
    near, exact = coded.all().columns(np.arange(50)), features.columns(np.arange(50))
    np.testing.assert_allclose(near[50:], exact[50:], rtol=1e-3)
    np.testing.assert_array_equal(coded.part(np.arange(100, 120)).points.codes, coded.all().points.codes[100:120])


def test_where_single_precision_would_show_points_must_be_exactly_on_the_grid() -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (600, 8))
    for X, narrow in ((pixels / 255, False), (pixels, True)):
        for gamma in (0.1, 1e5):
            found = Gaussian(gamma).on_grid(Workers(), as_points(X.astype(np.float32)))
            assert (found is not None) == (gamma == 0.1 or narrow)


def test_a_width_far_below_a_step_leaves_points_alone() -> None:
    (points,) = encoded(1e20 * np.random.default_rng(0).integers(0, 9, (40, 3))) or pytest.fail("no grid found")
    values = block(Gaussian(1.0), points, points)
    np.testing.assert_array_equal(values, (points.codes[:, None] == points.codes).all(axis=2))


@pytest.mark.parametrize("offset", [1500.0, 3700.0, 11000.0])
def test_quantised_points_do_not_wrap_around_however_far_from_the_origin(offset: float) -> None:
    rng = np.random.default_rng(0)
    X = (rng.standard_normal((600, 70)) + offset * rng.standard_normal(70)).astype(np.float32)
    X[0], X[1] = X[2:].mean(axis=0) + 4.0, X[2:].mean(axis=0) - 4.0  # farther out than the others, on either side
    features = Features(Gaussian(0.01), as_points(X), EvaluationLedger(), Workers(), 2**26, 2**26, np.arange(len(X)))
    axes = axes_of(features, np.arange(2, 400), np.arange(400, 500))
    assert axes is not None
    values = quantised(features, axes).all().columns(np.array([1]))[0]
    assert values == pytest.approx(np.exp(-0.01 * np.sum((X[0].astype(float) - X[1]) ** 2)), abs=1e-6)


def test_points_that_hardly_differ_keep_an_axis() -> None:
    X = np.random.default_rng(0).standard_normal((700, 70)).astype(np.float32)
    features = Features(Gaussian(1e-9), as_points(X), EvaluationLedger(), Workers(), 2**26, 2**26, np.arange(len(X)))
    axes = axes_of(features, np.arange(400), np.arange(400, 500))
    assert axes is not None
    least = axes.leaving(1e9)
    assert least is not None
    assert least.directions.shape == (70, 1)
    np.testing.assert_allclose(quantised(features, least).all().columns(np.arange(5)), 1.0, atol=1e-5)
    same = Features(Gaussian(1.0), as_points(np.ones((700, 1500))), EvaluationLedger(), Workers(), 0, 0, np.arange(700))
    assert axes_of(same, np.arange(400), np.arange(400, 500)) is None


@pytest.mark.parametrize("n", [3000, 9000], ids=["exact way", "quick way"])
def test_a_model_is_as_good_with_a_grid_as_without(monkeypatch: pytest.MonkeyPatch, n: int) -> None:
    rng = np.random.default_rng(1)
    centres = rng.integers(0, 256, (12, 40))
    X = np.clip(centres[rng.integers(12, size=n + 600)] + rng.normal(0, 60, (n + 600, 40)), 0, 255).round() / 255
    X = X.astype(np.float32)
    y = (X[:, :20].sum(axis=1) > X[:, 20:].sum(axis=1)).astype(int)
    used = times_used(monkeypatch)
    with_grid = SVC(C=1.0, gamma=0.5, random_state=0).fit(X[:n], y[:n])
    assert used
    monkeypatch.setattr(_grid_loops, "available", lambda code=None: False)
    without = SVC(C=1.0, gamma=0.5, random_state=0).fit(X[:n], y[:n])
    costs = [_cost(model, X[:n], y[:n]) for model in (with_grid, without)]
    assert costs[0] == pytest.approx(costs[1], rel=2e-3 if n == 3000 else 0.05)


def _cost(model: SVC, X: np.ndarray, y: np.ndarray) -> float:
    """The objective, in double precision."""
    support = model.support_vectors_.astype(np.float64)
    norm = model.dual_coef_[0] @ block(Gaussian(0.5), as_points(support), as_points(support)) @ model.dual_coef_[0]
    points, model_of = as_points(X.astype(np.float64)), (model.dual_coef_, model.intercept_)
    values = decision_values(Gaussian(0.5), points, as_points(support), *model_of, Workers())
    return float(0.5 * norm + np.maximum(0.0, 1.0 - (2 * y - 1) * values[:, 0]).sum())


@pytest.mark.parametrize(("share", "on_a_grid"), [(0.3, True), (0.001, False)])
def test_sparse_indicators_are_on_a_grid_unless_their_products_are_sooner_computed_as_they_are(
    monkeypatch: pytest.MonkeyPatch, share: float, on_a_grid: bool
) -> None:
    rng = np.random.default_rng(0)
    X = (rng.random((900, 200)) < share).astype(np.float32)
    coefficients, biases = rng.standard_normal((1, 300)), np.zeros(1)
    used = times_used(monkeypatch)
    points, dense = as_points(scipy.sparse.csr_array(X)), as_points(X.astype(np.float64))
    found = decision_values(Gaussian(0.05), points, points.take(np.arange(300)), coefficients, biases, Workers())
    assert bool(used) == on_a_grid
    exact = decision_values(Gaussian(0.05), dense, dense.take(np.arange(300)), coefficients, biases, Workers())
    np.testing.assert_allclose(found, exact, atol=3e-5)


@pytest.mark.parametrize(("n_support", "on_a_grid"), [(300, True), (100, False), (0, False)])
def test_predictions_on_a_grid_are_those_in_double_precision(
    monkeypatch: pytest.MonkeyPatch, n_support: int, on_a_grid: bool
) -> None:
    """With few support vectors there is no grid, since it would take longer to find it."""
    rng = np.random.default_rng(0)
    X = (rng.integers(0, 256, (900, 30)) / 255).astype(np.float32)
    coefficients, biases = rng.standard_normal((3, n_support)), rng.standard_normal(3)
    used = times_used(monkeypatch)
    single, double = (
        decision_values(Gaussian(0.2), as_points(Z), as_points(Z[:n_support]), coefficients, biases, Workers())
        for Z in (X, X.astype(np.float64))
    )
    assert bool(used) == on_a_grid
    np.testing.assert_allclose(single, double, atol=3e-5)


@pytest.mark.parametrize("kind", ["bytes", "shorts"])
@pytest.mark.parametrize("n", [20, 31, 32, 33, 200])
def test_points_are_packed_for_good_when_they_have_met_few_others_for_the_third_time(kind: str, n: int) -> None:
    codes = np.random.default_rng(0).integers(0, 200, (n, 13))
    if kind == "bytes":
        (right,) = encoded(codes) or pytest.fail("no grid found")
    else:
        right = shorts(codes.astype(np.int16), 1.0)
    expected = naive.packed_side_by_side(right.words, 32)
    meetings = [right.packed(32, few) for few in (False, True, True, False, True, True, False)]
    for words in meetings:
        np.testing.assert_array_equal(words, expected)
    assert not any(np.shares_memory(words, meetings[-1]) for words in meetings[:4])
    assert all(np.shares_memory(words, meetings[-1]) for words in meetings[4:])


@pytest.mark.parametrize("n", [20, 32, 33, 200])
def test_parts_of_packed_points_have_the_values_of_the_whole_bit_for_bit(n: int) -> None:
    (right,) = encoded(np.random.default_rng(0).integers(0, 200, (n, 13))) or pytest.fail("no grid found")
    left = right.take(np.arange(0, n, 3))
    whole, part = (np.empty((len(left), n), np.float32) for _ in range(2))
    for _ in range(3):
        Gaussian(1e-4).fill(left, right, whole)
    for first in range(n):  # where it begins as packed points do, they are used
        points = right.slice(first, n)
        assert np.shares_memory(points.packed(32, few=True), right.packed(32, few=True)) == (first % 32 == 0)
        Gaussian(1e-4).fill(left, points, part[:, first:])
        np.testing.assert_array_equal(part[:, first:], whole[:, first:])
