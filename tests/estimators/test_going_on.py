"""``SVC`` that goes on from an earlier model: on more rows, fewer, others, with another C, gamma or weights."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import sklearn.svm
from scipy import sparse
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel

import slackwater
from slackwater import SVC

N, NEW = 2200, 200
SHAPES = {
    "two classes": ({}, 2),
    "pairs that are solved together": ({}, 4),
    "pairs without bias": ({"fit_intercept": False}, 4),
    "one against the rest": ({"multi_class": "ovr"}, 3),
    "two classes without bias": ({"fit_intercept": False}, 2),
    "a stated tolerance": ({"tol": 1e-5}, 2),
    "large C": ({"C": 100.0}, 2),
}


def data(classes=2, n=N, seed=0):
    return make_classification(
        n, 10, n_informative=6, n_classes=classes, n_clusters_per_class=1, class_sep=1.2, flip_y=0.02, random_state=seed
    )


def values(model, X):
    """Decision values of all problems: votes would hide or exaggerate differences."""
    own = "ovo" if model.multi_class == "ovo" else "ovr"
    return model.set_params(decision_function_shape=own).decision_function(X)


def fitted(X, y, weights=None, **parameters):
    return SVC(**{"gamma": 0.1, **parameters}).fit(X, y, weights)


def spent(model, *rows):
    """Kernel values that one further fit computes."""
    before = model.n_kernel_evals_
    model.fit(*rows)
    return model.n_kernel_evals_ - before


def assert_same(one, other, X):
    """Within the tolerance of both: 1e-3 of a margin for each, or what their gaps allow."""
    np.testing.assert_allclose(values(one, X), values(other, X), atol=0.01)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("change", ["more", "permuted", "removed", "weights", "C up", "C down", "gamma"])
def test_the_model_is_that_of_a_fit_from_scratch(shape, change):
    parameters, classes = SHAPES[shape]
    X, y = data(classes)
    first = slice(0, N - NEW) if change == "more" else slice(None)
    model = fitted(X[first], y[first], warm_start=True, **parameters)
    rng, weights, changed = np.random.default_rng(1), None, dict(parameters)
    if change == "permuted":
        order = rng.permutation(N)
        X, y = X[order], y[order]
    if change == "removed":
        X, y = X[300:], y[300:]
    if change == "weights":
        weights = rng.uniform(0.3, 2.0, len(y))
    changed |= {"C up": {"C": 3.0}, "C down": {"C": 0.3}, "gamma": {"gamma": 0.11}}.get(change, {})
    model.set_params(**changed).fit(X, y, weights)
    assert model.stop_reason_ == "tol"
    assert_same(model, fitted(X, y, weights, **changed), X)


@pytest.mark.parametrize("classes", [2, 3])
def test_more_rows_lead_to_the_model_of_scikit_learn(classes):
    X, y = data(classes)
    model = fitted(X[:-NEW], y[:-NEW], warm_start=True, decision_function_shape="ovo").fit(X, y)
    theirs = sklearn.svm.SVC(gamma=0.1, decision_function_shape="ovo").fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), theirs.decision_function(X), atol=0.01)
    assert np.mean(model.predict(X) == theirs.predict(X)) > 0.999


@pytest.mark.parametrize(("n", "share"), [(2500, 0.8), (6000, 0.95)])
def test_more_rows_cost_less_than_all_of_them(n, share):
    """With the matrix of the support vectors in memory, and by blocks of rows."""
    X, y = data(n=n)
    model = fitted(X[: n - n // 11], y[: n - n // 11], warm_start=True)
    assert spent(model, X, y) < share * fitted(X, y).n_kernel_evals_


def test_the_same_rows_again_cost_little():
    X, y = data()
    model = fitted(X, y, warm_start=True)
    first = model.n_kernel_evals_
    assert spent(model, X[::-1], y[::-1]) <= 0.35 * first
    assert model.stop_reason_ == "tol"


def test_the_first_fit_is_that_without_a_warm_start():
    X, y = data(n=9000)
    for warm, plain in [(fitted(X, y, warm_start=True), fitted(X, y))]:
        assert (warm.strategy_, warm.n_kernel_evals_) == (plain.strategy_, plain.n_kernel_evals_)
        np.testing.assert_array_equal(warm.dual_coef_, plain.dual_coef_)


@pytest.mark.parametrize("strategy", ["screening", "exact", "subspace", "sparse_kernel"])
def test_a_large_fit_goes_on_in_its_strategy(strategy):
    n, rng = 9900, np.random.default_rng(3)
    X = rng.uniform(-1.0, 1.0, (n, 3))
    y = np.where(np.sin(6.0 * X[:, 0]) + X[:, 1] > 0.0, 1, 0) ^ (rng.random(n) < 0.05)
    parameters = {"gamma": 300.0 if strategy == "sparse_kernel" else 2.0, "C": 5.0, "strategy": strategy}
    model = fitted(X[:9000], y[:9000], warm_start=True, **parameters)
    cost = spent(model, X, y)
    fresh = fitted(X, y, **parameters)
    assert model.strategy_ == fresh.strategy_ == strategy
    assert cost < fresh.n_kernel_evals_
    seen = rng.uniform(-1.0, 1.0, (4000, 3))
    truth = np.sin(6.0 * seen[:, 0]) + seen[:, 1] > 0.0
    errors = [np.mean((each.predict(seen) == 1) != truth) for each in (model, fresh)]
    assert errors[0] <= errors[1] + 0.01


def test_twice_as_many_rows_are_measured_anew():
    X, y = data(n=20_000)
    model = fitted(X[:9000], y[:9000], warm_start=True).fit(X, y)
    assert len(model.decisions_.of("sample")) > 0
    declined = [each for each in model.decisions_.of("sample") if each.measured.startswith("change of rows")]
    assert [each.positive for each in declined] == [False]


def test_sparse_rows_are_known_again():
    X, y = data()
    X = np.where(np.abs(X) > 0.5, X, 0.0)
    rows = sparse.csr_matrix(X)
    model = fitted(rows[:-NEW], y[:-NEW], warm_start=True)
    cost = spent(model, rows, y)
    fresh = fitted(rows, y)
    assert cost < fresh.n_kernel_evals_
    assert_same(model, fresh, rows)


def test_rows_of_a_given_matrix_are_known_by_their_numbers():
    X, y = data(n=600)
    K = rbf_kernel(X, gamma=0.1)
    model = SVC(kernel="precomputed", warm_start=True).fit(K[:550, :550], y[:550])
    model.fit(K, y)
    np.testing.assert_allclose(
        model.decision_function(K), SVC(kernel="precomputed").fit(K, y).decision_function(K), atol=0.01
    )


def test_new_classes_begin_at_zero():
    X, y = data(4)
    few = y != 2
    model = fitted(X[few], y[few], warm_start=True, fit_intercept=False).fit(X, y)
    assert_same(model, fitted(X, y, fit_intercept=False), X)
    model.fit(X[few], y[few])
    assert_same(model, fitted(X[few], y[few], fit_intercept=False), X)


def test_other_data_altogether_are_fitted_from_scratch():
    X, y = data()
    model = fitted(X, y, warm_start=True)
    for rows in (X[:, :6], X + 1.0):
        model.fit(rows, y)
        np.testing.assert_array_equal(model.dual_coef_, fitted(rows, y).dual_coef_)


@pytest.mark.parametrize("second", [True, False])
def test_hold_out_rows_are_not_taken_for_rows_that_were_trained_on(second):
    X, y = data(n=4000)
    model = fitted(X, y, warm_start=True, early_stopping=True, random_state=0)
    model.set_params(early_stopping=second).fit(X, y)
    if not second:
        assert_same(model, fitted(X, y), X)
    assert model.score(X, y) > 0.9


@pytest.mark.parametrize("budget", [{"max_iter": 2}, {"max_kernel_evals": 3_000_000}])
def test_a_fit_that_a_budget_ended_goes_on(budget):
    X, y = data(n=6000)
    with pytest.warns(ConvergenceWarning):
        model = fitted(X, y, warm_start=True, **budget)
    model.set_params(max_iter=-1, max_kernel_evals=None)
    cost, fresh = spent(model, X, y), fitted(X, y)
    assert cost < 1.5 * fresh.n_kernel_evals_
    assert_same(model, fresh, X)


def test_going_on_is_deterministic_and_does_not_hang_on_the_order_of_the_rows():
    X, y = data(n=2500)
    models = [fitted(X[:2300], y[:2300], warm_start=True).fit(X, y) for _ in range(2)]
    np.testing.assert_array_equal(models[0].dual_coef_, models[1].dual_coef_)
    order = np.random.default_rng(0).permutation(len(y))
    shuffled = fitted(X[:2300], y[:2300], warm_start=True).fit(X[order], y[order])
    np.testing.assert_allclose(shuffled.decision_function(X), models[0].decision_function(X), atol=1e-9)


def test_a_model_from_a_file_is_a_start(tmp_path):
    X, y = data()
    fitted(X, y, warm_start=True).save(tmp_path / "model")
    model = slackwater.load(tmp_path / "model")
    assert spent(model, X, y) < 0.9 * fitted(X, y).n_kernel_evals_


# ---- partial_fit


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix])
def test_parts_lead_to_the_model_of_all_rows(container, classes):
    X, y = data(classes, 1200)
    weights = np.random.default_rng(0).uniform(0.5, 2.0, len(y))
    model = SVC()
    for part in np.array_split(np.arange(1200), 4):
        assert model.partial_fit(container(X[part]), y[part], np.arange(classes), weights[part]) is model
    whole = SVC().fit(container(X), y, weights)
    assert_same(model, whole, container(X))
    assert model.shape_fit_ == (1200, 10)


def test_what_partial_fit_cannot_take_is_refused():
    X, y = data(n=300)
    model = SVC().partial_fit(X[:100], y[:100], classes=[0, 1])
    for arguments, words in [
        ((X[100:, :4], y[100:]), "features"),
        ((X[100:], y[100:] + 5), "out of classes"),
        ((X[100:], y[100:], [0, 1, 2]), "those of the first call"),
        ((X[100:], y[101:]), "one label for each row"),
        ((X[100:], np.where(y[100:], "a", "b")), "labels"),
    ]:
        with pytest.raises(ValueError, match=words):
            model.partial_fit(*arguments)
    assert model.shape_fit_ == (100, 10)
    with pytest.raises(ValueError, match="at least two classes"):
        SVC().partial_fit(X[y == 0], y[y == 0], classes=[0, 1])
    with pytest.raises(AttributeError, match="partial_fit"):
        SVC(kernel="precomputed").partial_fit(X @ X.T, y)


def test_classes_may_be_added_where_they_were_not_named():
    X, y = data(3, 600)
    first = y < 2
    model = SVC().partial_fit(X[first], y[first]).partial_fit(X[~first], y[~first])
    assert model.classes_.tolist() == [0, 1, 2]
    assert np.mean(model.predict(X) == SVC().fit(X, y).predict(X)) > 0.99


def test_a_pickle_has_the_rows_and_a_file_has_not(tmp_path):
    X, y = data(n=600)
    model = SVC(gamma=0.1).partial_fit(X[:500], y[:500])
    again = pickle.loads(pickle.dumps(model)).partial_fit(X[500:], y[500:])
    assert_same(again, fitted(X, y), X)
    model.save(tmp_path / "model")
    with pytest.warns(UserWarning, match="support vectors stand for them"):
        loaded = slackwater.load(tmp_path / "model").partial_fit(X[500:], y[500:])
    assert loaded.shape_fit_[0] == len(model.support_) + 100


def test_fit_forgets_the_rows_of_partial_fit():
    X, y = data(n=600)
    model = SVC(gamma=0.1).partial_fit(X[:500], y[:500]).fit(X[:200], y[:200])
    assert model.shape_fit_ == (200, 10)
    np.testing.assert_array_equal(model.dual_coef_, fitted(X[:200], y[:200]).dual_coef_)
