"""``from slackwater import SVC`` in place of scikit-learn's: parameters, weights, attributes, kernels, words."""

from __future__ import annotations

import signal
import warnings

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy import sparse
from sklearn import svm
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_digits, load_iris, make_classification, make_moons
from sklearn.exceptions import NotFittedError
from sklearn.metrics import log_loss
from sklearn.metrics.pairwise import additive_chi2_kernel, chi2_kernel, linear_kernel
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from slackwater import SVC, SBPClassifier, baselines
from slackwater.errors import ConvergenceWarning, IndefiniteKernelWarning, KernelError
from slackwater.estimators.one_vs_one import OneVsOneClassifier


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


@pytest.fixture(scope="module")
def moons():
    return make_moons(300, noise=0.2, random_state=0)


def both(X, y, sample_weight=None, **parameters):
    return [S(**parameters).fit(X, y, sample_weight=sample_weight) for S in (SVC, svm.SVC)]


# ---- parameters


def test_the_parameters_of_theirs_are_taken_as_they_are(iris):
    X, y = iris
    model = SVC(**svm.SVC().get_params()).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), svm.SVC().fit(X, y).predict(X))


@pytest.mark.parametrize(
    "parameters",
    [
        {"gamma": 0.0},
        {"kernel": "poly", "degree": 0},
        {"kernel": "poly", "gamma": 0.0, "coef0": 1.0},
        {"decision_function_shape": "ovo"},
        {"shrinking": False, "break_ties": True},
        {"max_iter": -1},
        {"C": 1e-3},
        {"kernel": "linear", "C": np.float32(2.0)},
    ],
)
def test_values_at_the_edge_mean_what_they_do_there(iris, parameters):
    X, y = iris
    ours, theirs = both(X, y, **parameters)
    if parameters.get("gamma") == 0.0 or parameters.get("degree") == 0:  # nothing tells the rows apart
        assert len(set(ours.predict(X))) == 1
    else:
        assert np.mean(ours.predict(X) == theirs.predict(X)) > 0.99
        assert ours.decision_function(X).shape == theirs.decision_function(X).shape


def test_infinite_c_is_the_hard_margin():
    X, y = make_classification(60, 4, class_sep=2.0, random_state=1)
    ours, theirs = both(X, y, C=np.inf, gamma=0.5)
    assert ours.stop_reason_ == "tol"
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=5e-3)
    assert (np.where(y == 1, 1, -1) * ours.decision_function(X)).min() > 0.99


@pytest.mark.parametrize("gamma", ["scale", "auto"])
def test_gamma_depends_on_no_weights(moons, gamma):
    X, y = moons
    weights = np.random.default_rng(0).uniform(0.0, 3.0, len(y)) ** 3
    for parameters in ({}, {"class_weight": "balanced"}, {"class_weight": {0: 9.0}}):
        ours, theirs = both(X, y, weights, gamma=gamma, **parameters)
        assert ours._gamma == pytest.approx(theirs._gamma, rel=1e-12)


# ---- weights


def test_balanced_counts_rows_not_their_weights(moons):
    X, y = moons
    keep = np.flatnonzero((y == 0) | (np.arange(len(y)) % 4 == 0))
    weights = np.random.default_rng(0).uniform(0.1, 3.0, len(keep))
    ours, theirs = both(X[keep], y[keep], weights, class_weight="balanced", gamma=1.0)
    np.testing.assert_allclose(ours.class_weight_, theirs.class_weight_)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=0.01)


def test_a_class_weight_may_name_a_class_that_the_data_lack(moons):
    X, y = moons
    ours, theirs = both(X, y, class_weight={0: 2.0, 1: 1.0, 7: 5.0}, gamma=1.0)
    np.testing.assert_array_equal(ours.class_weight_, theirs.class_weight_)
    with pytest.raises(ValueError, match=r"class_weight must name classes of y, got 7, and no weight for \[1\]"):
        SVC(class_weight={0: 2.0, 7: 5.0}).fit(X, y)


