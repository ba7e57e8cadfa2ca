"""The data decide which strategy is taken, and every strategy arrives where the exact one does."""

from __future__ import annotations

import signal
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from fake_time import FakeTime, timed_by
from fitting_problems import DATA, FEW, N, few, noisy, objective, separated, smooth, svc
from slackwater import SVC
from slackwater.errors import ConvergenceWarning, KernelError
from slackwater.fitting import active_set
from slackwater.fitting.sample import shuffled_by_class

BRIEF = FakeTime(tick=2e-6)  # time is up at once, and yet no machine is too slow to fit a sample


def share_of_larger_class(y):
    """The score of a model that always says the same."""
    return np.bincount(y).max() / len(y)


every_kind_of_data = pytest.mark.parametrize("kind", DATA)


@every_kind_of_data
def test_the_data_decide_which_strategy_is_taken(kind):
    make, expected = DATA[kind]
    X, y, parameters = make()
    model = svc(**parameters).fit(X, y)
    assert model.strategy_ == expected
    own = model.decisions_.of(expected)
    assert len(own) >= 1
    assert own[-1].outcome == "taken"
    assert {each.outcome for each in model.decisions_} <= {"taken", "declined"}


def test_few_examples_are_trained_exactly_and_the_decision_says_so():
    X, y, parameters = noisy(500)
    model = SVC(**parameters).fit(X, y)
    assert model.strategy_ == "exact"
    assert model.certified_
    (decision,) = model.decisions_
    assert decision[:5] == ("exact", "examples", 500.0, "<= 3072", "taken")


@pytest.mark.parametrize("strategy", ["exact", "subspace", "screening"])
@pytest.mark.parametrize("make", [noisy, separated])
def test_a_forced_strategy_is_the_one_that_is_taken(strategy, make):
    X, y, parameters = make(9000)
    model = SVC(strategy=strategy, random_state=0, **parameters).fit(X, y)  # the usual settings decline some of these
    assert model.strategy_ == strategy
    assert not any(each.outcome == "declined" for each in model.decisions_.of(strategy))
    assert model.score(X, y) > 0.75


@pytest.mark.parametrize("strategy", ["exact", "subspace", "screening", "sparse_kernel"])
@pytest.mark.parametrize("n", [40, 600])
def test_a_strategy_can_be_forced_on_very_few_examples(strategy, n):
    X, y, parameters = DATA["narrow"][0](n)
    model = SVC(strategy=strategy, random_state=0, **parameters).fit(X, y)
    assert model.strategy_ == strategy
    assert model.score(X, y) > share_of_larger_class(y) + 0.2


@pytest.mark.parametrize(("n", "gap"), [(600, 1e-3), (9000, 1e-4)])
def test_the_exact_strategy_if_forced_proves_the_default_gap(n, gap):
    X, y, parameters = separated(n)
    model = SVC(strategy="exact", random_state=0, **parameters).fit(X, y)
    assert (model.strategy_, model.certified_, model.stop_reason_) == ("exact", True, "tol")
    assert model.gap_ <= gap


def test_the_exact_strategy_if_forced_goes_on_to_another_tolerance():
    X, y, parameters = separated(9000)
    model = SVC(strategy="exact", warm_start=True, tol=0.1, random_state=0, **parameters).fit(X, y)
    before = model.n_iter_
    model.set_params(tol=0.01).fit(X, y)
    assert model.n_iter_ > before


@pytest.mark.parametrize("strategy", ["subspace", "screening", "sparse_kernel"])
@pytest.mark.parametrize("budget", [{"max_time": 1e-6}, {"max_iter": 2}])
def test_a_forced_strategy_that_runs_out_of_budget_leaves_a_usable_model(strategy, budget):
    X, y, parameters = DATA["narrow"][0](9000)
    with pytest.warns(ConvergenceWarning):
        model = timed_by(BRIEF, SVC(strategy=strategy, random_state=0, **budget, **parameters)).fit(X, y)
    assert model.stop_reason_ == next(iter(budget))
    assert model.strategy_ == "sample"
    assert model.score(X, y) > share_of_larger_class(y) + 0.02  # of examples that hardly tell of one another
    assert model.score(model.support_vectors_, y[model.support_]) > 0.95


