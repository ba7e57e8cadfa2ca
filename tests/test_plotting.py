"""Displays show the numbers of the fit."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pytest
from sklearn.datasets import make_blobs, make_moons
from sklearn.exceptions import NotFittedError

from slackwater import SVC, SBPClassifier
from slackwater.plotting import ConvergenceDisplay, MarginDisplay, WaterDisplay

mpl.use("Agg")


@pytest.fixture(autouse=True)
def _no_figures_left():
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


@pytest.fixture(scope="module")
def moons():
    return make_moons(300, noise=0.3, random_state=0)


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(120, centers=3, cluster_std=3.0, random_state=0)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_gap_is_drawn_against_what_is_asked_for(moons):
    model = SBPClassifier(0.05, max_iter=500, tol=0.01, random_state=0).fit(*moons)
    for x in ("step", "seconds", "evaluations"):
        display = ConvergenceDisplay.from_estimator(model, x=x, color="red")
        (line,) = display.lines_
        seen = np.isfinite(model.history_["gap"])
        np.testing.assert_array_equal(line.get_xdata(), model.history_[x][seen])
        np.testing.assert_array_equal(line.get_ydata(), model.history_["gap"][seen])
        assert line.get_color() == "red"
        assert display.ax_.get_yscale() == "log"
        assert display.holdout_ax_ is None
    with pytest.raises(ValueError, match="x must be one of step, seconds, evaluations, got 'epochs'"):
        ConvergenceDisplay.from_estimator(model, x="epochs")


def test_hold_out_errors_have_an_axis_of_their_own(moons):
    model = SVC(early_stopping=True, tol=1e-4, random_state=0).fit(*moons)
    display = ConvergenceDisplay.from_estimator(model)
    drawn = display.holdout_ax_.get_lines()[0].get_ydata()
    np.testing.assert_allclose(drawn, 100 * model.history_["holdout_error"])


def test_several_problems_have_a_line_each(blobs):
    model = SVC(multi_class="ovr", warm_start=True).fit(*blobs)
    assert len(ConvergenceDisplay.from_estimator(model).lines_) == 3


def test_the_water_is_the_slack_of_the_model(moons):
    X, y = moons
    model = SVC(C=1.0, gamma=1.0).fit(X, y)
    display = WaterDisplay.from_estimator(model, X, y)
    margins = np.where(y == 1, 1, -1) * model.decision_function(X)
    assert display.volume == pytest.approx(np.maximum(0, 1 - margins).sum())
    assert display.n_under_water == np.sum(margins < 1)
    np.testing.assert_allclose(display.line_.get_ydata(), np.sort(margins))
    assert f"{display.n_under_water:,} examples" in display.ax_.get_legend().get_texts()[1].get_text()


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_water_and_margins_of_several_classes(blobs, multi_class):
    X, y = blobs
    model = SVC(multi_class=multi_class).fit(X, y)
    assert WaterDisplay.from_estimator(model, X, y).n_under_water > 0
    display = MarginDisplay.from_estimator(model, X, y)
    assert len(display.histograms_) == 3


def test_every_example_is_in_a_histogram_of_its_class(moons):
    X, y = moons
    model = SVC(gamma=1.0).fit(X, y)
    display = MarginDisplay.from_estimator(model, X, y)
    tops = [sum(bar.get_height() for bar in bars) for bars in display.histograms_]
    assert tops == [np.sum(y == 0), np.sum(y == 1)]
    margins = np.where(y == 1, 1, -1) * model.decision_function(X)
    assert (display.n_wrong, display.n_within) == (np.sum(margins < 0), np.sum((margins >= 0) & (margins < 1)))


def test_displays_draw_where_they_are_told_to_and_can_be_drawn_again(moons):
    import matplotlib.pyplot as plt

    X, y = moons
    model = SVC().fit(X, y)
    _, axes = plt.subplots(3)
    made = [
        ConvergenceDisplay.from_estimator(model, ax=axes[0]),
        WaterDisplay.from_estimator(model, X, y, ax=axes[1]),
        MarginDisplay.from_estimator(model, X, y, ax=axes[2]),
    ]
    for display, ax in zip(made, axes, strict=True):
        assert display.ax_ is ax
        assert display.plot().ax_ is not ax


def test_what_is_not_fitted_is_refused(moons):
    with pytest.raises(NotFittedError):
        ConvergenceDisplay.from_estimator(SVC())
    for display in (WaterDisplay, MarginDisplay):
        with pytest.raises(NotFittedError):
            display.from_estimator(SVC(), *moons)


def test_a_model_without_a_history_is_named(moons, tmp_path):
    from slackwater import load

    SVC().fit(*moons).to_libsvm(tmp_path / "m")
    with pytest.raises(ValueError, match="must have a history_"):
        ConvergenceDisplay.from_estimator(load(tmp_path / "m"))