def test_rows_of_negative_weight_are_left_out(moons):
    X, y = moons
    weights = np.where(np.arange(len(y)) % 3, 1.0, -0.5)
    ours, theirs = both(X, y, weights, gamma=1.0)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=0.01)
    assert not set(ours.support_) & set(np.flatnonzero(weights < 0))


# ---- probabilities


@pytest.mark.parametrize("kind", ["two", "three", "sparse", "precomputed", "words"])
def test_probabilities_are_calibrated_decision_values(kind):
    X, y = make_classification(300, 5, n_informative=4, n_redundant=0, n_classes=3, class_sep=1.5, random_state=0)
    parameters = {"gamma": 0.2}
    if kind == "two":
        y = np.array(["no", "yes"])[np.minimum(y, 1)]
    elif kind == "sparse":
        X = sparse.csr_array(X)
    elif kind == "precomputed":
        X, parameters = linear_kernel(X), {"kernel": "precomputed"}
    elif kind == "words":
        X = ["a" * i + "b" * (9 - i) for i in range(10)] * 30
        y, parameters = np.arange(300) % 10 // 5, {"kernel": counts_of_a}
    model = SVC(probability=True, random_state=0, **parameters).fit(X, y)
    probabilities = model.predict_proba(X)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), probabilities)
    assert np.mean(model.classes_[probabilities.argmax(axis=1)] == model.predict(X)) > 0.95
    again = SVC(probability=True, random_state=0, **parameters).fit(X, y)
    np.testing.assert_array_equal(again.predict_proba(X), probabilities)
    if kind != "words":
        reference = CalibratedClassifierCV(SVC(**parameters), ensemble=False).fit(X, y)
        assert log_loss(y, probabilities) == pytest.approx(log_loss(y, reference.predict_proba(X)), rel=0.1)


def counts_of_a(A, B):
    return np.outer([1.0 + word.count("a") for word in A], [1.0 + word.count("a") for word in B])


def test_probabilities_are_those_of_the_model_and_cost_no_second_one(iris):
    X, y = iris
    plain, with_probabilities = SVC().fit(X, y), SVC(probability=True).fit(X, y)
    np.testing.assert_array_equal(plain.dual_coef_, with_probabilities.dual_coef_)
    ovo = SVC(probability=True, decision_function_shape="ovo").fit(X, y)
    np.testing.assert_array_equal(ovo.predict_proba(X), with_probabilities.predict_proba(X))


def test_weights_reach_the_calibration(moons):
    X, y = moons
    weights = np.where(y == 1, 5.0, 1.0)
    plain, weighted = (SVC(probability=True).fit(X, y, w).predict_proba(X)[:, 1].mean() for w in (None, weights))
    assert weighted > plain
    left_out = SVC(probability=True, gamma=1.0).fit(X, y, np.where(np.arange(len(y)) % 2, 1.0, 0.0))
    odd = SVC(probability=True, gamma=1.0).fit(X[1::2], y[1::2])
    np.testing.assert_allclose(left_out.predict_proba(X), odd.predict_proba(X), atol=1e-6)


def test_without_probability_there_are_none(moons):
    X, y = moons
    for value in (False, "deprecated"):
        assert not hasattr(SVC(probability=value).fit(X, y), "predict_proba")
    model = SVC().fit(X, y).set_params(probability=True)
    with pytest.raises(NotFittedError, match="fitted with probability=False"):
        model.predict_proba(X)


# ---- attributes


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix, sparse.csr_array])
def test_attributes_have_the_layout_of_theirs(n_classes, container, iris):
    X, y = iris
    X, y = container(X[y < n_classes]), y[y < n_classes]
    ours, theirs = both(X, y, kernel="linear", C=0.5)
    for name in ("support_", "n_support_", "intercept_", "class_weight_", "n_iter_", "dual_coef_", "coef_"):
        mine, other = getattr(ours, name), getattr(theirs, name)
        assert mine.shape == other.shape, name
        assert mine.dtype == other.dtype, name
        assert sparse.issparse(mine) == sparse.issparse(other), name
    assert (ours.shape_fit_, ours.fit_status_) == (theirs.shape_fit_, theirs.fit_status_)
    np.testing.assert_array_equal(ours.support_, theirs.support_)
    assert abs(ours.dual_coef_).max() <= 0.5
    with pytest.raises(AttributeError):
        ours.coef_ = 0.0
    with pytest.raises(ValueError, match="read-only"):
        (ours.coef_.data if sparse.issparse(ours.coef_) else ours.coef_)[...] = 0.0


