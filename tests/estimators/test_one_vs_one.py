"""Several classes one against one, beside scikit-learn's SVC."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy import sparse
from sklearn import svm
from sklearn.datasets import load_digits, load_iris, load_wine, make_blobs, make_classification
from sklearn.metrics.pairwise import rbf_kernel

from slackwater import SVC
from slackwater.errors import ConvergenceWarning
from slackwater.estimators import one_vs_one


def classification(n, classes, seed, **kwargs):
    X, y = make_classification(
        n, 10, n_informative=7, n_classes=classes, n_clusters_per_class=1, random_state=seed, **kwargs
    )
    return X / X.std(), y


def blobs(n, classes, seed):
    return make_blobs(n, centers=classes, n_features=4, cluster_std=2.5, random_state=seed)


PROBLEMS = {
    "iris": lambda: load_iris(return_X_y=True),
    "wine": lambda: load_wine(return_X_y=True),
    "digits": lambda: load_digits(return_X_y=True),
    "noisy": lambda: classification(900, 4, 0, flip_y=0.3),
    "rare class": lambda: classification(900, 3, 1, weights=[0.9, 0.07, 0.03]),
    "one example in a class": lambda: (lambda X, y: (X[: 200 - 39], y[: 200 - 39]))(*_sorted(blobs(200, 5, 2))),
    "many classes": lambda: blobs(800, 30, 3),
    "three large classes": lambda: classification(2600, 3, 4, flip_y=0.05),
    "six classes": lambda: classification(1200, 6, 5),
    "overlapping": lambda: blobs(600, 6, 6),
}


def _sorted(data):
    X, y = data
    order = np.argsort(y, kind="stable")
    return X[order], y[order]


def pair_values(model, X):
    shape = model.decision_function_shape
    values = model.set_params(decision_function_shape="ovo").decision_function(X)
    model.set_params(decision_function_shape=shape)
    return values


def only_where_pairs_are_tied(ours, theirs, X, tolerance):
    """Labels differ only where some pair's decision value is nearly zero."""
    differs = ours.predict(X) != theirs.predict(X)
    return (np.abs(pair_values(theirs, X[differs])).min(axis=1) < tolerance).all() if differs.any() else True


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("C", [1.0, 30.0])
def test_labels_values_and_coefficients_are_those_of_scikit_learn(name, C):
    X, y = PROBLEMS[name]()
    ours, theirs = SVC(C=C).fit(X, y), svm.SVC(C=C).fit(X, y)
    assert only_where_pairs_are_tied(ours, theirs, X, 5e-3)
    np.testing.assert_allclose(pair_values(ours, X), pair_values(theirs, X), atol=2e-2)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=2e-2)
    assert ours.dual_coef_.shape == (len(ours.classes_) - 1, len(ours.support_))
    copies = np.unique(X, axis=0, return_counts=True)[1].max()  # equal rows are one support vector
    assert np.abs(ours.dual_coef_).max() <= C * copies * (1 + 1e-12)
    assert (np.diff(y[ours.support_]) >= 0).all()
    np.testing.assert_array_equal(ours.n_support_, np.bincount(y[ours.support_], minlength=len(ours.classes_)))


def test_the_tightest_fits_agree_to_many_digits():
    X, y = load_iris(return_X_y=True)
    ours, theirs = SVC(C=2.0, gamma=0.3, tol=1e-7).fit(X, y), svm.SVC(C=2.0, gamma=0.3, tol=1e-9).fit(X, y)
    np.testing.assert_allclose(pair_values(ours, X), pair_values(theirs, X), atol=2e-5)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=2e-5)
    assert set(ours.support_) <= set(theirs.support_)  # one of two equal rows stands for both
    assert (ours.gap_ <= 1e-7).all()


@pytest.mark.parametrize("break_ties", [False, True])
def test_ties_are_broken_as_in_scikit_learn(break_ties):
    X, y = blobs(400, 8, 0)
    grid = np.random.default_rng(0).uniform(X.min(), X.max(), (3000, X.shape[1]))
    ours, theirs = (kind(C=0.5, break_ties=break_ties).fit(X, y) for kind in (SVC, svm.SVC))
    assert only_where_pairs_are_tied(ours, theirs, grid, 5e-3)
    if break_ties:
        np.testing.assert_array_equal(ours.predict(grid), ours.classes_[ours.decision_function(grid).argmax(axis=1)])


def test_breaking_ties_of_pair_values_is_refused():
    X, y = load_iris(return_X_y=True)
    model = SVC(break_ties=True, decision_function_shape="ovo").fit(X, y)
    with pytest.raises(ValueError, match="break_ties must be False when decision_function_shape is 'ovo'"):
        model.predict(X)


