"""``compress``: fewer support vectors, at a loss that is measured."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import load_digits, make_moons
from sklearn.model_selection import train_test_split

from slackwater import SVC, SBPClassifier, load
from slackwater.baselines import SDCAClassifier
from slackwater.fitting.reduced_set import GreedyBasis, projection

pytestmark = pytest.mark.filterwarnings(
    "ignore::sklearn.exceptions.ConvergenceWarning", "ignore::slackwater.errors.IndefiniteKernelWarning"
)


@pytest.fixture(scope="module")
def moons():
    X, y = make_moons(1500, noise=0.3, random_state=0)
    return train_test_split(X, y, random_state=0)


@pytest.fixture(scope="module")
def model(moons):
    return SVC(gamma=2.0).fit(moons[0], moons[2])


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return train_test_split(X / 16.0, y, random_state=0)


def hinge_objective(model, X, y):
    """½‖w‖² + C Σ hinge, from the model's coefficients alone."""
    gram = np.exp(-model.gamma * ((model.support_vectors_[:, None] - model.support_vectors_[None]) ** 2).sum(axis=2))
    norm = float(model.dual_coef_[0] @ gram @ model.dual_coef_[0])
    return (
        0.5 * norm
        + model.C * np.maximum(0, 1 - np.where(y == model.classes_[1], 1, -1) * model.decision_function(X)).sum()
    )


@pytest.mark.parametrize("size", [1, 10, 60])
def test_as_few_support_vectors_as_asked_for(moons, model, size):
    train, _, labels, _ = moons
    small = model.compress(max_support=size, X=train, y=labels)
    assert small is not model
    assert len(small.support_) == size == len(small.support_vectors_) == small.n_support_.sum()
    np.testing.assert_array_equal(small.support_vectors_, train[small.support_])
    assert small.compression_["n_support"] == size
    assert small.compression_["n_support_before"] == len(model.support_) > 100
    assert np.isnan(small.gap_)
    assert small.certified_ is False


def test_the_model_itself_does_not_change(moons):
    train, test, labels, _ = moons
    model = SVC(gamma=2.0).fit(train, labels)
    before, support = model.decision_function(test), model.support_.copy()
    model.compress(max_support=10, X=train, y=labels)
    np.testing.assert_array_equal(model.decision_function(test), before)
    np.testing.assert_array_equal(model.support_, support)
    assert not hasattr(model, "compression_")


def test_what_is_reported_is_what_happened(moons, model):
    _, test, _, labels = moons
    small = model.compress(max_support=15, X=test, y=labels)
    report = small.compression_
    assert report["accuracy_before"] == model.score(test, labels)
    assert report["accuracy"] == small.score(test, labels)
    assert report["loss"] == report["accuracy_before"] - report["accuracy"]
    change = np.abs(small.decision_function(test) - model.decision_function(test))
    assert report["max_change"] == change.max()
    assert report["mean_change"] == pytest.approx(change.mean())
    assert report["changed_labels"] == np.mean(small.predict(test) != model.predict(test))


def test_a_fifth_of_the_support_vectors_loses_nothing(moons, model):
    train, test, labels, test_labels = moons
    small = model.compress(max_support=60, X=train, y=labels)
    assert small.score(test, test_labels) >= model.score(test, test_labels) - 0.005


@pytest.mark.parametrize("size", [3, 10, 30])
def test_solving_anew_costs_less_than_projecting(moons, model, size):
    train, _, labels, _ = moons
    solved, projected = model.compress(max_support=size, X=train, y=labels), model.compress(max_support=size)
    assert solved.compression_["method"] == "hinge"
    assert projected.compression_["method"] == "projection"
    np.testing.assert_array_equal(solved.support_, projected.support_)
    costs = [hinge_objective(each, train, labels) for each in (model, solved, projected)]
    assert costs[0] <= costs[1] * (1 + 1e-3)
    assert costs[1] < costs[2]