@pytest.mark.parametrize("C", [1.0, 100.0])
@pytest.mark.parametrize("n", [4000, 9000])
def test_no_coefficient_is_beyond_its_bound(n, C):
    X, y = make_classification(n, 10, flip_y=0.05, random_state=0)
    weights = np.random.default_rng(0).integers(1, 3, n)
    model = SVC(C=C, gamma=0.1, strategy="exact").fit(X, y, weights)
    assert (np.abs(model.dual_coef_[0]) <= C * weights[model.support_]).all()
    assert (np.abs(model.dual_coef_[0]) == C * weights[model.support_]).mean() > 0.2
    kernel_values = np.exp(-0.1 * ((X[:50, None] - model.support_vectors_) ** 2).sum(axis=2))
    factors = model.decision_function(X[:50]) / (kernel_values @ model.dual_coef_[0] + model.intercept_)
    np.testing.assert_allclose(factors, model.scale_[0], rtol=1e-3)
    assert 1.0 <= model.scale_[0] <= 1.01


def test_bounds_hold_for_every_pair_of_classes():
    X, y = make_classification(9000, 8, n_informative=6, n_classes=3, flip_y=0.1, random_state=0)
    model = SVC(C=10.0, gamma=0.1, tol=1e-3, max_kernel_evals=10**12).fit(X, y)  # by blocks of rows
    assert model.scale_.max() > 1.0
    assert np.abs(model.dual_coef_).max() == 10.0
    pairs = model.set_params(decision_function_shape="ovo").decision_function(X[:40])
    kernel_values = np.exp(-0.1 * ((X[:40, None] - model.support_vectors_) ** 2).sum(axis=2))
    ends = np.cumsum(model.n_support_)
    coefficients = np.zeros(ends[-1])
    coefficients[: ends[0]], coefficients[ends[0] : ends[1]] = (
        model.dual_coef_[0, : ends[0]],
        model.dual_coef_[0, ends[0] : ends[1]],
    )
    np.testing.assert_allclose(
        model.scale_[0] * (kernel_values @ coefficients + model.intercept_[0]), pairs[:, 0], atol=1e-3
    )


def test_names_of_columns_are_kept_and_checked(moons):
    X, y = moons
    frame = pd.DataFrame(X, columns=["east", "north"])
    model = SVC().fit(frame, y)
    assert list(model.feature_names_in_) == ["east", "north"]
    assert model.n_features_in_ == 2
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[["north", "east"]])


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_weights_are_routed_as_metadata(moons):
    X, y = moons
    weights = np.where(y == 1, 5.0, 1.0)
    with sklearn.config_context(enable_metadata_routing=True):
        for S in (SVC, SBPClassifier):
            model = S(0.1, gamma=1.0).set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
            scores = cross_val_score(model, X, y, params={"sample_weight": weights})
            expected = [
                S(0.1, gamma=1.0).fit(X[fit], y[fit], weights[fit]).score(X[rest], y[rest], weights[rest])
                for fit, rest in StratifiedKFold(5).split(X, y)
            ]
            np.testing.assert_allclose(scores, expected)
        probable = SVC(probability=True).set_fit_request(sample_weight=True).fit(X, y, sample_weight=weights)
    expected = SVC(probability=True).fit(X, y, weights).predict_proba(X)
    np.testing.assert_allclose(probable.predict_proba(X), expected)


@pytest.mark.parametrize("model", [SVC(), SBPClassifier(), baselines.SMOClassifier(), baselines.FourierSVC()])
def test_the_page_of_a_model_links_to_its_documentation(model, moons):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        page = model.fit(*moons)._repr_html_()
    name = type(model).__name__
    assert f'href="{model._doc_link_template.split("{")[0]}' in page
    assert name in model._get_doc_link()
    assert hasattr(__import__("slackwater"), name) or hasattr(baselines, name)