@pytest.mark.parametrize(
    ("parameters", "reason"),
    [
        ({"kernel": "precomputed"}, "precomputed"),
        ({"kernel": "sigmoid"}, "semi-definite"),
        ({"max_kernel_evals": 10**7}, "max_kernel_evals"),
        ({"tol": 1e-3}, "tol"),
    ],
)
@pytest.mark.filterwarnings("ignore:the sigmoid kernel")
def test_a_strategy_that_cannot_serve_the_fit_is_refused_before_any_work(parameters, reason):
    X, y, _ = noisy(60)
    X = X @ X.T if parameters.get("kernel") == "precomputed" else X
    with pytest.raises(ValueError, match=f"strategy='subspace' cannot serve this fit: .*{reason}"):
        SVC(strategy="subspace", **parameters).fit(X, y)


def test_sparse_rows_cannot_be_forced_on_another_kernel():
    X, y, _ = noisy(300)
    with pytest.raises(ValueError, match="strategy='sparse_kernel' cannot serve this data"):
        SVC(strategy="sparse_kernel", kernel="laplacian").fit(X, y)


def test_an_unknown_strategy_is_refused_with_those_there_are():
    X, y, _ = noisy(60)
    with pytest.raises(
        ValueError, match="strategy must be one of auto, low_rank, sparse_kernel, subspace, screening, exact"
    ):
        SVC(strategy="fast").fit(X, y)


def test_where_hardly_any_example_is_a_misfit_a_smooth_subspace_is_declined():
    X, y, parameters = smooth(blur=0.1)
    model = svc(**parameters).fit(X, y)
    assert model.strategy_ != "subspace"
    assert any(each.outcome == "declined" for each in model.decisions_.of("subspace"))


@every_kind_of_data
def test_the_error_is_that_of_the_exact_solution(kind):
    make, _ = DATA[kind]
    X, y, parameters = make()
    X_test, y_test = X[8500:], y[8500:]
    X, y = X[:8500], y[:8500]
    model = svc(**parameters).fit(X, y)
    exact = SVC(random_state=0, tol=1e-3, **parameters).fit(X, y)
    assert model.score(X_test, y_test) >= exact.score(X_test, y_test) - 0.01
    assert 0.0 <= model.gap_ <= 0.1
    assert model.stop_reason_ == ("converged" if model.strategy_ == "subspace" else "tol")
    assert np.mean(model.predict(X_test) == exact.predict(X_test)) > 0.95


@every_kind_of_data
def test_the_same_seed_gives_the_same_model(kind):
    X, y, parameters = DATA[kind][0]()
    one, other = (svc(random_state=3, **parameters).fit(X, y) for _ in range(2))
    assert_array_equal(one.support_, other.support_)
    assert_array_equal(one.dual_coef_, other.dual_coef_)
    of_first = one.n_support_[0]
    assert all((np.diff(part) > 0).all() for part in (one.support_[:of_first], one.support_[of_first:]))
    for ours, theirs in zip(one.decisions_, other.decisions_, strict=True):
        assert ours[:5] == theirs[:5]  # all but the seconds


@every_kind_of_data
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_objective_is_close_to_the_optimum_and_no_further_than_the_gap_says(kind, fit_intercept):
    X, y, parameters = DATA[kind][0](9000)
    model = svc(fit_intercept=fit_intercept, **parameters).fit(X, y)
    exact = SVC(random_state=0, tol=1e-3, fit_intercept=fit_intercept, **parameters).fit(X, y)
    cost, bound = objective(model, X, y), exact.history_["bound"][-1]
    assert cost <= 1.15 * bound
    assert 1.0 - bound / cost <= model.gap_ + (1e-3 if model.certified_ else 0.05)


