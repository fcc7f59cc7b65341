"""Cookbook 5: what the counts of a confusion table say. The functions are scikit-learn's."""

from __future__ import annotations

import numpy as np
from book_checks import covers
from sklearn.metrics import (
    accuracy_score,
    confusion_matrix,
    f1_score,
    precision_score,
    recall_score,
    roc_auc_score,
    roc_curve,
)

RNG = np.random.default_rng(0)
TRUTH = RNG.integers(0, 2, 400)
GUESS = np.where(RNG.uniform(size=400) < 0.8, TRUTH, 1 - TRUTH)


def counts(truth, guess):
    """TP, FP, TN, FN."""
    cells = ((1, 1), (1, 0), (0, 0), (0, 1))
    return tuple(int(np.sum((guess == g) & (truth == t))) for g, t in cells)


@covers("cookbook M5.1", "cookbook M5.2", "cookbook M5.3", "cookbook M5.4", "cookbook M5.5",
        "cookbook T5.1", "cookbook E5.3")  # fmt: skip
def test_M5_the_measures_by_hand():
    TP, FP, TN, FN = counts(TRUTH, GUESS)
    accuracy, recall = (TP + TN) / 400, TP / (TP + FN)
    specificity, precision = TN / (TN + FP), TP / (TP + FP)
    assert np.isclose(accuracy_score(TRUTH, GUESS), accuracy)
    assert 0 <= accuracy <= 1  # a share, not the printed percentage
    assert np.isclose(recall_score(TRUTH, GUESS), recall)
    assert np.isclose(recall_score(TRUTH, GUESS, pos_label=0), specificity)
    assert np.isclose(precision_score(TRUTH, GUESS), precision)
    harmonic = 2 / (1 / precision + 1 / recall)
    assert np.isclose(f1_score(TRUTH, GUESS), harmonic)
    assert f1_score(TRUTH, TRUTH) == 1


@covers("cookbook E5.1", "cookbook E5.2")
def test_E5_the_misprinted_cells_of_the_table():
    TP, FP, TN, FN = counts(TRUTH, GUESS)
    assert confusion_matrix(TRUTH, GUESS).tolist() == [[TN, FP], [FN, TP]]
    assert FN != FP  # predicted negative, truly positive: a false negative
    assert np.sum(TRUTH == 1) == TP + FN
    assert np.sum(GUESS == 1) + FN != np.sum(TRUTH == 1)  # "predicted positive + FN", as printed
    assert np.sum(TRUTH == 0) == TN + FP


@covers("cookbook E5.4")
def test_E5_4_specificity_does_not_make_a_positive_answer_reliable():
    truth = np.r_[np.ones(10, int), np.zeros(990, int)]
    guess = truth.copy()
    guess[10:60] = 1  # 50 false alarms
    assert recall_score(truth, guess, pos_label=0) > 0.94
    assert precision_score(truth, guess) < 0.2


@covers("cookbook E5.5", "slides B5.2")
def test_E5_5_nothing_over_nothing_is_zero():
    truth = np.array([0, 1, 0, 0, 0])
    guess = np.array([1, 0, 0, 0, 0])
    assert accuracy_score(truth, guess) == 0.6
    for score in (precision_score, recall_score, f1_score):
        assert score(truth, guess, zero_division=0) == 0
    better = np.array([1, 1, 0, 0, 0])
    found = [f(truth, better) for f in (accuracy_score, precision_score, recall_score, f1_score)]
    assert np.allclose(found, [0.8, 0.5, 1, 2 / 3])
    assert precision_score(truth, np.zeros(5), zero_division=0) == 0


@covers("cookbook M5.6", "cookbook M5.7", "cookbook X5.1", "cookbook T5.2", "cookbook T5.3",
        "cookbook G5.1")  # fmt: skip
def test_X5_1_three_histograms_and_their_curves():
    rng = np.random.default_rng(1)
    truth = np.repeat([0, 1], 500)
    areas = []
    for d in (3, 0, -3):
        score = rng.normal(size=1000) + d * truth
        areas.append(roc_auc_score(truth, score))
        x, y, _ = roc_curve(truth, score)
        assert (x[0], y[0], x[-1], y[-1]) == (0, 0, 1, 1)
        assert np.all(np.diff(x) >= 0)
        assert np.all(np.diff(y) >= 0)
        assert np.isclose(roc_auc_score(truth, -score), 1 - areas[-1])
    assert areas[0] > 0.95
    assert 0.4 < areas[1] < 0.6
    assert areas[2] < 0.05  # as good as the first one, after flipping the score
    tied = roc_curve([0, 1, 0, 1], [0.5, 0.5, 0.5, 0.5])
    assert tied[0].tolist() == [0, 1]  # ties are passed together
    threshold_errors = confusion_matrix(truth, (score > 0).astype(int))
    assert np.isclose(threshold_errors[0, 1] / 500, 1 - recall_score(truth, score > 0, pos_label=0))


@covers("cookbook T5.4", "cookbook T5.5")
def test_T5_swapped_labels_and_one_against_the_rest():
    assert np.isclose(recall_score(TRUTH, GUESS), recall_score(1 - TRUTH, 1 - GUESS, pos_label=0))
    truth, guess = RNG.integers(0, 4, 200), RNG.integers(0, 4, 200)
    right = sum(counts((truth == k).astype(int), (guess == k).astype(int))[0] for k in range(4))
    assert right == np.sum(truth == guess)