# ---- kernels of one's own


@pytest.mark.filterwarnings("ignore::slackwater.errors.IndefiniteKernelWarning")  # additive_chi2_kernel is
@pytest.mark.parametrize("kernel", [chi2_kernel, additive_chi2_kernel, linear_kernel])
def test_compiled_kernels_of_scikit_learn_are_taken(kernel):
    X, y = load_digits(return_X_y=True)
    X, y = X[:300] + 0.1, y[:300]
    ours, theirs = both(X, y, kernel=kernel)
    assert np.mean(ours.predict(X) == theirs.predict(X)) > 0.98


@pytest.mark.parametrize("container", [sparse.csr_matrix, sparse.lil_array])
def test_a_callable_is_handed_sparse_rows_and_may_return_them(iris, container):
    X, y = iris
    ours = SVC(kernel=lambda A, B: A @ B.T).fit(container(X), y)
    np.testing.assert_array_equal(ours.predict(container(X)), SVC(kernel="linear").fit(X, y).predict(X))
    assert isinstance(ours.dual_coef_, np.ndarray)


@pytest.mark.parametrize("given", ["precomputed", "callable"])
def test_indefinite_kernels_train_without_a_certificate(moons, given):
    X, y = moons

    def indefinite(A, B):
        return np.tanh(2.0 * A @ B.T - 1.0)

    kernel, data = ("precomputed", indefinite(X, X)) if given == "precomputed" else (indefinite, X)
    with pytest.warns(IndefiniteKernelWarning, match="not positive semi-definite"):
        ours = SVC(kernel=kernel).fit(data, y)
    theirs = svm.SVC(kernel=kernel).fit(data, y)
    assert ours.certified_ is False
    assert np.isnan(ours.gap_)
    assert np.mean(ours.predict(data) == theirs.predict(data)) > 0.97


@pytest.mark.parametrize(
    ("kernel", "complaint"),
    [
        (lambda A, B: A @ A.T, "it raises KernelError .*shape"),
        (lambda A, B: np.tril(A @ B.T) + np.tril(A @ B.T, -1).T, "it raises ValueError"),
        (lambda A, B: (A @ B.T) * (len(A) == len(B)), "gives other values than within that of all by all"),
    ],
)
def test_a_kernel_that_only_does_square_blocks_is_told_what_to_do(moons, kernel, complaint):
    with pytest.raises(KernelError, match=rf"{complaint}.*kernel='precomputed'"):
        SVC(kernel=kernel).fit(*moons)


# ---- words


def line_of(fit):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fit()
    return {warning.filename for warning in caught}, [str(warning.message) for warning in caught]


@pytest.mark.parametrize("through", ["fit", "search", "pipeline"])
def test_warnings_point_at_the_line_of_the_user(through):
    X, y = make_classification(1500, 10, flip_y=0.2, random_state=0)
    model = SVC(kernel="sigmoid", gamma=0.5, max_iter=1, tol=1e-6)
    if through == "search":
        model = GridSearchCV(model, {"C": [1.0]}, cv=2)
    elif through == "pipeline":
        model = make_pipeline(StandardScaler(), model)
    files, _ = line_of(lambda: model.fit(X, y))
    assert files == {__file__}


def test_a_warning_names_criterion_value_limit_and_remedy():
    X, y = make_classification(1500, 10, flip_y=0.2, random_state=0)
    _, (said,) = line_of(lambda: SVC(C=10.0, tol=1e-6, max_iter=1).fit(X, y))
    for part in ("max_iter", "relative gap", "above tol=1e-06", "raise max_iter", "raise tol"):
        assert part in said


# ---- Ctrl-C


EVERY_ESTIMATOR = [
    SVC(tol=1e-12, kernel="laplacian"),
    SBPClassifier(tol=0.0, max_iter=10**7),
    baselines.PegasosClassifier(tol=0.0, max_iter=10**7),
    baselines.NormBallSGDClassifier(tol=0.0, max_iter=10**7),
    baselines.SDCAClassifier(tol=0.0, max_iter=10**7),
    baselines.SMOClassifier(tol=0.0),
    baselines.KernelPerceptron(epochs=10**6),
    baselines.SIMBAClassifier(tol=0.0, max_iter=10**7),
]


