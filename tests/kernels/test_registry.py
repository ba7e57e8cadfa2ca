"""Names, parameters and gamma."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
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


@settings(max_examples=20, deadline=None)
@given(weights=st.lists(st.integers(0, 4), min_size=50, max_size=50).filter(any))
def test_an_integer_weight_equals_repetition(weights: list[int]) -> None:
    repeated = as_points(np.repeat(X, weights, axis=0))
    for data in (X, scipy.sparse.csr_matrix(X)):
        weighted = resolve_gamma("scale", as_points(data), np.array(weights, dtype=float))
        assert weighted == pytest.approx(resolve_gamma("scale", repeated), rel=1e-12)


def test_scale_is_exact_for_data_far_from_zero() -> None:
    far = 1e6 + np.random.default_rng(0).random((2000, 300))
    assert resolve_gamma("scale", as_points(far)) == pytest.approx(1 / (300 * far.var()), rel=1e-8)


def test_scale_is_one_where_nothing_varies() -> None:
    assert resolve_gamma("scale", as_points(np.full((3, 2), 5.0))) == 1.0


@pytest.mark.parametrize("gamma", [0.0, -1.0, np.nan, np.inf, "wide"])
def test_gamma_out_of_range_is_refused(gamma: Any) -> None:
    with pytest.raises(ValueError, match="gamma must be"):
        make_kernel("rbf", gamma=gamma, points=as_points(X))


@pytest.mark.parametrize("degree", [0, -1, 2.5, "3"])
def test_a_degree_that_is_no_positive_integer_is_refused(degree: Any) -> None:
    with pytest.raises(ValueError, match="degree must be an integer >= 1"):
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