@pytest.mark.parametrize("kind", ["noisy", "separated"])
def test_several_classes_share_what_is_computed(kind):
    X, y, parameters = DATA[kind][0]()
    y = y + 2 * (X[:, 3] > 0.5)
    model = svc(multi_class="ovr", **parameters).fit(X[:9000], y[:9000])
    exact = SVC(random_state=0, tol=1e-2, multi_class="ovr", **parameters).fit(X[:9000], y[:9000])
    assert model.gap_.shape == (len(np.unique(y)),)
    assert model.score(X[9000:], y[9000:]) >= exact.score(X[9000:], y[9000:]) - 0.02


@every_kind_of_data
def test_an_example_of_weight_zero_does_not_count(kind):
    X, y, parameters = DATA[kind][0]()
    weights = np.ones(len(y))
    weights[::4] = 0.0
    with_zeros = svc(**parameters).fit(X, y, sample_weight=weights)
    without = svc(**parameters).fit(X[weights > 0], y[weights > 0])
    assert_array_equal(with_zeros.dual_coef_, without.dual_coef_)


@every_kind_of_data
def test_little_time_gives_a_usable_model_nevertheless(kind):
    X, y, parameters = DATA[kind][0]()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = timed_by(BRIEF, svc(max_time=1e-6, **parameters)).fit(X, y)
        stepwise = svc(max_iter=2, **parameters).fit(X, y)
    assert model.stop_reason_ == "max_time"
    assert model.strategy_ == "sample"
    assert (stepwise.stop_reason_, stepwise.n_iter_) == ("max_iter", 2)
    for each in (model, stepwise):
        assert each.score(X, y) > share_of_larger_class(y) + 0.02


def test_a_default_fit_that_runs_out_of_steps_names_its_strategy_and_no_tolerance():
    X, y, parameters = separated(9000)
    with pytest.warns(ConvergenceWarning) as caught:
        model = svc(max_iter=3, **parameters).fit(X, y)
    (warning,) = [str(each.message) for each in caught]
    assert f"strategy ({model.strategy_})" in warning
    assert "estimated relative gap" in warning
    assert "tol" not in warning


def test_a_stated_tolerance_is_certified_by_the_exact_strategy():
    X, y, parameters = separated(8500)
    model = SVC(random_state=0, tol=1e-3, **parameters).fit(X, y)
    assert (model.strategy_, model.certified_) == ("exact", True)
    assert model.gap_ <= 1e-3
    assert objective(model, X, y) == pytest.approx(model.history_["objective"][-1], rel=1e-3)


def test_every_class_has_examples_in_the_sample():
    """Otherwise a rare class would have no model."""
    codes = np.repeat([0, 1, 2], [40, 9000, 20])
    examples = SimpleNamespace(order=np.random.default_rng(0).permutation(len(codes)), codes=codes)
    shuffled = shuffled_by_class(examples, 32, np.random.default_rng(1))
    assert_array_equal(np.sort(shuffled), np.arange(len(codes)))
    assert_array_equal(np.bincount(codes[shuffled[: 32 + 32 + 20]]), [32, 32, 20])


def test_the_tolerance_is_the_coarsest_that_unseen_examples_do_not_tell_from_the_finest():
    X, y, parameters = separated(9000)
    generous = svc(few(tolerance={"max_deficit": 1.0}), **parameters).fit(X, y)
    strict = svc(few(tolerance={"max_deficit": 0.0}), **parameters).fit(X, y)
    assert [each.outcome for each in generous.decisions_.of("sample")] == ["taken"]
    assert [each.outcome for each in strict.decisions_.of("sample")] == ["declined", "declined"]
    assert strict.history_["gap"][-1] <= FEW.tolerance.gaps[-1] < generous.history_["gap"][-1]