def test_pair_values_of_classes_against_the_rest_are_refused():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="Use multi_class='ovo'"):
        SVC(multi_class="ovr", decision_function_shape="ovo").fit(X, y)


def test_a_linear_model_has_weights_for_each_pair():
    X, y = load_iris(return_X_y=True)
    ours, theirs = SVC(kernel="linear", tol=1e-6).fit(X, y), svm.SVC(kernel="linear", tol=1e-7).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-3)
    np.testing.assert_allclose(X @ ours.coef_.T + ours.intercept_, pair_values(ours, X), atol=1e-8)


@pytest.mark.parametrize("kwargs", [{"class_weight": {0: 5.0, 2: 0.2}}, {"sample_weight": True}])
def test_weights_count_as_in_scikit_learn(kwargs):
    X, y = classification(500, 4, 7)
    weights = np.random.default_rng(0).integers(1, 4, len(y)).astype(float) if kwargs.pop("sample_weight", 0) else None
    ours = SVC(gamma=0.2, tol=1e-6, **kwargs).fit(X, y, weights)
    theirs = svm.SVC(gamma=0.2, tol=1e-7, **kwargs).fit(X, y, weights)
    np.testing.assert_allclose(pair_values(ours, X), pair_values(theirs, X), atol=1e-3)


def test_sparse_data_precomputed_and_callable_kernels_give_the_same_model():
    X, y = classification(400, 4, 8)
    gamma = 0.3
    dense = SVC(gamma=gamma, tol=1e-5).fit(X, y)
    K = rbf_kernel(X, gamma=gamma)
    others = {
        "sparse": (SVC(gamma=gamma, tol=1e-5).fit(sparse.csr_matrix(X), y), sparse.csr_matrix(X)),
        "precomputed": (SVC(kernel="precomputed", tol=1e-5).fit(K, y), K),
        "callable": (SVC(kernel=lambda A, B: rbf_kernel(A, B, gamma=gamma), tol=1e-5).fit(X, y), X),
    }
    for model, Z in others.values():
        np.testing.assert_allclose(pair_values(model, Z), pair_values(dense, X), atol=2e-3)


@pytest.mark.parametrize("options", [{"fit_intercept": False}, {"max_kernel_evals": 10**8}, {"early_stopping": True}])
def test_pairs_that_cannot_be_solved_together_are_fitted_one_by_one(options):
    X, y = classification(600, 4, 9)
    model = SVC(C=5.0, **options).fit(X, y)
    assert model.score(X, y) > 0.9
    assert model.gap_.shape == (6,)
    assert set(model.history_["problem"]) == set(range(6))
    if "fit_intercept" in options:
        assert (model.intercept_ == 0.0).all()


def test_a_warm_start_goes_on_with_every_pair():
    """But for small ones that are solved together: each of their kernel values is computed once in any case."""
    X, y = classification(600, 4, 9)
    model = SVC(C=5.0, fit_intercept=False, warm_start=True, tol=1e-3).fit(X, y)
    before = model.n_kernel_evals_
    model.fit(X, y)
    assert model.n_kernel_evals_ - before <= 0.5 * before
    fresh = SVC(C=5.0, fit_intercept=False, tol=1e-3).fit(X, y)
    np.testing.assert_allclose(pair_values(model, X), pair_values(fresh, X), atol=0.05)


def test_a_checkpoint_is_kept_for_every_pair(tmp_path):
    X, y = classification(4500, 3, 9)  # classes too large to be solved together, which keeps nothing
    path = tmp_path / "state"
    first = SVC(C=5.0, checkpoint=path).fit(X, y)
    assert sorted(each.name for each in tmp_path.iterdir()) == [f"state.{pair}" for pair in ("0-1", "0-2", "1-2")]
    again = SVC(C=5.0, checkpoint=path).fit(X, y)
    assert again.stop_reason_ == "tol"
    assert again.n_kernel_evals_ == first.n_kernel_evals_
    np.testing.assert_array_equal(again.dual_coef_, first.dual_coef_)


@pytest.mark.parametrize("budget", [{"max_time": 1e-9}, {"max_kernel_evals": 200_000}])
def test_a_budget_leaves_a_usable_model_for_every_pair(budget):
    X, y = classification(6000, 3, 10)
    with pytest.warns(ConvergenceWarning):
        model = SVC(C=10.0, **budget).fit(X, y)
    assert model.stop_reason_ == next(iter(budget))
    values = pair_values(model, X)
    for column, (first, second) in enumerate(combinations(range(3), 2)):
        of_pair = (y == first) | (y == second)  # half of them of each class
        assert np.mean((values[of_pair, column] > 0) == (y[of_pair] == first)) > 0.7
    if "max_kernel_evals" in budget:
        assert model.n_kernel_evals_ <= budget["max_kernel_evals"]


