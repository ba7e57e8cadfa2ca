"""SVCCV against GridSearchCV over the same folds, and what it promises beyond."""

from __future__ import annotations

import signal
import time
import warnings
from functools import partial
from typing import Any

import numpy as np
import pytest
import sklearn.svm
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris, make_classification, make_moons
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import make_scorer, recall_score
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    LeaveOneOut,
    ShuffleSplit,
    StratifiedKFold,
    TimeSeriesSplit,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from fake_time import FakeTime
from slackwater import SVC
from slackwater.deadline import Clock, CutShort
from slackwater.errors import IndefiniteKernelWarning
from slackwater.path import SVCCV
from slackwater.path import rounds as rounds_module
from slackwater.path import search as search_module
from slackwater.path.folds import SharedFolds
from slackwater.path.halving import from_the_middle, middle, scouts, sizes_of, stratified_rows, survivors
from slackwater.path.results import one_standard_error, standard_error

CS, GAMMAS = [0.1, 1.0, 10.0], [0.1, 1.0, 5.0]


def moons(n: int = 240) -> tuple[NDArray[np.float64], NDArray[np.int_]]:
    X, y = make_moons(n, noise=0.3, random_state=1)
    return X, y


def grid_search(X: Any, y: Any, estimator: Any = None, Cs: Any = CS, gammas: Any = GAMMAS, **more: Any) -> GridSearchCV:
    fit = {"groups": more.pop("groups", None), **more.pop("fit", {})}
    return GridSearchCV(estimator or SVC(), {"C": Cs, "gamma": gammas}, **more).fit(X, y, **fit)


def assert_same_scores(ours: SVCCV, theirs: GridSearchCV, atol: float) -> None:
    assert ours.cv_results_["params"] == theirs.cv_results_["params"]
    for split in range(ours.n_splits_):
        name = f"split{split}_test_score"
        np.testing.assert_allclose(ours.cv_results_[name], theirs.cv_results_[name], atol=atol)


@pytest.mark.parametrize("data", ["two classes", "three classes", "ten classes", "sparse"])
def test_scores_are_those_of_grid_search_over_the_same_folds(data: str) -> None:
    if data == "three classes":
        X, y = load_iris(return_X_y=True)
    elif data == "ten classes":
        X, y = load_digits(return_X_y=True)
        X, y = X[:600] / 16.0, y[:600]
    else:
        X, y = moons()
    X = sparse.csr_matrix(X) if data == "sparse" else X
    ours = SVCCV(CS, GAMMAS).fit(X, y)
    one_row = 1.0 / (len(y) / 5)
    assert_same_scores(ours, grid_search(X, y), atol=one_row + 1e-12)
    assert np.mean(ours.cv_results_["mean_test_score"] == grid_search(X, y).cv_results_["mean_test_score"]) > 0.8


def test_scores_are_those_of_scikit_learns_svc_to_solver_tolerance() -> None:
    X, y = moons(400)
    ours = SVCCV(CS, GAMMAS, tol=1e-6).fit(X, y)
    oracle = grid_search(X, y, sklearn.svm.SVC(tol=1e-6))
    assert_same_scores(ours, oracle, atol=1e-12)
    assert ours.best_params_ == oracle.best_params_
    assert ours.best_score_ == pytest.approx(oracle.best_score_, abs=1e-12)


def test_decision_values_of_a_scorer_are_those_of_a_separate_fit() -> None:
    X, y = moons()
    seen: list[NDArray[np.float64]] = []

    def scorer(model: Any, X_test: Any, y_test: Any) -> float:
        seen.append(model.decision_function(X_test))
        return 0.0

    folds = list(StratifiedKFold(3).split(X, y))
    SVCCV([1.0, 10.0], [1.0], cv=folds, scoring=scorer, tol=1e-6, refit=False).fit(X, y)
    for (C, (train, test)), values in zip([(C, fold) for C in (1.0, 10.0) for fold in folds], seen, strict=True):
        alone = SVC(C=C, gamma=1.0, tol=1e-6).fit(X[train], y[train])
        np.testing.assert_allclose(values, alone.decision_function(X[test]), atol=2e-3)