def test_rows_in_double_precision_stay_so_where_values_cancel():
    """A linear kernel of points far from the origin: single precision would lose what tells the classes apart."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((8500, 20))
    y = (X[:, 0] + X[:, 1] + 0.1 * rng.standard_normal(8500) > 0).astype(int)
    model = SVC(kernel="linear", random_state=0).fit(X + 300.0, y)
    assert model.stop_reason_ == "tol"
    assert model.score(X + 300.0, y) > 0.97


@pytest.mark.parametrize("kind", ["separated", "narrow"])
def test_slack_nu_counts_all_examples(kind):
    X, y, parameters = DATA[kind][0](9000)
    model = svc(**{**parameters, "C": 0.5}).fit(X, y)
    signs = np.where(y == 1, 1.0, -1.0)
    slack = np.maximum(0.0, 1.0 - signs * model.decision_function(X)).mean()
    assert model.slack_nu_ == pytest.approx(slack * model.margin_, rel=0.15)


@pytest.mark.parametrize("at", ["admit", "change", "screen"])
def test_ctrl_c_between_stages_leaves_a_model(monkeypatch, at):
    original = getattr(active_set.ActiveSet, at)
    pressed = []

    def interrupted(self, *args):
        if not pressed:
            pressed.append(at)
            signal.raise_signal(signal.SIGINT)
        return original(self, *args)

    monkeypatch.setattr(active_set.ActiveSet, at, interrupted)
    X, y, parameters = separated()
    before = signal.getsignal(signal.SIGINT)
    model = svc(**parameters)
    with pytest.raises(KeyboardInterrupt, match="kept"):
        model.fit(X, y)
    assert pressed == [at]
    assert model.stop_reason_ == "interrupted"
    assert model.score(X, y) > 0.8
    assert signal.getsignal(signal.SIGINT) is before


def test_the_history_is_in_order_with_several_classes():
    X, y, parameters = separated()
    y = y + 2 * (X[:, 3] > 0.5)
    together = svc(multi_class="ovr", **parameters).fit(X, y)
    assert (np.diff(together.history_["evaluations"]) >= 0).all()
    in_pairs = svc(**parameters).fit(X, y)
    assert (np.diff(in_pairs.history_["seconds"]) >= 0).all()
    assert set(in_pairs.history_["problem"]) == set(range(6))


@pytest.mark.parametrize(
    ("min_examples", "max_support_fraction", "strategy"),
    [(9000, 0.75, "screening"), (9001, 0.75, "exact"), (4501, 0.0, "exact")],
)
def test_few_examples_or_mostly_support_vectors_are_trained_on_all_at_once(
    min_examples, max_support_fraction, strategy
):
    own = {"min_examples": min_examples, "max_support_fraction": max_support_fraction}
    X, y, parameters = separated(9000)
    assert svc(few(screening=own), **parameters).fit(X, y).strategy_ == strategy


def test_all_at_once_comes_to_the_gap_and_the_error_of_the_exact_solution():
    X, y, parameters = separated(2 * N)
    model = svc(few(screening={"min_examples": 10**6}), **parameters).fit(X[:N], y[:N])
    exact = SVC(random_state=0, tol=1e-3, **parameters).fit(X[:N], y[:N])
    assert model.strategy_ == "exact"
    assert model.gap_ <= 0.05
    assert abs(model.score(X[N:], y[N:]) - exact.score(X[N:], y[N:])) <= 0.005


def test_an_error_names_points_by_their_rows_in_the_data():
    X, y, _ = separated()
    X, y = np.concatenate([X[:50], X]), np.concatenate([y[:50], y])  # copies are merged: inside, numbers are others
    bad = [5000, 5001]
    X[bad], y[bad] = 1e20, [0, 1]  # whose square overflows; of two labels, so that one of them is a violator
    with pytest.raises(KernelError, match=r"points (500[01] and \d+|\d+ and 500[01]) is"):
        svc(C=1.0, kernel="linear").fit(X, y)


def test_the_limits_that_the_docstring_names_are_the_ones_in_use():
    settings = SVC._settings
    text = " ".join(SVC.__doc__.split())
    for number in (
        f"fewer than {settings.min_examples} examples",
        f"up to {settings.subspace.comparison_examples:,} other examples",
        f"up to {settings.subspace.max_smooth_landmarks} landmarks",
        f"up to {settings.tolerance.comparison_examples} other examples",
        f"worse by {100 * settings.tolerance.max_deficit:g} points of test error (a tolerance)",
        f"or {100 * settings.subspace.max_deficit:g} points (a subspace)",
    ):
        assert number in text, number
