"""Sparse matrices as users have them: broken ones are refused, those in another form give the same model."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_classification

from slackwater import SVC
from slackwater.baselines import FourierSVC


@pytest.fixture(scope="module")
def data():
    X, y = make_classification(120, 10, random_state=0)
    return sparse.csr_matrix(np.where(np.abs(X) > 0.7, X, 0.0)), y


@pytest.fixture(scope="module")
def model(data):
    return SVC(gamma=0.1).fit(*data)


def broken(X, container, **arrays):
    """A matrix that points outside of itself, as scipy's constructors would not make it."""
    matrix = container(X)
    for name, change in arrays.items():
        array = getattr(matrix, name).copy()
        change(array)
        setattr(matrix, name, array)
    return matrix


def put(place, value):
    return lambda array: array.__setitem__(place, value)


BREAKAGES = [
    (sparse.csr_matrix, {"indptr": put(5, 10**6)}, r"X\.indptr must not decrease, got \d+ and 1000000 before it"),
    (sparse.csr_matrix, {"indptr": put(5, -3)}, r"X\.indptr must not decrease, got -3"),
    (sparse.csr_matrix, {"indptr": put(0, 1)}, r"X\.indptr must start with 0, got 1"),
    (sparse.csr_matrix, {"indptr": put(-1, 10**6)}, r"X\.indptr must end with \d+ entries or fewer, got 1000000"),
    (sparse.csr_matrix, {"indices": put(3, 10)}, r"X\.indices must be from 0 to 9, got 10"),
    (sparse.csr_matrix, {"indices": put(3, -1)}, r"X\.indices must be from 0 to 9, got -1"),
    (sparse.csc_matrix, {"indptr": put(5, 10**6)}, r"X\.indptr must not decrease"),
    (sparse.csc_matrix, {"indices": put(3, 120)}, r"X\.indices must be from 0 to 119, got 120"),
    (sparse.coo_matrix, {"row": put(3, 120)}, r"X\.row must be from 0 to 119, got 120"),
    (sparse.bsr_matrix, {"indices": put(3, 99)}, r"X\.indices must be from 0 to \d+, got 99"),
]


@pytest.mark.parametrize(("container", "arrays", "message"), BREAKAGES)
def test_a_broken_matrix_is_refused_before_compiled_code_sees_it(data, model, container, arrays, message):
    X, y = data
    matrix = broken(X, container, **arrays)
    for act in (lambda: SVC().fit(matrix, y), lambda: model.predict(matrix), lambda: model.decision_function(matrix)):
        with pytest.raises(ValueError, match=f"X must be a valid sparse matrix: {message}.*Build it anew"):
            act()
    with pytest.raises(ValueError, match="valid sparse matrix"):
        FourierSVC().fit(matrix, y)


def test_arrays_of_different_length_are_refused(data):
    X, y = data
    matrix = X.copy()
    matrix.data = matrix.data[:-1]
    with pytest.raises(ValueError, match=r"X\.indices and X\.data must be equally long"):
        SVC().fit(matrix, y)


def unsorted(X):
    """Each row's entries in the opposite order."""
    order = np.concatenate([np.arange(a, b)[::-1] for a, b in zip(X.indptr[:-1], X.indptr[1:], strict=True)])
    return sparse.csr_matrix((X.data[order], X.indices[order], X.indptr), X.shape)


def duplicated(X):
    """Each entry as two halves."""
    return sparse.csr_matrix((np.repeat(X.data / 2, 2), np.repeat(X.indices, 2), 2 * X.indptr), X.shape)


def stale(X):
    """Unsorted, with duplicates, and said to be neither: as after a change in place."""
    matrix = unsorted(duplicated(X))
    matrix.has_canonical_format = True
    return matrix


def spare(X):
    """With room behind the last entry."""
    matrix = X.copy()
    matrix.data, matrix.indices = np.append(X.data, 99.0), np.append(X.indices, 12345).astype(X.indices.dtype)
    return matrix


@pytest.mark.parametrize("kernel", ["rbf", "linear", "laplacian", "poly"])
@pytest.mark.parametrize("form", [unsorted, duplicated, stale, spare, sparse.coo_matrix, sparse.csc_matrix])
def test_every_form_of_a_matrix_gives_the_model_of_the_canonical_one(data, kernel, form):
    X, y = data
    other = form(X)
    before = other.data.copy()
    canonical, model = (SVC(kernel=kernel, gamma=0.1, coef0=1.0).fit(each, y) for each in (X, other))
    expected = canonical.decision_function(X)
    np.testing.assert_allclose(model.decision_function(X), expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(canonical.decision_function(other), expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(other.data, before)