@pytest.mark.parametrize("scoring", ["roc_auc", "f1", "balanced_accuracy", make_scorer(recall_score)])
def test_any_scorer_gives_the_scores_of_grid_search(scoring: Any) -> None:
    X, y = moons()
    ours = SVCCV(CS, GAMMAS, scoring=scoring, tol=1e-6).fit(X, y)
    assert_same_scores(ours, grid_search(X, y, SVC(tol=1e-6), scoring=scoring), atol=2e-3)


def test_a_scorer_that_asks_for_support_vectors_or_other_rows_is_given_a_real_fit() -> None:
    X, y = moons()

    def share(model: Any, X_test: Any, y_test: Any) -> float:
        return float(len(model.support_) + model.predict(X[:7]).sum())

    ours = SVCCV(CS, [1.0], scoring=share, tol=1e-6).fit(X, y)
    assert_same_scores(ours, grid_search(X, y, SVC(tol=1e-6), gammas=[1.0], scoring=share), atol=1e-12)


@pytest.mark.parametrize(
    "cv", [3, GroupKFold(3), ShuffleSplit(4, random_state=0), StratifiedKFold(4, shuffle=True, random_state=2)]
)
def test_splitters_and_groups_are_those_of_grid_search(cv: Any) -> None:
    X, y = moons()
    groups = np.arange(len(y)) % 7 if isinstance(cv, GroupKFold) else None
    ours = SVCCV(CS, GAMMAS, cv=cv, tol=1e-6).fit(X, y, groups=groups)
    assert_same_scores(ours, grid_search(X, y, SVC(tol=1e-6), cv=cv, groups=groups), atol=1e-12)


@pytest.mark.parametrize("class_weight", [None, "balanced", {0: 1.0, 1: 3.0}])
def test_weights_count_as_in_separate_fits(class_weight: Any) -> None:
    X, y = make_classification(200, 4, weights=[0.8], random_state=0, flip_y=0.1)
    weights = np.random.default_rng(0).uniform(0.2, 3.0, 200)
    search = SVCCV(CS, GAMMAS, class_weight=class_weight, tol=1e-6).fit(X, y, sample_weight=weights)
    for number, parameters in enumerate(search.cv_results_["params"]):
        for fold, (train, test) in enumerate(StratifiedKFold(5).split(X, y)):
            alone = SVC(**parameters, tol=1e-6, class_weight=class_weight).fit(X[train], y[train], weights[train])
            expected = alone.score(X[test], y[test], weights[test])
            assert search.cv_results_[f"split{fold}_test_score"][number] == pytest.approx(expected, abs=1e-12)


def test_scores_are_weighted_where_the_scorer_can() -> None:
    X, y = moons(120)
    weights = np.where(y == 1, 5.0, 1.0)
    plain, weighted = (SVCCV([1.0], [1.0], scoring=each, refit=False) for each in (_share_right, "accuracy"))
    by_default = SVCCV([1.0], [1.0], refit=False).fit(X, y, sample_weight=weights)
    assert weighted.fit(X, y, sample_weight=weights).best_score_ == pytest.approx(by_default.best_score_, abs=1e-12)
    assert plain.fit(X, y, sample_weight=weights).best_score_ != pytest.approx(by_default.best_score_, abs=1e-6)


def _share_right(model: Any, X: Any, y: Any) -> float:
    return float(np.mean(model.predict(X) == y))


def test_copies_of_a_row_on_both_sides_of_a_split_are_trained_and_tested_as_they_should() -> None:
    X, y = moons(120)
    X, y = np.concatenate([X, X[:60]]), np.concatenate([y, y[:60]])
    X = np.round(X, 1)
    ours = SVCCV(CS, GAMMAS, cv=StratifiedKFold(4, shuffle=True, random_state=0), tol=1e-6).fit(X, y)
    theirs = grid_search(X, y, SVC(tol=1e-6), cv=StratifiedKFold(4, shuffle=True, random_state=0))
    assert_same_scores(ours, theirs, atol=1e-12)


