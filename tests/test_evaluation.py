"""Measures and their intervals against scikit-learn, SciPy and simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binomtest
from sklearn.metrics import (
    balanced_accuracy_score,
    confusion_matrix,
    f1_score,
    precision_score,
    recall_score,
    roc_auc_score,
)

from slackwater.evaluation import area_under_roc, evaluate_predictions, wilson_interval


@pytest.mark.parametrize(("part", "whole"), [(0, 10), (10, 10), (3, 10), (997, 1000), (1, 1)])
def test_shares_have_wilsons_interval(part, whole):
    expected = binomtest(part, whole).proportion_ci(0.9, method="wilson")
    assert wilson_interval(part, whole, 0.9) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_measures_are_those_of_scikit_learn():
    rng = np.random.default_rng(0)
    classes = np.array(["a", "b", "c"])
    y = rng.choice(classes, 500, p=[0.6, 0.3, 0.1])
    predicted = np.where(rng.random(500) < 0.7, y, rng.choice(classes, 500))
    found = evaluate_predictions(y, predicted, classes)
    assert np.array_equal(found.confusion, confusion_matrix(y, predicted))
    assert found.overall["accuracy"].value == pytest.approx(np.mean(y == predicted))
    assert found.overall["balanced accuracy"].value == pytest.approx(balanced_accuracy_score(y, predicted))
    assert found.overall["macro F1"].value == pytest.approx(f1_score(y, predicted, average="macro"))
    assert [m.value for m in found.precision] == pytest.approx(precision_score(y, predicted, average=None))
    assert [m.value for m in found.recall] == pytest.approx(recall_score(y, predicted, average=None))
    assert all(m.low < m.value < m.high for m in found.overall.values())


def test_the_area_under_the_curve_is_that_of_scikit_learn_with_ties():
    rng = np.random.default_rng(0)
    positive = rng.random(300) < 0.4
    scores = np.round(positive + rng.standard_normal(300), 1)
    found = area_under_roc(positive, scores)
    assert found.value == pytest.approx(roc_auc_score(positive, scores))
    assert found.low < found.value < found.high
    assert all(math.isnan(value) for value in area_under_roc(np.ones(3, dtype=bool), np.arange(3.0)))


def test_intervals_hold_the_truth_as_often_as_they_say():
    """Scores of unit variance, apart by one: the area is Φ(1/√2) = 0.7602. 400 samples, so ±2.2 points at 95 %."""
    rng = np.random.default_rng(0)
    truth, held = 0.7602499, 0
    for _ in range(400):
        positive = np.arange(150) < 60
        held += (lambda m: m.low <= truth <= m.high)(area_under_roc(positive, positive + rng.standard_normal(150)))
    assert 0.92 <= held / 400 <= 0.98


def test_a_class_that_does_not_occur_has_no_recall():
    found = evaluate_predictions(np.array([0, 0, 1]), np.array([0, 2, 1]), np.array([0, 1, 2]))
    assert math.isnan(found.recall[2].value)
    assert found.precision[2].value == 0.0
