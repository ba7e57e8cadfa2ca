"""Names, parameters and gamma."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from sklearn.svm import SVC

from slackwater.kernels import (
    KERNELS,
    Custom,
    Gaussian,
    Linear,
    Polynomial,
    Sigmoid,
    as_points,
    block,
    make_kernel,
    resolve_gamma,
)

X = np.random.default_rng(0).random((50, 4)) * (np.random.default_rng(1).random((50, 4)) < 0.6)


def test_names_make_kernels_of_these_names() -> None:
    for name in KERNELS:
        kernel = make_kernel(name, gamma=0.5, degree=2, coef0=1.0, points=as_points(X))
        assert kernel.name == name
        assert make_kernel(name, **json.loads(json.dumps(kernel.parameters()))) == kernel


def test_a_callable_becomes_a_custom_kernel() -> None:
    assert isinstance(make_kernel(lambda A, B: A @ B.T), Custom)


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"laplacian, linear, poly, rbf, sigmoid, precomputed.*got 'rfb'"):
        make_kernel("rfb")


@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_matrix])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("gamma", ["scale", "auto"])
def test_gamma_equals_scikit_learns(form: Any, dtype: Any, gamma: str) -> None:
    data = form(X.astype(dtype))
    theirs = SVC(gamma=gamma).fit(data, np.arange(50) % 2)._gamma
    assert resolve_gamma(gamma, as_points(data)) == pytest.approx(theirs, rel=1e-6)


def test_scale_is_exact_for_data_far_from_zero() -> None:
    far = 1e6 + np.random.default_rng(0).random((2000, 300))
    assert resolve_gamma("scale", as_points(far)) == pytest.approx(1 / (300 * far.var()), rel=1e-8)


def test_scale_is_one_where_nothing_varies() -> None:
    assert resolve_gamma("scale", as_points(np.full((3, 2), 5.0))) == 1.0


@pytest.mark.parametrize("gamma", [-1.0, np.nan, np.inf, "wide"])
def test_gamma_out_of_range_is_refused(gamma: Any) -> None:
    with pytest.raises(ValueError, match="gamma must be"):
        make_kernel("rbf", gamma=gamma, points=as_points(X))


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "poly", "sigmoid"])
def test_without_gamma_a_kernel_is_constant(kernel: str) -> None:
    found = make_kernel(kernel, gamma=0.0, degree=2, coef0=0.5)
    values = block(found, as_points(X), as_points(X))
    np.testing.assert_allclose(values, {"poly": 0.25, "sigmoid": np.tanh(0.5)}.get(kernel, 1.0), rtol=1e-12)
    np.testing.assert_allclose(found.diagonal(as_points(X)), values[0, 0])


def test_a_polynomial_of_degree_0_is_one_even_where_its_base_is_0() -> None:
    np.testing.assert_array_equal(block(Polynomial(0, 1.0, 0.0), as_points(np.eye(3)), as_points(np.eye(3))), 1.0)


@pytest.mark.parametrize("degree", [-1, 2.5, "3"])
def test_a_degree_that_is_no_whole_number_is_refused(degree: Any) -> None:
    with pytest.raises(ValueError, match="degree must be an integer >= 0"):
        Polynomial(degree, 1.0, 0.0)


def test_coef0_must_be_finite() -> None:
    with pytest.raises(ValueError, match="coef0"):
        Sigmoid(1.0, np.nan)


def test_words_need_a_callable() -> None:
    words = as_points(["a", "b"])
    with pytest.raises(TypeError, match="callable"):
        make_kernel("rbf", points=words)
    with pytest.raises(TypeError, match="callable"):
        block(Linear(), words, words)


def test_sides_of_different_width_are_refused() -> None:
    with pytest.raises(ValueError, match="got 2 and 3"):
        block(Gaussian(1.0), as_points(np.eye(2)), as_points(np.eye(3)))


def test_output_of_the_wrong_type_is_refused() -> None:
    with pytest.raises(ValueError, match="out must have"):
        block(Linear(), as_points(np.eye(2)), as_points(np.eye(2)), out=np.empty((2, 2), np.float32))