def test_a_budget_that_does_not_allow_for_a_step_of_every_pair_is_refused():
    X, y = classification(600, 4, 9)
    with pytest.raises(ValueError, match="max_kernel_evals must allow for one step"):
        SVC(max_kernel_evals=1000).fit(X, y)


@pytest.mark.parametrize("n", [500, 7000])  # pairs solved together, and by themselves
def test_a_gap_is_proven_for_every_pair(n):
    X, y = classification(n, 3, 11, flip_y=0.05)
    model = SVC(C=3.0, gamma=0.2).fit(X, y)
    claimed = model.gap_.copy()
    proven = model.certify(X, y)
    for number, (a, b) in enumerate([(0, 1), (0, 2), (1, 2)]):
        mine = np.isin(y, (a, b))
        truth = _excess(model, X[mine], y[mine] == a, number, 3.0)
        assert truth - 1e-6 <= proven[number]
        assert truth - 1e-6 <= claimed[number] <= 2e-3


def _excess(model, X, positive, number, C):
    """By how much the objective of a pair's model is above its optimum, relative to it."""
    signs = np.where(positive, 1.0, -1.0)
    best = SVC(C=C, gamma=model._kernel.gamma, tol=1e-7).fit(X, positive)
    own = model._pair_coefficients().dense[number]
    squared = own @ rbf_kernel(model.support_vectors_, gamma=model._kernel.gamma) @ own
    loss = np.maximum(0.0, 1.0 - signs * pair_values(model, X)[:, number]).sum()
    objective = 0.5 * squared + C * loss
    return 1.0 - best.history_["bound"][-1] / objective


def test_the_model_does_not_depend_on_the_order_of_the_rows_or_on_threads():
    X, y = classification(900, 5, 12)
    order = np.random.default_rng(0).permutation(len(y))
    one, other = SVC(C=5.0, n_jobs=1).fit(X, y), SVC(C=5.0, n_jobs=2).fit(X[order], y[order])
    np.testing.assert_array_equal(np.sort(one.support_), np.sort(order[other.support_]))
    np.testing.assert_allclose(pair_values(one, X), pair_values(other, X), atol=1e-10)


def test_several_hundred_classes_take_the_memory_of_a_strip():
    X, y = blobs(2400, 200, 13)
    model = SVC(C=1.0, gamma=0.05).fit(X, y)
    theirs = svm.SVC(C=1.0, gamma=0.05).fit(X, y)
    assert model.intercept_.shape == (19900,)
    assert only_where_pairs_are_tied(model, theirs, X[:200], 5e-3)
    np.testing.assert_allclose(pair_values(model, X[:50]), pair_values(theirs, X[:50]), atol=1e-2)


def test_labels_may_be_strings():
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    np.testing.assert_array_equal(SVC().fit(X, names).predict(X), svm.SVC().fit(X, names).predict(X))


def test_decisions_name_the_pair():
    X, y = classification(8000, 3, 14)
    model = SVC().fit(X, y)
    assert {each.problem for each in model.decisions_} == {0, 1, 2}
    assert str(model.decisions_).splitlines()[0].split()[-1] == "problem"


def test_a_stated_tolerance_beyond_single_precision_is_reached_pair_by_pair():
    X, y = classification(400, 3, 0)
    model = SVC(gamma=0.1, tol=1e-6).fit(X.astype(np.float32), y)
    assert model.stop_reason_ == "tol"
    assert (model.gap_ <= 1e-6).all()


def test_a_factor_taken_out_of_one_pair_leaves_the_coefficients_of_the_others(monkeypatch):
    """Those of a subspace have no bounds: clipped to C they would be another model."""
    X, y = make_blobs(600, 5, centers=3, cluster_std=6.0, random_state=0)
    given = {"C": 1.0, "strategy": "subspace", "decision_function_shape": "ovo", "random_state": 0}
    plain = SVC(**given).fit(X, y)
    monkeypatch.setattr(one_vs_one, "scales", lambda *arguments: np.array([1.01, 1.0, 1.0]))
    scaled = SVC(**given).fit(X, y)
    assert np.abs(plain.dual_coef_).max() > 2.0 * plain.C
    np.testing.assert_allclose(scaled.decision_function(X)[:, 1:], plain.decision_function(X)[:, 1:])
