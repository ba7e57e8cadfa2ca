"""Every kernel, in every storage, against its formula and against scikit-learn."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.metrics import pairwise

from reference import kernels as naive
from slackwater.errors import KernelError
from slackwater.kernels import Gaussian, Kernel, Laplacian, Linear, Polynomial, Sigmoid, as_points, block, blocks
from slackwater.workers import Workers

KERNELS: list[tuple[Kernel, Callable[..., float], Callable[..., np.ndarray]]] = [
    (Gaussian(0.3), naive.gaussian(0.3), lambda a, b: pairwise.rbf_kernel(a, b, gamma=0.3)),
    (Laplacian(0.2), naive.laplacian(0.2), lambda a, b: pairwise.laplacian_kernel(a, b, gamma=0.2)),
    (Linear(), naive.inner, pairwise.linear_kernel),
    (
        Polynomial(3, 0.5, 1.0),
        naive.polynomial(3, 0.5, 1.0),
        lambda a, b: pairwise.polynomial_kernel(a, b, degree=3, gamma=0.5, coef0=1.0),
    ),
    (
        Polynomial(6, 0.3, 0.0),
        naive.polynomial(6, 0.3, 0.0),
        lambda a, b: pairwise.polynomial_kernel(a, b, degree=6, gamma=0.3, coef0=0.0),
    ),
    (
        Sigmoid(0.1, -0.5),
        naive.sigmoid(0.1, -0.5),
        lambda a, b: pairwise.sigmoid_kernel(a, b, gamma=0.1, coef0=-0.5),
    ),
]
NAMES = [f"{kernel.name}-{i}" for i, (kernel, _, _) in enumerate(KERNELS)]


def dense(X: np.ndarray) -> np.ndarray:
    return X


def csr32(X: np.ndarray) -> Any:
    return scipy.sparse.csr_matrix(X)


def csr64(X: np.ndarray) -> Any:
    matrix = scipy.sparse.csr_matrix(X)
    matrix.indices, matrix.indptr = matrix.indices.astype(np.int64), matrix.indptr.astype(np.int64)
    return matrix


def sample(rows: int, dtype: Any, seed: int, features: int = 11) -> np.ndarray:
    rng = np.random.default_rng(seed)
    values = rng.uniform(-1, 1, (rows, features)) * (rng.random((rows, features)) < 0.4)
    return values.astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("right_form", [dense, csr32, csr64])
@pytest.mark.parametrize("left_form", [dense, csr32, csr64])
@pytest.mark.parametrize(("kernel", "formula", "_sklearn"), KERNELS, ids=NAMES)
def test_every_storage_agrees_with_the_double_loop(
    kernel: Kernel, formula: Any, _sklearn: Any, left_form: Any, right_form: Any, dtype: Any
) -> None:
    left, right = sample(9, dtype, 1), sample(21, dtype, 2)
    values = block(kernel, as_points(left_form(left)), as_points(right_form(right)))
    assert values.dtype == dtype
    tolerance = 2e-6 if dtype is np.float32 else 1e-13
    np.testing.assert_allclose(values, naive.pairwise(formula, left, right), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("form", [dense, csr32])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("kernel", "_formula", "sklearn"), KERNELS, ids=NAMES)
def test_blocks_of_many_tiles_agree_with_scikit_learn(
    kernel: Kernel, _formula: Any, sklearn: Any, dtype: Any, form: Any
) -> None:
    left, right = sample(300, dtype, 3), sample(2500, dtype, 4)
    values = block(kernel, as_points(form(left)), as_points(form(right)))
    expected = sklearn(left.astype(np.float64), right.astype(np.float64))
    tolerance = 5e-6 if dtype is np.float32 else 1e-12
    np.testing.assert_allclose(values, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("form", [dense, csr32])
@pytest.mark.parametrize(("kernel", "formula", "_sklearn"), KERNELS, ids=NAMES)
def test_diagonal_is_the_kernel_of_each_point_with_itself(
    kernel: Kernel, formula: Any, _sklearn: Any, form: Any
) -> None:
    X = sample(17, np.float64, 5)
    np.testing.assert_allclose(kernel.diagonal(as_points(form(X))), [formula(x, x) for x in X], rtol=1e-13)


@pytest.mark.parametrize("kernel", [Gaussian(0.7), Laplacian(0.7)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("form", [dense, csr32])
def test_radial_kernels_are_one_on_the_diagonal_and_never_above(kernel: Kernel, dtype: Any, form: Any) -> None:
    points = as_points(form(sample(50, dtype, 6, features=80) * dtype(3)))
    values = block(kernel, points, points)
    assert kernel.unit_diagonal
    assert values.max() <= 1
    np.testing.assert_allclose(np.diagonal(values), 1, atol=2e-5 if dtype is np.float32 else 1e-13)


@settings(max_examples=25, deadline=None)
@given(
    X=arrays(np.float64, (12, 3), elements=st.floats(-4, 4, width=32)),
    kernel=st.sampled_from([Gaussian(0.5), Laplacian(0.3), Linear(), Polynomial(2, 0.5, 1.0)]),
)
def test_kernels_said_to_be_semidefinite_are(X: np.ndarray, kernel: Kernel) -> None:
    points = as_points(X)
    eigenvalues = np.linalg.eigvalsh(block(kernel, points, points))
    assert kernel.positive_semidefinite
    assert eigenvalues[0] >= -1e-10 * max(1.0, eigenvalues[-1])


def test_mixed_precision_is_computed_in_double() -> None:
    left, right = sample(5, np.float32, 7), sample(6, np.float64, 8)
    values = block(Gaussian(0.3), as_points(left), as_points(right))
    assert values.dtype == np.float64
    expected = naive.pairwise(naive.gaussian(0.3), left, right)
    np.testing.assert_allclose(values, expected, rtol=1e-13)


def test_very_many_columns_need_little_memory() -> None:
    left = scipy.sparse.random(20, 10**6, 1e-5, format="csr", random_state=1)
    right = scipy.sparse.vstack([scipy.sparse.random(30, 10**6, 1e-5, random_state=2), left[7]], format="csr")
    first, second = as_points(left), as_points(right)
    block(Linear(), first, second)  # compile first
    tracemalloc.start()
    values = block(Linear(), first, second)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert values[7, 30] > 0
    np.testing.assert_allclose(values, (left @ right.T).toarray(), rtol=1e-13)
    assert peak < 2 * 4 * 10**6  # one number a column, not one a column and row


def test_a_value_that_is_not_finite_is_named_by_its_place_in_the_whole_block() -> None:
    left, right = np.ones((1300, 2)), np.ones((3000, 2))
    right[2500, 0] = np.nan
    with pytest.raises(KernelError, match="points 0 and 2500 is nan"):
        block(Linear(), as_points(left), as_points(right))
    left[1299, 1] = np.inf
    with pytest.raises(KernelError, match="points 1299 and 0 is inf"):
        block(Linear(), as_points(left), as_points(np.ones((3, 2))))


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), m=st.integers(1, 9), n=st.integers(1, 600), d=st.integers(1, 70))
def test_gaussians_of_few_coordinates_are_the_formula(seed, m, n, d):
    """Rows by two, coordinates by four, columns by 272: whatever is left over is right as well."""
    rng = np.random.default_rng(seed)
    left, right = (rng.standard_normal((rows, d)).astype(np.float32) for rows in (m, n))
    room = np.full((m, n + 5), -1.0, dtype=np.float32)
    Gaussian(0.5 / d).fill(as_points(left), as_points(right), room[:, 2 : n + 2])
    differences = left[:, None].astype(np.float64) - right[None].astype(np.float64)
    np.testing.assert_allclose(room[:, 2 : n + 2], np.exp(-0.5 / d * (differences**2).sum(axis=2)), atol=2e-6)
    assert (np.delete(room, range(2, n + 2), axis=1) == -1.0).all()  # nothing else was written to


def test_a_far_point_of_few_coordinates_does_not_disturb_its_neighbours():
    points = np.zeros((547, 3), dtype=np.float32)  # an odd one is left over in the third lot of 272
    points[[2, 546]] = 1e20  # whose squares overflow
    out = np.empty((547, 547), dtype=np.float32)
    with np.errstate(all="ignore"):
        Gaussian(1.0)._fill(as_points(points), as_points(points), out)
    others = np.delete(np.arange(547), [2, 546])
    np.testing.assert_array_equal(out[np.ix_(others, others)], 1.0)
    for far in (2, 546):
        np.testing.assert_array_equal(out[far, others], 0.0)
        np.testing.assert_array_equal(out[others, far], 0.0)
        assert np.isnan(out[far, far])  # for whoever asked to find


@pytest.mark.parametrize("threads", [1, 2])
def test_sums_over_sparse_support_vectors_are_those_over_dense_ones(monkeypatch, threads):
    """Also where they are more than are turned to columns at a time."""
    monkeypatch.setattr(blocks, "COLUMNS_BYTES", 10**6)
    points, support = sample(1300, np.float64, 0, 400), sample(1500, np.float64, 1, 400)
    coefficients = np.random.default_rng(2).standard_normal((3, 1500))
    monkeypatch.setattr("slackwater.points.convert.DENSE_COLUMNS_AN_ENTRY", 1)  # sparse they stay
    with Workers(threads) as workers:
        found = blocks.combinations(
            Gaussian(0.1), as_points(csr32(points)), as_points(csr32(support)), coefficients, workers
        )
    np.testing.assert_allclose(found, pairwise.rbf_kernel(points, support, gamma=0.1) @ coefficients.T, atol=1e-9)
