"""Votes of pairs of classes: LIBSVM's winner and scikit-learn's scores."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn import svm
from sklearn.datasets import make_classification
from sklearn.utils.multiclass import _ovr_decision_function

from slackwater.votes import pair_number, scores, winners

# Few different values, so that ties, and values of exactly 0, are common.
VALUES = st.sampled_from([-3.5, -1.0, -1e-300, 0.0, 1e-300, 0.25, 1.0, 2.0])


@st.composite
def decisions(draw, values=VALUES):
    """Decision values of some rows, and the number of classes."""
    k = draw(st.integers(2, 6))
    rows = draw(st.integers(0, 5))
    return draw(arrays(np.float64, (rows, k * (k - 1) // 2), elements=values)), k


def random_values(k, rows=200, seed=0):
    """Decision values, of which a quarter is exactly 0."""
    rng = np.random.default_rng(seed)
    values = rng.standard_normal((rows, k * (k - 1) // 2))
    values[rng.random(values.shape) < 0.25] = 0.0
    return values


def counted(row, k):
    """LIBSVM's loop over pairs, as it is in svm_predict_values."""
    votes, p = [0] * k, 0
    for i in range(k):
        for j in range(i + 1, k):
            votes[i if row[p] > 0 else j] += 1
            p += 1
    best = 0
    for i in range(1, k):
        if votes[i] > votes[best]:
            best = i
    return best


@pytest.mark.parametrize("k", range(2, 8))
def test_pairs_are_numbered_in_the_order_of_their_classes(k):
    pairs = list(combinations(range(k), 2))
    assert [pair_number(a, b, k) for a, b in pairs] == list(range(k * (k - 1) // 2))


def test_several_pairs_are_numbered_at_once():
    first, second = np.triu_indices(9, 1)
    np.testing.assert_array_equal(pair_number(first, second, 9), np.arange(36))


@pytest.mark.parametrize("k", [2, 3, 4, 7])
def test_the_winner_is_that_of_libsvms_loop(k):
    values = random_values(k)
    np.testing.assert_array_equal(winners(values, k), [counted(row, k) for row in values])


@given(decisions())
def test_the_winner_is_that_of_libsvms_loop_whatever_the_values(found):
    values, k = found
    np.testing.assert_array_equal(winners(values, k), [counted(row, k) for row in values])


@pytest.mark.parametrize("k", [3, 5])
def test_the_winner_is_the_class_that_scikit_learn_predicts(k):
    X, y = make_classification(
        300, 6, n_informative=6, n_redundant=0, n_classes=k, n_clusters_per_class=1, flip_y=0.3, random_state=0
    )
    model = svm.SVC(decision_function_shape="ovo", gamma=0.5).fit(X, y)
    points = np.random.default_rng(0).normal(scale=2.0, size=(2000, 6))
    np.testing.assert_array_equal(winners(model.decision_function(points), k), model.predict(points))


def test_scores_are_those_of_scikit_learns_one_vs_rest_shape():
    X, y = make_classification(300, 6, n_informative=6, n_redundant=0, n_classes=4, flip_y=0.3, random_state=0)
    model = svm.SVC(decision_function_shape="ovo", gamma=0.5).fit(X, y)
    values = model.decision_function(X)
    expected = model.set_params(decision_function_shape="ovr").decision_function(X)
    np.testing.assert_allclose(scores(values, 4), expected, rtol=1e-12)


@pytest.mark.parametrize("k", [3, 4, 7])
def test_scores_are_scikit_learns_where_values_are_zero(k):
    values = random_values(k)
    np.testing.assert_allclose(scores(values, k), _ovr_decision_function(values < 0, -values, k), rtol=1e-12)


@given(decisions())
def test_scores_are_scikit_learns_whatever_the_values(found):
    values, k = found
    expected = _ovr_decision_function(values < 0, -values, k)
    np.testing.assert_allclose(scores(values, k), expected, rtol=1e-12, atol=1e-12)


def test_a_value_of_zero_is_a_winners_vote_for_the_second_class():
    assert winners(np.array([[0.0], [1.0], [-1.0]]), 2).tolist() == [1, 0, 1]
    assert winners(np.zeros((1, 6)), 4).tolist() == [3]


def test_a_value_of_zero_is_a_scores_vote_for_the_first_class():
    np.testing.assert_array_equal(scores(np.zeros((1, 3)), 3), [[2.0, 1.0, 0.0]])
    np.testing.assert_array_equal(scores(-np.zeros((1, 3)), 3), [[2.0, 1.0, 0.0]])


def test_of_classes_with_as_many_votes_the_first_wins():
    circle = np.array([[1.0, -1.0, 1.0]])  # 0 beats 1, 2 beats 0, 1 beats 2
    assert winners(circle, 3).tolist() == [0]
    assert winners(np.array([[-1.0, -2.0, -3.0, 1.0, -1.0, 1.0]]), 4).tolist() == [1]  # 1, 2 and 3 have two each


@given(decisions())
def test_every_pair_has_one_vote(found):
    values, k = found
    votes = np.rint(scores(values, k))
    np.testing.assert_array_equal(votes.sum(axis=1), k * (k - 1) // 2)
    assert ((votes >= 0) & (votes <= k - 1)).all()


@given(decisions(st.floats(-1e300, 1e300)))
def test_decision_values_never_outweigh_a_vote(found):
    values, k = found
    found = scores(values, k)
    assert np.isfinite(found).all()
    assert (np.abs(found - np.rint(found)) <= 1 / 3 + 1e-9).all()


@given(decisions(st.sampled_from([-2.0, -0.5, 0.5, 2.0])))
def test_the_best_score_is_a_winner_where_no_value_is_zero_and_no_vote_is_tied(found):
    values, k = found
    votes = np.rint(scores(values, k))
    alone = (votes == votes.max(axis=1, keepdims=True)).sum(axis=1) == 1
    np.testing.assert_array_equal(scores(values, k).argmax(axis=1)[alone], winners(values, k)[alone])


def test_no_rows_have_no_winners():
    assert winners(np.empty((0, 3)), 3).shape == (0,)
    assert scores(np.empty((0, 3)), 3).shape == (0, 3)
