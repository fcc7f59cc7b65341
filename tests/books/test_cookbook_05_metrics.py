"""Cookbook 5: measures from the four counts of a confusion matrix, and ROC curves."""

from __future__ import annotations

import math

import numpy as np
import pytest
from book_checks import covers
from sklearn.metrics import confusion_matrix, roc_auc_score

from kilogram.evaluation import accuracy, auc, class_report, confusion, curve, one_versus_rest

RNG = np.random.default_rng(0)
TRUTH = RNG.integers(0, 2, 400)
GUESS = np.where(RNG.uniform(size=400) < 0.8, TRUTH, 1 - TRUTH)


def counts(truth, guess):
    """TP, FP, TN, FN by hand."""
    cells = ((1, 1), (1, 0), (0, 0), (0, 1))
    return tuple(int(np.sum((guess == g) & (truth == t))) for g, t in cells)


@covers("cookbook M5.1", "cookbook M5.2", "cookbook M5.3", "cookbook M5.4", "cookbook M5.5",
        "cookbook T5.1", "cookbook E5.3")  # fmt: skip
def test_M5_the_measures_by_hand():
    TP, FP, TN, FN = counts(TRUTH, GUESS)
    found = confusion(truth=TRUTH, prediction=GUESS)
    assert (found.tp, found.fp, found.tn, found.fn) == (TP, FP, TN, FN)
    recall, precision = TP / (TP + FN), TP / (TP + FP)
    assert found.accuracy == pytest.approx((TP + TN) / 400)
    assert accuracy(TRUTH, GUESS) == found.accuracy <= 1  # a fraction, not a percentage
    assert found.sensitivity == found.recall == pytest.approx(recall)
    assert found.specificity == pytest.approx(TN / (TN + FP))
    assert found.precision == pytest.approx(precision)
    assert found.f1 == pytest.approx(2 / (1 / precision + 1 / recall))
    assert confusion(truth=TRUTH, prediction=TRUTH).f1 == 1


@covers("cookbook E5.1", "cookbook E5.2")
def test_E5_the_misprinted_cells_of_the_table():
    found = confusion(truth=TRUTH, prediction=GUESS)
    assert confusion_matrix(TRUTH, GUESS).tolist() == [[found.tn, found.fp], [found.fn, found.tp]]
    assert found.fn != found.fp  # predicted negative, truly positive: a false negative
    assert np.sum(TRUTH == 1) == found.tp + found.fn
    # "predicted positive + FN", as printed
    assert np.sum(GUESS == 1) + found.fn != np.sum(TRUTH == 1)
    assert np.sum(TRUTH == 0) == found.tn + found.fp


@covers("cookbook E5.4")
def test_E5_4_specificity_does_not_make_a_positive_prediction_reliable():
    truth = np.r_[np.ones(10, int), np.zeros(990, int)]
    guess = truth.copy()
    guess[10:60] = 1  # 50 false positives
    found = confusion(truth=truth, prediction=guess)
    assert found.specificity > 0.94
    assert found.precision < 0.2


@covers("cookbook E5.5", "slides B5.2")
def test_E5_5_nothing_over_nothing_is_undefined():
    truth = np.array([0, 1, 0, 0, 0])
    missed = confusion(truth=truth, prediction=np.array([1, 0, 0, 0, 0]))
    assert missed.accuracy == 0.6
    assert missed.precision == missed.recall == missed.f1 == 0  # 0 over something
    better = confusion(truth=truth, prediction=np.array([1, 1, 0, 0, 0]))
    assert np.allclose([better.precision, better.recall, better.f1], [0.5, 1, 2 / 3])
    no_positive_prediction = confusion(truth=truth, prediction=np.zeros(5, int))
    assert math.isnan(no_positive_prediction.precision)  # 0/0
    no_positive = confusion(truth=np.zeros(5, int), prediction=np.zeros(5, int))
    assert math.isnan(no_positive.recall)
    assert math.isnan(no_positive.f1)
    # a mean over classes needs a number: there an undefined value counts as 0
    report = class_report(truth=truth, prediction=np.zeros(5, int))
    assert report.macro[0] == pytest.approx(0.8 / 2)


@covers("cookbook M5.6", "cookbook M5.7", "cookbook X5.1", "cookbook T5.2", "cookbook T5.3",
        "cookbook G5.1")  # fmt: skip
def test_X5_1_three_histograms_and_their_curves():
    rng = np.random.default_rng(1)
    truth = np.repeat([0, 1], 500)
    areas = []
    for d in (3, 0, -3):
        score = rng.normal(size=1000) + d * truth
        found = curve(truth, score)
        areas.append(auc(truth, score))
        assert found.area == pytest.approx(areas[-1])
        assert areas[-1] == pytest.approx(roc_auc_score(truth, score))
        x, y = found.false_alarms, found.hits
        assert (x[0], y[0], x[-1], y[-1]) == (0, 0, 1, 1)
        assert np.all(np.diff(x) >= 0)
        assert np.all(np.diff(y) >= 0)
        assert auc(truth, -score) == pytest.approx(1 - areas[-1])
    assert areas[0] > 0.95
    assert 0.4 < areas[1] < 0.6
    assert areas[2] < 0.05  # as good as the first one, after flipping the score
    tied = curve([0, 1, 0, 1], [0.5, 0.5, 0.5, 0.5])
    assert tied.false_alarms.tolist() == [0, 1]  # ties are passed together
    at_zero = confusion(truth=truth, prediction=(score > 0).astype(int))
    assert at_zero.false_alarm_rate == pytest.approx(1 - at_zero.specificity)  # type I error
    assert at_zero.miss_rate == pytest.approx(1 - at_zero.sensitivity)  # type II error


@covers("cookbook T5.4", "cookbook T5.5")
def test_T5_swapped_labels_and_one_against_the_rest():
    found = confusion(truth=TRUTH, prediction=GUESS)
    swapped = confusion(truth=1 - TRUTH, prediction=1 - GUESS)
    assert found.sensitivity == pytest.approx(swapped.specificity)
    truth, guess = RNG.integers(0, 4, 200), RNG.integers(0, 4, 200)
    ones = one_versus_rest(truth=truth, prediction=guess)
    assert sum(one.tp for one in ones.values()) == np.sum(truth == guess)
