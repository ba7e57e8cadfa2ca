"""Early stopping on hold-out examples, a part of the data or others, in every strategy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_blobs, make_moons

from fitting_problems import DATA, svc
from slackwater import SVC, SBPClassifier
from slackwater.baselines import PegasosClassifier
from slackwater.fitting.training_set import TrainingSet

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture(scope="module")
def noisy_moons():
    X, y = make_moons(3000, noise=0.35, random_state=0)
    return X[:2000], y[:2000], X[2000:], y[2000:]


@pytest.mark.parametrize("data", DATA)
def test_every_strategy_sees_the_hold_out_error(data):
    make, strategy = DATA[data]
    X, y, parameters = make(9000)
    model = svc(strategy=strategy, early_stopping=True, **parameters).fit(X, y)
    assert model.strategy_ == strategy
    errors = model.history_["holdout_error"]
    assert np.isfinite(errors).all()
    assert errors.min() < 0.5
    assert model.support_.max() < len(X)


@pytest.mark.parametrize("data", ["separated", "narrow", "detailed"])
def test_patience_ends_a_strategy_with_the_best_model(data):
    """The error of the model, at hold-out examples that were given, is the least one in its history."""
    make, strategy = DATA[data]
    X, y, parameters = make(10_000)
    X, X_val, y, y_val = X[:9000], X[9000:], y[:9000], y[9000:]
    hasty = svc(strategy=strategy, early_stopping=True, n_iter_no_change=1, **parameters).fit(X, y, None, X_val, y_val)
    patient = svc(strategy=strategy, early_stopping=True, n_iter_no_change=1000, **parameters)
    patient.fit(X, y, X_val=X_val, y_val=y_val)
    assert hasty.stop_reason_ == "early_stopping"
    assert patient.stop_reason_ == "tol"
    assert hasty.n_iter_[0] < patient.n_iter_[0]
    least = hasty.history_["holdout_error"].min()
    assert np.mean(hasty.predict(X_val) != y_val) == pytest.approx(least, abs=1.5 / len(y_val))


def test_auto_keeps_its_strategies_with_a_hold_out_part():
    X, y, parameters = DATA["noisy"][0]()
    assert svc(early_stopping=True, **parameters).fit(X, y).strategy_ == "subspace"


@pytest.mark.parametrize(
    "estimator",
    [SVC(tol=1e-6), SBPClassifier(0.05, tol=0.0, max_iter=2000), PegasosClassifier(tol=0.0, max_iter=2000)],
    ids=lambda each: type(each).__name__,
)
def test_given_rows_are_what_the_error_is_measured_on(estimator, noisy_moons):
    X, y, X_val, y_val = noisy_moons
    estimator.set_params(early_stopping=True, n_iter_no_change=2, random_state=0)
    model = estimator.fit(X, y, X_val=X_val, y_val=y_val)
    assert len(model.support_) == len(np.unique(model.support_))
    assert model.support_.max() < len(X)
    error = np.mean(model.predict(X_val) != y_val)
    assert error <= model.history_["holdout_error"].min() + 1.5 / len(y_val)
    assert model.stop_reason_ == "early_stopping"


def test_given_rows_are_no_training_rows(noisy_moons):
    """Labels of the hold-out rows turned around change when training ends, not what it is about."""
    X, y, X_val, y_val = noisy_moons
    plain = SVC(tol=1e-5, warm_start=True).fit(X, y)
    for labels in (y_val, 1 - y_val):
        judged = SVC(tol=1e-5, early_stopping=True, n_iter_no_change=10**6).fit(X, y, X_val=X_val, y_val=labels)
        assert judged.stop_reason_ == "tol"
        np.testing.assert_allclose(judged.decision_function(X), plain.decision_function(X), atol=1e-3)


def test_a_hold_out_row_that_is_a_training_row_is_not_merged_with_it(noisy_moons):
    X, y, _, _ = noisy_moons
    model = SVC(tol=1e-5, early_stopping=True, n_iter_no_change=10**6).fit(X, y, X_val=X[:100], y_val=y[:100])
    plain = SVC(tol=1e-5, warm_start=True).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), plain.decision_function(X), atol=1e-3)


def test_sparse_rows_and_several_classes():
    X, y = make_blobs(600, centers=3, cluster_std=1.5, random_state=0)
    for rows in (X, sparse.csr_matrix(X)):
        model = SVC(early_stopping=True).fit(rows[:400], y[:400], X_val=rows[400:], y_val=y[400:])
        assert model.score(rows[400:], y[400:]) > 0.6
        assert np.isfinite(model.history_["holdout_error"]).all()


def test_what_cannot_be_a_hold_out_part_is_refused(noisy_moons):
    X, y, X_val, y_val = noisy_moons
    for arguments, words in [
        ({"X_val": X_val}, "given together"),
        ({"X_val": X_val, "y_val": y_val[:-1]}, "one label for each row of X_val"),
        ({"X_val": X_val, "y_val": y_val + 7}, "y_val must have classes of y, got"),
        ({"X_val": X_val[:, :1], "y_val": y_val}, "1 features"),
    ]:
        with pytest.raises(ValueError, match=words):
            SVC(early_stopping=True).fit(X, y, **arguments)
    with pytest.raises(ValueError, match="needs early_stopping=True"):
        SVC().fit(X, y, X_val=X_val, y_val=y_val)
    with pytest.raises(ValueError, match="precomputed"):
        SVC(kernel="precomputed", early_stopping=True).fit(X @ X.T, y, X_val=X_val @ X.T, y_val=y_val)


def test_only_changed_coefficients_are_evaluated_at_hold_out_rows(monkeypatch):
    """What looking costs stays a small part of what training costs."""
    ledgers = []
    plain = TrainingSet.part

    def part(self, *arguments):
        ledgers.append(self.ledger)
        return plain(self, *arguments)

    monkeypatch.setattr(TrainingSet, "part", part)
    X, y, parameters = DATA["separated"][0](9000)
    svc(strategy="screening", early_stopping=True, n_iter_no_change=1000, **parameters).fit(X, y)
    assert 0 < ledgers[0].score < 0.3 * ledgers[0].train


def test_a_resumed_run_stops_with_the_same_model(tmp_path, monkeypatch):
    from slackwater.fitting import journal

    monkeypatch.setattr(journal, "SECONDS_BETWEEN_CHECKPOINTS", 0.0)
    monkeypatch.setattr(journal, "SECONDS_BETWEEN_STAGES", 0.0)
    monkeypatch.setattr(journal, "WORK_BETWEEN_STATES", 2**22)
    X, y, parameters = DATA["separated"][0](9000)
    written = []
    monkeypatch.setattr(journal, "replace_file", lambda path, content: written.append(content))
    settings = {"strategy": "screening", "early_stopping": True, "n_iter_no_change": 1, **parameters}
    whole = svc(checkpoint=tmp_path / "a", **settings).fit(X, y)
    for content in written[:: max(1, len(written) // 4)]:
        (tmp_path / "b").write_bytes(content)
        resumed = svc(checkpoint=tmp_path / "b", **settings).fit(X, y)
        np.testing.assert_array_equal(resumed.dual_coef_, whole.dual_coef_)
        assert resumed.stop_reason_ == whole.stop_reason_ == "early_stopping"
