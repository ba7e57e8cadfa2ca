"""A proven gap is never below the truth, whatever strategy made the model; the optimum is LIBSVM's."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn import svm
from sklearn.metrics.pairwise import rbf_kernel

from fitting_problems import DATA, noisy, separated
from slackwater import SVC
from slackwater.fitting import certify


def primal(model, X, y, gamma, C, weights=1.0):
    """The objective of a binary model, in double precision."""
    X, S = np.asarray(X, dtype=np.float64), np.asarray(model.support_vectors_, dtype=np.float64)
    scale = getattr(model, "scale_", np.ones(1))[0]  # scikit-learn's model has none
    coefficients = scale * np.asarray(model.dual_coef_, dtype=np.float64)[0]
    values = rbf_kernel(X, S, gamma=gamma) @ coefficients + scale * model.intercept_[0]
    signs = np.where(y == model.classes_[1], 1.0, -1.0)
    squared = coefficients @ rbf_kernel(S, gamma=gamma) @ coefficients
    return 0.5 * squared + C * float(np.sum(weights * np.maximum(0.0, 1.0 - signs * values)))


def true_gap(model, X, y, gamma, C, weights=None):
    optimum = svm.SVC(C=C, gamma=gamma, tol=1e-7).fit(np.asarray(X, dtype=np.float64), y, sample_weight=weights)
    counted = 1.0 if weights is None else weights
    return 1.0 - primal(optimum, X, y, gamma, C, counted) / primal(model, X, y, gamma, C, counted)


@pytest.mark.parametrize("strategy", ["exact", "subspace", "screening", "sparse_kernel"])
@pytest.mark.parametrize("kind", DATA)
def test_the_proven_gap_is_not_below_the_truth(kind, strategy):
    X, y, parameters = DATA[kind][0](1500)
    model = SVC(strategy=strategy, random_state=0, **parameters).fit(X, y)
    proven = model.certify(X, y)
    truth = true_gap(model, X, y, parameters["gamma"], parameters["C"])
    assert truth - 1e-5 <= proven <= truth + 0.5 * (1.0 - truth)
    assert model.gap_ == proven
    assert model.certified_


@pytest.mark.parametrize("strategy", ["exact", "subspace", "screening"])
def test_weights_count(strategy):
    X, y, parameters = noisy(1000)
    weights = np.random.default_rng(0).uniform(0.1, 3.0, len(y))
    model = SVC(strategy=strategy, random_state=0, **parameters).fit(X, y, sample_weight=weights)
    truth = true_gap(model, X, y, parameters["gamma"], parameters["C"], weights)
    assert truth - 1e-5 <= model.certify(X, y, weights) <= truth + 0.05


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_a_model_of_the_optimum_is_certified_as_such(fit_intercept):
    X, y, parameters = separated(800)
    model = SVC(tol=1e-4, fit_intercept=fit_intercept, random_state=0, **parameters).fit(X, y)
    by_fit = model.gap_
    assert model.certify(X, y) <= max(1.01 * by_fit, 1e-4)


def test_a_model_that_ran_out_of_steps_is_known_to_be_bad():
    X, y, parameters = separated(3000)
    with pytest.warns(UserWarning, match="max_iter"):
        model = SVC(max_iter=1, random_state=0, **parameters).fit(X, y)
    proven = model.certify(X, y)
    truth = true_gap(model, X, y, parameters["gamma"], parameters["C"])
    assert truth - 1e-5 <= proven
    assert truth > 0.05


def test_each_class_has_a_gap_of_its_own_and_sparse_data_have_the_same():
    X, y, parameters = noisy(1200)
    y = y + 2 * (X[:, 3] > 0.5)
    X = np.where(np.abs(X) > 1.0, X, 0.0).astype(np.float64)
    dense, csr = (
        SVC(strategy="screening", multi_class="ovr", **parameters).fit(Z, y) for Z in (X, sparse.csr_matrix(X))
    )
    gaps = dense.certify(X, y)
    assert gaps.shape == (4,)
    for number, label in enumerate(dense.classes_):
        binary = SVC(tol=1e-6, random_state=0, **parameters).fit(X, (y == label).astype(int))
        ours = dense.dual_coef_[number]
        squared = ours @ rbf_kernel(X[dense.support_], gamma=parameters["gamma"]) @ ours
        margins = np.where(y == label, 1.0, -1.0) * dense.decision_function(X)[:, number]
        cost = 0.5 * squared + parameters["C"] * np.maximum(0.0, 1.0 - margins).sum()
        assert 1.0 - binary.history_["bound"][-1] / cost - 1e-5 <= gaps[number] <= 0.05
    np.testing.assert_allclose(csr.certify(sparse.csr_matrix(X), y), gaps, atol=0.02)


def test_a_precomputed_kernel_is_certified_from_its_matrix():
    X, y, parameters = noisy(400)
    K = rbf_kernel(X.astype(np.float64), gamma=parameters["gamma"])
    model = SVC(kernel="precomputed", tol=1e-2, random_state=0).fit(K, y)
    assert 0.0 <= model.certify(K, y) <= 1e-2


def test_other_data_than_those_of_the_fit_have_a_gap_of_their_own():
    """The model is the same, the problem another one: coefficients are no dual point of it."""
    X, y, parameters = separated(2000)
    model = SVC(tol=1e-3, random_state=0, **parameters).fit(X[:1000], y[:1000])
    proven = model.certify(X[1000:], y[1000:])
    truth = true_gap(model, X[1000:], y[1000:], parameters["gamma"], parameters["C"])
    assert truth > 0.5
    assert truth - 1e-5 <= proven <= truth + 0.5 * (1.0 - truth)


def test_what_cannot_be_certified_is_refused():
    X, y, parameters = noisy(200)
    model = SVC(**parameters).fit(X, y)
    with pytest.raises(ValueError, match=r"y must have the classes of the model, \[0, 1\], got \[0, 2\]"):
        model.certify(X, 2 * y)
    with pytest.warns(UserWarning, match="sigmoid"):
        indefinite = SVC(kernel="sigmoid").fit(X, y)
    with pytest.warns(UserWarning, match="sigmoid"), pytest.raises(ValueError, match="positive semi-definite"):
        indefinite.certify(X, y)


def test_it_costs_at_most_three_times_the_kernel_values_between_examples_and_support_vectors(monkeypatch):
    seen = []
    original = certify.proven_gaps

    def counted(context, models):
        gaps = original(context, models)
        seen.append(context.training_set.ledger.train)
        return gaps

    monkeypatch.setattr("slackwater.estimators.certified.proven_gaps", counted)
    X, y, parameters = separated(4000)
    model = SVC(strategy="screening", random_state=0, **parameters).fit(X, y)
    model.certify(X, y)
    assert seen[0] <= 2.2 * len(X) * len(model.support_)  # beside the model's own values, and a last block
