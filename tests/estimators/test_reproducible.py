"""The same model from the same data: again, with other threads, and with weights in place of copies."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.utils.estimator_checks import (
    check_sample_weight_equivalence_on_dense_data,
    check_sample_weight_equivalence_on_sparse_data,
)

from slackwater import SVC, SBPClassifier, baselines

pytestmark = pytest.mark.filterwarnings("ignore::slackwater.errors.ConvergenceWarning")

WAYS = {
    "auto": SVC(),
    "tol": SVC(tol=1e-4),
    "exact": SVC(strategy="exact"),
    "sparse_kernel": SVC(strategy="sparse_kernel", gamma=3.0),
    "subspace": SVC(strategy="subspace"),
    "screening": SVC(strategy="screening"),
    "SBP": SBPClassifier(0.1, max_iter=300),
    "SMO": baselines.SMOClassifier(),
    "SDCA": baselines.SDCAClassifier(max_iter=500),
    "Pegasos": baselines.PegasosClassifier(max_iter=500),
    "Perceptron": baselines.KernelPerceptron(epochs=2),
    "one-vs-rest": SVC(multi_class="ovr"),
}


@pytest.fixture(scope="module")
def data():
    X, y = make_classification(10_000, 6, n_informative=4, flip_y=0.1, n_classes=3, random_state=0)
    X = X.astype(np.float32)
    return X[:9000], y[:9000], X[9000:]


SLOW = {"SMO": 2000, "Perceptron": 1000}  # rows for methods that look at one after the other


def fitted(way, data, n_jobs):
    X, y = (each[: SLOW.get(way)] for each in data[:2])
    return clone(WAYS[way]).set_params(n_jobs=n_jobs, random_state=7).fit(X, y)


@pytest.mark.parametrize("way", WAYS)
def test_the_same_seed_and_threads_give_the_same_model_bit_for_bit(way, data):
    found = [(each.support_.copy(), each.decision_function(data[2])) for each in (fitted(way, data, 2) for _ in "ab")]
    np.testing.assert_array_equal(found[0][0], found[1][0])
    np.testing.assert_array_equal(found[0][1], found[1][1])


@pytest.mark.parametrize("way", WAYS)
def test_any_number_of_threads_gives_the_same_support_and_values(way, data):
    models = (fitted(way, data, n_jobs) for n_jobs in (1, 3))
    one, other = ((each.support_.copy(), each.decision_function(data[2])) for each in models)
    np.testing.assert_array_equal(one[0], other[0])
    np.testing.assert_allclose(one[1], other[1], atol=1e-5)


CHECKS = [check_sample_weight_equivalence_on_dense_data, check_sample_weight_equivalence_on_sparse_data]
GAMMA = 0.2  # "scale" would follow the variance of the rows, whatever their weights, as in scikit-learn


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("way", ["auto", "tol", "exact", "screening", "sparse_kernel", "subspace", "one-vs-rest"])
def test_a_weight_is_a_number_of_copies_by_scikit_learns_own_check(way, check):
    check("SVC", clone(WAYS[way]).set_params(gamma=GAMMA, n_jobs=None, random_state=None))
