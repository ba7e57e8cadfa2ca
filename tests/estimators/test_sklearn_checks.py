"""scikit-learn's own list of promises, on whatever version is installed."""

from __future__ import annotations

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from slackwater import SVC, SBPClassifier, baselines

WEIGHTS_AS_REPETITION = (
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data",
)


def expected_failures(estimator):
    """What a check asks for and cannot have.

    Two checks hand a precomputed kernel a matrix that is no kernel matrix, which is refused as it should be; only SVC
    trains with it. One asks for a class to be predicted nearly everywhere, which a linear classifier without bias
    cannot do: with x it decides for one class, with -x for the other. Two ask for weights to be repetitions, also in
    the variance of X that gamma="scale" is made of and in the numbers of rows that "balanced" goes by: as in
    scikit-learn, whose SVC is exempt from these checks for that reason, neither depends on weights. With a number for
    gamma they hold, but for probabilities: folds of a cross-validation are made of rows.
    """
    failures = {}
    if isinstance(estimator, baselines.SIMBAClassifier):
        failures["check_class_weight_classifiers"] = "no line through the origin has all examples on one side"
    if estimator.kernel == "precomputed" and not isinstance(estimator, SVC):
        failures["check_positive_only_tag_during_fit"] = "subtracts the mean from a kernel matrix: indefinite"
        failures["check_estimators_dtypes"] = "rounds a kernel matrix to integers: indefinite"
    # That of poly only multiplies the kernel, which changes no hard margin.
    if estimator.kernel in ("rbf", "laplacian", "sigmoid") and estimator.gamma == "scale":
        failures.update(
            dict.fromkeys(WEIGHTS_AS_REPETITION, "gamma='scale' is that of the rows, whatever their weights")
        )
    if getattr(estimator, "probability", False):
        failures.update(dict.fromkeys(WEIGHTS_AS_REPETITION, "folds are made of rows, whatever their weights"))
    return failures


# Budgets are small so that several hundred fits stay quick.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::slackwater.errors.IndefiniteKernelWarning")
@parametrize_with_checks(
    [
        SVC(),
        SVC(gamma=0.1),
        SVC(gamma=0.1, multi_class="ovr"),
        SVC(kernel="linear", class_weight="balanced"),
        SVC(kernel="poly"),
        SVC(kernel="laplacian", gamma=0.1),
        SVC(kernel="sigmoid"),
        SVC(kernel="precomputed"),
        SVC(gamma=0.1, probability=True),
        SBPClassifier(max_iter=1000),
        SBPClassifier(gamma=0.1, max_iter=1000, fit_intercept=True),
        SBPClassifier(max_iter=500, kernel="linear", fit_intercept=True),
        SBPClassifier(gamma=0.1, max_iter=500, early_stopping=True, validation_fraction=0.3),
        SBPClassifier(max_iter=500, kernel="precomputed"),
        baselines.PegasosClassifier(gamma=0.1, alpha=1e-2, max_iter=1000),
        baselines.PegasosClassifier(alpha=1e-2, max_iter=500, project=True, average="suffix", kernel="precomputed"),
        baselines.NormBallSGDClassifier(gamma=0.1, max_iter=500),
        baselines.SDCAClassifier(gamma=0.1, max_iter=500, early_stopping=True, validation_fraction=0.3),
        baselines.SMOClassifier(gamma=0.1),
        baselines.SMOClassifier(fit_intercept=False),
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


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(
    [
        baselines.PegasosClassifier(),
        baselines.NormBallSGDClassifier(),
        baselines.SDCAClassifier(),
        baselines.SMOClassifier(),
        baselines.KernelPerceptron(),
        baselines.SIMBAClassifier(),
        baselines.FourierSVC(),
        SBPClassifier(),
    ],
    expected_failed_checks=expected_failures,
)
def test_scikit_learn_check_with_default_budgets(estimator, check):
    check(estimator)