def test_other_data_than_those_of_training_are_not_trained_on(moons, model):
    """A small test set would make another model of it."""
    _, test, _, labels = moons
    measured = model.compress(max_support=20, X=test, y=labels)
    assert measured.compression_["method"] == "projection"
    np.testing.assert_array_equal(measured.dual_coef_, model.compress(max_support=20).dual_coef_)


@pytest.mark.parametrize("limit", [0.0, 0.01, 0.05])
def test_the_loss_is_within_the_limit(moons, model, limit):
    train, test, labels, test_labels = moons
    for X, y in ((train, labels), (test, test_labels), (test, None)):
        small = model.compress(max_loss=limit, X=X, y=y)
        assert small.compression_["loss"] <= limit
        assert len(small.support_) < len(model.support_) / 2
        again = np.mean(model.predict(X) != small.predict(X)) if y is None else model.score(X, y) - small.score(X, y)
        assert again <= limit


def test_a_larger_loss_allows_for_fewer(moons, model):
    _, test, _, _ = moons
    sizes = [len(model.compress(max_loss=limit, X=test).support_) for limit in (0.0, 0.01, 0.1)]
    assert sizes[0] > sizes[1] > sizes[2]


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_several_classes(digits, multi_class, tmp_path):
    train, test, labels, test_labels = digits
    model = SVC(gamma=0.5, C=10.0, multi_class=multi_class).fit(train, labels)
    small = model.compress(max_support=200, X=train, y=labels)
    assert len(small.support_) == 200 < len(model.support_) / 3
    assert small.dual_coef_.shape == (model.dual_coef_.shape[0], 200)
    np.testing.assert_array_equal(small.n_support_, np.bincount(labels[small.support_], minlength=10))
    assert small.score(test, test_labels) >= model.score(test, test_labels) - 0.01
    assert model.compress(max_support=200).score(test, test_labels) >= model.score(test, test_labels) - 0.01
    small.save(tmp_path / "m.npz")
    loaded = load(tmp_path / "m.npz")
    np.testing.assert_array_equal(loaded.decision_function(test), small.decision_function(test))
    assert loaded.compression_ == small.compression_
    limited = model.compress(max_loss=0.02, X=test, y=test_labels)
    assert model.score(test, test_labels) - limited.score(test, test_labels) <= 0.02


def test_the_pairs_of_a_small_model_use_their_own_classes_only(digits):
    train, test, labels, _ = digits
    model = SVC(gamma=0.5, decision_function_shape="ovo").fit(train, labels)
    small = model.compress(max_support=100, X=train, y=labels)
    dense = small._pair_coefficients().dense
    owners = np.repeat(np.arange(10), small.n_support_)
    for number, (first, second) in enumerate(zip(*np.triu_indices(10, 1), strict=True)):
        others = ~np.isin(owners, (first, second))
        assert not dense[number, others].any()
    assert small.decision_function(test).shape == (len(test), 45)


def test_precomputed_kernels_need_their_matrix(moons):
    train, test, labels, test_labels = moons
    K, across = (np.exp(-2.0 * ((each[:, None] - train[None]) ** 2).sum(axis=2)) for each in (train, test))
    model = SVC(kernel="precomputed").fit(K, labels)
    small = model.compress(max_support=60, X=K, y=labels)
    assert small.score(across, test_labels) >= model.score(across, test_labels) - 0.005
    with pytest.raises(ValueError, match=r"X must be the 1125 × 1125 kernel values of the training rows"):
        model.compress(max_support=60)


def test_sparse_rows_and_functions_as_kernels(moons):
    train, test, labels, test_labels = moons
    thin = sparse.csr_matrix(train)
    model = SVC(gamma=2.0).fit(thin, labels)
    assert model.compress(max_support=60, X=thin, y=labels).score(test, test_labels) > 0.88

    def kernel(A, B):
        return np.exp(-2.0 * ((A[:, None] - B[None]) ** 2).sum(axis=2))

    own = SVC(kernel=kernel).fit(train, labels)
    assert own.compress(max_support=60, X=train, y=labels).score(test, test_labels) > 0.88