@pytest.mark.parametrize("kernel", ["linear", "poly", "sigmoid", "precomputed", "callable"])
def test_other_kernels_have_the_scores_of_grid_search(kernel: str) -> None:
    X, y = moons(150)
    chosen: Any = (lambda A, B: (1.0 + A @ B.T) ** 2) if kernel == "callable" else kernel
    data = X @ X.T if kernel == "precomputed" else X
    gammas = [0.5] if kernel in ("poly", "sigmoid") else None
    model = SVC(kernel=chosen, tol=1e-5, gamma=0.5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IndefiniteKernelWarning)
        ours = SVCCV(CS, gammas, kernel=chosen, tol=1e-5).fit(data, y)
        theirs = GridSearchCV(model, {"C": CS}).fit(data, y)
    np.testing.assert_allclose(ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"], atol=1e-12)
    assert np.mean(ours.predict(data) == theirs.predict(data)) > 0.98


def test_one_vs_rest_has_the_scores_of_grid_search() -> None:
    X, y = load_iris(return_X_y=True)
    ours = SVCCV(CS, GAMMAS, multi_class="ovr", tol=1e-6).fit(X, y)
    assert_same_scores(ours, grid_search(X, y, SVC(multi_class="ovr", tol=1e-6)), atol=1e-12)


def test_a_fold_that_lacks_a_class_is_fitted_by_itself() -> None:
    X, y = load_iris(return_X_y=True)  # sorted by class
    ours = SVCCV([1.0], [0.5], cv=TimeSeriesSplit(2, test_size=40)).fit(X, y)
    assert_same_scores(ours, grid_search(X, y, Cs=[1.0], gammas=[0.5], cv=TimeSeriesSplit(2, test_size=40)), 1e-12)


def test_separate_fits_take_over_where_the_matrix_does_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = moons()
    shared = SVCCV(CS, GAMMAS, tol=1e-6).fit(X, y)
    monkeypatch.setattr(SharedFolds, "values", lambda *arguments: None)
    assert_same_scores(shared, SVCCV(CS, GAMMAS, tol=1e-6).fit(X, y), atol=1e-12)


def test_the_table_has_the_columns_of_grid_search() -> None:
    X, y = moons(100)
    ours, theirs = SVCCV(CS, GAMMAS).fit(X, y).cv_results_, grid_search(X, y).cv_results_
    assert ours.keys() == theirs.keys()
    for name, values in theirs.items():
        assert len(ours[name]) == len(values)
        if name != "params":
            assert ours[name].dtype == values.dtype, name


def test_scale_is_derived_from_all_rows_once() -> None:
    X, y = moons(100)
    search = SVCCV([1.0], ["scale"]).fit(X, y)
    assert search.best_params_ == {"C": 1.0, "gamma": "scale"}
    assert search.gamma_ == pytest.approx(1.0 / (2 * X.var()))
    by_number = SVCCV([1.0], [search.gamma_]).fit(X, y)
    assert by_number.best_score_ == search.best_score_


def test_the_model_is_the_fit_to_all_rows_with_the_parameters_chosen() -> None:
    X, y = moons()
    search = SVCCV(CS, GAMMAS).fit(X, y)
    alone = SVC(**search.best_params_).fit(X, y)
    np.testing.assert_array_equal(search.decision_function(X), alone.decision_function(X))
    assert search.score(X, y) == alone.score(X, y)
    assert search.best_params_["C"] == search.C_


def test_without_refit_predictions_are_refused() -> None:
    X, y = moons(80)
    search = SVCCV([1.0], [1.0], refit=False).fit(X, y)
    with pytest.raises(AttributeError, match="refit was False"):
        search.predict(X)
    with pytest.raises(NotFittedError):
        clone(search).predict(X)


def test_one_standard_error_takes_the_least_c_within_it() -> None:
    scores = np.array([[0.90, 0.94, 0.92], [0.95, 0.93, 0.94], [0.96, 0.92, 0.95], [0.5, 0.6, 0.5]])
    candidates = [{"C": 10.0}, {"C": 1.0}, {"C": 100.0}, {"C": 0.1}]
    assert one_standard_error(scores, candidates, [0.0] * 4) == 1
    assert standard_error(scores[2]) == pytest.approx(np.std([0.96, 0.92, 0.95], ddof=1) / np.sqrt(3))


def test_one_standard_error_as_an_option_takes_a_smaller_c_that_is_within_it() -> None:
    X, y = moons()
    best, frugal = (SVCCV(selection=each).fit(X, y) for each in ("best", "one_standard_error"))
    assert frugal.C_ < best.C_
    assert frugal.best_score_ >= best.best_score_ - best.best_score_error_


@pytest.mark.parametrize("scale", [1.0, 1e4, 1e-4])
def test_the_default_grid_suits_data_of_any_scale(scale: float) -> None:
    X, y = moons(300)
    search = SVCCV().fit(scale * X, y)
    assert len(search.cv_results_["params"]) == 25
    assert search.best_score_ > 0.88
    assert search.best_score_ == pytest.approx(SVCCV().fit(X, y).best_score_, abs=0.005)


def test_rows_of_rounds_grow_threefold_up_to_all() -> None:
    assert sizes_of(600) == [600]
    assert sizes_of(10_000) == [1111, 3333, 10_000]
    assert sizes_of(100_000)[-1] == 100_000


def test_a_third_survives_or_all_where_there_is_time() -> None:
    means = np.array([0.5, 0.9, np.nan, 0.7, 0.8])
    assert survivors(means, seconds=1.0, growth=3.0, left=1.0).tolist() == [1, 4]
    assert survivors(means, seconds=0.01, growth=3.0, left=10.0).tolist() == [1, 4, 3, 0]


def test_samples_of_rows_keep_the_shares_of_classes() -> None:
    codes = np.repeat([0, 1], [900, 100])
    rows = stratified_rows(codes, 200, seed=0)
    assert np.bincount(codes[rows]).tolist() == [180, 20]
    assert len(np.unique(rows)) == 200


def test_a_search_with_ample_time_scores_every_candidate_on_all_rows() -> None:
    X, y = moons(1600)
    search = SVCCV([0.1, 1.0], [0.1, 1.0], max_time=300).fit(X, y)
    assert (search.cv_results_["n_resources"] == 1600).all()
    assert_same_scores(search, SVCCV([0.1, 1.0], [0.1, 1.0]).fit(X, y), atol=1e-12)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # the final fit says that it had no time
def test_a_search_without_time_still_chooses_and_fits() -> None:
    X, y = moons(3000)
    begun = time.process_time()
    search = SVCCV(max_time=1e-3).fit(X, y)
    assert time.process_time() - begun < 20.0
    scored = search.cv_results_["n_resources"] > 0
    assert scored.any()
    assert np.isnan(search.cv_results_["mean_test_score"][~scored]).all()
    assert search.score(X, y) > 0.7
    assert scored[search.best_index_]


def test_time_that_runs_out_leaves_the_candidates_seen_with_the_most_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = moons(1600)
    now = FakeTime()
    values = SharedFolds.values

    def slow(*arguments: Any) -> Any:
        """Rounds of three gammas, 40 seconds each, of which there is time for four."""
        found = values(*arguments)
        now.spend(40.0)
        return found

    monkeypatch.setattr(search_module, "Clock", partial(Clock, now=now))
    monkeypatch.setattr(SharedFolds, "values", slow)
    search = SVCCV([0.1, 1.0, 10.0], [0.1, 1.0, 10.0], max_time=200.0, refit=False).fit(X, y)
    n_rows = search.cv_results_["n_resources"]
    assert set(n_rows.tolist()) == {200, 532}
    assert n_rows[search.best_index_] == 532
    assert search.cv_results_["mean_test_score"][search.best_index_] == np.max(
        search.cv_results_["mean_test_score"][n_rows == 532]
    )


def test_a_round_that_has_no_time_for_the_best_so_far_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = moons(1400)
    now, fit, many = FakeTime(), rounds_module.fitted_until, []

    def slow(model: Any, X_train: Any, *arguments: Any) -> Any:
        """Of the second round, on all rows, there is time for the least C alone."""
        if len(X_train) > 500:
            many.append(model.C)
            now.spend(1.0)
        if many and model.C > 1e-3:
            raise CutShort(interrupted=False)
        return fit(model, X_train, *arguments)

    monkeypatch.setattr(search_module, "Clock", partial(Clock, now=now))
    monkeypatch.setattr(SharedFolds, "values", lambda *arguments: None)
    monkeypatch.setattr(rounds_module, "fitted_until", slow)
    search = SVCCV([1e-3, 1.0], [1.0], max_time=60.0, refit=False).fit(X, y)
    assert many[:6] == [1e-3] * 5 + [1.0]
    assert search.C_ == 1.0
    assert (search.cv_results_["n_resources"] == 200).all()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("kernel", ["callable", "precomputed", "ovr", "rbf"])
def test_a_search_ends_in_time_whatever_fits_it_makes(kernel: str) -> None:
    X, y = make_classification(4000, 20, n_informative=10, flip_y=0.3, random_state=0)
    SVCCV([1.0], [0.5], cv=2).fit(X[:300], y[:300])  # what is compiled
    chosen: dict[str, Any] = {
        "callable": {"kernel": lambda A, B: (1.0 + A @ B.T) ** 2},
        "precomputed": {"kernel": "precomputed"},
        "ovr": {"multi_class": "ovr"},
        "rbf": {"cv": 10},
    }[kernel]
    data = X @ X.T if kernel == "precomputed" else X
    y = y + 2 * (X[:, 0] > 0) if kernel == "ovr" else y
    used = time.process_time()
    search = SVCCV(Cs=[1.0, 100.0, 1e4], max_time=1.0, n_jobs=1, **chosen).fit(data, y)
    assert time.process_time() - used < 2.5  # separate fits without a limit take 30 times as long
    assert search.predict(data).shape == (4000,)


def test_rows_are_few_or_all_and_the_middle_of_the_grid_comes_first() -> None:
    gammas = np.repeat([0.1, 1.0, 10.0, 100.0, 1000.0], 2)
    assert gammas[from_the_middle(gammas)][:6].tolist() == [10.0, 10.0, 1.0, 1.0, 100.0, 100.0]
    assert middle(np.tile([1.0, 5.0, 25.0], 3), np.repeat([0.1, 1.0, 10.0], 3)) == 4
    assert scouts(2) == 200


def test_as_many_survive_as_half_of_the_time_is_enough_for() -> None:
    means = np.array([0.5, 0.9, 0.6, 0.7, 0.8, 0.4])
    assert survivors(means, seconds=1.0, growth=3.0, left=12.0).tolist() == [1, 4, 3, 2]


def test_scores_of_few_rows_need_every_class_in_a_fold_and_other_folds_are_left_out() -> None:
    X, y = make_classification(3000, 4, weights=[0.98], flip_y=0.0, random_state=0)
    search = SVCCV([1.0], [0.1, 1.0], scoring="roc_auc", max_time=300.0, refit=False).fit(X, y)
    expected = SVCCV([1.0], [0.1, 1.0], scoring="roc_auc", refit=False).fit(X, y)
    assert (search.cv_results_["n_resources"] == 3000).all()
    assert_same_scores(search, expected, atol=1e-12)


def test_a_row_for_each_fold_is_scored_on_some_of_them_where_time_is_short(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = moons(500)
    now, values = FakeTime(), SharedFolds.values

    def slow(*arguments: Any) -> Any:
        found = values(*arguments)
        now.spend(30.0)
        return found

    monkeypatch.setattr(search_module, "Clock", partial(Clock, now=now))
    monkeypatch.setattr(SharedFolds, "values", slow)
    search = SVCCV([1.0], [0.1, 1.0], cv=LeaveOneOut(), max_time=50.0, refit=False).fit(X, y)
    scores = np.array([search.cv_results_[f"split{fold}_test_score"] for fold in range(500)])
    assert np.isfinite(scores[:, search.best_index_]).sum() == search.cv_results_["n_resources"][search.best_index_]
    assert search.best_score_ == pytest.approx(np.nanmean(scores[:, search.best_index_]))
    known = scores[:, search.best_index_][np.isfinite(scores[:, search.best_index_])]
    assert search.best_score_error_ == pytest.approx(np.std(known, ddof=1) / np.sqrt(len(known)))


def test_a_search_that_has_scored_nothing_says_so_and_takes_the_middle_of_the_grid() -> None:
    X, y = moons(500)
    words = r"max_time=1e-05 was over before any candidate was scored in all 500"
    with pytest.warns(ConvergenceWarning, match="training stopped"), pytest.warns(ConvergenceWarning, match=words):
        search = SVCCV([1.0, 5.0, 9.0], [0.1, 1.0, 2.0], cv=LeaveOneOut(), max_time=1e-5).fit(X, y)
    assert search.best_params_ == {"C": 5.0, "gamma": 1.0}
    assert np.isnan(search.best_score_)
    assert np.isnan(search.best_score_error_)
    assert search.predict(X).shape == (500,)


@pytest.mark.parametrize("separate", [False, True])
def test_ctrl_c_leaves_what_was_scored(separate: bool) -> None:
    X, y = moons(300)
    seen = 100

    def scorer(model: Any, X_test: Any, y_test: Any) -> float:
        nonlocal seen
        seen += 1
        if seen == 7:
            signal.raise_signal(signal.SIGINT)
        return float(np.mean(model.predict(X_test) == y_test))

    search = SVCCV([1.0], [0.1, 1.0, 5.0], cv=2 if separate else 3, scoring=scorer).fit(X, y)
    assert hasattr(search, "best_estimator_")
    assert seen > 100
    seen = 0
    if separate:
        search.set_params(multi_class="ovr", cv=3)
        y = y + 2 * (X[:, 0] > 1.0)
    with pytest.raises(KeyboardInterrupt, match=r"[23] of 3 candidates were scored \(cv_results_\), of which"):
        search.fit(X, y)
    scored = np.isfinite(search.cv_results_["mean_test_score"])
    assert scored.sum() in (2, 3)
    assert scored[search.best_index_]
    with pytest.raises(AttributeError, match="interrupted"):
        search.predict(X)


def test_ctrl_c_before_anything_is_scored_leaves_the_earlier_search() -> None:
    X, y = moons(300)

    def at_once(model: Any, X_test: Any, y_test: Any) -> float:
        signal.raise_signal(signal.SIGINT)
        raise CutShort(interrupted=True)

    search = SVCCV([1.0], [0.5]).fit(X, y)
    before = search.predict(X)
    with pytest.raises(KeyboardInterrupt, match="no candidate was scored"):
        search.set_params(scoring=at_once).fit(X, y)
    np.testing.assert_array_equal(search.predict(X), before)


def test_ctrl_c_in_the_final_fit_keeps_its_model(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = moons(300)
    fit = SVC.fit

    def interrupted(self: Any, *arguments: Any, **more: Any) -> Any:
        fit(self, *arguments, **more)
        raise KeyboardInterrupt("the model reached is kept")

    monkeypatch.setattr(SVC, "fit", interrupted)
    search = SVCCV([1.0], [0.5])
    with pytest.raises(KeyboardInterrupt):
        search.fit(X, y)
    assert search.predict(X).shape == (300,)
    assert search.best_params_ == {"C": 1.0, "gamma": 0.5}


def test_a_search_without_refit_forgets_the_model_of_an_earlier_one() -> None:
    X, y = moons(100)
    search = SVCCV([1.0], [1.0]).fit(X, y)
    search.set_params(refit=False).fit(X, y)
    with pytest.raises(AttributeError, match="refit was False"):
        search.predict(X)


def test_progress_says_how_many_candidates_and_how_long(capsys: pytest.CaptureFixture[str]) -> None:
    X, y = moons(80)
    SVCCV([1.0], [0.5, 1.0], verbose=1).fit(X, y)
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(" · ")[0] for line in lines] == [
        "slackwater: 1 of 2 candidates",
        "slackwater: 2 of 2 candidates",
    ]
    assert "left" in lines[0]


def test_it_works_in_a_pipeline_with_names_of_features() -> None:
    pandas = pytest.importorskip("pandas")
    X, y = moons(120)
    frame = pandas.DataFrame(X, columns=["a", "b"])
    search = SVCCV([1.0], [1.0]).fit(frame, y)
    assert search.feature_names_in_.tolist() == ["a", "b"]
    assert search.score(frame, y) > 0.8
    assert make_pipeline(StandardScaler(), SVCCV([1.0], [1.0])).fit(X, y).score(X, y) > 0.8


def test_the_picture_shows_every_score_and_marks_the_choice() -> None:
    pyplot = pytest.importorskip("matplotlib.pyplot")
    X, y = moons(100)
    search = SVCCV(CS, GAMMAS).fit(X, y)
    display = search.plot()
    written = {text.get_text() for text in display.ax_.texts}
    assert written == {f"{score:.3f}" for score in search.cv_results_["mean_test_score"]}
    (mark,) = display.ax_.lines
    row, column = display.chosen
    corners = np.array([mark.get_xdata()[:4], mark.get_ydata()[:4]])
    np.testing.assert_allclose(corners.mean(axis=1), [column, row], atol=1e-12)
    assert np.abs(corners - [[column], [row]]).max() < 0.5
    assert (display.Cs[column], display.gammas[row]) == (search.C_, search.gamma_)
    assert f"{search.best_score_:.4g} ± {search.best_score_error_:.2g}" in display.ax_.get_title()
    pyplot.close(display.figure_)


def test_the_picture_has_scores_of_fewer_rows_in_brackets_and_never_bold() -> None:
    pyplot = pytest.importorskip("matplotlib.pyplot")
    X, y = moons(100)
    search = SVCCV(np.geomspace(0.1, 100.0, 9), [1.0], max_time=300.0).fit(X, y)
    search.cv_results_["n_resources"] = np.where(np.arange(9) == search.best_index_, 100, 50)
    display = search.plot()
    shown = {text.get_position()[0]: text for text in display.ax_.texts}
    column = display.chosen[1]
    for place, text in shown.items():
        score = f"{search.cv_results_['mean_test_score'][place]:.3f}"
        assert text.get_text() == (score if place == column else f"({score})")
        assert (text.get_weight() == "bold") == (place == column)
    assert "in brackets: on fewer rows" in display.ax_.get_title()
    pyplot.close(display.figure_)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"Cs": [0.0]}, r"Cs must be finite numbers > 0, got 0\.0"),
        ({"Cs": 0}, "Cs must be values or a number of them >= 1, got 0"),
        ({"gammas": [-1.0]}, r"gammas must be numbers > 0, 'scale' or 'auto', got -1\.0"),
        ({"gammas": ["auto", "wide"]}, "gammas must be numbers > 0, 'scale' or 'auto', got 'wide'"),
        ({"gammas": []}, "gammas must have at least one value"),
        ({"gammas": [1.0], "kernel": "linear"}, "gammas must be None with kernel='linear'"),
        ({"selection": "first"}, "selection must be one of best, one_standard_error, got 'first'"),
        ({"max_time": -1}, "max_time must be a number > 0 or None, got -1"),
        ({"cv": 1}, "n_splits=1"),
        ({"cv": [0]}, r"cv must split these 50 rows, got \[0\]"),
        ({"cv": "five"}, "cv must split these 50 rows, got 'five'"),
        ({"cv": []}, "cv must give at least one fold, got none"),
        ({"cv": [([0, 1], [50])]}, r"cv must give row numbers from 0 to 49.*got \[50\] for the test rows of fold 0"),
        ({"cv": [([0, 1], [])]}, r"cv must give row numbers.*got \[\] for the test rows of fold 0"),
        ({"cv": [([0.5], [1])]}, r"cv must give row numbers.*got \[0\.5\] for the training rows of fold 0"),
        ({"Cs": [1.0, "2"]}, "Cs must be finite numbers > 0, got '2'"),
        ({"Cs": [1.0, float("nan")]}, "Cs must be finite numbers > 0, got nan"),
        ({"Cs": []}, "Cs must have at least one value"),
        ({"Cs": [1.0, 1]}, r"Cs must be distinct, got 1\.0 more than once"),
        ({"gammas": 0.5}, r"gammas must be a sequence of numbers > 0, 'scale' or 'auto', got 0\.5"),
        ({"gammas": {0.5: 1}}, "gammas must be a sequence"),
        ({"gammas": [0.5, 0.5]}, r"gammas must be distinct, got 0\.5 more than once"),
        ({"gammas": [float("nan")]}, "gammas must be numbers > 0, 'scale' or 'auto', got nan"),
        ({"selection": None}, "selection must be one of best, one_standard_error, got None"),
        ({"max_time": "a minute"}, "max_time must be a number > 0 or None, got 'a minute'"),
        ({"max_time": float("nan")}, "max_time must be a number > 0 or None, got nan"),
        ({"scoring": "acuracy"}, "scoring must be a score that scikit-learn knows, got 'acuracy'.*accuracy"),
        ({"scoring": 5}, "scoring must be one score, a name or a callable, got 5"),
        ({"scoring": ["accuracy", "f1"]}, r"scoring must be one score.*got \['accuracy', 'f1'\]"),
        ({"scoring": lambda model: 1.0}, "scoring must be callable with an estimator, X and y"),
        ({"scoring": "neg_log_loss"}, "scoring must not need predict_proba"),
        ({"multi_class": "all"}, "multi_class must be one of ovo, ovr, got 'all'"),
    ],
)
def test_bad_arguments_are_named(arguments: dict[str, Any], words: str) -> None:
    X, y = moons(50)
    with pytest.raises(ValueError, match=words):
        SVCCV(**arguments).fit(X, y)


