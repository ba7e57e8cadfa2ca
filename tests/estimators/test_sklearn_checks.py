"""scikit-learn's own list of promises, on whatever version is installed."""

from __future__ import annotations

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from slackwater import SVC, SBPClassifier, baselines


def expected_failures(estimator):
    """Two checks hand a precomputed kernel a matrix that is no kernel matrix, which is refused as it should be.

    One asks for a class to be predicted nearly everywhere, which a linear classifier without bias cannot do: with x it
    decides for one class, with -x for the other.
    """
    if isinstance(estimator, baselines.SIMBAClassifier):
        return {"check_class_weight_classifiers": "no line through the origin has all examples on one side"}
    if estimator.kernel != "precomputed":
        return {}
    return {
        "check_positive_only_tag_during_fit": "subtracts the mean from a kernel matrix: indefinite",
        "check_estimators_dtypes": "rounds a kernel matrix to integers: indefinite",
    }


# Budgets are small so that several hundred fits stay quick.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(
    [
        SVC(),
        SVC(kernel="linear", class_weight="balanced"),
        SBPClassifier(max_iter=1000),
        SBPClassifier(max_iter=1000, fit_intercept=True),
        SBPClassifier(max_iter=500, kernel="linear", fit_intercept=True, class_weight="balanced"),
        SBPClassifier(max_iter=500, early_stopping=True, validation_fraction=0.3),
        SBPClassifier(max_iter=500, kernel="precomputed"),
        baselines.PegasosClassifier(alpha=1e-2, max_iter=1000),
        baselines.PegasosClassifier(alpha=1e-2, max_iter=500, project=True, average="suffix", kernel="precomputed"),
        baselines.NormBallSGDClassifier(max_iter=500),
        baselines.SDCAClassifier(max_iter=500, early_stopping=True, validation_fraction=0.3),
        baselines.SMOClassifier(),
        baselines.SMOClassifier(fit_intercept=False, class_weight="balanced"),
        baselines.SMOClassifier(kernel="precomputed"),
        baselines.KernelPerceptron(epochs=2),
        baselines.KernelPerceptron(epochs=2, average="last", early_stopping=True, validation_fraction=0.3),
        baselines.SIMBAClassifier(nu=0.1, max_iter=200),
        baselines.FourierSVC(n_pairs=50),
    ],
    expected_failed_checks=expected_failures,
)
def test_scikit_learn_check(estimator, check):
    check(estimator)