def pressed_after_a_while(monkeypatch):
    """Ctrl-C at the tenth assessment of any fit; the list that is returned has all assessments so far."""
    from slackwater.tracing import Recorder

    seen, original = [], Recorder.assessed

    def assessed(self, row):
        seen.append(row)
        if len(seen) == 10:
            signal.raise_signal(signal.SIGINT)
        return original(self, row)

    monkeypatch.setattr(Recorder, "assessed", assessed)
    return seen


@pytest.mark.parametrize("model", EVERY_ESTIMATOR, ids=lambda model: type(model).__name__)
def test_ctrl_c_keeps_the_model_and_a_warm_start_goes_on_from_it(monkeypatch, model):
    X, y = make_classification(4000, 10, flip_y=0.3, random_state=0)
    pressed_after_a_while(monkeypatch)
    model.set_params(warm_start=True, random_state=0)
    with pytest.raises(KeyboardInterrupt, match="the model reached is kept"):
        model.fit(X, y)
    assert (model.stop_reason_, model.fit_status_) == ("interrupted", 1)
    assert model.score(X, y) > 0.55
    steps = model.n_iter_
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        model.set_params(max_iter=1).fit(X, y)
    assert (model.stop_reason_, model.n_iter_) == ("max_iter", steps + 1)


def test_ctrl_c_ends_a_search(monkeypatch):
    X, y = make_classification(4000, 10, flip_y=0.3, random_state=0)
    seen = pressed_after_a_while(monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        GridSearchCV(SVC(tol=1e-12, kernel="laplacian"), {"C": [1.0, 2.0, 4.0]}, cv=2).fit(X, y)
    since = [row.step for row in seen[9:]]
    assert since == sorted(set(since))  # all of the fit that was interrupted: another one would begin with its first


def test_probabilities_of_weighted_rows_do_not_depend_on_the_container(moons):
    X, y = moons
    weights = np.ones(len(y))
    weights[::4] = 0.0
    expected = SVC(probability=True).fit(X, y, weights).predict_proba(X)
    shuffled = np.random.default_rng(0).permutation(len(y))
    frame = pd.DataFrame(X, columns=["east", "north"], index=shuffled)
    np.testing.assert_allclose(SVC(probability=True).fit(frame, y, weights).predict_proba(frame), expected, atol=1e-9)
    rows = sparse.coo_matrix(X)
    np.testing.assert_allclose(SVC(probability=True).fit(rows, y, weights).predict_proba(rows), expected, atol=1e-6)


def test_probabilities_of_a_frame_of_kernel_values(moons):
    X, y = moons
    K = pd.DataFrame(X @ X.T + 1.0)
    model = SVC(kernel="precomputed", probability=True).fit(K, y)
    np.testing.assert_allclose(model.predict_proba(K).sum(axis=1), 1.0)


def test_probabilities_of_objects_in_a_series():
    words = np.array(["ash", "birch", "cedar", "elm", "fir", "oak", "pine", "yew"] * 4, dtype=object)
    y = np.array(["r" in word for word in words])

    def letters(A, B):
        return np.array([[float(len(set(a) & set(b))) for b in B] for a in A])

    weights = np.where(np.arange(len(words)) % 4 == 0, 0.0, 1.0)
    expected = SVC(kernel=letters, probability=True).fit(words, y, weights).predict_proba(words)
    series = pd.Series(words, index=np.arange(len(words))[::-1])
    np.testing.assert_allclose(
        SVC(kernel=letters, probability=True).fit(series, y, weights).predict_proba(words), expected
    )


def test_an_interrupted_fit_has_no_probabilities_of_an_earlier_one(moons, monkeypatch):
    X, y = moons
    model = SVC(probability=True).fit(X, y)

    def interrupted(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(OneVsOneClassifier, "fit", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    with pytest.raises(NotFittedError, match="predict_proba"):
        model.predict_proba(X)
