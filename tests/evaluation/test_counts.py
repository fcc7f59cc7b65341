"""Measures of the four counts against scikit-learn's, and their cases of 0/0."""

import math

import numpy as np
import pytest
from sklearn import metrics

from kilogram.evaluation import (
    Confusion,
    accuracy,
    adjusted_r_squared,
    balanced_accuracy,
    class_report,
    confusion,
    one_versus_rest,
    r_squared,
    root_mean_squared_error,
    squared_correlation,
)


@pytest.fixture
def answers():
    rng = np.random.default_rng(0)
    return rng.integers(0, 2, 60), rng.integers(0, 2, 60)


def test_two_classes_agree_with_scikit_learn(answers):
    y, f = answers
    found = confusion(truth=y, prediction=f)
    assert [[found.tn, found.fp], [found.fn, found.tp]] == metrics.confusion_matrix(y, f).tolist()
    for mine, theirs in [
        (found.accuracy, metrics.accuracy_score), (found.precision, metrics.precision_score),
        (found.recall, metrics.recall_score), (found.f1, metrics.f1_score),
        (found.mcc, metrics.matthews_corrcoef),
        (found.balanced_accuracy, metrics.balanced_accuracy_score),
    ]:  # fmt: skip
        assert mine == pytest.approx(theirs(y, f))
    assert found.f(2.0) == pytest.approx(metrics.fbeta_score(y, f, beta=2))
    assert found.false_alarm_rate == pytest.approx(1 - found.specificity)
    assert found.miss_rate == pytest.approx(1 - found.sensitivity)
    assert found.informedness == pytest.approx(2 * found.balanced_accuracy - 1)
    assert found.negative_precision == pytest.approx(metrics.precision_score(1 - y, 1 - f))
    assert found.cost(1, 1) == pytest.approx(1 - found.accuracy)


def test_many_classes_and_their_three_means():
    rng = np.random.default_rng(1)
    y, f = rng.choice(list("abcd"), 80), rng.choice(list("abc"), 80)
    found = class_report(truth=y, prediction=f)
    theirs = metrics.classification_report(y, f, output_dict=True, zero_division=0)
    for name, means in [("macro avg", found.macro), ("weighted avg", found.weighted)]:
        row = theirs[name]
        assert means == pytest.approx((row["precision"], row["recall"], row["f1-score"]))
    assert found.micro == pytest.approx([found.accuracy] * 3)
    assert found.support == {c: int((y == c).sum()) for c in "abcd"}
    assert accuracy(y, f) == pytest.approx(found.accuracy)
    assert balanced_accuracy(y, f) == pytest.approx(metrics.balanced_accuracy_score(y, f))
    assert sum(one.tp for one in one_versus_rest(truth=y, prediction=f).values()) == (y == f).sum()


def test_no_query_no_result():
    none = Confusion(tp=0, fp=0, tn=5, fn=0)
    assert math.isnan(none.recall)
    assert math.isnan(none.precision)
    assert math.isnan(none.f1)
    assert none.mcc == 0
    assert math.isnan(Confusion(0, 0, 0, 0).mcc)
    assert Confusion(tp=0, fp=1, tn=5, fn=2).f1 == 0


def test_swapped_arguments_cannot_be_given_by_position():
    with pytest.raises(TypeError):
        class_report([0, 1], [1, 1])
    with pytest.raises(ValueError, match=r"same (length|shape)"):
        confusion(truth=[0, 1], prediction=[0])


def test_measures_of_numbers():
    rng = np.random.default_rng(2)
    y = rng.normal(size=50)
    f = y + rng.normal(size=50)
    assert r_squared(y, f) == pytest.approx(metrics.r2_score(y, f))
    assert root_mean_squared_error(y, f) == pytest.approx(metrics.root_mean_squared_error(y, f))
    assert math.isnan(r_squared([1, 1], [1, 2]))
    # an offset and a scale cost R^2, not the squared correlation
    assert squared_correlation(y, 3 * f + 1) == pytest.approx(squared_correlation(y, f))
    assert r_squared(y, 3 * f + 1) < r_squared(y, f) < squared_correlation(y, f)
    assert adjusted_r_squared(y, f, 3) < r_squared(y, f)
    with pytest.raises(ValueError, match="more than coefficients"):
        adjusted_r_squared([1, 2], [1, 2], 3)
