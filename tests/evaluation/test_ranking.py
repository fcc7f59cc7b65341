"""Curves, areas, DeLong's intervals and thresholds: against oracles and by coverage."""

import numpy as np
import pytest
from scipy import stats
from sklearn import metrics

from kilogram.evaluation import (
    auc,
    auc_interval,
    average_precision,
    best_threshold,
    compare_auc,
    curve,
    likelihood_ratio_threshold,
    probability_threshold,
    rows_interval,
)


def scored(seed, n=80, shift=1.0, ties=False):
    rng = np.random.default_rng(seed)
    y = np.tile([0, 1], n // 2)
    s = rng.normal(size=n) + shift * y
    return y, np.round(s) if ties else s


@pytest.mark.parametrize("ties", [False, True])
def test_areas_agree_with_scikit_learn(ties):
    y, s = scored(0, ties=ties)
    found = curve(y, s)
    assert auc(y, s) == pytest.approx(metrics.roc_auc_score(y, s))
    assert found.area == pytest.approx(auc(y, s))
    assert average_precision(y, s) == pytest.approx(metrics.average_precision_score(y, s))
    assert auc(y, -s) == pytest.approx(1 - auc(y, s))
    assert auc(y.astype(str), s, positive="1") == auc(y, s)


def test_delong_equals_its_definition_over_pairs():
    y, s = scored(1, 30, ties=True)
    ones, zeros = s[y == 1], s[y == 0]
    psi = (ones[:, None] > zeros) + 0.5 * (ones[:, None] == zeros)
    variance = psi.mean(1).var(ddof=1) / len(ones) + psi.mean(0).var(ddof=1) / len(zeros)
    found = auc_interval(y, s)
    a = psi.mean()
    half = stats.norm.ppf(0.975) * np.sqrt(variance) / (a * (1 - a))
    ends = 1 / (1 + np.exp(-(np.log(a / (1 - a)) + np.array([-half, half]))))
    assert (found.mean, found.low, found.high) == pytest.approx((a, *ends))


def test_delong_covers_the_true_area():
    true = stats.norm.cdf(1 / np.sqrt(2))
    inside = sum(true in auc_interval(*scored(seed, 60)) for seed in range(300))
    assert 0.91 < inside / 300 < 0.985


def test_a_perfect_ranking_is_not_certain():
    y, s = np.array([0] * 5 + [1] * 5), np.arange(10.0)
    found = auc_interval(y, s)
    assert found.mean == found.high == 1
    assert 0.4 < found.low < 0.6


def test_two_scores_of_the_same_rows():
    y, s = scored(2, 400, 1.5)
    noise = np.random.default_rng(3).normal(size=400)
    assert compare_auc(y, s, s + 3 * noise).verdict == "better"
    assert compare_auc(y, s + 3 * noise, s).verdict == "worse"
    assert compare_auc(y, s, s + 0.05 * noise).verdict == "tie"
    assert compare_auc(y, s, s).p_value == 1


def test_interval_by_drawing_rows_again():
    y, s = scored(4, 200)
    found = rows_interval(auc, y, s, draws=200)
    exact = auc_interval(y, s)
    assert (found.low, found.high) == pytest.approx((exact.low, exact.high), abs=0.03)


def test_the_threshold_follows_the_costs():
    rng = np.random.default_rng(5)
    p = rng.uniform(size=4000)
    y = (rng.uniform(size=4000) < p).astype(int)
    assert probability_threshold(1, 4) == 0.2
    found = best_threshold(y, p, false_alarm=1, miss=4)
    assert found.value == pytest.approx(0.2, abs=0.06)
    by_hand = np.mean(np.where(p >= found.value, (1 - y) * 1.0, y * 4.0))
    assert found.risk == pytest.approx(by_hand)
    assert likelihood_ratio_threshold(1, 4, 0.5) == 0.25
    # positives rarer in use than in the sample: be more careful
    rare = best_threshold(y, p, false_alarm=1, miss=4, prior=0.05)
    assert rare.value > found.value


@pytest.mark.parametrize(
    ("call", "word"),
    [
        (lambda: auc([1, 1], [0.1, 0.2]), "with and without"),
        (lambda: auc([0, 1], [0.1, np.nan]), "finite"),
        (lambda: auc([0, 1], [0.1]), "same (length|shape)"),
        (lambda: best_threshold([0, 1], [0, 1], miss=0), "positive"),
        (lambda: likelihood_ratio_threshold(1, 1, 0), "prior"),
    ],
)
def test_bad_input(call, word):
    with pytest.raises(ValueError, match=word):
        call()