def test_other_estimators_are_projected(moons, digits):
    train, test, labels, test_labels = moons
    sbp = SBPClassifier(gamma=2.0, nu=0.05).fit(train, labels)
    small = sbp.compress(max_support=60, X=test, y=test_labels)
    assert small.compression_["method"] == "projection"
    assert abs(small.compression_["loss"]) < 0.01
    np.testing.assert_array_equal(small.n_support_, np.bincount(labels[small.support_]))
    sdca = SDCAClassifier(gamma=0.5).fit(digits[0], digits[2])
    with pytest.raises(ValueError, match="needs the training data of a SDCAClassifier with several classes"):
        sdca.compress(max_support=100)
    small = sdca.compress(max_support=200, X=digits[0], y=digits[2])
    np.testing.assert_array_equal(small.n_support_, np.bincount(digits[2][small.support_], minlength=10))
    assert small.score(digits[1], digits[3]) > 0.95


def test_more_than_there_are_is_the_model_as_it_is(moons, model):
    test = moons[1]
    same = model.compress(max_support=10**6)
    assert same.compression_["method"] == "none"
    np.testing.assert_array_equal(same.decision_function(test), model.decision_function(test))


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ({}, "one of max_support and max_loss"),
        ({"max_support": 3, "max_loss": 0.1}, "one of max_support and max_loss"),
        ({"max_support": 0}, "max_support must be a whole number >= 1, got 0"),
        ({"max_support": 2.5}, "max_support must be a whole number >= 1, got 2.5"),
        ({"max_loss": 0.1}, "max_loss needs X"),
        ({"max_loss": -0.1, "X": [[0.0, 0.0]]}, "max_loss must be a number from 0 to 1, got -0.1"),
    ],
)
def test_requests_that_make_no_sense_are_refused(model, request_, message):
    with pytest.raises(ValueError, match=message):
        model.compress(**request_)


def test_unknown_labels_and_indefinite_kernels_are_refused(moons, model):
    train, _, labels, _ = moons
    with pytest.raises(ValueError, match="y must have classes of the model"):
        model.compress(max_support=5, X=train, y=labels + 5)
    with pytest.raises(ValueError, match="kernel must be positive semi-definite"):
        SVC(kernel="sigmoid").fit(train[:200], labels[:200]).compress(max_support=5)


def test_the_greedy_basis_is_the_projection_on_its_members():
    """Against least squares in the feature space by the normal equations of all candidates."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 3))
    gram = np.exp(-0.3 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    coefficients = rng.standard_normal((2, 40))
    basis = GreedyBasis(lambda number: gram[:, number], gram.diagonal(), gram @ coefficients.T)
    distances = []
    for size in (5, 15, 30):
        assert basis.extend(size)
        chosen = basis.members
        assert len(set(chosen)) == size
        np.testing.assert_allclose(basis.factor @ basis.factor.T, gram[np.ix_(chosen, chosen)], atol=1e-10)
        distances.append(0.0)
        for function in coefficients:
            found = projection(basis.factor, gram[chosen] @ function, 0.0).coefficients
            expected = np.linalg.lstsq(gram[np.ix_(chosen, chosen)], gram[chosen] @ function, rcond=None)[0]
            np.testing.assert_allclose(gram[:, chosen] @ found, gram[:, chosen] @ expected, atol=1e-6)
            rest = function.copy()
            rest[chosen] -= found
            distances[-1] += rest @ gram @ rest
    assert distances[0] > distances[1] > distances[2]


def test_names_of_columns_are_no_reason_to_warn():
    X, y = make_moons(200, noise=0.2, random_state=0)
    frame = pd.DataFrame(X, columns=["east", "north"])
    smaller = SVC().fit(frame, y).compress(max_loss=0.05, X=frame, y=y)  # warnings are errors
    assert smaller.compression_["n_support"] < smaller.compression_["n_support_before"]