@pytest.mark.parametrize(
    ("scoring", "y", "words"),
    [
        ("f1", [0, 1, 2], r"scoring must suit the classes 0, 1, 2, got 'f1'.*multiclass"),
        ("roc_auc", [0, 1, 2], "scoring must suit the classes 0, 1, 2, got 'roc_auc'.*multi_class"),
        ("f1", ["no", "yes"], "scoring must suit the classes no, yes, got 'f1'.*pos_label"),
        ("r2", ["no", "yes"], "scoring must suit the classes no, yes, got 'r2'"),
        ("f1_samples", list(range(6)), r"scoring must suit the classes 0, 1, 2, 3, …, got 'f1_samples'"),
        (make_scorer(recall_score, pos_label=7), [0, 1], "scoring must suit the classes 0, 1, got make_scorer"),
    ],
)
def test_a_score_that_these_labels_have_not_is_named_before_any_work(
    scoring: Any, y: list[Any], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, _ = moons(60)
    monkeypatch.setattr(rounds_module.Search, "run", lambda *arguments: pytest.fail("work was begun"))
    with pytest.raises(ValueError, match=words):
        SVCCV([1.0], [0.5], cv=3, scoring=scoring).fit(X, np.resize(y, 60))


@pytest.mark.parametrize("scoring", ["roc_auc", "f1_macro", "average_precision", "neg_log_loss", "v_measure_score"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_score_that_these_labels_have_is_not_refused(scoring: str, n_classes: int) -> None:
    X, y = make_classification(150, 4, n_classes=n_classes, n_informative=3, n_redundant=0, random_state=0)
    search = SVCCV([1.0], [0.5], cv=3, scoring=scoring, refit=False)
    if scoring == "neg_log_loss" or (scoring == "roc_auc" and n_classes == 3):
        with pytest.raises(ValueError, match="scoring must"):
            search.fit(X, y)
    else:
        assert np.isfinite(search.fit(X, y).best_score_)


@pytest.mark.parametrize("value", [np.nan, np.inf, None, "0.5", 1j, [0.5], {"score": 1.0}])
def test_a_score_that_is_no_finite_number_is_named_with_its_place(value: Any) -> None:
    X, y = moons(60)
    words = r"scoring must return a finite number, got .* for C=2, gamma=0\.5 in fold 0"
    with pytest.raises(ValueError, match=words):
        SVCCV([2.0], [0.5], scoring=lambda model, X, y: value).fit(X, y)


@pytest.mark.parametrize("value", [np.float32(0.5), np.array(0.5), True, np.True_, 1])
def test_numbers_of_any_type_are_scores(value: Any) -> None:
    X, y = moons(60)
    search = SVCCV([2.0], [0.5], cv=2, scoring=lambda model, X, y: value, refit=False).fit(X, y)
    assert search.best_score_ == float(value)


def test_a_fold_of_one_class_is_named_before_any_work(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = moons(60)
    monkeypatch.setattr(rounds_module.Search, "run", lambda *arguments: pytest.fail("work was begun"))
    one = np.flatnonzero(y == 1)
    with pytest.raises(ValueError, match=r"cv must leave at least two classes.* got 1 \(1\) in fold 1"):
        SVCCV([1.0], [0.5], cv=[(np.arange(60), [1, 2]), (one, [3, 4])]).fit(X, y)


def test_folds_may_be_masks_of_rows() -> None:
    X, y = moons(60)
    first = np.arange(60) % 2 == 0
    folds = [(np.flatnonzero(first), np.flatnonzero(~first)), (np.flatnonzero(~first), np.flatnonzero(first))]
    masks, numbers = (SVCCV(CS, [0.5], cv=each).fit(X, y) for each in ([(first, ~first), (~first, first)], folds))
    np.testing.assert_array_equal(masks.cv_results_["mean_test_score"], numbers.cv_results_["mean_test_score"])


@parametrize_with_checks([SVCCV([1.0], [0.5], cv=2)])
def test_scikit_learns_checks(estimator: Any, check: Any) -> None:
    check(estimator)
